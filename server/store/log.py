"""The append-only log of each game (docs/formats.md §2), which `play.game` writes, and its heads in emails."""

from __future__ import annotations

import hmac
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, func, or_, select
from sqlalchemy.orm import Session

from byzanz import record
from byzanz.record import Cause
from server.config import settings
from server.store import models, operations, statements
from server.store.engine import connection_of, reading, transaction
from server.store.facts import Fact
from server.store.models import Alert, Game, GameStatus
from server.store.statements import GameRow

NO_END = (1 << 31) - 1
"""The greatest number that a column of seqs holds."""


def lock(session: Session, game_id: str, skip_locked: bool = False) -> bool:
    """Lock a game's row until the transaction ends; do this before reading or writing anything of the game.

    SQLite has no row locks and needs none: its writers queue from the first statement on.

    Args:
        skip_locked: return False instead of waiting if another transaction holds the lock; the next tick tries again.

    Returns:
        Whether there is such a game, locked now.
    """
    session.flush()
    if game_id in session.info.get(_LOCKED, ()):
        return True
    statement = statements.LOCK_IF_FREE if skip_locked else statements.LOCK
    return statement.first(connection_of(session), {"game": game_id}) is not None


_LOCKED = "locked_games"


def lock_free(session: Session, game_ids: Collection[str]) -> Collection[str]:
    """Lock those of these games that no other transaction holds, and return their ids; on SQLite, return all."""
    connection = connection_of(session)
    if connection.dialect.name == "sqlite":
        return game_ids
    rows = statements.LOCK_FREE.all(connection, {"games": [*game_ids]})
    locked = {game_id for (game_id,) in rows}
    session.info[_LOCKED] = locked
    return locked


def entries(session: Session, game_id: str, *, after: int = 0, upto: int | None = None) -> list[record.Entry]:
    """Return the entries with `after` < seq ≤ `upto`, in order."""
    values = {"game": game_id, "after": after, "upto": NO_END if upto is None else upto}
    return [record.Entry(*row) for row in statements.ENTRIES.all(connection_of(session), values)]


def seconds(session: Session, game_id: str) -> dict[int, int]:
    """Return what is kept beside each entry of a game, by seq (`models.Entry.seconds`)."""
    kept = func.coalesce(models.Entry.seconds, models.EXCUSED)
    query = select(models.Entry.seq, kept).where(models.Entry.game_id == game_id)
    return {seq: value for seq, value in session.execute(query)}  # noqa: C416 - a row is no pair to mypy


def times(session: Session, places: Collection[tuple[str, int]]) -> dict[tuple[str, int], datetime]:
    """Return the times of entries, by game and seq."""
    entry = models.Entry
    games, seqs = {game_id for game_id, _ in places}, {seq for _, seq in places}
    query = select(entry.game_id, entry.seq, entry.at).where(entry.game_id.in_(games), entry.seq.in_(seqs))
    return {(game_id, seq): datetime.fromisoformat(at) for game_id, seq, at in session.execute(query)}


def since_own_move(
    session: Session, game_id: str, head: int, seat: int, most: int, least: int = 0
) -> tuple[list[record.Entry], int]:
    """Return a seat's own last move and the entries since, and that move's seq or 0.

    Args:
        most: entries at most, the newest.
        least: so many entries at least, if the log has them: those before that move, too.
    """
    values = {"game": game_id, "seat": seat, "after": max(0, head - most), "newest": head - least}
    rows = statements.SINCE_OWN.all(connection_of(session), values)
    return [record.Entry(*row[:-1]) for row in rows], rows[0][-1] or 0 if rows else 0


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


def voids(session: Session, game_id: str) -> list[tuple[int, int]]:
    """Return each void of a game: its own seq, and the seq of the first entry that it took back."""
    return voids_in(acts(session, [game_id], "!void"))


def voids_in(entries: Iterable[Any]) -> list[tuple[int, int]]:
    """Return the voids among some entries, as `voids` does."""
    acts = ((entry.seq, entry.move.split(" ")) for entry in entries)
    return [(seq, int(words[1])) for seq, words in acts if words[0] == "!void"]


def is_voided(session: Session, game_id: str, seq: int) -> bool:
    """Whether a later `!void` has taken this entry back."""
    return any(first <= seq < at for at, first in voids(session, game_id))


def last_move(session: Session, game_id: str, seat: int, by: Collection[Cause]) -> int:
    """Return the seq of a seat's last move with one of these causes, or 0."""
    own = (models.Entry.game_id == game_id, models.Entry.seat == seat, models.Entry.by.in_(by))
    moves = select(models.Entry.seq).where(*own, ~models.Entry.move.like("!%"))
    return session.scalar(moves.order_by(models.Entry.seq.desc()).limit(1)) or 0


def last_moves(session: Session, person_id: int) -> dict[str, int]:
    """Return the seq of a person's own last move in each running game in which they have made one."""
    entry, seat, game = models.Entry, models.Seat, models.Game
    query = (
        select(entry.game_id, func.max(entry.seq))
        .join(seat, (seat.game_id == entry.game_id) & (seat.seat == entry.seat))
        .join(game, game.id == entry.game_id)
        .where(seat.person_id == person_id, game.status == GameStatus.RUNNING)
        .where(entry.by == Cause.PLAYER, ~entry.move.like("!%"))
        .group_by(entry.game_id)
    )
    return {game_id: seq for game_id, seq in session.execute(query)}  # noqa: C416 - a row is no pair to mypy


