"""Waiting a moment for bots after a move, so that the page that answers it shows what they have done."""

from __future__ import annotations

import time
from contextlib import suppress
from threading import BoundedSemaphore

from server.play import turns
from server.store.engine import UNAVAILABLE, reading

PATIENCE = 1.5
"""Seconds that a page waits for bots at most; they answer in a tenth of that unless they search."""
INTERVAL = 0.05
"""Seconds between two looks."""
_waiting = BoundedSemaphore(16)
"""Requests of a process that may wait at once: a quarter of the threads of `serve`; the others do not wait."""


def wait(game_id: str) -> None:
    """Wait while only bots are to move in a game."""
    if not _waiting.acquire(blocking=False):
        return
    try:
        with suppress(*UNAVAILABLE):  # the move is stored, whatever happens to the database now
            _wait(game_id)
    finally:
        _waiting.release()


def _wait(game_id: str) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and only_bots(game_id):
        time.sleep(INTERVAL)


def only_bots(game_id: str) -> bool:
    """Whether somebody is to move in a game, and all who are to move are bots."""
    with reading() as session:
        found = turns.to_move(session, game_id)
    return bool(found) and all(found.values())
