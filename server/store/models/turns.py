"""Open turns and standing orders."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from server.store.engine import Base, UtcTime
from server.store.facts import Fact, FactColumn

_UNSTARTED = "started_at IS NULL AND refused IS NULL"


class Turn(Base):
    """A seat's open question and its clock."""

    __tablename__ = "turn"
    __table_args__ = (
        # Few of many turns are bots': an index of these alone keeps a tick short.
        Index("ix_turn_bots", "opened_at", sqlite_where=text("bot = 1"), postgresql_where=text("bot")),
        # Few turns still wait for the email that starts their clocks.
        Index(
            "ix_turn_unstarted", "opened_at", sqlite_where=text(_UNSTARTED), postgresql_where=text(_UNSTARTED)
        ),
    )
    game_id: Mapped[str] = mapped_column(ForeignKey("game.id"), primary_key=True)
    seat: Mapped[int] = mapped_column(primary_key=True)
    question: Mapped[str] = mapped_column(String(40))
    """Kind and number: `bid 17`."""
    opened_seq: Mapped[int]
    opened_at: Mapped[datetime] = mapped_column(UtcTime)
    hours: Mapped[str] = mapped_column(Text)
    """JSON, fixed when the turn opened: the hours, days and absences that the clock leaves out."""
    bot: Mapped[bool] = mapped_column(default=False)
    """Whether a bot holds the seat; when the player is replaced, the turn opens again."""
    started_at: Mapped[datetime | None] = mapped_column(UtcTime, default=None)
    """When the clock started: a mail server took the email, or at once if the player wants none. None: not yet."""
    bank: Mapped[int] = mapped_column(default=0)
    """Seconds of the seat's time bank that this turn may use, fixed when it opened."""
    extra: Mapped[int] = mapped_column(default=0)
    """Seconds that moderators have added to the allowance."""
    anew: Mapped[bool] = mapped_column(default=False)
    """A bounce has restarted the clock in full; no other stops it in this turn."""
    credited: Mapped[int] = mapped_column(default=0)
    """Seconds of outages that `!credit` entries have announced; the clock does not count outages anyway."""
    due_at: Mapped[datetime | None] = mapped_column(UtcTime, default=None, index=True)
    """A hint, which is computed again before anything is done."""
    remind_at: Mapped[datetime | None] = mapped_column(UtcTime, default=None, index=True)
    """When the reminder is due; None once it was queued."""
    refused: Mapped[Fact | None] = mapped_column(FactColumn, default=None)
    """Why the turn's email could not be delivered; the clock is stopped."""
    refused_at: Mapped[datetime | None] = mapped_column(UtcTime, default=None, index=True)
    """When the clock was stopped."""
    mail_failed: Mapped[bool] = mapped_column(default=False)
    """An email about it has been refused or has bounced."""


class StandingOrder(Base):
    """A sealed standing order. `status`: standing, resting (suspended), done, withdrawn, stopped."""

    __tablename__ = "standing_order"
    __table_args__ = (
        UniqueConstraint("game_id", "seat", "number"),
        Index("ix_standing_order_place", "game_id", "seat", "status"),
    )
    id: Mapped[int] = mapped_column(init=False, primary_key=True)
    game_id: Mapped[str] = mapped_column(ForeignKey("game.id"))
    seat: Mapped[int]
    number: Mapped[int]
    """From 1 for each seat; shown to the player, because `id` would reveal how many orders others place."""
    text: Mapped[str] = mapped_column(Text)
    """Canonical, in the grammar of the game (docs/orders.md)."""
    scope: Mapped[str] = mapped_column("occasion", String(40))
    """The decisions it is for, in the game's words (`lot 3.2`); empty: it stands until withdrawn."""
    left_at: Mapped[datetime] = mapped_column(UtcTime)
    left_seq: Mapped[int]
    """The head of the log when it was placed."""
    status: Mapped[str] = mapped_column(String(10), default="standing")
    reason: Mapped[Fact | None] = mapped_column(FactColumn, default=None)
    """Why it ended, for its owner."""
    ended_at: Mapped[datetime | None] = mapped_column(UtcTime, default=None)
    ended_seq: Mapped[int | None] = mapped_column(default=None)
    """The head of the log when it ended."""
