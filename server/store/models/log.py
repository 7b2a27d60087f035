"""The log of a game, snapshots computed from it, and the moderators behind its entries."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from server.store.engine import Base, UtcTime


class Entry(Base):
    """One entry of a game's log (docs/formats.md §2). Triggers refuse changes; only `log.py` writes it."""

    __tablename__ = "entry"
    __table_args__ = (UniqueConstraint("game_id", "seat", "request_id"),)
    game_id: Mapped[str] = mapped_column(ForeignKey("game.id"), primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[str] = mapped_column(String(24))
    seat: Mapped[int | None]
    by: Mapped[str] = mapped_column(String(10))
    move: Mapped[str] = mapped_column(Text)
    note: Mapped[str | None] = mapped_column(Text)
    salt: Mapped[str] = mapped_column(String(32))
    hash: Mapped[str] = mapped_column(String(64))
    request_id: Mapped[str | None] = mapped_column(String(64), default=None)


class Snapshot(Base):
    """A state computed from the entries up to `seq`; it can be deleted at any time."""

    __tablename__ = "snapshot"
    game_id: Mapped[str] = mapped_column(ForeignKey("game.id"), primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True)
    format: Mapped[str] = mapped_column(String(40))
    """`slug/rules version/state format`; a snapshot in any other format is ignored."""
    state: Mapped[str] = mapped_column(Text)


class ModeratorAction(Base):
    """The moderator behind an entry; the log itself names nobody. The table is `deed`."""

    __tablename__ = "deed"
    id: Mapped[int] = mapped_column(init=False, primary_key=True)
    game_id: Mapped[str] = mapped_column(ForeignKey("game.id"), index=True)
    seq: Mapped[int]
    person_id: Mapped[int] = mapped_column(ForeignKey("person.id"), index=True)
    at: Mapped[datetime] = mapped_column(UtcTime)
