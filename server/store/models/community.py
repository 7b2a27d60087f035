"""Who held which seat, how finished games ended, and what people say to and of each other.

All of it is beside the log: it can be erased, or counted again from the log, without changing any game.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from server.store.engine import Base, UtcTime

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
    """Of its skeleton (`server/community/handles.py`), hex: an erased person's handle can be checked, not read."""
    until: Mapped[datetime] = mapped_column(UtcTime)
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
