"""The one reminder that a player gets when most of the time for a turn is gone."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Session

from server.play import turns
from server.store import log, outbox
from server.store.engine import transaction
from server.store.models import Game, Seat, Turn


def remind(game_id: str, seat: int, now: datetime) -> bool:
    """Queue the reminder of an open turn; one transaction, which locks the game and checks everything again.

    Returns:
        Whether a reminder was queued: an outage may have moved it, and not every player wants one.
    """
    with transaction() as session:
        game = log.lock_game(session, game_id, skip_locked=True)
        turn = session.get(Turn, (game_id, seat)) if game else None
        if game is None or turn is None:
            return False
        turn.remind_at = turns.reminder_time(session, game, turn)
        if turn.remind_at is None or turn.remind_at > now:  # an outage has moved it
            return False
        turn.remind_at = None
        return _queue(session, game, turn, now)


def _queue(session: Session, game: Game, turn: Turn, now: datetime) -> bool:
    person = session.get_one(Seat, (game.id, turn.seat)).person
    if person is None or person.cadence != "each":
        return False
    outbox.enqueue(
        session,
        key=f"remind:{game.id}:{turn.seat}:{turn.opened_seq}",
        kind="remind",
        person_id=person.id,
        now=now,
        game_id=game.id,
        seat=turn.seat,
        seq=turn.opened_seq,
    )
    return True
