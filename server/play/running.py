"""A running game inside one transaction: what may be done to it now, and everything that follows from a change."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from byzanz.rules import Outcome
from server.errors import NoSuchGame, NotRunning
from server.play import autopilot, positions, settle, turns
from server.play.mailing import OWN_TURN_DELAY, _announce, tell_table
from server.play.positions import Broken, Position
from server.store import alerts, log, standing_orders
from server.store.engine import transaction
from server.store.facts import Fact
from server.store.models import Game

LOGGER = logging.getLogger(__name__)


def lock(session: Session, game_id: str) -> Game:
    """The game's row, locked for this transaction.

    Raises:
        NoSuchGame: nobody knows this id.
    """
    game = log.lock_game(session, game_id)
    if game is None:
        raise NoSuchGame("There is no game with this address.")
    return game


def position(session: Session, game: Game) -> Position:
    """The position of a locked game in which something may happen now, paused or not.

    Raises:
        NotRunning: not begun, over or set aside. Broken: its log does not replay.
    """
    if game.status == "over":
        raise NotRunning("The game is over.")
    if game.status != "running":
        raise NotRunning("The game has not begun.")
    if game.quarantine:
        raise NotRunning("This game is set aside until somebody has looked into a fault; nothing is lost.")
    return positions.load(session, game)


def advance(
    session: Session,
    game: Game,
    position: Position,
    state: Any,
    now: datetime,
    mover: int | None = None,
    anew: frozenset[int] = frozenset(),
) -> None:
    """Settle a state that has just changed, and store all that follows: entries, snapshot, turns, mails, the end.

    Args:
        position: before the change; only its rules and its pause are read.
        state: after the change, before chance and forced moves.
        mover: the seat whose person is at the page right now: a turn of its own is mailed a little later.
        anew: seats whose turn starts again though their question is the same.
    """
    rules = position.rules
    autopilot.wake(session, game, now)
    awake = not game.paused
    if awake:
        state = settle.played(session, game, rules, state, now)
    if awake and game.paused:  # nobody here plays himself any more
        tell_table(session, game, "act", f"rest:{game.id}:{game.head}", now, seq=game.head)
    outcome = rules.outcome(state)
    after = Position(game.id, rules, state, game.head, game.paused, outcome)
    positions.save(session, game, after)
    if outcome:
        finish(session, game, outcome, now)
        return
    questions = {seat: str(question) for seat, question in after.awaited.items()}
    for turn in turns.replace(session, game, questions, now, anew):
        _announce(session, game, turn, now, OWN_TURN_DELAY if turn.seat == mover else 0)


def finish(session: Session, game: Game, outcome: Outcome, now: datetime) -> None:
    """End a game: its result, no more turns, a mail to everybody."""
    game.status = "over"
    game.ended_at = now
    game.paused = False
    game.result = json.dumps(
        {"scores": list(outcome.scores), "winners": list(outcome.winners), "reason": outcome.reason}
    )
    turns.close_all(session, game.id)
    standing_orders.withdraw_all(session, game, None, Fact("game_over"), now)
    autopilot.end(session, game, now)
    tell_table(session, game, "over", f"over:{game.id}", now, seq=game.head)


def quarantine(session: Session, game: Game, why: Fact, now: datetime) -> None:
    """Quarantine one game, so that its fault harms no other, and alert the moderators.

    Its turns are closed, so that no tick meets it again; `release` opens them anew.
    """
    if game.quarantine is None:
        game.quarantine = why
        turns.close_all(session, game.id)
        alerts.raise_alert(session, f"quarantine:{game.id}", why, now, game.id)


def release(session: Session, game: Game, now: datetime) -> None:
    """End the quarantine of a game whose log replays; whoever calls this carries on from its state."""
    game.quarantine = None
    alerts.clear(session, f"quarantine:{game.id}", now)


@contextmanager
def guarded(game_id: str, now: datetime) -> Iterator[None]:
    """Set a game aside whose log does not replay, once the transaction that met it has rolled back."""
    try:
        yield
    except Broken as broken:
        LOGGER.exception("a game is set aside")
        with transaction() as session:
            quarantine(session, lock(session, game_id), Fact("text", {"text": str(broken)}), now)
        raise NotRunning(
            "This game is set aside until somebody has looked into a fault; nothing is lost."
        ) from broken
