"""Plain rows of the tables that a move reads and writes: what the ORM would build costs more than the move itself.

The fields of each row are columns of its model, in the same order (tests/server/play/test_game.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from itertools import islice
from operator import attrgetter
from typing import Any, TypeVar

from sqlalchemy import (
    ColumnElement,
    String,
    and_,
    any_,
    bindparam,
    case,
    delete,
    exists,
    func,
    insert,
    literal_column,
    null,
    or_,
    select,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from byzanz import record
from byzanz.record import Cause
from server.store import mail_kinds
from server.store.engine import Base, UtcTime
from server.store.facts import Fact
from server.store.models import (
    HELD_INVITATION,
    NOT_NUMEROUS,
    WAITING,
    Absence,
    Alert,
    Entry,
    Game,
    Link,
    LinkPurpose,
    Mail,
    MailStatus,
    Person,
    Seat,
    SeatStatus,
    Snapshot,
    StandingOrder,
    Turn,
)
from server.store.prepared import Prepared


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
    origin: str | None
    started_at: datetime | None
    ended_at: datetime | None
    head: int
    head_hash: str
    paused: bool
    result: str | None
    quarantine: Fact | None
    revision: int
    record_format: int
    cut_order: str
    cuts_made: int
    message: str
    mails_dated: bool
    counted_at: datetime | None
    open_until: datetime | None
    listed_at: datetime | None
    asks: int
    keep_going: bool
    talk: bool
    said: int
    noted: bool

    @classmethod
    def of(cls, game: Game) -> GameRow:
        """Return the row of a game that a form creates or changes, as it is now."""
        return cls(*(getattr(game, name) for name in cls.__slots__))


@dataclass(slots=True)
class LinkRow:
    """A link; the columns are explained in `models.Link`."""

    id: int
    purpose: str
    person_id: int
    nonce: bytes
    digest: str
    created_at: datetime
    game_id: str | None
    expires_at: datetime | None
    revoked_at: datetime | None
    used_at: datetime | None
    used_by: str | None
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
    stored_name: str
    status: str
    person_id: int | None
    bot: str | None
    cut: str
    uncut: bool
    cut_number: int
    silent: bool
    bank: int
    missed: int
    autopilot: bool
    bounces: int
    left: bool
    held_since: int
    invited_at: datetime | None
    answered_at: datetime | None
    offered_at: datetime | None
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
    """An email; the columns are explained in `models.Mail`."""

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
    status: str
    attempts: int
    leased_until: datetime | None
    finished_at: datetime | None


R = TypeVar("R", GameRow, SeatRow, TurnRow, OrderRow)


def copied(row: R) -> R:
    """Return a copy of a row; `copy.copy` takes three times as long."""
    return type(row)(*_VALUES[type(row)](row))


_VALUES = {kind: attrgetter(*kind.__slots__) for kind in (GameRow, SeatRow, TurnRow, OrderRow)}


# ---- the statements ----
# They are compiled once, so that neither a move nor an email builds or compiles SQL. The lock stands alone: on
# PostgreSQL, a query that has waited for it would show the other tables as they were before the wait.

game, seat, person = Game.__mapper__.c, Seat.__mapper__.c, Person.__mapper__.c
turn, order, away = Turn.__mapper__.c, StandingOrder.__mapper__.c, Absence.__mapper__.c
entry, snapshot, link = Entry.__mapper__.c, Snapshot.__mapper__.c, Link.__mapper__.c
mail, alert = Mail.__mapper__.c, Alert.__mapper__.c
repeated = Entry.__table__.alias("repeated").c
SEATED = seat.status == literal_column(f"'{SeatStatus.SEATED}'")
"""Not a bound value: one that might fit the condition of an index makes SQLite plan the statement anew each time."""


def _columns(model: type[Base], row: type[Any]) -> list[ColumnElement[Any]]:
    """Return the columns of a model that are fields of a plain row."""
    return [model.__mapper__.c[each.name] for each in fields(row) if each.name not in ("person", "absences")]


def split(found: Sequence[Any], *kinds: type[Any]) -> tuple[Any, ...]:
    """Return the plain rows whose columns a query has selected one after another (`GAME`, `SEAT` …)."""
    columns = iter(found)
    return tuple(kind(*islice(columns, _WIDTHS[kind])) for kind in kinds)


def _table(model: type[Base]) -> Any:
    return model.__table__


LINK = _columns(Link, LinkRow)
GAME, SEAT, PERSON = (
    _columns(Game, GameRow),
    _columns(Seat, SeatRow),
    _columns(Person, PersonRow),
)
TURN, ORDER, ENTRY = (
    _columns(Turn, TurnRow),
    _columns(StandingOrder, OrderRow),
    _columns(Entry, record.Entry),
)
MAIL = _columns(Mail, MailRow)
_WIDTHS = {
    row: len(columns)
    for row, columns in (
        *((GameRow, GAME), (SeatRow, SEAT), (PersonRow, PERSON)),
        *((LinkRow, LINK), (TurnRow, TURN), (MailRow, MAIL), (OrderRow, ORDER)),
    )
}

# Look up

OPEN_SEAT = Prepared(
    select(*LINK, *GAME, *SEAT, *PERSON)
    .select_from(_table(Link))
    .join(_table(Game), game.id == link.game_id)
    .join(
        _table(Seat),
        and_(seat.game_id == link.game_id, seat.person_id == link.person_id, SEATED),
    )
    .join(_table(Person), person.id == link.person_id)
    .where(
        link.digest == bindparam("digest"),
        link.purpose == bindparam("purpose"),
        link.revoked_at.is_(None),
        or_(link.expires_at.is_(None), link.expires_at > bindparam("now")),
    )
)
"""The seat that a live link opens, with its game and its owner."""
LIVE_LINKS = Prepared(
    select(*LINK)
    .where(
        link.person_id == bindparam("person"), link.game_id == bindparam("game"), link.revoked_at.is_(None)
    )
    .order_by(link.id.desc())
)
"""All live links of a person to a game, the newest first."""

# Lock

LOCK = Prepared(select(game.id).where(game.id == bindparam("game")).with_for_update())
LOCK_IF_FREE = Prepared(select(game.id).where(game.id == bindparam("game")).with_for_update(skip_locked=True))
LOCK_FREE = Prepared(
    select(game.id)
    .where(game.id == any_(bindparam("games", type_=postgresql.ARRAY(String))))
    .order_by(game.id)
    .with_for_update(skip_locked=True)
)
"""Of PostgreSQL: those of several games that no other transaction holds."""

# Load

LOAD_GAME = Prepared(
    select(
        *GAME,
        entry.at,
        snapshot.format,
        snapshot.state,
        link.person_id,
        repeated.seq,
        repeated.move,
    )
    .select_from(_table(Game))
    .outerjoin(_table(Entry), and_(entry.game_id == game.id, entry.seq == game.head))
    .outerjoin(_table(Snapshot), and_(snapshot.game_id == game.id, snapshot.seq == game.head))
    .outerjoin(
        _table(Link),
        and_(
            link.id == bindparam("link"),
            link.game_id == game.id,
            or_(link.purpose == LinkPurpose.SEAT, link.purpose == LinkPurpose.REPLY),
            link.revoked_at.is_(None),
        ),
    )
    .outerjoin(
        repeated.seq.table,
        and_(
            repeated.game_id == game.id,
            repeated.seat == bindparam("seat"),
            repeated.request_id == bindparam("request"),
        ),
    )
    .where(game.id == bindparam("game"))
)
"""The game with its newest entry's time and its snapshot; whose link this is; what this request has played before."""
LOAD_SEATS = Prepared(
    select(*SEAT, *PERSON, *TURN, away.from_at, away.to_at)
    .select_from(_table(Seat))
    .outerjoin(_table(Person), person.id == seat.person_id)
    .outerjoin(_table(Turn), and_(turn.game_id == seat.game_id, turn.seat == seat.seat))
    .outerjoin(_table(Absence), and_(away.person_id == seat.person_id, away.to_at > bindparam("now")))
    .where(seat.game_id == bindparam("game"))
    .order_by(seat.seat, away.from_at)
)
"""The seats in order, each with its person and its open turn, once for each absence that is not over."""
LOAD_ORDERS = Prepared(
    select(*ORDER)
    .where(
        order.game_id == bindparam("game"),
        or_(
            order.status == "standing",
            order.status == "resting",
            and_(order.seat == bindparam("seat"), order.ended_seq > bindparam("after")),
        ),
    )
    .order_by(order.id)
)
"""The standing and suspended orders, and those of one seat that have ended after an entry."""

