"""Games with their seats, their logs, open turns and standing orders."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum

from sqlalchemy import CheckConstraint, ForeignKey, Index, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from byzanz import record
from server import i18n
from server.store.engine import Base, Hex, NameText, Stamp, UtcTime, ZoneName
from server.store.facts import Fact, FactColumn
from server.store.models.people import Person

_UNCOUNTED = "started_at IS NOT NULL AND ended_at IS NOT NULL AND counted_at IS NULL"
_ON_HOLD = "quarantine IS NOT NULL"
_OFFERED = "offered_at IS NOT NULL"


class GameStatus(StrEnum):
    """The status of a game; the column has its text."""

    ASKED = "asked"
    INVITING = "inviting"
    RUNNING = "running"
    OVER = "over"
    CANCELLED = "cancelled"


_OVER = f"status = '{GameStatus.OVER}'"
GOING_ON = f"status NOT IN ('{GameStatus.OVER}', '{GameStatus.CANCELLED}') AND quarantine IS NULL"
"""The games that wait for players or run, and are not on hold; written so that a query finds the index of these."""


class Game(Base):
    """A game from its request to its end. `status` is a `GameStatus`."""

    __tablename__ = "game"
    __table_args__ = (
        # Few games are a visitor's, and these end after a week.
        Index("ix_game_trial", "created_at", sqlite_where=text("trial = 1"), postgresql_where=text("trial")),
        # Few games are on hold.
        Index("ix_game_on_hold", "id", sqlite_where=text(_ON_HOLD), postgresql_where=text(_ON_HOLD)),
        # Which rules are in use, without a look at each game.
        Index(
            "ix_game_rules",
            *("slug", "rules", "id"),
            sqlite_where=text(GOING_ON),
            postgresql_where=text(GOING_ON),
        ),
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
        # The newest of one kind, at whatever pace.
        Index("ix_game_newest", "slug", "ended_at", sqlite_where=text(_OVER), postgresql_where=text(_OVER)),
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
    time_zone: Mapped[str] = mapped_column(ZoneName(i18n.DEFAULT_ZONE), default=i18n.DEFAULT_ZONE)
    listed: Mapped[bool] = mapped_column(default=False)
    """Shown in the lobby, where anyone may watch and take a free seat."""
    bank: Mapped[int] = mapped_column(default=0)
    """Seconds in each seat's time bank at the start."""
    days_off: Mapped[str] = mapped_column(String(7), default="")
    """Weekdays on which the game's clocks stop, as ISO numbers: `67` is the weekend."""
    trial: Mapped[bool] = mapped_column(default=False)
    """A visitor's game against bots: no clock runs, nobody is emailed, and it ends after a week unless it is kept."""
    origin: Mapped[str | None] = mapped_column(String(40), default=None)
    """The networks of the visitor who started it (`server/store/networks.py`), while it is a visitor's game."""
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


@dataclass(frozen=True, slots=True)
class GameSettings:
    """What is chosen for a game, and is chosen again when the same people play another.

    Each field is a column of `Game` with the same name: a new setting is a column and a field here.
    """

    slug: str
    """Which game."""
    allowance: int
    """Seconds for a decision."""
    bank: int = 0
    """Seconds in each seat's time bank at the start."""
    days_off: str = ""
    """Weekdays on which the game's clocks stop."""
    options: str = "{}"
    """Of the rules, as a game keeps them."""
    time_zone: str = i18n.DEFAULT_ZONE
    """Of the table, for people who have set none."""
    listed: bool = False
    """Shown in the lobby, where anyone may take a free seat."""
    asks: int = 0
    """The percentage of decisions that a player who joins must have answered in time; 0: any."""
    keep_going: bool = False
    """A day after its end, the next game of the same people is offered by itself."""
    talk: bool = True
    """Those seated may talk beside the log."""

    @classmethod
    def of(cls, game: Game) -> GameSettings:
        """Return the settings of a game."""
        return cls(**{field.name: getattr(game, field.name) for field in fields(cls)})


class SeatStatus(StrEnum):
    """The status of a seat before the game begins; the column has its text."""

    FREE = "free"
    INVITED = "invited"
    SEATED = "seated"
    DECLINED = "declined"


