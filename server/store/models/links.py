"""Capability links."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, LargeBinary, String
from sqlalchemy.orm import Mapped, mapped_column

from server.store.engine import Base, UtcTime


class Link(Base):
    """A capability link; the token is stored nowhere.

    `purpose`: seat, stop, invite, organise, signin, reply, talk, feed, noinvite, noplayers, keep, wish, move,
    object.
    """

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