_own = Entry.__table__.alias("own").c
_LAST_OWN = (
    select(_own.seq)
    .where(_own.game_id == bindparam("game"), _own.seat == bindparam("seat"))
    .where(or_(_own.by == Cause.PLAYER, _own.by == Cause.BOT), ~_own.move.like("!%"))
    .order_by(_own.seq.desc())
    .limit(1)
    .scalar_subquery()
)
ENTRIES = Prepared(
    select(*ENTRY)
    .where(entry.game_id == bindparam("game"), entry.seq > bindparam("after"), entry.seq <= bindparam("upto"))
    .order_by(entry.seq)
)
"""A stretch of the log."""
SINCE_OWN = Prepared(
    select(*ENTRY, _LAST_OWN)
    .where(entry.game_id == bindparam("game"), entry.seq > bindparam("after"))
    .where(or_(entry.seq >= func.coalesce(_LAST_OWN, 0), entry.seq > bindparam("newest")))
    .order_by(entry.seq)
)
"""A seat's own last move and what has been logged since, and all newest entries; each with the seq of that move."""

TO_MOVE = Prepared(select(turn.seat, turn.bot).where(turn.game_id == bindparam("game")).order_by(turn.seat))
"""The seats that are to move, and whether a bot sits there."""

# Store

ADD_ENTRIES = Prepared(insert(_table(Entry)))
CHANGE_GAME = Prepared(update(_table(Game)).where(game.id == bindparam("game")))
MOVE_SNAPSHOT = Prepared(
    update(_table(Snapshot)).where(snapshot.game_id == bindparam("game"), snapshot.seq == bindparam("old"))
)
CLEAR_SNAPSHOTS = Prepared(delete(_table(Snapshot)).where(snapshot.game_id == bindparam("game")))
ADD_SNAPSHOT = Prepared(insert(_table(Snapshot)))
CHANGE_SEATS = Prepared(
    update(_table(Seat)).where(seat.game_id == bindparam("game"), seat.seat == bindparam("number"))
)
CLOSE_TURNS = Prepared(
    delete(_table(Turn)).where(turn.game_id == bindparam("game"), turn.seat == bindparam("number"))
)
OPEN_TURNS = Prepared(insert(_table(Turn)))
START_TURN = Prepared(
    update(_table(Turn)).where(
        turn.game_id == bindparam("game"),
        turn.seat == bindparam("number"),
        turn.opened_seq == bindparam("opened"),
        turn.started_at.is_(None),
        turn.refused.is_(None),
    )
)
"""Start the clock of a turn whose first email was accepted, unless the turn is over or its clock stands or runs."""
ADD_LINKS = Prepared(insert(_table(Link)))
CHANGE_TURNS = Prepared(
    update(_table(Turn)).where(turn.game_id == bindparam("game"), turn.seat == bindparam("number"))
)
CHANGE_ORDERS = Prepared(update(_table(StandingOrder)).where(order.id == bindparam("order")))
ADD_MAILS = Prepared(
    sqlite.insert(_table(Mail)).on_conflict_do_nothing(index_elements=["key"]),
    postgresql=postgresql.insert(_table(Mail)).on_conflict_do_nothing(index_elements=["key"]),
)
"""A mail whose key was ever queued is not queued again."""

