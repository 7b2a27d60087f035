"""Heartbeats, processes, outages, totals and alerts."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, Index, String, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

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
