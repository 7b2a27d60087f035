"""Games and their seats."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String, Text, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from byzanz import record
from server.config import zones
from server.store.engine import Base, NameText, UtcTime, ZoneName
from server.store.facts import Fact, FactColumn
from server.store.models.people import Person

_UNCOUNTED = "started_at IS NOT NULL AND ended_at IS NOT NULL AND counted_at IS NULL"
_OVER = "status = 'over'"
_ON_HOLD = "quarantine IS NOT NULL"
_INVITED = "status = 'invited'"
_OFFERED = "offered_at IS NOT NULL"


class Game(Base):
    """A game from its request to its end. `status`: asked, inviting, running, over, cancelled."""

    __tablename__ = "game"
    __table_args__ = (
        # Few games are a visitor's, and these end after a week.
        Index("ix_game_trial", "created_at", sqlite_where=text("trial = 1"), postgresql_where=text("trial")),
        # Few games are on hold.
        Index("ix_game_on_hold", "id", sqlite_where=text(_ON_HOLD), postgresql_where=text(_ON_HOLD)),
        # Few games have just ended; those that were called off never began.
        Index(
            "ix_game_uncounted",
            "ended_at",
            sqlite_where=text(_UNCOUNTED),
            postgresql_where=text(_UNCOUNTED),
        ),
        # Few tables keep going.
        Index(
            "ix_game_kept_going",
            "ended_at",
            sqlite_where=text("keep_going = 1"),
            postgresql_where=text("keep_going"),
        ),
        # Few tables wait for players.
        Index(
            "ix_game_open",
            "open_until",
            sqlite_where=text("open_until IS NOT NULL"),
            postgresql_where=text("open_until IS NOT NULL"),
        ),
        # How long games of one kind took.
        Index(
            "ix_game_took",
            "slug",
            "allowance",
            "ended_at",
            sqlite_where=text(_OVER),
            postgresql_where=text(_OVER),
        ),
        # The games whose emails are still kept.
        Index(
            "ix_game_undated",
            "ended_at",
            sqlite_where=text("ended_at IS NOT NULL AND mails_dated = 0"),
            postgresql_where=text("ended_at IS NOT NULL AND NOT mails_dated"),
        ),
    )
    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    slug: Mapped[str] = mapped_column(String(20))
    rules: Mapped[int]
    name: Mapped[str] = mapped_column(NameText(60))
    organiser_id: Mapped[int | None] = mapped_column(ForeignKey("person.id"), index=True)
    status: Mapped[str] = mapped_column(String(10), index=True)
    allowance: Mapped[int]
    """Seconds for a decision."""
    seed: Mapped[str] = mapped_column(String(64))
    """Hex; secret until the game is over."""
    commitment: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[datetime] = mapped_column(UtcTime, index=True)
    options: Mapped[str] = mapped_column(Text, default="{}")
    time_zone: Mapped[str] = mapped_column(ZoneName(zones.DEFAULT), default=zones.DEFAULT)
    listed: Mapped[bool] = mapped_column(default=False)
    """Shown in the lobby, where anyone may watch and take a free seat."""
    bank: Mapped[int] = mapped_column(default=0)
    """Seconds in each seat's time bank at the start."""
    days_off: Mapped[str] = mapped_column(String(7), default="")
    """Weekdays on which the game's clocks stop, as ISO numbers: `67` is the weekend."""
    trial: Mapped[bool] = mapped_column(default=False)
    """A visitor's game against bots: no clock runs, nobody is emailed, and it ends after a week unless it is kept."""
    origin: Mapped[str | None] = mapped_column(String(40), default=None)
    """The networks of the visitor who started it (`server/store/origins.py`), while it is a visitor's game."""
    started_at: Mapped[datetime | None] = mapped_column(UtcTime, default=None)
    ended_at: Mapped[datetime | None] = mapped_column(UtcTime, default=None)
    head: Mapped[int] = mapped_column(default=0)
    """The seq of the newest entry."""
    head_hash: Mapped[str] = mapped_column(String(64), default=record.GENESIS)
    """The hash of the newest entry."""
    paused: Mapped[bool] = mapped_column(default=False)
    result: Mapped[str | None] = mapped_column(Text, default=None)
    """JSON as in the last line of the record; None until the game is over."""
    quarantine: Mapped[Fact | None] = mapped_column(FactColumn, default=None)
    """Why this game is on hold until a moderator repairs it."""
    revision: Mapped[int] = mapped_column(default=0)
    """Raised by triggers of the database when something on the game's page changes that is not in its log."""
    record_format: Mapped[int] = mapped_column(default=1)
    """The format of its record: 2 if its hash chain starts from the header (docs/formats.md §4)."""
    cut_order: Mapped[str] = mapped_column(Text, default="[]")
    """JSON: all seats in the order in which their cuts were fixed, computed when the game begins."""
    cuts_made: Mapped[int] = mapped_column(default=0)
    """The number of cuts that players have made, withdrawn ones included."""
    message: Mapped[str] = mapped_column(String(200), default="")
    """The organiser's personal line to the people they invite."""
    mails_dated: Mapped[bool] = mapped_column(default=False)
    """The game ended a month ago, and its emails have the date on which they are deleted."""
    past_unknown: Mapped[bool] = mapped_column(default=False)
    """Somebody was replaced before tenures were kept: the game is not counted for anybody."""
    counted_at: Mapped[datetime | None] = mapped_column(UtcTime, default=None)
    """When its result was counted."""
    open_until: Mapped[datetime | None] = mapped_column(UtcTime, default=None)
    """When a listed table that still waits for players ends by itself; None: it does not wait."""
    listed_at: Mapped[datetime | None] = mapped_column(UtcTime, default=None)
    """When it first was a listed table that waits for players."""
    asks: Mapped[int] = mapped_column(default=0)
    """The percentage of decisions that a player who joins must have answered in time; 0: anybody may join."""
    keep_going: Mapped[bool] = mapped_column(default=False)
    """A day after the end, the next game of the same people is offered by itself."""
    talk: Mapped[bool] = mapped_column(default=True)
    """Those seated may talk beside the log."""
    said: Mapped[int] = mapped_column(default=0)
    """How many words were ever said at the table, deleted ones included: no number is given twice."""
    noted: Mapped[bool] = mapped_column(default=False)
    """Somebody has kept notes here; without words and notes, no page looks for them."""
    seats: Mapped[list[Seat]] = relationship(init=False, order_by="Seat.seat", viewonly=True)


