"""Byzantium, version 1: shedding a hand on a cross of cards, for two to four, exactly as docs/rules/byzantium.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from byzanz.chance import Draw
from byzanz.charts import Chart, Heading, Highlight
from byzanz.games.byzantium import bots, moves, orders
from byzanz.games.byzantium import view as byzantium_view
from byzanz.games.byzantium.state import (
    CARD,
    PASS,
    SLOT,
    State,
    awaited,
    initial,
    numbers,
    placed,
    playable,
    read_move,
    scores,
    with_slots,
)
from byzanz.games.byzantium.view import View, cross_of, view_of
from byzanz.moves import Message, Move, Order, OrderAnswer, OrderCase, Question, Shuffle, check_setup
from byzanz.rules import Rules, Viewer


class Byzantium(Rules[State, View]):
    """The rules of Byzantium."""

    slug: ClassVar[str] = "byzantium"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Byzantium"
    seats: ClassVar[range] = range(2, 5)
    state_type: ClassVar[type] = State
    state_format: ClassVar[int] = 1
    fewest_win: ClassVar[bool] = True
    decisions: ClassVar[int] = 22
    example_orders: ClassVar[tuple[str, ...]] = (
        "put 7r on e, 8r on ef then any",
        "put any always",
    )

    def setup(self, seats: int, options: Mapping[str, Any]) -> State:
        """Return the state before the first deal; Byzantium has no options."""
        check_setup(self.title, self.seats, seats, options)
        return initial(seats)

    def chance(self, state: State) -> Shuffle | None:
        """Return the one shuffle before each round, of all but the Aces."""
        return moves.due_shuffle(state)

    def awaited(self, state: State) -> dict[int, Question]:
        """Return the seat whose turn it is."""
        return awaited(state)

    def moves(self, state: State, seat: int) -> tuple[Move, ...]:
        """Return the placements, by card and then by slot, or `pass` if there is none."""
        return moves.legal_moves(state, seat)

    def apply(self, state: State, seat: int | None, move: Move) -> State:
        """Return the state after a move in canonical form; refuse what docs/rules/byzantium.md does not allow."""
        return moves.apply(state, seat, move)

    def view(self, state: State, viewer: Viewer) -> View:
        """Return all but the kitty and, until the round is over, others' hands."""
        return view_of(state, viewer)

    def sample_state(self, view: View, draw: Draw) -> State:
        """Return a random state of this view, with the hidden cards dealt anew."""
        return bots.sample_state(view, draw)

    def fallback(self, view: View, moves: Sequence[Move]) -> Move:
        """Leave the most playable cards, the first listed of equals (docs/rules/byzantium.md "Default move")."""
        if moves[0] == PASS:
            return PASS
        cross, hand = cross_of(view), numbers(view.hand or ())

        def playable_after(move: Move) -> int:
            card = CARD[move.args[0]]
            after = playable(placed(cross, SLOT[move.args[2]], card))
            return sum(other in after for other in hand)

        return max(moves, key=playable_after)

    def evaluate(self, view: View) -> float:
        """Return minus the points so far, and minus a share for each card in hand."""
        return bots.evaluate(view)

    def rollout_move(self, state: State, seat: int, draw: Draw) -> Move:
        """Place one of the cards that fit on the fewest slots."""
        return bots.rollout_move(state, seat, draw)

    def scores(self, state: State) -> tuple[int, ...]:
        """Return one point for each card left in a finished round."""
        return scores(state)

    def over(self, state: State) -> bool:
        """Return whether all rounds are played; the lowest total wins (docs/rules/byzantium.md "Play")."""
        return state.step == "over"

    def parse(self, text: str) -> Move:
        """Read a move: `put 7r on el`, `PU kb ON n`, `pas`."""
        return read_move(text)

    def reply_text(self, line: str) -> str:
        """Read the numbers of places in a reply, which turn emails show: `put 7r on 14` means `put 7r on el`."""
        return with_slots(line)

    def parse_order(self, text: str) -> Order:
        """Read a standing order: `put 7r on e, 8r on ef then any` (docs/orders.md)."""
        return orders.read_order(text)

    def order_scope(self, order: Order, view: View) -> str:
        """Return the deal that an order is for, such as `deal 2`; empty for one with `always`."""
        return orders.order_scope(order, view)

    def order_expired(self, scope: str, view: View) -> bool:
        """Return whether the deal is over, or the seat is out of it."""
        return orders.order_expired(scope, view)

    def answer_order(self, order: Order, view: View, moves: Sequence[Move]) -> OrderAnswer | None:
        """Return an order's answer to the open question (docs/orders.md)."""
        return orders.answer_order(order, view, moves, self.fallback)

    def foresee_order(self, order: Order, view: View) -> tuple[OrderCase, ...]:
        """Return an order's answer with the cards that lie there now."""
        return orders.foresee(order, view, self.fallback)

    def heading(self, view: View) -> Heading:
        """Return the round."""
        return byzantium_view.heading(view)

    def followed(self, before: View, after: View) -> Sequence[Message]:
        """Return the points of a round that has ended."""
        return byzantium_view.followed(before, after)

    def charts(self, views: Sequence[View]) -> tuple[Chart, ...]:
        """Return the points of each round, and the cards left in hand."""
        return byzantium_view.charts(views)

    def highlights(self, views: Sequence[View], winners: Sequence[int]) -> Sequence[Highlight]:
        """Return the best and the worst round of a seat, and the turning point."""
        return byzantium_view.highlights(views, winners)
