"""A running game inside one transaction: whether it can change now, and everything that follows from a change."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from byzanz.moves import Outcome
from server.errors import NoSuchGame
from server.play import autopilot, positions, settle, turns
from server.play.mailing import OWN_TURN_DELAY, announce_turn, mail_table
from server.play.positions import Position
from server.store import log, standing_orders
from server.store.facts import Fact
from server.store.models import Game


def lock_game(session: Session, game_id: str) -> Game:
    """Lock the row of a game until the transaction ends.

    Raises:
        NoSuchGame: no game has this id.
    """
    game = log.lock_game(session, game_id)
    if game is None:
        raise NoSuchGame("There is no game with this ID. Check the link.")
    return game


def position(session: Session, game: Game) -> Position:
    """The position of a locked game that can change now, paused or not.

    Raises:
        NotRunning: the game has not begun, is over or is in quarantine.
        Broken: its log does not replay.
    """
    positions.check_running(game)
    return positions.load(session, game)


def advance(
    session: Session,
    game: Game,
    position: Position,
    state: Any,
    now: datetime,
    mover: int | None = None,
    restart: frozenset[int] = frozenset(),
) -> None:
    """Settle a state that has just changed, and store all that follows: entries, snapshot, turns, mails, the end.

    Args:
        position: before the change; only its rules are read.
        state: after the change, before chance and forced moves.
        mover: the seat whose player is at the page right now; their own next turn is emailed a little later.
        restart: seats whose turn starts again although their question is the same.
    """
    rules = position.rules
    autopilot.resume_if_attended(session, game, now)
    was_running = not game.paused
    if was_running:
        state = settle.settle(session, game, rules, state, now)
    if was_running and game.paused:  # every player is on autopilot
        mail_table(session, game, "act", f"rest:{game.id}:{game.head}", now, seq=game.head)
    outcome = rules.outcome(state)
    after = Position(game.id, rules, state, game.head, game.paused, outcome)
    positions.save(session, game, after)
    if outcome:
        finish(session, game, outcome, now)
        return
    questions = {seat: str(question) for seat, question in after.awaited.items()}
    for turn in turns.reconcile(session, game, questions, now, restart):
        announce_turn(session, game, turn, now, OWN_TURN_DELAY if turn.seat == mover else 0)


def finish(session: Session, game: Game, outcome: Outcome, now: datetime) -> None:
    """End a game: store its result, close its turns and orders, and email everybody."""
    game.status = "over"
    game.ended_at = now
    game.paused = False
    game.result = json.dumps(
        {"scores": list(outcome.scores), "winners": list(outcome.winners), "reason": outcome.reason}
    )
    turns.close_all(session, game.id)
    standing_orders.withdraw_all(session, game, None, Fact("game_over"), now)
    autopilot.clear_alerts(session, game, now)
    mail_table(session, game, "over", f"over:{game.id}", now, seq=game.head)
