"""All tables on one page. `entry` is the game; everything else is evidence, people, or may be computed again."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index, LargeBinary, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from server.db import Base, UtcTime

_DIGEST = "cadence = 'digest'"
_LOST = "unreachable IS NOT NULL OR suppressed IS NOT NULL"


class Person(Base):
    """Somebody with a mail address. Erasure empties name and address and keeps the row."""

    __tablename__ = "person"
    __table_args__ = (
        # Those who want a digest are few among many: an index of those alone keeps a tick short.
        Index("ix_person_digest", "id", sqlite_where=text(_DIGEST), postgresql_where=text(_DIGEST)),
        # So are those whom no mail reaches, for whom the moderators' desk looks.
        Index("ix_person_lost", "id", sqlite_where=text(_LOST), postgresql_where=text(_LOST)),
    )
    id: Mapped[int] = mapped_column(init=False, primary_key=True)
    email: Mapped[str | None] = mapped_column(String(254), unique=True)
    name: Mapped[str] = mapped_column(String(40))
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    time_zone: Mapped[str | None] = mapped_column(String(64), default=None)
    moderator: Mapped[bool] = mapped_column(default=False)
    silent: Mapped[bool] = mapped_column(default=False)
    """Wants no mail at all but sign-in and links asked for."""
    unreachable: Mapped[str | None] = mapped_column(Text, default=None)
    """What the last mail server said that refused the address for good."""
    suppressed: Mapped[str | None] = mapped_column(Text, default=None)
    """Why nothing but mail asked for goes to this address: it bounced, or its owner complained."""
    cadence: Mapped[str] = mapped_column(String(10), default="each")
    """`each` turn is mailed and reminded of, `once` leaves the reminder out, `digest` is one mail a day."""
    quiet_from: Mapped[int | None] = mapped_column(default=None)
    """Minute of the day at which this person's quiet hours begin, in the own time zone."""
    quiet_to: Mapped[int | None] = mapped_column(default=None)
    language: Mapped[str | None] = mapped_column(String(5), default=None)
    """In which mails are written and pages that this person opens; None: as the browser, or the organiser, says."""


class Absence(Base):
    """A time in which a person does not play: turns that open after it was entered do not count it."""

    __tablename__ = "absence"
    id: Mapped[int] = mapped_column(init=False, primary_key=True)
    person_id: Mapped[int] = mapped_column(ForeignKey("person.id"), index=True)
    from_at: Mapped[datetime] = mapped_column(UtcTime)
    to_at: Mapped[datetime] = mapped_column(UtcTime)
    created_at: Mapped[datetime] = mapped_column(UtcTime)


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
    quarantine: Mapped[str | None] = mapped_column(Text, default=None)
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


class Link(Base):
    """A capability link. `purpose`: seat, stop, invite, organise, signin, reply, feed. The token is stored nowhere."""

    __tablename__ = "link"
    id: Mapped[int] = mapped_column(init=False, primary_key=True)
    purpose: Mapped[str] = mapped_column(String(10))
    person_id: Mapped[int] = mapped_column(ForeignKey("person.id"), index=True)
    nonce: Mapped[bytes] = mapped_column(LargeBinary(16))
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    """SHA-256 of the token, hex."""
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    game_id: Mapped[str | None] = mapped_column(ForeignKey("game.id"), index=True, default=None)
    expires_at: Mapped[datetime | None] = mapped_column(UtcTime, default=None)
    revoked_at: Mapped[datetime | None] = mapped_column(UtcTime, default=None)
    used_at: Mapped[datetime | None] = mapped_column(UtcTime, default=None)
    seq: Mapped[int | None] = mapped_column(default=None)
    """Of a reply address: the head at which the turn opened that it answers."""


class Entry(Base):
    """One line of a game's log (formats.md §2). Triggers refuse every change and removal; only `log.py` writes it."""

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
    """A state computed from the entries up to `seq`; may be thrown away at any time."""

    __tablename__ = "snapshot"
    game_id: Mapped[str] = mapped_column(ForeignKey("game.id"), primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True)
    format: Mapped[str] = mapped_column(String(40))
    """`slug/rules version/state format`; another one makes the snapshot unreadable."""
    state: Mapped[str] = mapped_column(Text)


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
    refused: Mapped[str | None] = mapped_column(Text, default=None)
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
    occasion: Mapped[str] = mapped_column(String(40))
    """What it was left for, in the game's words (`lot 3.2`); empty: until withdrawn."""
    left_at: Mapped[datetime] = mapped_column(UtcTime)
    left_seq: Mapped[int]
    """The head of the log when it was left."""
    status: Mapped[str] = mapped_column(String(10), default="standing")
    reason: Mapped[str | None] = mapped_column(Text, default=None)
    """Why it ended, for its owner."""
    ended_at: Mapped[datetime | None] = mapped_column(UtcTime, default=None)
    ended_seq: Mapped[int | None] = mapped_column(default=None)
    """The head of the log when it ended."""


