"""Standing orders: what a seat has ordered beforehand answers for it, from the seat's own view and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from byzanz.moves import Order, OrderAnswer
from byzanz.rules import Rules, S, V
from byzanz.umpire import play


@dataclass(frozen=True, slots=True)
class PlacedOrder:
    """An order that a seat has placed.

    Args:
        key: identifies the order to the caller that keeps it.
        order: the order itself.
        scope: the decisions that it was placed for, see `Rules.order_scope`.
    """

    key: int
    order: Order
    scope: str


@dataclass(frozen=True, slots=True)
class Decision:
    """The order that decides a seat's question, and its answer."""

    placed: PlacedOrder
    answer: OrderAnswer


def expired(rules: Rules[S, V], state: S, seat: int, orders: Sequence[PlacedOrder]) -> list[PlacedOrder]:
    """Return those of a seat's orders whose scope has passed, so that they end by themselves.

    Args:
        rules: the game.
        state: settled.
        seat: from 0.
        orders: that the seat has placed.
    """
    scoped = [placed for placed in orders if placed.scope]
    view = rules.view(state, seat) if scoped else None
    return [placed for placed in scoped if view is not None and rules.order_expired(placed.scope, view)]


def decide(rules: Rules[S, V], state: S, seat: int, orders: Sequence[PlacedOrder]) -> Decision | None:
    """Let the first order that applies answer a seat's question; None if its player has to decide.

    An order that fails or gives an illegal answer stops with a reason; moves already made stand.

    Args:
        rules: the game.
        state: settled; the seat is to move and has a choice.
        seat: from 0.
        orders: that the seat has placed and that have not expired, oldest first.
    """
    view, moves = rules.view(state, seat), rules.moves(state, seat)
    for placed in orders:
        try:
            answer = rules.answer_order(placed.order, view, moves)
            if answer is not None and answer.move is not None:
                play(rules, state, seat, answer.move)
        except Exception:  # a fault in one seat's order must not hold up the table
            answer = OrderAnswer(None, "It could not be carried out as the table stands now.")
        if answer is not None:
            return Decision(placed, answer)
    return None
