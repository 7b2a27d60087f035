"""Outgoing and incoming email."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from server.store.engine import Base, UtcTime
from server.store.facts import Fact, FactColumn


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


class Mail(Base):
    """An outgoing email. `status`: waiting, sent, dropped (outdated or unwanted), failed (rejected for good)."""

    __tablename__ = "outbox"
    __table_args__ = (Index("ix_outbox_waiting", "status", "not_before"),)
    id: Mapped[int] = mapped_column(init=False, primary_key=True)
    key: Mapped[str] = mapped_column(String(120), unique=True)
    """Names the news, so that none is queued twice; the Message-ID is made from it."""
    kind: Mapped[str] = mapped_column(String(20))
    person_id: Mapped[int] = mapped_column(ForeignKey("person.id"), index=True)
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    not_before: Mapped[datetime] = mapped_column(UtcTime)
    game_id: Mapped[str | None] = mapped_column(ForeignKey("game.id"), index=True, default=None)
    seat: Mapped[int | None] = mapped_column(default=None)
    seq: Mapped[int | None] = mapped_column(default=None)
    """The entry it is about; for a turn, the head of the log when it opened."""
    details: Mapped[str] = mapped_column(Text, default="{}")
    """JSON with data that the template needs and cannot look up."""
    status: Mapped[str] = mapped_column(String(10), default="waiting")
    attempts: Mapped[int] = mapped_column(default=0)
    leased_until: Mapped[datetime | None] = mapped_column(UtcTime, default=None)
    finished_at: Mapped[datetime | None] = mapped_column(UtcTime, default=None)
    error: Mapped[Fact | None] = mapped_column(FactColumn, default=None)
    """Why it was not sent, or not yet."""
