"""A running game inside one transaction: whether it can change now, and everything that follows from a change."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from byzanz.moves import Outcome
from server.errors import NoSuchGame
from server.play import autopilot, followed, positions, settle, turns
from server.play.mailing import OWN_TURN_DELAY, announce_turn, mail_table
from server.play.positions import Position
from server.store import log, standing_orders, table
from server.store.facts import Fact
from server.store.models import Game
from server.store.table import Table


def lock_game(session: Session, game_id: str) -> Game:
    """Lock the row of a game until the transaction ends, for forms about it; moves take it `in_hand`.

    Raises:
        NoSuchGame: no game has this id.
    """
    game = log.lock_game(session, game_id)
    if game is None:
        raise _no_such_game()
    return game


def _no_such_game() -> NoSuchGame:
    return NoSuchGame("There is no game with this ID. Check the link.")


@contextmanager
def in_hand(session: Session, game_id: str, now: datetime, **asked: Any) -> Iterator[Table]:
    """Lock a game and load it; what the block changes in it is stored when it ends.

    Args:
        asked: more to find out, as for `table.load`.

    Raises:
        NoSuchGame: no game has this id.
    """
    if not table.lock(session, game_id):
        raise _no_such_game()
    found = table.load(session, game_id, now, **asked)
    assert found is not None
    yield found
    found.put()


@contextmanager
def in_hand_if_free(session: Session, game_id: str, now: datetime) -> Iterator[Table | None]:
    """Take a game `in_hand`, or None if another transaction holds it or there is none: the next tick tries again."""
    found = table.load(session, game_id, now) if table.lock(session, game_id, skip_locked=True) else None
    yield found
    if found is not None:
        found.put()


def position(table: Table) -> Position:
    """The position of a game in hand that can change now, paused or not.

    Raises:
        NotRunning: the game has not begun, is over or is in quarantine.
        Broken: its log does not replay.
    """
    positions.check_running(table.game)
    return positions.current(table)


def advance(
    table: Table,
    position: Position,
    state: Any,
    now: datetime,
    mover: int | None = None,
    restart: frozenset[int] = frozenset(),
) -> None:
    """Settle a state that has just changed, with all that follows: entries, snapshot, turns, mails, the end.

    Args:
        position: before the change and the entries that it has made so far.
        state: after the change, before chance and forced moves.
        mover: the seat whose player is at the page right now; their own next turn is emailed a little later.
        restart: seats whose turn starts again although their question is the same.
    """
    rules, game = position.rules, table.game
    autopilot.resume_if_attended(table, now)
    was_running = not game.paused
    if was_running:
        state = settle.settle(table, rules, state, now)
    if was_running and game.paused:  # every player is on autopilot
        mail_table(table, "act", f"rest:{game.id}:{game.head}", now, seq=game.head)
    outcome = rules.outcome(state)
    told = followed.extended(rules, position.state, position.followed, table.unsaved())
    after = Position(game.id, rules, state, game.head, game.paused, outcome, told)
    positions.save(table, after)
    if outcome:
        finish(table, outcome, now)
        return
    questions = {seat: str(question) for seat, question in after.awaited.items()}
    for turn in turns.reconcile(table, questions, now, restart):
        announce_turn(table, turn, now, OWN_TURN_DELAY if turn.seat == mover else 0)


def finish(table: Table, outcome: Outcome, now: datetime) -> None:
    """End a game: store its result, close its turns and orders, and email everybody."""
    game = table.game
    game.status = "over"
    game.ended_at = now
    game.paused = False
    game.result = json.dumps(
        {"scores": list(outcome.scores), "winners": list(outcome.winners), "reason": outcome.reason}
    )
    turns.close_all(table, now)
    standing_orders.withdraw_all(table, None, Fact("game_over"), now)
    autopilot.clear_alerts(table, now)
    mail_table(table, "over", f"over:{game.id}", now, seq=game.head)
