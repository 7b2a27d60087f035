"""People: their browsers and absences, their links, which seats they held, how their games ended, and what they say."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import ForeignKey, Index, LargeBinary, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from server.store.engine import Base, NameText, UtcTime, ZoneName
from server.store.facts import Fact, FactColumn

LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
_DIGEST = "cadence = 'digest'"
_LOST = "unreachable IS NOT NULL OR suppressed IS NOT NULL"


class Person(Base):
    """A person with an email address; erasure clears the address and replaces the name but keeps the row."""

    __tablename__ = "person"
    __table_args__ = (
        # Few of many people get digests, and of few of these one may be due now.
        Index("ix_person_digest", "digest_at", sqlite_where=text(_DIGEST), postgresql_where=text(_DIGEST)),
        Index("ix_person_skeleton", "skeleton", unique=True),
        # Few people are moderators, whom alerts are emailed.
        Index(
            "ix_person_moderator",
            "id",
            sqlite_where=text("moderator = 1"),
            postgresql_where=text("moderator"),
        ),
        # Few people cannot be reached; the moderators' desk lists them all.
        Index("ix_person_lost", "id", sqlite_where=text(_LOST), postgresql_where=text(_LOST)),
    )
    id: Mapped[int] = mapped_column(init=False, primary_key=True)
    email: Mapped[str | None] = mapped_column(String(254), unique=True)
    name: Mapped[str] = mapped_column(NameText(40))
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    time_zone: Mapped[str | None] = mapped_column(ZoneName(None), default=None)
    moderator: Mapped[bool] = mapped_column(default=False)
    silent: Mapped[bool] = mapped_column(default=False)
    """Has muted all email except sign-in and other requested links."""
    accepted: Mapped[bool] = mapped_column(default=False)
    """Has accepted an invitation, sent some or signed in; until then only a few invitations a day reach them."""
    no_invitations: Mapped[bool] = mapped_column(default=False)
    """Wants no invitations, ever."""
    no_player_news: Mapped[bool] = mapped_column(default=False)
    """Wants no emails about the players of games that they organise or moderate."""
    unreachable: Mapped[Fact | None] = mapped_column(FactColumn, default=None)
    """Why email does not arrive: what a mail server replied, or `tried_again` if it only did not take it in time."""
    suppressed: Mapped[Fact | None] = mapped_column(FactColumn, default=None)
    """The bounce or complaint because of which only requested email goes to this address."""
    lost_at: Mapped[datetime | None] = mapped_column(UtcTime, default=None)
    """When the address was first marked as unreachable or suppressed by a bounce."""
    retry_at: Mapped[datetime | None] = mapped_column(UtcTime, default=None)
    """When an address that failed for a time counts as working again."""
    cadence: Mapped[str] = mapped_column(String(10), default="each")
    """Email for `each` turn with a reminder, for each turn `once`, or one `digest` a day."""
    quiet_from: Mapped[int | None] = mapped_column(default=None)
    """Minute of the day at which the quiet hours begin, in the person's time zone."""
    quiet_to: Mapped[int | None] = mapped_column(default=None)
    language: Mapped[str | None] = mapped_column(String(5), default=None)
    """The language of their emails and pages; None: the browser's, or in emails the organiser's."""
    digest_at: Mapped[datetime] = mapped_column(UtcTime, default=LONG_AGO)
    """A hint: no digest is due to this reader before this time. To be put back by whatever may make one due earlier."""

    handle: Mapped[str | None] = mapped_column(String(20), default=None)
    """The name under which others find them; None: they have no profile and stand in no list."""
    skeleton: Mapped[str | None] = mapped_column(String(20), default=None)
    """What all handles that look like theirs have in common (`server/community/profiles.py`)."""
    shown: Mapped[str] = mapped_column(String(10), default="nobody")
    """Who sees their profile: `nobody`, `met` (people with whom they have played) or `all`."""
    talk: Mapped[str] = mapped_column(String(10), default="turns")
    """Table talk comes by email with their `turns`, `once` it is said (at most one an hour and game), or `never`."""
    silenced_until: Mapped[datetime | None] = mapped_column(UtcTime, default=None)
    """A moderator has taken table talk from them until then."""
    silenced_why: Mapped[str | None] = mapped_column(String(200), default=None)
    """The reason, for them and for moderators."""


class BrowserSession(Base):
    """A browser in which a person is signed in; the cookie holds the token. Signing out deletes the row."""

    __tablename__ = "browser_session"
    id: Mapped[int] = mapped_column(init=False, primary_key=True)
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    """SHA-256 of the token, hex."""
    person_id: Mapped[int] = mapped_column(ForeignKey("person.id"), index=True)
    browser: Mapped[str] = mapped_column(String(60))
    """Browser and system (`Firefox, Linux`), for the person; empty if unknown."""
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    used_at: Mapped[datetime] = mapped_column(UtcTime)
    """The last use, at most an hour late."""


