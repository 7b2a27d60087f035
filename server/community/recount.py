"""Counting the results of all games again, from their logs (`byzanz recount`)."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import delete, select, update

from server.community import results
from server.store.engine import reading, transaction
from server.store.models import Conduct, Game, Reliability, Standing


def everything(now: datetime) -> int:
    """Delete all results and count them again, in the order in which the games ended; return how many games.

    If it is interrupted, the scheduler counts the rest.
    """
    over = (Game.status == "over", Game.trial.is_(False))
    with transaction() as session:
        for table in (Standing, Conduct, Reliability):
            session.execute(delete(table))
        session.execute(update(Game).where(*over).values(counted_at=None))
    with reading() as session:
        games = session.scalars(select(Game.id).where(*over).order_by(Game.ended_at, Game.id)).all()
    return sum(results.count(game_id, now) for game_id in games)
