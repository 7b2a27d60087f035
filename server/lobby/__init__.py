"""A game before its first move: requested, confirmed, its players invited and seated, until `play.begin`.

Each function is one transaction, takes the time as `now`, and raises a kind of `Refused` if it changes nothing.
`create` makes and confirms games, `invitations` is for invited people and the person who invites, `rematch` makes the
next game of the same people, `settings` checks a game's settings, and `notify` queues the mails. `open_tables` finds
open tables, tells people of new ones, and gives seats of running games that need a player; `visitors` is for games
without an address.

Mails queued here, with `game_id`, and what their templates find in `details`:

- `confirm` to the organiser, once: press the button on the organiser's page. `name`: the organiser's name from the
  request, for that page; a stranger may have typed it, so no mail contains it.
- `invite` to an invited person, with `seat`: no details; their link is of purpose `invite`.
- `nudge` the same, for an unanswered invitation: no details.
- `held` either of them, if too many reach this person: one mail tells all that wait. No details.
- `seated` to a person who has just cut the deck, with `seat`: `commitment` to the seed; `cut`, the fingerprint of
  their cut; `before`, those of the cuts made before it.
- `answered` to the organiser, with `seat`: `name` of the person it is about; `answer`: `accepted`, `declined`,
  `left` (had accepted before), `joined` (took a free seat of a listed game), `silent` (no answer in two days,
  reminded now); `begun`: whether the game has begun with this; `ends`: whether no further game is offered by itself.
- `cancelled` to an invited or seated person: `why`: `cancelled` (the game), `withdrawn` (the organiser gave up their
  seat), `started` (the game began without them), `expired` (nobody took the free seats within three weeks).
- `open_table` to the organiser of an open table that ends within a week: `until` when.
- `wish` to a person who wants to hear of tables like those: `games`, their ids. No `game_id`.
- `signin`: `link`, the id of the row in `link`; it expires, and the mail with it. No `game_id`.
- `move` to a new address: `link`, which confirms it; `by`: `operator` if no confirmation is needed; `until`: when the
  change takes effect at the earliest. No `game_id`.
- `moving` to the old address: `link`, which stops the change; `by` and `until` likewise. No `game_id`.
- `moved` to a person whose change has ended by itself: `done`: whether they have the new address. No `game_id`.
- `games`, links that a person requested: no details, no `game_id`; it lists their open turns when it is written.
- `fresh`, a fresh link requested on the page of a dead one: `purpose`: `seat`, `invite` or `organise`.
"""