class AddressChange(Base):
    """A person's address that is about to change; the row goes when it has changed, was stopped or was not confirmed.

    It says nothing of the account that may exist at the new address: a person's own data contains this row.
    """

    __tablename__ = "address_change"
    person_id: Mapped[int] = mapped_column(ForeignKey("person.id"), primary_key=True)
    email: Mapped[str] = mapped_column(String(254))
    """The new address."""
    asked_at: Mapped[datetime] = mapped_column(UtcTime)
    confirmed_at: Mapped[datetime | None] = mapped_column(UtcTime, default=None)
    """When the reader of the new address, or the operator, confirmed it."""
    joins: Mapped[bool] = mapped_column(default=False)
    """The account at the new address is to become one with this one."""
    other_handle: Mapped[bool] = mapped_column(default=False)
    """Of two handles, that of the account at the new address stays."""
    by_operator: Mapped[bool] = mapped_column(default=False)


class Presence(Base):
    """When a person was last at the table of a game (`server/store/people.py`); stored a few seconds later."""

    __tablename__ = "presence"
    person_id: Mapped[int] = mapped_column(ForeignKey("person.id"), primary_key=True)
    game_id: Mapped[str] = mapped_column(ForeignKey("game.id"), primary_key=True)
    at: Mapped[datetime] = mapped_column(UtcTime, index=True)


class Absence(Base):
    """A time in which a person does not play: turns that open after it was entered do not count it."""

    __tablename__ = "absence"
    id: Mapped[int] = mapped_column(init=False, primary_key=True)
    person_id: Mapped[int] = mapped_column(ForeignKey("person.id"), index=True)
    from_at: Mapped[datetime] = mapped_column(UtcTime)
    to_at: Mapped[datetime] = mapped_column(UtcTime)
    created_at: Mapped[datetime] = mapped_column(UtcTime)


# ---- links ----


class Link(Base):
    """A capability link; the token is stored nowhere. `purpose` is a `LinkPurpose`."""

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
    used_by: Mapped[str | None] = mapped_column(String(64), default=None)
    """Of a sign-in link: SHA-256, hex, of the browser that used it, which may press its button again for a while."""
    seq: Mapped[int | None] = mapped_column(default=None)
    """Of a reply address: the head of the log when its turn opened."""


# ---- what people do with each other ----
# All of it is beside the log: it can be erased, or counted again from the log, without changing any game.

_HELD = "to_seq IS NULL"
_HIDDEN = "hidden_at IS NOT NULL"


class Tenure(Base):
    """Who held a seat from one entry to another; neither a person nor a bot: its player had left or was erased."""

    __tablename__ = "tenure"
    __table_args__ = (
        # Few of many are of games that still run, or held to their end.
        Index("ix_tenure_held", "game_id", "seat", sqlite_where=text(_HELD), postgresql_where=text(_HELD)),
    )
    game_id: Mapped[str] = mapped_column(ForeignKey("game.id"), primary_key=True)
    seat: Mapped[int] = mapped_column(primary_key=True)
    from_seq: Mapped[int] = mapped_column(primary_key=True)
    """The entry from which they held it; 0 for the start of the game."""
    person_id: Mapped[int | None] = mapped_column(ForeignKey("person.id"), index=True, default=None)
    bot: Mapped[str | None] = mapped_column(String(20), default=None)
    to_seq: Mapped[int | None] = mapped_column(default=None)
    """The entry with which the next one begins; None: they hold it now, or held it to the end."""


class Standing(Base):
    """Where a seat of a finished game ended. Counted after the end; `byzanz recount` counts it again."""

    __tablename__ = "standing"
    game_id: Mapped[str] = mapped_column(ForeignKey("game.id"), primary_key=True)
    seat: Mapped[int] = mapped_column(primary_key=True)
    place: Mapped[int]
    """From 1; equal places are shared."""
    score: Mapped[int]
    person_id: Mapped[int | None] = mapped_column(ForeignKey("person.id"), index=True, default=None)
    """Who held the seat at the end."""
    bot: Mapped[str | None] = mapped_column(String(20), default=None)


class Conduct(Base):
    """How a person answered in one finished game, in all seats and times they held there. Counted after the end."""

    __tablename__ = "conduct"
    __table_args__ = (Index("ix_conduct_person_id", "person_id", "ended_at"),)
    game_id: Mapped[str] = mapped_column(ForeignKey("game.id"), primary_key=True)
    person_id: Mapped[int] = mapped_column(ForeignKey("person.id"), primary_key=True)
    ended_at: Mapped[datetime] = mapped_column(UtcTime)
    """The end of the game."""
    abandoned: Mapped[bool]
    """They held no seat at the end: they had left, or their seat was given away."""
    substitute: Mapped[bool]
    """They took the seat over during the game and held it to the end."""
    answers: Mapped[str] = mapped_column(Text)
    """JSON: `[seq, seconds]` for each decision that counts, in order; `seconds` of counted time, -1 if missed."""


