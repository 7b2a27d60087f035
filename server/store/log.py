"""The append-only log of each game (docs/formats.md §2): the only module that writes `entry`, and queries."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from dataclasses import asdict
from datetime import UTC, datetime

from sqlalchemy import ColumnElement, Row, func, or_, select
from sqlalchemy.orm import Session

from byzanz import record
from server.store import models


def lock_game(session: Session, game_id: str, skip_locked: bool = False) -> models.Game | None:
    """Lock a game's row until the transaction ends and return it; do this before writing any of the game's rows.

    SQLite has no row locks and needs none: its writers queue from the first statement on.

    Args:
        skip_locked: return None instead of waiting if another transaction holds the lock; the next tick tries again.
    """
    query = select(models.Game).where(models.Game.id == game_id).with_for_update(skip_locked=skip_locked)
    return session.scalar(query.execution_options(populate_existing=True))


def append(
    session: Session,
    game: models.Game,
    *,
    seat: int | None,
    by: str,
    move: str,
    now: datetime,
    note: str | None = None,
    request_id: str | None = None,
) -> record.Entry:
    """Append the next entry to a locked game and advance its head.

    Args:
        seat: from 0; None for chance and for the whole table.
        by: the cause, one of docs/formats.md §2.
        move: the canonical text.
        note: why; public for good.
        request_id: the client's id for this request, unique for a game's seat.
    """
    last = _last(session, game)
    salt = secrets.token_hex(16)
    at = max(stamp(now), last.at if last else "")  # entries stay in order when the clock is set back
    entry = record.new_entry(
        last.hash if last else record.GENESIS,
        seq=game.head + 1,
        at=at,
        seat=seat,
        by=by,
        move=move,
        note=note,
        salt=salt,
    )
    session.add(models.Entry(game_id=game.id, request_id=request_id, **asdict(entry)))
    game.head = entry.seq
    session.flush()
    return entry


def stamp(moment: datetime) -> str:
    """Format a moment as the log does: UTC, milliseconds, `Z`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_stamp(stamp: str) -> datetime:
    """Parse a timestamp of the log."""
    return datetime.fromisoformat(stamp)


def entries(session: Session, game_id: str, *, after: int = 0, upto: int | None = None) -> list[record.Entry]:
    """Return the entries with `after` < seq ≤ `upto`, in order."""
    query = select(models.Entry).where(models.Entry.game_id == game_id, models.Entry.seq > after)
    if upto is not None:
        query = query.where(models.Entry.seq <= upto)
    return [_entry(row) for row in session.scalars(query.order_by(models.Entry.seq))]


def by_request(session: Session, game_id: str, seat: int, request_id: str) -> record.Entry | None:
    """Return the entry that this request of the seat created, or None if the request is new."""
    row = session.scalar(
        select(models.Entry).where(
            models.Entry.game_id == game_id, models.Entry.seat == seat, models.Entry.request_id == request_id
        )
    )
    return _entry(row) if row else None


def is_act(*verbs: str) -> ColumnElement[bool]:
    """Return the query condition that an entry is an act with one of these verbs (`!void`)."""
    move = models.Entry.move
    return or_(*(condition for verb in verbs for condition in (move == verb, move.like(f"{verb} %"))))


def acts(
    session: Session, game_ids: Collection[str], *verbs: str
) -> Sequence[Row[str, int, str, str, int | None, str]]:
    """Return the acts with these verbs in these games, by game and in the order of the log.

    Returns:
        Rows of `game_id seq at by seat move`, for whole entries would cost most of a page of a long game.
    """
    entry = models.Entry
    query = select(entry.game_id, entry.seq, entry.at, entry.by, entry.seat, entry.move)
    query = query.where(entry.game_id.in_(game_ids), is_act(*verbs))
    return session.execute(query.order_by(entry.game_id, entry.seq)).all()


def last_of(session: Session, game_id: str, moves: Collection[str]) -> str | None:
    """Return the one of these moves that was logged last, or None."""
    entry = models.Entry
    query = select(entry.move).where(entry.game_id == game_id, entry.move.in_(moves))
    return session.scalar(query.order_by(entry.seq.desc()).limit(1))


def voids(session: Session, game_id: str) -> list[tuple[int, int]]:
    """Return each void of a game: its own seq, and the seq of the first entry that it took back."""
    return [(act.seq, int(act.move.split(" ")[1])) for act in acts(session, [game_id], "!void")]


def is_voided(session: Session, game_id: str, seq: int) -> bool:
    """Whether a later `!void` has taken this entry back."""
    return any(first <= seq < at for at, first in voids(session, game_id))


def last_move(session: Session, game_id: str, seat: int, by: Collection[str]) -> int:
    """Return the seq of a seat's last move with one of these causes, or 0."""
    own = (models.Entry.game_id == game_id, models.Entry.seat == seat, models.Entry.by.in_(by))
    return session.scalar(select(func.max(models.Entry.seq)).where(*own, ~models.Entry.move.like("!%"))) or 0


def head_hash(session: Session, game: models.Game) -> str:
    """Return the hash of the newest entry."""
    last = _last(session, game)
    return last.hash if last else record.GENESIS


def _last(session: Session, game: models.Game) -> models.Entry | None:
    return session.get(models.Entry, (game.id, game.head)) if game.head else None


def _entry(row: models.Entry) -> record.Entry:
    return record.Entry(
        seq=row.seq,
        at=row.at,
        seat=row.seat,
        by=row.by,
        move=row.move,
        note=row.note,
        salt=row.salt,
        hash=row.hash,
    )
