"""People, the browsers in which they are signed in, and their absences."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import ForeignKey, Index, String, text
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
    """What all handles that look like theirs have in common (`server/community/handles.py`)."""
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
    """When a person was last at the table of a game (`server/store/presence.py`); stored a few seconds later."""

    __tablename__ = "presence"
    person_id: Mapped[int] = mapped_column(ForeignKey("person.id"), primary_key=True)
    game_id: Mapped[str] = mapped_column(ForeignKey("game.id"), primary_key=True)
    at: Mapped[datetime] = mapped_column(UtcTime)


class Absence(Base):
    """A time in which a person does not play: turns that open after it was entered do not count it."""

    __tablename__ = "absence"
    id: Mapped[int] = mapped_column(init=False, primary_key=True)
    person_id: Mapped[int] = mapped_column(ForeignKey("person.id"), index=True)
    from_at: Mapped[datetime] = mapped_column(UtcTime)
    to_at: Mapped[datetime] = mapped_column(UtcTime)
    created_at: Mapped[datetime] = mapped_column(UtcTime)
