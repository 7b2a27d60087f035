"""The turns of a clock that ran ahead, once it is right again."""

from __future__ import annotations

import logging
from datetime import datetime

from sqlalchemy import or_, select
from sqlalchemy.exc import SQLAlchemyError

from server.play import running, turns
from server.store.engine import reading, transaction
from server.store.models import Turn
from server.store.statements import TurnRow
from server.store.table import Table

LOGGER = logging.getLogger(__name__)


def reset_future_turns(now: datetime) -> None:
    """Date to the present what seems to have happened to open turns after it; one transaction for each game.

    A clock that was behind needs no such correction: the time in doubt is an outage, which no clock counts.
    """
    later = or_(Turn.opened_at > now, Turn.started_at > now, Turn.refused_at > now)
    with reading() as session:
        games = session.scalars(select(Turn.game_id).where(later).order_by(Turn.game_id).distinct()).all()
    for game_id in games:
        try:
            with transaction(game_id) as session, running.in_hand(session, game_id, now) as table:
                for turn in table.turns.values():
                    _reset(table, turn, now)
        except SQLAlchemyError:  # of a locked game; the others need not wait
            LOGGER.exception("game %s: its turns keep the times of a wrong clock", game_id)


def _reset(table: Table, turn: TurnRow, now: datetime) -> None:
    turn.opened_at = min(turn.opened_at, now)
    turn.refused_at = turn.refused_at and min(turn.refused_at, now)
    if turn.started_at is not None and turn.started_at > now:
        turn.started_at = now
        turn.due_at = turns.deadline(table.session, table.game, turn)
        if turn.remind_at is not None:  # no second reminder
            turn.remind_at = turns.reminder_time(table.session, table.game, turn)
