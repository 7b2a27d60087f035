"""Short games of Byzantium that are played to their end."""

from __future__ import annotations

from datetime import datetime

from byzanz.record import Cause
from server import play
from server.play import positions
from server.store import engine, log
from server.store.models import Entry, Game


def answer(game_id: str, seat: int, now: datetime, by: Cause = Cause.PLAYER) -> int:
    """Play the first legal move of a seat; return the seq of its entry."""
    with engine.reading() as session:
        at = positions.load(session, session.get_one(Game, game_id))
    move = at.rules.moves(at.state, seat)[0]
    receipt = play.submit(game_id, seat, move, seen=at.head, request_id=f"{at.head}", now=now, by=by)
    return receipt.seq


def to_move(game_id: str) -> int | None:
    """Return the seat to move; None when the game is over or paused."""
    with engine.reading() as session:
        at = positions.load(session, session.get_one(Game, game_id))
    return min(at.awaited, default=None)


def finish(game_id: str, now: datetime) -> None:
    """Let everybody answer at once until the game is over."""
    while (seat := to_move(game_id)) is not None:
        with engine.reading() as session:
            bot = positions.seats_of(session, game_id)[seat].bot
        answer(game_id, seat, now, Cause.BOT if bot else Cause.PLAYER)


def last(game_id: str) -> Entry:
    """Return the newest entry that answers a question."""
    with engine.reading() as session:
        moves = [entry for entry in log.entries(session, game_id) if entry.by not in ("rules", "chance")]
        moves = [entry for entry in moves if not entry.move.startswith("!")]
        return session.get_one(Entry, (game_id, moves[-1].seq))