class Reliability(Base):
    """What is shown of how a person answers: of their last decisions that count. Counted after each game's end."""

    __tablename__ = "reliability"
    person_id: Mapped[int] = mapped_column(ForeignKey("person.id"), primary_key=True)
    decisions: Mapped[int]
    """Of the last 200 that count, within 24 months."""
    missed: Mapped[int]
    median: Mapped[int]
    """Seconds of counted time; 0 without an answer."""
    games: Mapped[int]
    """Of the last 20 that count."""
    abandoned: Mapped[int]
    """Of these, less those that they took over and finished."""


class FormerHandle(Base):
    """A handle that somebody gave up; nobody else gets it or one that looks like it for a year."""

    __tablename__ = "former_handle"
    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    """Of its skeleton (`server/community/profiles.py`), hex: an erased person's handle can be checked, not read."""
    until: Mapped[datetime] = mapped_column(UtcTime, index=True)
    handle: Mapped[str | None] = mapped_column(String(20), default=None)
    """As it was; None: they were erased."""
    person_id: Mapped[int | None] = mapped_column(ForeignKey("person.id"), index=True, default=None)
    """Who may take it back; None: they were erased."""


class Block(Base):
    """A person who does not want to meet another; the other is never told."""

    __tablename__ = "block"
    person_id: Mapped[int] = mapped_column(ForeignKey("person.id"), primary_key=True)
    other_id: Mapped[int] = mapped_column(ForeignKey("person.id"), primary_key=True, index=True)
    at: Mapped[datetime] = mapped_column(UtcTime)


class Rematch(Base):
    """The game that the same people play after another; the row goes when that game is cancelled."""

    __tablename__ = "rematch"
    after_id: Mapped[str] = mapped_column(ForeignKey("game.id"), primary_key=True)
    game_id: Mapped[str] = mapped_column(ForeignKey("game.id"), unique=True)


class Wish(Base):
    """A person wants to hear of open tables like this. Whatever is None may be anything."""

    __tablename__ = "wish"
    id: Mapped[int] = mapped_column(init=False, primary_key=True)
    person_id: Mapped[int] = mapped_column(ForeignKey("person.id"), index=True)
    slug: Mapped[str | None] = mapped_column(String(20))
    size: Mapped[int | None]
    pace: Mapped[int | None]
    """Seconds for a decision, at least."""
    created_at: Mapped[datetime] = mapped_column(UtcTime)


class Word(Base):
    """Something said at a table, beside the log."""

    __tablename__ = "word"
    __table_args__ = (
        UniqueConstraint("game_id", "number"),
        UniqueConstraint("game_id", "person_id", "request_id"),
        # Few words are hidden.
        Index("ix_word_hidden", "hidden_at", sqlite_where=text(_HIDDEN), postgresql_where=text(_HIDDEN)),
    )
    id: Mapped[int] = mapped_column(init=False, primary_key=True)
    game_id: Mapped[str] = mapped_column(ForeignKey("game.id"))
    number: Mapped[int]
    """From 1 at each table."""
    person_id: Mapped[int] = mapped_column(ForeignKey("person.id"), index=True)
    seat: Mapped[int]
    text: Mapped[str] = mapped_column(String(500))
    at: Mapped[datetime] = mapped_column(UtcTime)
    seq: Mapped[int]
    """The newest entry when it was said: it is shown after that entry."""
    request_id: Mapped[str] = mapped_column(String(64))
    hidden_at: Mapped[datetime | None] = mapped_column(UtcTime, default=None)
    """When a moderator hid it; a month later its text is deleted."""
    hidden_why: Mapped[str | None] = mapped_column(String(200), default=None)


class Mute(Base):
    """A person who does not want to read what another says, at any table."""

    __tablename__ = "mute"
    person_id: Mapped[int] = mapped_column(ForeignKey("person.id"), primary_key=True)
    other_id: Mapped[int] = mapped_column(ForeignKey("person.id"), primary_key=True, index=True)


class Notes(Base):
    """A person's notes to themselves at a game; nobody else sees them, moderators included."""

    __tablename__ = "notes"
    game_id: Mapped[str] = mapped_column(ForeignKey("game.id"), primary_key=True)
    person_id: Mapped[int] = mapped_column(ForeignKey("person.id"), primary_key=True, index=True)
    text: Mapped[str] = mapped_column(Text)
    changed_at: Mapped[datetime] = mapped_column(UtcTime)