_INVITED = f"status = '{SeatStatus.INVITED}'"


class Seat(Base):
    """A seat of a game. `status` is a `SeatStatus`. Its number may change until the game begins."""

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
    stored_name: Mapped[str] = mapped_column("name", NameText(40), key="stored_name")
    """What the player is called at this table; `play.names` says who may read it, and what others read instead."""
    status: Mapped[str] = mapped_column(String(10))
    person_id: Mapped[int | None] = mapped_column(ForeignKey("person.id"), index=True, default=None)
    bot: Mapped[str | None] = mapped_column(String(20), default=None)
    cut: Mapped[str] = mapped_column(Text, default="")
    uncut: Mapped[bool] = mapped_column(default=False)
    """Seated without being asked: the cut is the one that the server proposed."""
    cut_number: Mapped[int] = mapped_column(default=0)
    """When the player made the cut: a number of its game's `cuts_made`; 0 until they have."""
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


# ---- logs ----

EXCUSED = -1
"""The `seconds` of an answer that says nothing about its player: email had failed, or they were away all the time."""
_REQUESTED = "request_id IS NOT NULL"


class Entry(Base):
    """One entry of a game's log (docs/formats.md §2). Triggers refuse changes; only `play.game` writes it."""

    __tablename__ = "entry"
    __table_args__ = (
        # Entries that nobody requested are left out.
        Index(
            "uq_entry_game_id_seat_request_id",
            *("game_id", "seat", "request_id"),
            unique=True,
            sqlite_where=text(_REQUESTED),
            postgresql_where=text(_REQUESTED),
        ),
        # Hex digits are refused: both databases would store them as if they were the bytes.
        CheckConstraint("length(salt) = 16 AND length(hash) = 32", name="lengths"),
        # On SQLite, a table with row ids would keep its primary key a second time.
        {"sqlite_with_rowid": False},
    )
    game_id: Mapped[str] = mapped_column(ForeignKey("game.id"), primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[str] = mapped_column(Stamp)
    seat: Mapped[int | None]
    by: Mapped[str] = mapped_column(String(10))
    move: Mapped[str] = mapped_column(Text)
    note: Mapped[str | None] = mapped_column(Text)
    salt: Mapped[str] = mapped_column(Hex(16))
    hash: Mapped[str] = mapped_column(Hex(32))
    request_id: Mapped[str | None] = mapped_column(String(64), default=None)
    seconds: Mapped[int | None] = mapped_column(default=None)
    """How long the clock of the turn that this answered had run, or EXCUSED; 0 for all other entries.

    It stands beside the log, for what is counted after the game. None, which stands only in logs from before the first
    release, counts as EXCUSED.
    """


class Snapshot(Base):
    """A state computed from the entries up to `seq`; it can be deleted at any time."""

    __tablename__ = "snapshot"
    game_id: Mapped[str] = mapped_column(ForeignKey("game.id"), primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True)
    format: Mapped[str] = mapped_column(String(40))
    """`slug/rules version/state format`; a snapshot in any other format is ignored."""
    state: Mapped[str] = mapped_column(Text)


class ModeratorAction(Base):
    """A use of a power by a moderator or the operator; the log itself names nobody. The table is `deed`."""

    __tablename__ = "deed"
    id: Mapped[int] = mapped_column(init=False, primary_key=True)
    person_id: Mapped[int | None] = mapped_column(ForeignKey("person.id"), index=True)
    """The moderator; None: the operator, at the shell."""
    at: Mapped[datetime] = mapped_column(UtcTime)
    power: Mapped[str] = mapped_column(String(10))
    """One of `powers.POWERS` or `powers.OPERATORS`."""
    game_id: Mapped[str | None] = mapped_column(ForeignKey("game.id"), index=True, default=None)
    """The table that it concerns, if it is one."""
    seq: Mapped[int | None] = mapped_column(default=None)
    """Its entry in the log, if it has one."""
    about_id: Mapped[int | None] = mapped_column(ForeignKey("person.id"), index=True, default=None)
    """The person whom it concerns, if it is one."""
    reason: Mapped[str | None] = mapped_column(Text, default=None)
    """None: it is about a person who was erased since."""


# ---- turns and standing orders ----

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
