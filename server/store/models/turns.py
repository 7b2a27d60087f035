"""Open turns and standing orders."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from server.store.engine import Base, UtcTime
from server.store.facts import Fact, FactColumn


class Turn(Base):
    """A seat's open question: since when, and until when it has time."""

    __tablename__ = "turn"
    __table_args__ = (
        # Bots' turns are few among many: an index of those alone keeps a tick short.
        Index("ix_turn_bots", "opened_at", sqlite_where=text("bot = 1"), postgresql_where=text("bot")),
    )
    game_id: Mapped[str] = mapped_column(ForeignKey("game.id"), primary_key=True)
    seat: Mapped[int] = mapped_column(primary_key=True)
    question: Mapped[str] = mapped_column(String(40))
    """Kind and number: `bid 17`."""
    opened_seq: Mapped[int]
    opened_at: Mapped[datetime] = mapped_column(UtcTime)
    bot: Mapped[bool] = mapped_column(default=False)
    """Whether a bot holds the seat; a new holder opens the turn anew."""
    started_at: Mapped[datetime | None] = mapped_column(UtcTime, default=None)
    """When the clock began: SMTP accepted the mail, or at once for a seat that wants none. None: no clock runs."""
    hours: Mapped[str] = mapped_column(Text, default="{}")
    """JSON, fixed when the turn opened: the hours, days and absences that its clock leaves out."""
    bank: Mapped[int] = mapped_column(default=0)
    """Seconds of the seat's bank that this turn may use after its allowance, fixed when the turn opened."""
    extra: Mapped[int] = mapped_column(default=0)
    """Seconds that the allowance is longer: what moderators added, less what had counted before the clock stood."""
    anew: Mapped[bool] = mapped_column(default=False)
    """Its mail came back once, and the clock began anew; the next time it goes on where it stopped."""
    credited: Mapped[int] = mapped_column(default=0)
    """Seconds of outages already told by `!credit` entries (the clock leaves outages out by itself)."""
    due_at: Mapped[datetime | None] = mapped_column(UtcTime, default=None, index=True)
    """A hint; who acts on it computes it again."""
    remind_at: Mapped[datetime | None] = mapped_column(UtcTime, default=None, index=True)
    """When a reminder is to go out; None once it has."""
    refused: Mapped[Fact | None] = mapped_column(FactColumn, default=None)
    """The turn mail was refused for good: the clock stands still."""
    refused_at: Mapped[datetime | None] = mapped_column(UtcTime, default=None, index=True)
    """Since when it stands still."""


class StandingOrder(Base):
    """What a seat has ordered beforehand, sealed. `status`: standing, resting, done, withdrawn, stopped."""

    __tablename__ = "standing_order"
    __table_args__ = (
        UniqueConstraint("game_id", "seat", "number"),
        Index("ix_standing_order_place", "game_id", "seat", "status"),
    )
    id: Mapped[int] = mapped_column(init=False, primary_key=True)
    game_id: Mapped[str] = mapped_column(ForeignKey("game.id"))
    seat: Mapped[int]
    number: Mapped[int]
    """Of this seat's orders, from 1: its name to the player, for whom `id` would count the orders of others, too."""
    text: Mapped[str] = mapped_column(Text)
    """Canonical, in the grammar of the game (docs/orders.md)."""
    scope: Mapped[str] = mapped_column("occasion", String(40))
    """What it was left for, in the game's words (`lot 3.2`); empty: until withdrawn."""
    left_at: Mapped[datetime] = mapped_column(UtcTime)
    left_seq: Mapped[int]
    """The head of the log when it was left."""
    status: Mapped[str] = mapped_column(String(10), default="standing")
    reason: Mapped[Fact | None] = mapped_column(FactColumn, default=None)
    """Why it ended, for its owner."""
    ended_at: Mapped[datetime | None] = mapped_column(UtcTime, default=None)
    ended_seq: Mapped[int | None] = mapped_column(default=None)
    """The head of the log when it ended."""
