"""Games and their seats."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String, Text, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from server.store.engine import Base, UtcTime
from server.store.facts import Fact, FactColumn
from server.store.models.people import Person


class Game(Base):
    """A game from its first wish to its end. `status`: asked, inviting, running, over, cancelled."""

    __tablename__ = "game"
    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    slug: Mapped[str] = mapped_column(String(20))
    rules: Mapped[int]
    name: Mapped[str] = mapped_column(String(60))
    organiser_id: Mapped[int | None] = mapped_column(ForeignKey("person.id"), index=True)
    status: Mapped[str] = mapped_column(String(10), index=True)
    allowance: Mapped[int]
    """Seconds for a decision."""
    seed: Mapped[str] = mapped_column(String(64))
    """Hex; shown to nobody until the game is over."""
    commitment: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[datetime] = mapped_column(UtcTime, index=True)
    options: Mapped[str] = mapped_column(Text, default="{}")
    time_zone: Mapped[str] = mapped_column(String(64), default="UTC")
    listed: Mapped[bool] = mapped_column(default=False)
    """Shown in the lobby: anybody may look on, and take a seat that is free."""
    bank: Mapped[int] = mapped_column(default=0)
    """Seconds beyond the allowances that each seat has for the whole game."""
    days_off: Mapped[str] = mapped_column(String(7), default="")
    """Weekdays that no clock of this table counts, as ISO numbers: `67` is the weekend."""
    started_at: Mapped[datetime | None] = mapped_column(UtcTime, default=None)
    ended_at: Mapped[datetime | None] = mapped_column(UtcTime, default=None)
    head: Mapped[int] = mapped_column(default=0)
    """The seq of the newest entry."""
    paused: Mapped[bool] = mapped_column(default=False)
    result: Mapped[str | None] = mapped_column(Text, default=None)
    """JSON as in the record's last line, once over."""
    quarantine: Mapped[Fact | None] = mapped_column(FactColumn, default=None)
    """Why this game is set aside until somebody mends it; the others go on."""
    seats: Mapped[list[Seat]] = relationship(init=False, order_by="Seat.seat", viewonly=True)


class Seat(Base):
    """A place at a table. `status`: free, invited, seated, declined. Before the start numbers may still move up."""

    __tablename__ = "seat"
    __table_args__ = (
        # Seats on autopilot are few among many, and the moderators' desk asks for all of them.
        Index(
            "ix_seat_autopilot",
            "game_id",
            sqlite_where=text("autopilot = 1"),
            postgresql_where=text("autopilot"),
        ),
    )
    game_id: Mapped[str] = mapped_column(ForeignKey("game.id"), primary_key=True)
    seat: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(40))
    status: Mapped[str] = mapped_column(String(10))
    person_id: Mapped[int | None] = mapped_column(ForeignKey("person.id"), index=True, default=None)
    bot: Mapped[str | None] = mapped_column(String(20), default=None)
    cut: Mapped[str] = mapped_column(Text, default="")
    uncut: Mapped[bool] = mapped_column(default=False)
    """Seated without being asked: the cut was the server's offer."""
    silent: Mapped[bool] = mapped_column(default=False)
    """This person wants no mail about this game; the clock starts when the turn opens."""
    bank: Mapped[int] = mapped_column(default=0)
    """Seconds that are left of this seat's bank."""
    missed: Mapped[int] = mapped_column(default=0)
    """Questions in a row that the clock has answered for this seat."""
    autopilot: Mapped[bool] = mapped_column(default=False)
    """The fallback is played at once, until the player reclaims the seat."""
    lost: Mapped[bool] = mapped_column(default=False)
    """Was put on autopilot because no mail reached its player: once a game."""
    invited_at: Mapped[datetime | None] = mapped_column(UtcTime, default=None)
    answered_at: Mapped[datetime | None] = mapped_column(UtcTime, default=None)
    person: Mapped[Person | None] = relationship(init=False, viewonly=True)
