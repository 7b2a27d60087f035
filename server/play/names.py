"""The one reader of names: what the players at a table are called, as one reader may read it.

Pages, emails, feeds, the API, records, charts and files ask here, also for the cuts, which are often names, and for
what stands for a player whose name nobody keeps. Nothing else reads `stored_name` (tests/server/test_names.py).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol

from flask_babel import gettext
from sqlalchemy import ColumnElement

from byzanz.rules import PUBLIC
from server.i18n import characters
from server.store.models import Seat
from server.store.statements import GameRow, PersonRow, SeatRow

Reader = int | Literal["public", "organiser", "moderator", "record"]
"""Who reads a name: the player of this seat, anybody at all, the organiser of the game, a moderator; or the header of
the game's record, which anybody may read, and which never changes: the first hash of the log covers it.
"""
ORGANISER: Literal["organiser"] = "organiser"
MODERATOR: Literal["moderator"] = "moderator"
RECORD: Literal["record"] = "record"
FORMER = "Former player"
"""What a player is called whose name nobody keeps; `shown` says it in the reader's language."""


class Named(Protocol):
    """A seat, or what a query has found of one."""

    @property
    def seat(self) -> int:
        """Its number."""

    @property
    def stored_name(self) -> str:
        """What its player is called."""


def of(game: GameRow, seat: Named, reader: Reader) -> str:
    """Return what the player of a seat is called; empty if the seat is free.

    A game in which not everybody may read all names decides it here, for everything that shows one.
    """
    del game, reader  # so far all read the same
    return seat.stored_name


def cut_of(game: GameRow, seat: SeatRow, reader: Reader) -> str:
    """Return the cut of a seat: a bot's is its name, and many players leave theirs as it is proposed."""
    del game, reader
    return seat.cut


def at_table(game: GameRow, seats: Iterable[Named], reader: Reader) -> tuple[str, ...]:
    """Return what the players of these seats are called, in their order."""
    return tuple(of(game, seat, reader) for seat in seats)


def of_person(game: GameRow, seats: Iterable[SeatRow], person: PersonRow | None, reader: Reader) -> str:
    """Return what a person is called in a game: at their seat, else in their account; empty if there is nobody."""
    if person is None:
        return ""
    own = next((seat for seat in seats if seat.person_id == person.id), None)
    return person.name if own is None else of(game, own, reader)


def reader_of(seats: Iterable[SeatRow], person_id: int | None) -> Reader:
    """Return as whom a person reads the names at a table: as the player of their seat, or as anybody."""
    return next((seat.seat for seat in seats if seat.person_id == person_id is not None), PUBLIC)


def taken(seats: Iterable[Named], but: Named | None = None) -> list[str]:
    """Return the names in use at a table, with which another one is compared.

    Args:
        but: leave out this seat, whose name it is.
    """
    return [seat.stored_name for seat in seats if seat is not but and seat.stored_name]


def column(seat: Any = Seat) -> ColumnElement[str]:
    """Return the column of stored names: for what `of` gets, for games that are over, or for a moderator's search.

    Args:
        seat: the model, or the columns of an alias of its table.
    """
    found: ColumnElement[str] = seat.stored_name
    return found


# ---- earlier players ----


def former(
    names: Sequence[str], seats: Collection[int], known: Mapping[int, str] | None = None
) -> Sequence[str]:
    """Return the names at a table, by seat, as of a time when these seats had other players.

    Args:
        known: the names of these by seat, for moderators; to all others they are former players.
    """
    nobody, told = shown(FORMER), known or {}
    return tuple(told.get(seat, nobody) if seat in seats else name for seat, name in enumerate(names))


def shown(name: str) -> str:
    """Return a name as it is shown: players whose names nobody keeps in the reader's language."""
    return str(gettext("Former player")) if name == FORMER else characters.shown(name)
