"""Settling: after a change, play chance, forced moves, standing orders and autopilots."""

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


def settle(session: Session, game: Game, rules: Rules[Any, Any], state: Any, now: datetime) -> Any:
    """Play and log everything that needs no player, until a player has to decide or the game is over.

    Chance and forced moves come first, then standing orders, then autopilots, again and again. When an autopilot
    would play and every player is on autopilot, the game is paused instead.

    Returns:
        The state afterwards.
    """
    deal = chance.deal(_chance_key(session, game))
    while True:
        state, steps = umpire.settle(rules, state, deal)
        for step in steps:
            log.append(session, game, seat=step.seat, by=step.by, move=str(step.move), now=now)
        if rules.outcome(state) is not None:
            return state
        autopilot.take_over(session, game, now)
        further = _play_order(session, game, rules, state, now)
        if further is None:
            further = _play_autopilot(session, game, rules, state, now)
        if further is None:
            return state
        state = further


def _play_order(
    session: Session, game: Game, rules: Rules[Any, Any], state: Any, now: datetime
) -> Any | None:
    """Play the first move that a standing order makes for a seat to move; the state after it, or None."""
    orders = standing_orders.standing(session, rules, game, now)
    for seat, own in orders.items():
        for order in ordering.expired(rules, state, seat, own):
            own.remove(order)
            standing_orders.end(session, order, "done", None, game, now)
    for seat in sorted(rules.awaited(state)):
        while (decision := ordering.decide(rules, state, seat, orders.get(seat, ()))) is not None:
            if decision.answer.move is None:
                orders[seat].remove(decision.placed)
                reason = Fact(decision.answer.message, decision.answer.places)
                standing_orders.end(session, decision.placed, "stopped", reason, game, now)
                continue
            move, why = decision.answer.move, str(decision.answer)
            log.append(session, game, seat=seat, by="order", move=str(move), now=now, note=why)
            standing_orders.mark_carried_out(session, decision, game, now)
            return rules.apply(state, seat, move)
    return None


def _play_autopilot(
    session: Session, game: Game, rules: Rules[Any, Any], state: Any, now: datetime
) -> Any | None:
    """Play the fallback of the first seat to move that is on autopilot; the state after it, or None."""
    for seat in sorted(rules.awaited(state)):
        if not session.get_one(Seat, (game.id, seat)).autopilot:
            continue
        if not autopilot.anyone_playing(session, game.id):
            autopilot.pause_unattended(session, game, now)
            return None
        move = rules.fallback(rules.view(state, seat), rules.moves(state, seat))
        log.append(session, game, seat=seat, by="autopilot", move=str(move), now=now)
        return rules.apply(state, seat, move)
    return None


def _chance_key(session: Session, game: Game) -> bytes:
    cuts = [seat.cut for seat in positions.seats_of(session, game.id)]
    return chance.key(game.id, bytes.fromhex(game.seed), cuts)
