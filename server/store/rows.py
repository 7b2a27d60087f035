"""Plain rows of the tables that a move reads and writes: what the ORM would build costs more than the move itself.

The fields of each row are columns of its model, in the same order (tests/server/store/test_table.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from server.store.facts import Fact
from server.store.models import Game, Mail, Person, Seat, StandingOrder, Turn


@dataclass(slots=True)
class GameRow:
    """A game; the columns are explained in `models.Game`."""

    id: str
    slug: str
    rules: int
    name: str
    organiser_id: int | None
    status: str
    allowance: int
    seed: str
    commitment: str
    created_at: datetime
    options: str
    time_zone: str
    listed: bool
    bank: int
    days_off: str
    trial: bool
    started_at: datetime | None
    ended_at: datetime | None
    head: int
    head_hash: str
    paused: bool
    result: str | None
    quarantine: Fact | None
    talk: bool
    said: int
    noted: bool


@dataclass(slots=True)
class LinkRow:
    """A live link; the columns are explained in `models.Link`."""

    id: int
    purpose: str
    person_id: int
    nonce: bytes
    seq: int | None


@dataclass(slots=True)
class PersonRow:
    """A person, as far as games and emails ask; the columns are explained in `models.Person`."""

    id: int
    email: str | None
    name: str
    time_zone: str | None
    silent: bool
    no_invitations: bool
    no_player_news: bool
    unreachable: Fact | None
    suppressed: Fact | None
    cadence: str
    quiet_from: int | None
    quiet_to: int | None
    language: str | None
    talk: str
    silenced_until: datetime | None
    silenced_why: str | None


@dataclass(slots=True)
class SeatRow:
    """A seat; the columns are explained in `models.Seat`.

    Args:
        person: who holds it; None for a bot's seat and a free one.
        absences: the spans of that person's absences that are not over, in order.
    """

    game_id: str
    seat: int
    name: str
    status: str
    person_id: int | None
    bot: str | None
    cut: str
    uncut: bool
    silent: bool
    bank: int
    missed: int
    autopilot: bool
    bounces: int
    left: bool
    held_since: int
    offered_at: datetime | None = None
    person: PersonRow | None = field(default=None, compare=False)
    absences: list[tuple[datetime, datetime]] = field(default_factory=list, compare=False)


@dataclass(slots=True)
class TurnRow:
    """A seat's open question and its clock; the columns are explained in `models.Turn`."""

    game_id: str
    seat: int
    question: str
    opened_seq: int
    opened_at: datetime
    hours: str
    bot: bool = False
    started_at: datetime | None = None
    bank: int = 0
    extra: int = 0
    anew: bool = False
    credited: int = 0
    due_at: datetime | None = None
    remind_at: datetime | None = None
    refused: Fact | None = None
    refused_at: datetime | None = None
    mail_failed: bool = False


@dataclass(slots=True)
class OrderRow:
    """A standing order; the columns are explained in `models.StandingOrder`."""

    id: int
    game_id: str
    seat: int
    number: int
    text: str
    scope: str
    left_at: datetime
    left_seq: int
    status: str
    reason: Fact | None
    ended_at: datetime | None
    ended_seq: int | None


@dataclass(slots=True)
class MailRow:
    """An email that waits; the columns are explained in `models.Mail`."""

    id: int
    key: str
    kind: str
    person_id: int
    created_at: datetime
    not_before: datetime
    game_id: str | None
    seat: int | None
    seq: int | None
    details: str
    attempts: int
    leased_until: datetime | None


AnyGame = Game | GameRow
AnySeat = Seat | SeatRow
AnyTurn = Turn | TurnRow
AnyPerson = Person | PersonRow
AnyOrder = StandingOrder | OrderRow
AnyMail = Mail | MailRow
"""A row of either kind: lists across games and forms use the ORM, a single game that is played does not."""

R = TypeVar("R", GameRow, SeatRow, TurnRow, OrderRow)


def copied(row: R) -> R:
    """Return a copy of a row; `copy.copy` takes three times as long."""
    return type(row)(*(getattr(row, name) for name in row.__slots__))
