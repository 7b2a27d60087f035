"""Quarantine: a game with an error is on hold until a moderator repairs it; the other games go on."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from server.play import running
from server.play.positions import Broken, on_hold
from server.store import alerts
from server.store.engine import transaction
from server.store.facts import Fact
from server.store.table import Table

LOGGER = logging.getLogger(__name__)


def quarantine(game_id: str, why: Fact, now: datetime) -> None:
    """Quarantine a game and alert the moderators; one transaction, which locks the game.

    Its turns are closed, so that no tick meets it again. Nothing happens to a game that is in quarantine already.
    """
    with transaction() as session, running.in_hand(session, game_id, now) as table:
        if table.game.quarantine is not None:
            return
        table.game.quarantine = why
        table.turns.clear()
        alerts.raise_alert(session, f"quarantine:{game_id}", why, now, game_id)


def release(table: Table, now: datetime) -> None:
    """End the quarantine of a game whose log replays; the caller settles it, which opens turns again."""
    table.game.quarantine = None
    alerts.clear(table.session, f"quarantine:{table.game.id}", now)


@contextmanager
def quarantine_if_broken(game_id: str, now: datetime) -> Iterator[None]:
    """Quarantine a game whose log does not replay, once the transaction that met it has rolled back.

    Raises:
        NotRunning: the log does not replay.
    """
    try:
        yield
    except Broken as broken:
        LOGGER.exception("game %s is quarantined", game_id)
        quarantine(game_id, Fact("text", {"text": str(broken)}), now)
        raise on_hold() from broken
