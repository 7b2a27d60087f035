"""The one reminder that a player gets when most of the time for a turn is gone."""

from __future__ import annotations

from datetime import datetime

from server.play import running, turns
from server.store.engine import transaction


def remind(game_id: str, seat: int, now: datetime) -> bool:
    """Queue the reminder of an open turn; one transaction, which locks the game and checks everything again.

    Returns:
        Whether a reminder was queued: an outage may have moved it, and not every player wants one.
    """
    with transaction() as session, running.in_hand_if_free(session, game_id, now) as table:
        turn = table.turns.get(seat) if table is not None else None
        if table is None or turn is None:
            return False
        turn.remind_at = turns.reminder_time(session, table.game, turn)
        if turn.remind_at is None or turn.remind_at > now:  # an outage has moved it
            return False
        turn.remind_at = None
        person = table.seats[seat].person
        if person is None or person.cadence != "each":
            return False
        key = f"remind:{game_id}:{seat}:{turn.opened_seq}"
        table.mail("remind", key, person.id, now, seat=seat, seq=turn.opened_seq)
        return True
