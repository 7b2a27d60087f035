"""Steps of `server/play` that tests take on their own: the clock of a turn starts, an entry is appended."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from byzanz import record
from server.play import running, turns
from server.store import engine
from server.store.models import Turn


def start_clock(game_id: str, seat: int, at: datetime) -> Turn:
    """Start the clock of an open turn, and return the turn."""
    with engine.transaction() as session, running.in_hand(session, game_id, at) as table:
        turns.start(table, table.turns[seat], at)
    with engine.reading() as session:
        return session.get_one(Turn, (game_id, seat))


def append(game_id: str, *, now: datetime, **entry: Any) -> record.Entry:
    """Append an entry to a game's log, whatever the rules say of it."""
    with engine.transaction() as session, running.in_hand(session, game_id, now) as table:
        return table.append(now=now, **entry)
