"""The log of a game, snapshots computed from it, and the moderators behind its entries."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Index, String, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from server.store.engine import Base, Hex, Stamp, UtcTime

EXCUSED = -1
"""The `seconds` of an answer that says nothing about its player: email had failed, or they were away all the time."""
_REQUESTED = "request_id IS NOT NULL"


class Entry(Base):
    """One entry of a game's log (docs/formats.md §2). Triggers refuse changes; only `table.py` writes it."""

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

    None: an entry from before this was kept. It stands beside the log, for what is counted after the game.
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
    """One of `powers.POWERS`; `act` for entries from before this was kept."""
    game_id: Mapped[str | None] = mapped_column(ForeignKey("game.id"), index=True, default=None)
    """The table that it concerns, if it is one."""
    seq: Mapped[int | None] = mapped_column(default=None)
    """Its entry in the log, if it has one."""
    about_id: Mapped[int | None] = mapped_column(ForeignKey("person.id"), index=True, default=None)
    """The person whom it concerns, if it is one."""
    reason: Mapped[str | None] = mapped_column(Text, default=None)
    """None: from before this was kept, or about a person who was erased since."""