class Received(Base):
    """A mail that came in, remembered so that none counts twice. `kind`: reply, auto, bounce, complaint, refused."""

    __tablename__ = "received"
    id: Mapped[int] = mapped_column(init=False, primary_key=True)
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    """SHA-256 of what makes it the same mail: its Message-ID and to whom it came."""
    at: Mapped[datetime] = mapped_column(UtcTime)
    kind: Mapped[str] = mapped_column(String(10))
    outcome: Mapped[str] = mapped_column(Text)
    """What was done about it, for moderators."""
    person_id: Mapped[int | None] = mapped_column(ForeignKey("person.id"), index=True, default=None)
    game_id: Mapped[str | None] = mapped_column(ForeignKey("game.id"), index=True, default=None)
    seat: Mapped[int | None] = mapped_column(default=None)


class Mail(Base):
    """The outbox. `status`: waiting, sent, dropped (no longer news), failed (refused for good)."""

    __tablename__ = "outbox"
    __table_args__ = (Index("ix_outbox_waiting", "status", "not_before"),)
    id: Mapped[int] = mapped_column(init=False, primary_key=True)
    key: Mapped[str] = mapped_column(String(120), unique=True)
    """What this mail is about; the same news is never queued twice. The Message-ID is made from it."""
    kind: Mapped[str] = mapped_column(String(20))
    person_id: Mapped[int] = mapped_column(ForeignKey("person.id"), index=True)
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    not_before: Mapped[datetime] = mapped_column(UtcTime)
    game_id: Mapped[str | None] = mapped_column(ForeignKey("game.id"), index=True, default=None)
    seat: Mapped[int | None] = mapped_column(default=None)
    seq: Mapped[int | None] = mapped_column(default=None)
    """The entry it is about; of a turn, the head at which it opened."""
    details: Mapped[str] = mapped_column(Text, default="{}")
    """JSON, what the template needs and cannot look up."""
    status: Mapped[str] = mapped_column(String(10), default="waiting")
    attempts: Mapped[int] = mapped_column(default=0)
    leased_until: Mapped[datetime | None] = mapped_column(UtcTime, default=None)
    finished_at: Mapped[datetime | None] = mapped_column(UtcTime, default=None)
    error: Mapped[str | None] = mapped_column(Text, default=None)


class Beat(Base):
    """The last sign of life of a part of the server: web, scheduler."""

    __tablename__ = "beat"
    part: Mapped[str] = mapped_column(String(10), primary_key=True)
    at: Mapped[datetime] = mapped_column(UtcTime)


class Outage(Base):
    """A time in which a part of the server did not beat; no clock counts it."""

    __tablename__ = "outage"
    __table_args__ = (UniqueConstraint("part", "from_at"),)
    id: Mapped[int] = mapped_column(init=False, primary_key=True)
    part: Mapped[str] = mapped_column(String(10))
    from_at: Mapped[datetime] = mapped_column(UtcTime)
    to_at: Mapped[datetime] = mapped_column(UtcTime, index=True)


class Alarm(Base):
    """Something that moderators must see: a game set aside, a refused address, a clock that jumped."""

    __tablename__ = "alarm"
    id: Mapped[int] = mapped_column(init=False, primary_key=True)
    key: Mapped[str] = mapped_column(String(120), unique=True)
    text: Mapped[str] = mapped_column(Text)
    at: Mapped[datetime] = mapped_column(UtcTime)
    game_id: Mapped[str | None] = mapped_column(ForeignKey("game.id"), default=None)
    cleared_at: Mapped[datetime | None] = mapped_column(UtcTime, default=None)


class Deed(Base):
    """Which moderator stands behind an entry; the log itself names nobody."""

    __tablename__ = "deed"
    id: Mapped[int] = mapped_column(init=False, primary_key=True)
    game_id: Mapped[str] = mapped_column(ForeignKey("game.id"), index=True)
    seq: Mapped[int]
    person_id: Mapped[int] = mapped_column(ForeignKey("person.id"), index=True)
    at: Mapped[datetime] = mapped_column(UtcTime)
