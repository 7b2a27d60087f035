"""What a standing order of Byzanz would answer in the cases that its owner can foresee."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from byzanz.games.byzanz.cards import (
    DONE,
    bids_from,
    numbers,
    sales_from,
    singles_from,
    takes_from,
)
from byzanz.games.byzanz.orders import MAX_LIMIT, answer_order, bids_now
from byzanz.games.byzanz.view import View
from byzanz.moves import Move, Order, OrderAnswer, OrderCase


def foresee(order: Order, view: View) -> tuple[OrderCase, ...]:
    """Return the answers of an order, see `Rules.foresee_order`.

    The cases: `price N` and `from N`, a price at which the seat would be asked for a bid; `tax`, `take`, `limit` and
    `end`, if that were asked with the cards that lie there now.
    """
    if not isinstance(view.viewer, int) or view.hand is None:
        return ()
    if order.kind == "bid":
        return _auction(order, view, view.viewer)
    moves = MOVES[order.kind](view)
    answer = answer_order(order, replace(view, question=f"{order.kind} 0"), moves) if moves else None
    return (OrderCase(order.kind, answer),) if answer else ()


def _auction(order: Order, view: View, seat: int) -> tuple[OrderCase, ...]:
    """The answer at the present price, and at the first one beyond which the order does not go."""
    lowest = view.highest + (view.leader == seat) if bids_now(view) else 0
    hand, own = numbers(view.hand or ()), view.totals[seat]

    def at(price: int) -> OrderAnswer:
        asked = replace(view, question="bid 0", highest=price)
        answer = answer_order(order, asked, bids_from(hand, price + 1 - own))
        assert answer is not None
        return answer

    first = at(lowest)
    if first.move is None or first.move.verb != "bid":
        return (OrderCase(f"price {lowest}", first),)
    rest = ((price, at(price)) for price in range(lowest + 1, MAX_LIMIT + 1))
    beyond = next(
        (price, answer) for price, answer in rest if answer.move is None or answer.move.verb != "bid"
    )
    return (OrderCase(f"price {lowest}", first), OrderCase(f"from {beyond[0]}", beyond[1]))


def _market(view: View) -> Sequence[Move]:
    return takes_from(numbers([name for _, cards in view.market for name in cards]))


MOVES: dict[str, Callable[[View], Sequence[Move]]] = {
    "tax": lambda view: singles_from("tax", numbers(view.lot)),
    "take": _market,
    "limit": lambda view: (
        *sales_from(numbers(view.hand or ())),
        *singles_from("discard", numbers(view.hand or ())),
    ),
    "end": lambda view: (*sales_from(numbers(view.hand or ())), DONE),
}
"""The answers to a question as the cards lie now."""
