"""Open tables do not wait for ever: three weeks after their last change they end, and a week before, their organiser
gets an email."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from server.lobby import notify
from server.lobby.organiser import cancel_locked
from server.store import log
from server.store.engine import reading, transaction
from server.store.models import Game, Mail

WARNED = timedelta(days=7)
"""How long before its end the organiser of a table is asked what to do."""


def tend_open_tables(now: datetime) -> int:
    """Ask the organisers of tables that end within a week, each once, and end those whose time has come.

    Returns:
        How many tables were concerned.
    """
    with reading() as session:
        soon = select(Game.id, Game.open_until).where(
            Game.open_until <= now + WARNED, Game.quarantine.is_(None)
        )
        found = [
            (game_id, until) for game_id, until in session.execute(soon.order_by(Game.open_until)) if until
        ]
        keys = [notify.open_table_key(game_id, until) for game_id, until in found]
        asked = set(session.scalars(select(Mail.key).where(Mail.key.in_(keys))))
    due = [
        game_id for key, (game_id, until) in zip(keys, found, strict=True) if until <= now or key not in asked
    ]
    return sum(_tend(game_id, now) for game_id in due)


def _tend(game_id: str, now: datetime) -> bool:
    with transaction() as session:
        game = log.lock_game(session, game_id, skip_locked=True)
        if game is None or game.open_until is None or game.open_until > now + WARNED:
            return False
        if not _is_asked(session, game):
            # Nothing ends unannounced: after an outage a table waits another week.
            game.open_until = max(game.open_until, now + WARNED)
            notify.ask_about_open_table(session, game, now)
            return True
        if game.open_until > now:
            return False
        cancel_locked(session, game, now, "expired")
        return True


def _is_asked(session: Session, game: Game) -> bool:
    if game.organiser_id is None or game.open_until is None:
        return True
    key = notify.open_table_key(game.id, game.open_until)
    return session.scalar(select(Mail.id).where(Mail.key == key)) is not None
