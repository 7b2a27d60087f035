"""Settling: after a change, play chance, forced moves, standing orders and autopilots."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from byzanz import chance, umpire
from byzanz import orders as ordering
from byzanz.rules import Rules
from server.play import answers, autopilot
from server.store import standing_orders
from server.store.facts import Fact
from server.store.table import Table


def settle(table: Table, rules: Rules[Any, Any], state: Any, now: datetime) -> Any:
    """Play and log everything that needs no player, until a player has to decide or the game is over.

    Chance and forced moves come first, then standing orders, then autopilots, again and again. When an autopilot
    would play and every player is on autopilot, the game is paused instead.

    Returns:
        The state afterwards.
    """
    deal = chance.deal(_chance_key(table))
    while True:
        state, steps = umpire.settle(rules, state, deal)
        for step in steps:
            table.append(seat=step.seat, by=step.by, move=str(step.move), now=now)
        if rules.outcome(state) is not None:
            return state
        autopilot.take_over(table, now)
        further = _play_order(table, rules, state, now)
        if further is None:
            further = _play_autopilot(table, rules, state, now)
        if further is None:
            return state
        state = further


def _play_order(table: Table, rules: Rules[Any, Any], state: Any, now: datetime) -> Any | None:
    """Play the first move that a standing order makes for a seat to move; the state after it, or None."""
    orders = standing_orders.standing(table, rules, now)
    for seat, own in orders.items():
        for order in ordering.expired(rules, state, seat, own):
            own.remove(order)
            standing_orders.end(table, order, "done", None, now)
    for seat in sorted(orders.keys() & rules.awaited(state).keys()):
        while (decision := ordering.decide(rules, state, seat, orders[seat])) is not None:
            if decision.answer.move is None:
                orders[seat].remove(decision.placed)
                reason = Fact(decision.answer.message, decision.answer.places)
                standing_orders.end(table, decision.placed, "stopped", reason, now)
                continue
            move, why = decision.answer.move, str(decision.answer)
            table.append(seat=seat, by="order", move=str(move), now=now, note=why)
            standing_orders.mark_carried_out(table, decision, now)
            return rules.apply(state, seat, move)
    return None


def _play_autopilot(table: Table, rules: Rules[Any, Any], state: Any, now: datetime) -> Any | None:
    """Play the fallback of the first seat to move that is on autopilot; the state after it, or None."""
    for seat in sorted(rules.awaited(state)):
        if not table.seats[seat].autopilot:
            continue
        if not autopilot.anyone_playing(table):
            autopilot.pause_unattended(table, now)
            return None
        move = rules.fallback(rules.view(state, seat), rules.moves(state, seat))
        seconds = answers.seconds_on_autopilot(table.seats[seat], now)
        table.append(seat=seat, by="autopilot", move=str(move), now=now, seconds=seconds)
        return rules.apply(state, seat, move)
    return None


def _chance_key(table: Table) -> bytes:
    return chance.key(table.game.id, bytes.fromhex(table.game.seed), [seat.cut for seat in table.seats])
