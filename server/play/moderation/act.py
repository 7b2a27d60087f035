"""A moderator's act: its words, its entry, and checks shared by all acts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from server.errors import Refused
from server.play import positions
from server.play.positions import Position
from server.store import log
from server.store.models import Entry, ModeratorAction
from server.store.statements import SeatRow
from server.store.table import Table
from server.validation import whole_number

LONGEST_EXTENSION = 30 * 86400


class InvalidAct(Refused):
    """The act is unknown or malformed, or lacks a reason."""

    status = 422
    code = "bad_act"


class ActNotPossible(Refused):
    """The act is not possible in the present state of the game."""

    code = "not_possible"


@dataclass(frozen=True, slots=True)
class Newcomer:
    """The new player of a seat: a person with a name and an address, or a kind of bot."""

    name: str
    email: str = ""
    bot: str | None = None


@dataclass(frozen=True, slots=True)
class Act:
    """One act as a moderator requested it, or a takeover by its `newcomer`.

    Args:
        reason: with the seat of a moderator who plays; empty if none was asked for.
        by: `moderator`, or `player` for a person who takes an offered seat.
    """

    words: tuple[str, ...]
    reason: str
    person_id: int
    now: datetime
    newcomer: Newcomer | None
    keep_link: bool = False
    """Of a `!link`: email the existing link again instead of a new one that revokes it."""
    by: str = "moderator"

    def number(self, place: int) -> int:
        """The whole number at this place of the act's words."""
        number = whole_number(self.words[place], 999_999_999)
        if number is None:
            raise InvalidAct("“%(word)s” must be a whole number.", word=self.words[place][:40])
        return number


def has_looked(session: Session, game_id: str, person_id: int) -> bool:
    """Whether this person has looked at hidden hands of this game, and so can never play in it."""
    return session.scalar(_looks(person_id).where(Entry.game_id == game_id).limit(1)) is not None


def looked_at(session: Session, person_id: int) -> set[str]:
    """Return the games of which this person has looked at hidden hands."""
    return set(session.scalars(_looks(person_id)))


def _looks(person_id: int) -> Select[str]:
    acted = (ModeratorAction.game_id == Entry.game_id) & (ModeratorAction.seq == Entry.seq)
    looks = select(Entry.game_id).join(ModeratorAction, acted)
    return looks.where(ModeratorAction.person_id == person_id, log.is_act("!look"))


def write(table: Table, act: Act, seat: int | None = None) -> int:
    """Write the entry of an act, and return its seq."""
    move = " ".join(act.words)
    return table.append(seat=seat, by=act.by, move=move, now=act.now, note=act.reason or None).seq


def record_only(table: Table, position: Position, act: Act, seat: int | None = None) -> int:
    """Write the entry of an act that leaves the position as it is, and return its seq."""
    seq = write(table, act, seat)
    if table.game.status == "running":
        positions.save(table, position)
    return seq


def seat_of(table: Table, act: Act) -> SeatRow:
    """The seat that an act names; raises InvalidAct if the game has no such seat."""
    number = act.number(1)
    if number >= len(table.seats):
        raise InvalidAct("There is no seat %(seat)s in this game.", seat=number)
    return table.seats[number]


def seconds_of(act: Act, place: int) -> int:
    """The time that an act gives; raises InvalidAct unless it is at least a second and at most 30 days."""
    seconds = act.number(place)
    if not 0 < seconds <= LONGEST_EXTENSION:
        raise InvalidAct("Give 1 to %(most)s seconds.", most=LONGEST_EXTENSION)
    return seconds
