"""Standing orders: what a seat has ordered beforehand answers for it, from its own view and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from byzanz.rules import Order, OrderAnswer, Rules, S, V
from byzanz.umpire import play


@dataclass(frozen=True, slots=True)
class Left:
    """An order that a seat has left.

    Args:
        key: names it for whoever keeps it.
        occasion: what it was left for, see `Rules.occasion`.
    """

    key: int
    order: Order
    occasion: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What an order makes of the question that its seat is asked."""

    left: Left
    answer: OrderAnswer


def over(rules: Rules[S, V], state: S, seat: int, orders: Sequence[Left]) -> list[Left]:
    """Those of a seat's orders whose occasion is past: they end by themselves.

    Args:
        rules: the game.
        state: settled.
        orders: that the seat has left.
    """
    for_a_time = [left for left in orders if left.occasion]
    view = rules.view(state, seat) if for_a_time else None
    return [left for left in for_a_time if view is not None and rules.order_expired(left.occasion, view)]


def answer(rules: Rules[S, V], state: S, seat: int, orders: Sequence[Left]) -> Answer | None:
    """What the first order that concerns a seat's question makes of it, or None: a person has to decide.

    An order that fails, or answers what is not allowed, stops with a reason; whoever moved before loses nothing.

    Args:
        rules: the game.
        state: settled; the seat is awaited and has a choice.
        orders: that the seat has left and whose occasion is not past, oldest first.
    """
    view, moves = rules.view(state, seat), rules.moves(state, seat)
    for left in orders:
        try:
            answer = rules.answer_order(left.order, view, moves)
            if answer is not None and answer.move is not None:
                play(rules, state, seat, answer.move)
        except Exception:  # a fault in one seat's order must not hold up the table
            answer = OrderAnswer(None, "It could not be carried out as the table stands now.")
        if answer is not None:
            return Answer(left, answer)
    return None
