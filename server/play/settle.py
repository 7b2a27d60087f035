"""What goes on by itself after a change of a game: chance, forced moves, standing orders, autopilots."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from byzanz import chance, umpire
from byzanz import orders as ordering
from byzanz.rules import Rules
from server.play import autopilot, positions
from server.store import log, standing_orders
from server.store.facts import Fact
from server.store.models import Game, Seat


def played(session: Session, game: Game, rules: Rules[Any, Any], state: Any, now: datetime) -> Any:
    """The state that a person is asked in, or the end: all that needs nobody is played and logged.

    Chance and forced moves come first, then standing orders, then autopilots, over and over. When an autopilot
    would play and nobody at the table plays himself, the game is paused instead.
    """
    deal = chance.deal(_key(session, game))
    while True:
        state, steps = umpire.settle(rules, state, deal)
        for step in steps:
            log.append(session, game, seat=step.seat, by=step.by, move=str(step.move), now=now)
        if rules.outcome(state) is not None:
            return state
        autopilot.take_over(session, game, now)
        further = _by_order(session, game, rules, state, now)
        if further is None:
            further = _by_autopilot(session, game, rules, state, now)
        if further is None:
            return state
        state = further


def _by_order(session: Session, game: Game, rules: Rules[Any, Any], state: Any, now: datetime) -> Any | None:
    """The state after the first move that a standing order makes for an awaited seat, or None."""
    left = standing_orders.standing(session, rules, game, now)
    for seat, theirs in left.items():
        for past in ordering.over(rules, state, seat, theirs):
            theirs.remove(past)
            standing_orders.close(session, past, "done", None, game, now)
    for seat in sorted(rules.awaited(state)):
        while (answer := ordering.answer(rules, state, seat, left.get(seat, ()))) is not None:
            if answer.answer.move is None:
                left[seat].remove(answer.left)
                reason = Fact(answer.answer.message, answer.answer.places)
                standing_orders.close(session, answer.left, "stopped", reason, game, now)
                continue
            move, why = answer.answer.move, str(answer.answer)
            log.append(session, game, seat=seat, by="order", move=str(move), now=now, note=why)
            standing_orders.carried_out(session, answer, game, now)
            return rules.apply(state, seat, move)
    return None


def _by_autopilot(
    session: Session, game: Game, rules: Rules[Any, Any], state: Any, now: datetime
) -> Any | None:
    """The state after the fallback of the first awaited seat that is on autopilot, or None."""
    for seat in sorted(rules.awaited(state)):
        if not session.get_one(Seat, (game.id, seat)).autopilot:
            continue
        if not autopilot.anybody(session, game.id):
            autopilot.rest(session, game, now)
            return None
        move = rules.fallback(rules.view(state, seat), rules.moves(state, seat))
        log.append(session, game, seat=seat, by="autopilot", move=str(move), now=now)
        return rules.apply(state, seat, move)
    return None


def _key(session: Session, game: Game) -> bytes:
    cuts = [seat.cut for seat in positions.seats_of(session, game.id)]
    return chance.key(game.id, bytes.fromhex(game.seed), cuts)
