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
    unreachable: Mapped[Fact | None] = mapped_column(FactColumn, default=None)
    """What the last mail server said that refused the address for good."""
    suppressed: Mapped[Fact | None] = mapped_column(FactColumn, default=None)
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
