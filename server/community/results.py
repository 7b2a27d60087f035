"""Results: who came where in a finished game, and how its people answered. Counted once, after the game.

A game is counted in one transaction of its own, under its lock, so that the move which ends it does no more than any
other. Nothing is counted of a game that was ended early, of a visitor's, of one whose past is not known
(`Game.past_unknown`), and of one whose log does not replay: these are only marked as counted. A finished game never
runs again, so its result needs no correction.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Row, delete, exists, select
from sqlalchemy.orm import Session

from server.community import conduct, reliability
from server.play import game as play_game
from server.play import positions
from server.play.positions import Broken
from server.store import log
from server.store.engine import transaction
from server.store.models import Conduct, Game, Person, Standing, Tenure

LOGGER = logging.getLogger(__name__)


def due(session: Session, until: datetime, limit: int) -> Sequence[Row[str, datetime | None]]:
    """Return games that ended up to a moment and were not counted, the earliest first: a hint without a lock.

    Returns:
        Rows of a game's id and the time of its end.
    """
    ended = (Game.started_at.is_not(None), Game.ended_at.is_not(None), Game.ended_at <= until)
    countable = (*ended, positions.has_rules())  # the others are counted when their rules are back
    query = select(Game.id, Game.ended_at).where(*countable, Game.counted_at.is_(None), Game.trial.is_(False))
    return session.execute(query.order_by(Game.ended_at, Game.id).limit(limit)).all()


def count(game_id: str, now: datetime) -> bool:
    """Count the result of a finished game; one transaction, which locks the game.

    Returns:
        False if it was counted before, goes on, or is locked by another scheduler, which counts it.
    """
    with transaction() as session:
        game = log.lock_game(session, game_id, skip_locked=True)
        if game is None or game.status != "over" or game.counted_at is not None or game.trial:
            return False
        if not positions.installed(game):
            return False
        game.counted_at = now
        held = play_game.of_game(session, game_id)
        people = {tenure.person_id for tenure in held if tenure.person_id is not None}
        reliability.lock(session, people)
        before = session.scalars(
            delete(Conduct).where(Conduct.game_id == game_id).returning(Conduct.person_id)
        ).all()
        session.execute(delete(Standing).where(Standing.game_id == game_id))
        if _is_counted(session, game):
            session.add_all(_rows(session, game, held))
        session.flush()
        reliability.refresh(session, people.union(before))
        return True


def _is_counted(session: Session, game: Game) -> bool:
    if game.past_unknown or json.loads(game.result or "{}").get("reason", "abandoned") == "abandoned":
        return False
    visitors = exists().where(Person.id == Tenure.person_id, Person.email.is_(None))
    return session.scalar(select(Tenure.seat).where(Tenure.game_id == game.id, visitors).limit(1)) is None


def _rows(session: Session, game: Game, held: Sequence[Tenure]) -> list[Standing | Conduct]:
    try:
        position = positions.load(session, game)
        return [
            *_standings(game, position, held),
            *conduct.of_game(session, game, held),
        ]
    except Broken:
        LOGGER.exception("game %s: its result cannot be counted", game.id)
        return []


def _standings(game: Game, position: positions.Position, held: Sequence[Tenure]) -> list[Standing]:
    assert position.outcome is not None
    scores, places = position.outcome.scores, position.rules.places(position.state)
    return [
        Standing(
            game_id=game.id,
            seat=last.seat,
            place=places[last.seat],
            score=scores[last.seat],
            person_id=last.person_id,
            bot=last.bot,
        )
        for last in held
        if last.to_seq is None
    ]