# An email

_due = (
    select(mail.id)
    .where(WAITING, or_(mail.leased_until.is_(None), mail.leased_until <= bindparam("now")))
    .where(mail.not_before <= bindparam("now"))
    .order_by(mail.not_before, mail.id)
)
DUE = Prepared(_due.limit(1))
"""An email that is due, if there is one."""
LEASE = Prepared(
    update(_table(Mail))
    # Not a plain subquery: PostgreSQL may run that again for each row, and then lease more than `n`.
    .where(mail.id.in_(select(_due.limit(bindparam("n")).with_for_update(skip_locked=True).cte("due").c.id)))
    # The condition is repeated: this update decides who gets the lease, not the query in it.
    .where(WAITING, or_(mail.leased_until.is_(None), mail.leased_until <= bindparam("now")))
    .values(leased_until=bindparam("until"), leased_by=bindparam("mailer"))
    .returning(*MAIL)
)
BESIDE = Prepared(
    select(*MAIL)
    .where(
        or_(
            mail.id == bindparam("mail"),
            and_(mail.person_id == bindparam("person"), mail.game_id == bindparam("game")),
        )
    )
    .where(WAITING)
    .order_by(mail.id)
)
"""An email that waits, and the others that wait for the same reader about the same game."""
HELD = Prepared(
    select(*MAIL)
    .where(mail.person_id == bindparam("person"), HELD_INVITATION, WAITING, NOT_NUMEROUS)
    .order_by(mail.id)
)
"""All held invitations of a reader."""


def _finish(*conditions: ColumnElement[bool]) -> Prepared:
    """Finish an email: what only its template needed is emptied.

    The row stays until a month after its game has ended, so that its news is not queued again. A mail that is finished
    even later gets the date on which it is deleted, as does one without a game.
    """
    kept = exists().where(game.id == mail.game_id, game.mails_dated.is_(False)).correlate(_table(Mail))
    values = {
        "status": bindparam("became"),
        "finished_at": func.coalesce(mail.finished_at, bindparam("now", type_=UtcTime)),
        "error": bindparam("why"),
        "details": case(
            (or_(*(mail.kind == kind for kind in mail_kinds.KEEPING_DETAILS)), mail.details), else_="{}"
        ),
        "delete_at": case((kept, null()), else_=bindparam("expires", type_=UtcTime)),
        "leased_until": null(),
        "leased_by": null(),
    }
    change = update(_table(Mail)).where(mail.id == bindparam("mail"), *conditions).values(values)
    return Prepared(change.returning(mail.id))


_leased = bindparam("leased", type_=UtcTime)
FINISH = _finish(WAITING, or_(_leased.is_(None), mail.leased_until == _leased))
"""Finish an email that waits, unless it has another lease than the one given, if any."""
RETURN = _finish(or_(WAITING, mail.status == literal_column(f"'{MailStatus.SENT}'")))
"""Finish an email that came back, which a mail server may have accepted."""
CLEAR_ALERT = Prepared(
    update(_table(Alert))
    .where(alert.key == bindparam("name"), alert.cleared_at.is_(None))
    .values(cleared_at=bindparam("now"))
)
