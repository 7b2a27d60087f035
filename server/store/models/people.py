"""People and their absences."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String, text
from sqlalchemy.orm import Mapped, mapped_column

from server.store.engine import Base, UtcTime
from server.store.facts import Fact, FactColumn

_DIGEST = "cadence = 'digest'"
_LOST = "unreachable IS NOT NULL OR suppressed IS NOT NULL"


class Person(Base):
    """A person with an email address; erasure clears the name and the address but keeps the row."""

    __tablename__ = "person"
    __table_args__ = (
        # Few of many people get digests: an index of these alone keeps a tick short.
        Index("ix_person_digest", "id", sqlite_where=text(_DIGEST), postgresql_where=text(_DIGEST)),
        # Few people cannot be reached; the moderators' desk lists them all.
        Index("ix_person_lost", "id", sqlite_where=text(_LOST), postgresql_where=text(_LOST)),
    )
    id: Mapped[int] = mapped_column(init=False, primary_key=True)
    email: Mapped[str | None] = mapped_column(String(254), unique=True)
    name: Mapped[str] = mapped_column(String(40))
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    time_zone: Mapped[str | None] = mapped_column(String(64), default=None)
    moderator: Mapped[bool] = mapped_column(default=False)
    silent: Mapped[bool] = mapped_column(default=False)
    """Has muted all email except sign-in and other requested links."""
    unreachable: Mapped[Fact | None] = mapped_column(FactColumn, default=None)
    """The reply with which a mail server rejected the address for good."""
    suppressed: Mapped[Fact | None] = mapped_column(FactColumn, default=None)
    """The bounce or complaint because of which only requested email goes to this address."""
    cadence: Mapped[str] = mapped_column(String(10), default="each")
    """Email for `each` turn with a reminder, for each turn `once`, or one `digest` a day."""
    quiet_from: Mapped[int | None] = mapped_column(default=None)
    """Minute of the day at which the quiet hours begin, in the person's time zone."""
    quiet_to: Mapped[int | None] = mapped_column(default=None)
    language: Mapped[str | None] = mapped_column(String(5), default=None)
    """The language of their emails and pages; None: the browser's, or in emails the organiser's."""


class Absence(Base):
    """A time in which a person does not play: turns that open after it was entered do not count it."""

    __tablename__ = "absence"
    id: Mapped[int] = mapped_column(init=False, primary_key=True)
    person_id: Mapped[int] = mapped_column(ForeignKey("person.id"), index=True)
    from_at: Mapped[datetime] = mapped_column(UtcTime)
    to_at: Mapped[datetime] = mapped_column(UtcTime)
    created_at: Mapped[datetime] = mapped_column(UtcTime)
