"""The form for a new game with those of a finished one who can be invited again; it shows nobody's address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import flask
from sqlalchemy.orm import Session

from server.lobby import rematch
from server.play import positions
from server.store import links
from server.store.links import SeatAccess
from server.store.models import Game, GameSettings, Person, Seat
from server.validation import LONGEST_NAME, Guest
from server.web.http import seat_access
from server.web.lobby import pace


@dataclass(frozen=True, slots=True)
class Group:
    """Those of a finished game whom one of its players can invite again.

    Args:
        token: of the player's seat, which vouches for them.
        others: the seats of the others.
        complete: nobody is missing.
        fields: what the form says at first.
        bots: their kinds.
        settings: of the game.
    """

    token: str
    host: Person
    others: Sequence[Seat]
    complete: bool
    fields: dict[str, str]
    bots: Sequence[str]
    settings: GameSettings

    def bots_of(self, count: int, strength: str) -> Sequence[str]:
        """Return the kinds of the bots that the form asks for: those of the last game if nothing was changed."""
        same = self.bots and (count, strength) == (len(self.bots), self.bots[0])
        return self.bots if same else [strength] * count

    def chosen(self) -> list[Guest]:
        """Return those whom the posted form still invites."""
        fields = flask.request.form
        return [
            Guest(seat.name, seat.person.email or "")
            for seat in self.others
            if seat.person and fields.get(f"same_{seat.seat}")
        ]


def posted_group(session: Session) -> Group | None:
    """Return the group that a posted form is for, or None for the form of another new game."""
    token = flask.request.form.get("after")
    return group_of(session, seat_access(session, token)) if token else None


def group_of(session: Session, access: SeatAccess) -> Group:
    """Return the group of a finished game, for one of its players.

    Raises:
        Closed: the game is not over, or they had left it.
    """
    game, host = session.get_one(Game, access.game.id), session.get_one(Person, access.link.person_id)
    seats = positions.seats_of(session, game.id)
    rematch.check_over(game, seats, host.id)
    ready = rematch.invitable(session, seats, host.id)
    others = [seat for seat in ready if seat.person is not None and seat.person_id != host.id]
    complete = len(ready) == len(seats)
    bots = [seat.bot for seat in seats if seat.bot]
    chosen = GameSettings.of(game)
    fields = pace.fields_of(chosen) | _fields(game, seats, host.id, len(seats) - len(ready), bots)
    return Group(links.token(access.link), host, others, complete, fields, bots, chosen)


def _fields(
    game: Game, seats: Sequence[Seat], host_id: int, missing: int, bots: Sequence[str]
) -> dict[str, str]:
    """Return what the form says beside the settings; seats of missing people are free if all can see the table."""
    fields = {
        "title": rematch.next_name(game.name, LONGEST_NAME),
        "name": next(seat.name for seat in seats if seat.person_id == host_id),
        "plays": "yes",
        "bots": str(len(bots)),
        "free": str(missing if game.listed else 0),
    }
    fields |= {"strength": bots[0]} if bots else {}
    return fields | {f"same_{seat.seat}": "yes" for seat in seats}
