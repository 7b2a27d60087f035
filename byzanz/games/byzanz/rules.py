"""Byzanz, version 1: an auction of goods for three to six players, exactly as docs/rules/byzanz.md has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from byzanz.chance import Draw
from byzanz.charts import Chart, Heading, Highlight
from byzanz.games.byzanz import bots, orders
from byzanz.games.byzanz import view as byzanz_view
from byzanz.games.byzanz.moves import ANSWERS, check_asked, deal, minimum_raise, sell
from byzanz.games.byzanz.state import (
    CARD,
    DONE,
    PACK,
    PASS,
    PROFIT,
    VALUE,
    Lot,
    State,
    best_sale,
    bids_from,
    names,
    questions,
    read_move,
    sale_profit,
    sales_from,
    scores,
    singles_from,
    takes_from,
    undealt,
)
from byzanz.games.byzanz.view import View, view_of
from byzanz.moves import (
    Message,
    Move,
    Order,
    OrderAnswer,
    OrderCase,
    Outcome,
    Question,
    Shuffle,
    check_setup,
    placed,
)
from byzanz.rules import Rules, Viewer


class Byzanz(Rules[State, View]):
    """The rules of Byzanz."""

    slug: ClassVar[str] = "byzanz"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Byzanz"
    seats: ClassVar[range] = range(3, 7)
    state_type: ClassVar[type] = State
    state_format: ClassVar[int] = 2
    unsealed: ClassVar[frozenset[str]] = frozenset({"sell", "done"})
    unlisted: ClassVar[frozenset[str]] = frozenset({"discard"})
    decisions: ClassVar[int] = 30
    example_orders: ClassVar[tuple[str, ...]] = (
        "raise upto 6",
        "ladder cloth1 spice3 upto 9 then ask",
        "pass every lot",
        "tax grain lowest",
        "take wine best always",
        "limit sell grain lowest always",
        "finish",
    )

    def setup(self, seats: int, options: Mapping[str, Any]) -> State:
        """Return the state before the deal; Byzanz has no options."""
        check_setup(self.title, self.seats, seats, options)
        return undealt(seats)

    def chance(self, state: State) -> Shuffle | None:
        """Return the deal, the only shuffle of the game, while it is due."""
        return Shuffle("deal", names(PACK)) if state.step == "deal" else None

    def awaited(self, state: State) -> dict[int, Question]:
        """Return the question of the seat to move; at the end, of every seat still selling."""
        return questions(state)

    def moves(self, state: State, seat: int) -> Sequence[Move]:
        """Return `pass` and bids by value, or all other answers in canonical order, sales first.

        Discarding several cards at once, down to the hand limit, is legal but not listed.
        """
        if seat not in questions(state):
            return ()
        hand = state.hands[seat]
        if state.step == "bid":
            return bids_from(hand, minimum_raise(state, seat))
        if state.step == "tax":
            return singles_from("tax", state.lot)
        if state.step == "market":
            return takes_from(state.market)
        return (*sales_from(hand), *((DONE,) if state.step == "end" else singles_from("discard", hand)))

    def out_of_turn_moves(self, state: State, seat: int) -> tuple[Move, ...]:
        """Return a seat's sales while the game runs, unless its question lists them already."""
        if state.step in ("deal", "end", "over") or not 0 <= seat < len(state.hands):
            return ()
        return () if state.step == "limit" and seat == state.turn else sales_from(state.hands[seat])

    def is_out_of_turn(self, state: State, seat: int, move: Move) -> bool:
        """Whether the move is a sale and the seat is neither over the limit nor selling at the end."""
        question = questions(state).get(seat)
        return move.verb == "sell" and (question is None or question.kind not in ("limit", "end"))

    def apply(self, state: State, seat: int | None, move: Move) -> State:
        """Return the state after a move in canonical form, refusing an illegal one."""
        if seat is None:
            return deal(state, move)
        if move.verb == "sell":
            return sell(state, seat, move.args)
        check_asked(state, seat, move.verb)
        return ANSWERS[state.step, move.verb](state, seat, move.args)

    def view(self, state: State, viewer: Viewer) -> View:
        """Return the moment as this viewer sees it."""
        return view_of(state, viewer)

    def sample_state(self, view: View, draw: Draw) -> State:
        """Return a random state that agrees with the view."""
        return bots.sample_state(view, draw)

    def fallback(self, view: View, moves: Sequence[Move]) -> Move:
        """Return the default move for a player who does not answer; of equal ones, the first listed."""
        if view.step == "bid":
            return PASS
        if view.step == "market":
            market = dict(view.market)
            return max(moves, key=lambda move: sum(VALUE[CARD[name]] or 2 for name in market[move.args[0]]))
        sales = [move for move in moves if move.verb == "sell"]
        if sales and view.step == "limit":
            return max(sales, key=sale_profit)
        if view.step == "end":
            return best_sale(sales) or DONE
        return min(moves, key=lambda move: PROFIT[CARD[move.args[0]]])  # merchants last

    def evaluate(self, view: View) -> float:
        """Return the profit so far plus what the viewer's cards may still bring."""
        return bots.evaluate(view, view.viewer) if isinstance(view.viewer, int) else 0.0

    def rollout_move(self, state: State, seat: int, draw: Draw) -> Move:
        """Return the move of a player who relies on `bots.hand_worth`."""
        return bots.rollout_move(state, seat)

    def scores(self, state: State) -> tuple[int, ...]:
        """Return the profit of each seat."""
        return scores(state)

    def outcome(self, state: State) -> Outcome | None:
        """Return the winner by profit, then by cards in hand; seats still equal share the win."""
        if state.step != "over":
            return None
        winners = tuple(seat for seat, place in enumerate(self.places(state)) if place == 1)
        return Outcome(scores(state), winners, "finished")

    def places(self, state: State) -> tuple[int, ...]:
        """Return the place of each seat by profit, then by cards in hand (docs/rules/byzanz.md)."""
        return placed(list(zip(scores(state), map(len, state.hands), strict=True)))

    def parse(self, text: str) -> Move:
        """Read a player's line: `b sp2 c4`, `TAKE wi`, `sell m cloth1 cloth1`."""
        return read_move(text)

    def parse_order(self, text: str) -> Order:
        """Read a standing order: `ladder sp3 wine2 upto 9 then pass`, `take wine cloth`."""
        return orders.read_order(text)

    def order_scope(self, order: Order, view: View) -> str:
        """Return the lot an order about bidding is for, such as `lot 7`; empty for one without such a limit."""
        return orders.order_scope(order, view)

    def order_expired(self, occasion: str, view: View) -> bool:
        """Whether the lot is decided, or the seat is out of its auction."""
        return orders.order_expired(occasion, view)

    def answer_order(self, order: Order, view: View, moves: Sequence[Move]) -> OrderAnswer | None:
        """Return an order's answer to its seat's question, or None if it is about another."""
        return orders.answer_order(order, view, moves)

    def foresee_order(self, order: Order, view: View) -> tuple[OrderCase, ...]:
        """Return an order's answers at the present price and beyond, or with the cards that lie there now."""
        return orders.foresee(order, view)

    def heading(self, view: View) -> Heading:
        """Return the round and its lot or market; `end` after the last round."""
        return byzanz_view.heading(view)

    def followed(self, before: View, after: View) -> Sequence[Message]:
        """Return what a bid adds up to, how a lot went, or which cards were taken."""
        return byzanz_view.followed(before, after)

    def decode(self, text: str) -> State:
        """Return the state that `encode` wrote, its lots as such again."""
        state = super().decode(text)
        return replace(state, lots=tuple([Lot(*lot) for lot in state.lots]))

    def charts(self, views: Sequence[View]) -> tuple[Chart, ...]:
        """Return the charts of prices, profit, the market and the hands."""
        return byzanz_view.charts(views)

    def highlights(self, views: Sequence[View], winners: Sequence[int]) -> Sequence[Highlight]:
        """Return the dearest lot, the best set and the turning point."""
        return byzanz_view.highlights(views, winners)
