"""A game before its first move: asked for, confirmed, its people invited and seated; it ends by `play.begin`.

Each function is one transaction, takes the moment as `now`, and raises a kind of `Refused` when it changes
nothing. `wishes` checks what people type, `making` creates and confirms, `inviting` is for who is invited,
`organising` for who invites, `doors` mails links that were asked for, `quiet` switches mails off, `pace` checks the
time of a table and `absences` that of a person, `news` queues the mails.

Mails queued here, with `game_id`, and what their templates find in `details`:

- `confirm` to the organiser, once: press the button on the organiser's page. `name`: what the wish calls him, for
  that page; a stranger may have typed it, so no mail says it.
- `invite` to somebody invited, with `seat`: no details; his link is of purpose `invite`.
- `nudge` the same, for an invitation not answered: no details.
- `answered` to the organiser, with `seat`: `name` of who it is about; `answer`: `accepted`, `declined`,
  `left` (had accepted before), `joined` (took a free seat of a listed game), `silent` (no answer in two days,
  reminded now); `begun`: whether the game has begun with this.
- `cancelled` to somebody invited or seated: `why`: `cancelled` (the game), `withdrawn` (the organiser gave up
  his seat), `started` (the game began without him).
- `signin`: `link`, the id of the row in `link`; it expires, and the mail with it. No `game_id`.
- `games`, links that somebody asked for: no details, no `game_id`; it names what awaits him when it is written.
- `fresh`, somebody opened a dead link and asked for a new one: `purpose`: `seat`, `invite` or `organise`.
"""

from __future__ import annotations

from server.lobby.create import confirm_game, create_game, quick_game
from server.lobby.invitations import Invitation, accept, decline, invitation, take_free_seat
from server.lobby.notify import requested_name
from server.lobby.organiser import (
    cancel,
    drop,
    fill,
    organised_game,
    reinvite,
    remind,
    send_nudges,
    set_listed,
    start,
)

__all__ = [
    "Invitation",
    "accept",
    "cancel",
    "confirm_game",
    "create_game",
    "decline",
    "drop",
    "fill",
    "invitation",
    "organised_game",
    "quick_game",
    "reinvite",
    "remind",
    "requested_name",
    "send_nudges",
    "set_listed",
    "start",
    "take_free_seat",
]