def count_decisions(session: Session, game_id: str, seat: int, after: int, before: int) -> int:
    """Count a seat's moves with `after` < seq < `before`, except those that the rules made."""
    entry = models.Entry
    between = (entry.game_id == game_id, entry.seq > after, entry.seq < before)
    made = (entry.seat == seat, entry.by != Cause.RULES, ~entry.move.like("!%"))
    return session.scalar(select(func.count()).select_from(entry).where(*between, *made)) or 0


def count_moves(session: Session, game_ids: Collection[str]) -> int:
    """Return how many moves of seats these games have that were not forced."""
    entry = models.Entry
    theirs = (entry.game_id.in_(game_ids), entry.by != Cause.RULES, entry.seat.is_not(None))
    query = select(func.count()).select_from(entry).where(*theirs, ~entry.move.like("!%"))
    return session.scalar(query) or 0


def held_moves(
    session: Session, person_id: int, game_ids: Collection[str], by: Collection[Cause]
) -> Sequence[Row[str, int, str, str]]:
    """Return the moves with these causes in the seats that a person holds, from when they took them.

    Returns:
        Rows of `game_id seq at by`.
    """
    entry, seat = models.Entry, models.Seat
    query = select(entry.game_id, entry.seq, entry.at, entry.by).join(
        seat, (seat.game_id == entry.game_id) & (seat.seat == entry.seat)
    )
    own = (seat.person_id == person_id, seat.game_id.in_(game_ids), entry.seq > seat.held_since)
    moves = query.where(*own, entry.by.in_(by), ~entry.move.like("!%"))
    return session.execute(moves.order_by(entry.game_id, entry.seq)).all()


# ---- heads that emails carry ----
# A mark is `GAME.SEQ.HASH.MAC`: an entry's number, the start of its hash, and a code that only this server can make.

LENGTH = 16
"""How many digits of a hash a mark has."""
_MARK = re.compile(r"\b([a-z0-9-]{1,16})\.([0-9]{1,9})\.([0-9a-f]{16})\.([0-9a-f]{16})\b")
_ALERT = "log-behind"


@dataclass(frozen=True, slots=True)
class Head:
    """Where a log stood when an email was queued.

    Args:
        hash: its first digits.
    """

    game_id: str
    seq: int
    hash: str

    def __str__(self) -> str:
        return f"{self.game_id}.{self.seq}.{self.hash}"


def marked(head: str) -> str:
    """Return a head with the code that shows that it is ours."""
    key = settings().key("heads")
    return f"{head}.{hmac.digest(key, head.encode(), 'sha256').hex()[:LENGTH]}"


def mark_at(session: Session, game: GameRow, seq: int) -> str:
    """Return the mark of an entry, or "" if there is none; the newest one's hash stands in the game's row."""
    if seq == game.head:
        return marked(str(Head(game.id, seq, game.head_hash[:LENGTH])))
    found = entries(session, game.id, after=seq - 1, upto=seq)
    return marked(str(Head(game.id, seq, found[0].hash[:LENGTH]))) if found else ""


def marks_in(text: str) -> Iterator[Head]:
    """Yield the heads of all genuine marks in a text: a link, a Message-ID, a whole email, a mail server's log."""
    for found in dict.fromkeys(_MARK.findall(text)):
        head = Head(found[0], int(found[1]), found[2])
        if hmac.compare_digest(marked(str(head)), ".".join(found)):
            yield head


def is_missing(session: Session, head: Head) -> bool:
    """Whether the log of a game lacks this entry, or has another one in its place."""
    found = entries(session, head.game_id, after=head.seq - 1, upto=head.seq)
    return not found or not found[0].hash.startswith(head.hash)


def report_missing(text: str, now: datetime) -> list[Head]:
    """Report each head in a text that the log of its game lacks, and return them; one transaction if there are any."""
    heads = list(marks_in(text))
    if not heads:
        return []
    with reading() as session:
        missing = [head for head in heads if is_missing(session, head)]
    if missing:
        with transaction() as session:
            for head in missing:
                report(session, head, now)
    return missing


def report(session: Session, head: Head, now: datetime) -> None:
    """Tell the moderators that an email quotes an entry which the log lacks: of each game the latest one."""
    game = session.get(Game, head.game_id)
    fact = Fact("log_behind", {"game": head.game_id, "seq": head.seq, "hash": head.hash})
    key = f"{_ALERT}:{head.game_id}"
    known = operations.open_alert(session, key, lock=True)
    if known is not None and int(str(known.text.values["seq"])) < head.seq:
        known.text = fact
    operations.raise_alert(session, key, fact, now, head.game_id if game else None)


def reported(session: Session) -> list[Head]:
    """Return the heads that were reported, also those whose alerts were cleared, and are still missing."""
    facts = session.scalars(select(Alert.text).where(Alert.key.like(f"{_ALERT}:%")).order_by(Alert.key))
    heads = [Head(*(fact.values[name] for name in ("game", "seq", "hash"))) for fact in facts]  # type: ignore[arg-type]
    return [head for head in heads if is_missing(session, head)]
