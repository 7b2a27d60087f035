"""Quarantine: a game with an error is on hold until a moderator repairs it; the other games go on."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from sqlalchemy.orm import Session

from server.play import turns
from server.play.positions import Broken, on_hold
from server.store import alerts, log
from server.store.engine import transaction
from server.store.facts import Fact
from server.store.models import Game

LOGGER = logging.getLogger(__name__)


def quarantine(game_id: str, why: Fact, now: datetime) -> None:
    """Quarantine a game and alert the moderators; one transaction, which locks the game.

    Its turns are closed, so that no tick meets it again. Nothing happens to a game that is in quarantine already.
    """
    with transaction() as session:
        game = log.lock_game(session, game_id)
        if game is None or game.quarantine is not None:
            return
        game.quarantine = why
        turns.close_all(session, game.id)
        alerts.raise_alert(session, f"quarantine:{game.id}", why, now, game.id)


def release(session: Session, game: Game, now: datetime) -> None:
    """End the quarantine of a locked game whose log replays; the caller settles it, which opens turns again."""
    game.quarantine = None
    alerts.clear(session, f"quarantine:{game.id}", now)


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