class Seat(Base):
    """A seat of a game. `status`: free, invited, seated, declined. Its number may change until the game begins."""

    __tablename__ = "seat"
    __table_args__ = (
        # Few of many seats are on autopilot, and the moderators' desk lists them all.
        Index(
            "ix_seat_autopilot",
            "game_id",
            sqlite_where=text("autopilot = 1"),
            postgresql_where=text("autopilot"),
        ),
        # Few invitations are unanswered.
        Index("ix_seat_invited", "invited_at", sqlite_where=text(_INVITED), postgresql_where=text(_INVITED)),
        # Few seats of running games want another player.
        Index("ix_seat_offered", "offered_at", sqlite_where=text(_OFFERED), postgresql_where=text(_OFFERED)),
    )
    game_id: Mapped[str] = mapped_column(ForeignKey("game.id"), primary_key=True)
    seat: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(NameText(40))
    status: Mapped[str] = mapped_column(String(10))
    person_id: Mapped[int | None] = mapped_column(ForeignKey("person.id"), index=True, default=None)
    bot: Mapped[str | None] = mapped_column(String(20), default=None)
    cut: Mapped[str] = mapped_column(Text, default="")
    uncut: Mapped[bool] = mapped_column(default=False)
    """Seated without being asked: the cut is the one that the server proposed."""
    cut_number: Mapped[int] = mapped_column(default=0)
    """When the player made the cut: a number of its game's `cuts_made`; 0 if it is not known."""
    silent: Mapped[bool] = mapped_column(default=False)
    """The player has muted this game; clocks start as soon as turns open."""
    bank: Mapped[int] = mapped_column(default=0)
    """Seconds left in the time bank."""
    missed: Mapped[int] = mapped_column(default=0)
    """Deadlines missed in a row."""
    autopilot: Mapped[bool] = mapped_column(default=False)
    """The server plays the fallback at once, until the player reclaims the seat."""
    bounces: Mapped[int] = mapped_column(default=0)
    """How often email that came back has stopped this player's clocks; one more once the table knows that it ends."""
    left: Mapped[bool] = mapped_column(default=False)
    """The player has left the game and has not returned."""
    held_since: Mapped[int] = mapped_column(default=0)
    """The seq of the entry with which the player took the seat over; 0 if they have held it from the start."""
    invited_at: Mapped[datetime | None] = mapped_column(UtcTime, default=None)
    answered_at: Mapped[datetime | None] = mapped_column(UtcTime, default=None)
    offered_at: Mapped[datetime | None] = mapped_column(UtcTime, default=None)
    """When the seat of a running game was offered to other players; None: it is not."""
    person: Mapped[Person | None] = relationship(init=False, viewonly=True)
