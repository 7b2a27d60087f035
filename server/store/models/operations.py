"""Email in and out, heartbeats, processes, outages, totals and alerts."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from sqlalchemy import (
    BigInteger,
    ForeignKey,
    Index,
    String,
    Text,
    UniqueConstraint,
    and_,
    literal_column,
    or_,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from server.store import mail_kinds
from server.store.engine import Base, Hex, UtcTime
from server.store.facts import Fact, FactColumn

_OPEN = "cleared_at IS NULL"


class Heartbeat(Base):
    """The last heartbeat of a part of the server, whichever of its processes sent it. The table is `beat`."""

    __tablename__ = "beat"
    part: Mapped[str] = mapped_column(String(10), primary_key=True)
    at: Mapped[datetime] = mapped_column(UtcTime)


class Process(Base):
    """A process of the server, once for each part that it is; `at` is when it last lived, by the database's clock.

    `off` is by how many seconds its own clock was ahead of that.
    """

    __tablename__ = "process"
    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    part: Mapped[str] = mapped_column(String(10), primary_key=True)
    machine: Mapped[str] = mapped_column(String(64))
    at: Mapped[datetime] = mapped_column(UtcTime)
    off: Mapped[int]


class Outage(Base):
    """A time without heartbeats of a part of the server, which no clock counts."""

    __tablename__ = "outage"
    __table_args__ = (UniqueConstraint("part", "from_at"),)
    id: Mapped[int] = mapped_column(init=False, primary_key=True)
    part: Mapped[str] = mapped_column(String(10))
    from_at: Mapped[datetime] = mapped_column(UtcTime)
    to_at: Mapped[datetime] = mapped_column(UtcTime, index=True)


class Submission(Base):
    """A form that was sent, so that its repetition is recognised (`store.submissions`)."""

    __tablename__ = "submission"
    key: Mapped[str] = mapped_column(Hex, primary_key=True)
    at: Mapped[datetime] = mapped_column(UtcTime, index=True)
    answer: Mapped[str | None] = mapped_column(String(300), default=None)
    """Where the answer leads."""


class Total(Base):
    """A figure of the metrics that `store.totals` keeps."""

    __tablename__ = "total"
    name: Mapped[str] = mapped_column(String(40), primary_key=True)
    value: Mapped[int] = mapped_column(BigInteger)


class Alert(Base):
    """A problem that needs a moderator: a quarantined game, a rejected address, a jump of the clock.

    The table is `alarm`.
    """

    __tablename__ = "alarm"
    __table_args__ = (
        # Few alerts are open.
        Index("ix_alarm_open", "at", sqlite_where=text(_OPEN), postgresql_where=text(_OPEN)),
    )
    id: Mapped[int] = mapped_column(init=False, primary_key=True)
    key: Mapped[str] = mapped_column(String(120), unique=True)
    text: Mapped[Fact] = mapped_column(FactColumn)
    at: Mapped[datetime] = mapped_column(UtcTime)
    game_id: Mapped[str | None] = mapped_column(ForeignKey("game.id"), default=None)
    cleared_at: Mapped[datetime | None] = mapped_column(UtcTime, default=None)


# ---- email ----


class IncomingMail(Base):
    """An email that came in, stored so that none is processed twice. The table is `received`.

    `kind`: reply, auto, bounce, complaint, refused.
    """

    __tablename__ = "received"
    id: Mapped[int] = mapped_column(init=False, primary_key=True)
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    """SHA-256 of the Message-ID and the recipient, which identify the email."""
    at: Mapped[datetime] = mapped_column(UtcTime)
    kind: Mapped[str] = mapped_column(String(10))
    outcome: Mapped[Fact] = mapped_column(FactColumn)
    """The result, for moderators."""
    person_id: Mapped[int | None] = mapped_column(ForeignKey("person.id"), index=True, default=None)
    game_id: Mapped[str | None] = mapped_column(ForeignKey("game.id"), index=True, default=None)
    seat: Mapped[int | None] = mapped_column(default=None)


class MailStatus(StrEnum):
    """The outcome of an outgoing email; the column has its text."""

    WAITING = "waiting"
    SENT = "sent"
    DROPPED = "dropped"
    """Outdated or unwanted."""
    FAILED = "failed"
    """Rejected for good, or returned."""


_WAITING = f"status = '{MailStatus.WAITING}'"
_FAILED = f"status = '{MailStatus.FAILED}'"
_NOT_NUMEROUS = " AND ".join(f"kind <> '{kind}'" for kind in mail_kinds.NUMEROUS)
_COUNTED = "counts_at IS NOT NULL"
_TRIED = f"{_WAITING} AND tried_at IS NOT NULL"
_DATED = "delete_at IS NOT NULL"


class Mail(Base):
    """An outgoing email. `status` is a `MailStatus`."""

    __tablename__ = "outbox"
    __table_args__ = (
        # Most of many emails were sent, and most are about turns: the indexes leave these out.
        Index(
            "ix_outbox_waiting", "not_before", sqlite_where=text(_WAITING), postgresql_where=text(_WAITING)
        ),
        Index("ix_outbox_failed", "not_before", sqlite_where=text(_FAILED), postgresql_where=text(_FAILED)),
        Index(
            "ix_outbox_person_id",
            "person_id",
            sqlite_where=text(_NOT_NUMEROUS),
            postgresql_where=text(_NOT_NUMEROUS),
        ),
        Index("ix_outbox_reader", "game_id", "person_id"),
        # Since when emails cannot be sent.
        Index("ix_outbox_tried", "tried_at", sqlite_where=text(_TRIED), postgresql_where=text(_TRIED)),
        # How many strangers were emailed within the last hour.
        Index("ix_outbox_counted", "counts_at", sqlite_where=text(_COUNTED), postgresql_where=text(_COUNTED)),
        # Emails of running games have no such date.
        Index("ix_outbox_expiring", "delete_at", sqlite_where=text(_DATED), postgresql_where=text(_DATED)),
    )
    id: Mapped[int] = mapped_column(init=False, primary_key=True)
    key: Mapped[str] = mapped_column(String(120), unique=True)
    """Names the news, so that none is queued twice; the Message-ID is made from it."""
    kind: Mapped[str] = mapped_column(String(20))
    person_id: Mapped[int] = mapped_column(ForeignKey("person.id"))
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    not_before: Mapped[datetime] = mapped_column(UtcTime)
    game_id: Mapped[str | None] = mapped_column(ForeignKey("game.id"), default=None)
    seat: Mapped[int | None] = mapped_column(default=None)
    seq: Mapped[int | None] = mapped_column(default=None)
    """The entry it is about; for a turn, the head of the log when it opened."""
    details: Mapped[str] = mapped_column(Text, default="{}")
    """JSON with data that the template needs and cannot look up; emptied once the email is finished."""
    status: Mapped[str] = mapped_column(String(10), default=MailStatus.WAITING)
    attempts: Mapped[int] = mapped_column(default=0)
    tried_at: Mapped[datetime | None] = mapped_column(UtcTime, default=None)
    """When the first attempt to send it failed; None before."""
    leased_until: Mapped[datetime | None] = mapped_column(UtcTime, default=None)
    leased_by: Mapped[str | None] = mapped_column(String(40), default=None)
    """The name of the mailer that holds the lease, if it has one."""
    finished_at: Mapped[datetime | None] = mapped_column(UtcTime, default=None)
    error: Mapped[Fact | None] = mapped_column(FactColumn, default=None)
    """Why it was not sent, or not yet."""
    counts_at: Mapped[datetime | None] = mapped_column(UtcTime, default=None)
    """When it counts among the emails that strangers may have caused; None: its kind does not count, or no more."""
    origin: Mapped[str | None] = mapped_column(String(40), default=None)
    """The networks of the visitor who caused it (`server/store/networks.py`), while it counts."""
    delete_at: Mapped[datetime | None] = mapped_column(UtcTime, default=None)
    """When this row may be deleted; None while it waits, and until a month after its game has ended."""


# The conditions of the indexes, for queries; bound values would hide them from the planner.
WAITING = Mail.status == literal_column(f"'{MailStatus.WAITING}'")
FAILED = Mail.status == literal_column(f"'{MailStatus.FAILED}'")
NOT_NUMEROUS = and_(*(Mail.kind != literal_column(f"'{kind}'") for kind in mail_kinds.NUMEROUS))
SINGLE_INVITATION = or_(*(Mail.kind == literal_column(f"'{kind}'") for kind in mail_kinds.SINGLE_INVITATIONS))
HELD_INVITATION = or_(*(Mail.kind == literal_column(f"'{kind}'") for kind in mail_kinds.HELD_INVITATIONS))
