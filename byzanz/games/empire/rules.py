"""Empire and Foes, version 1: two players, the Empire against its foes, exactly as docs/rules/empire.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from byzanz.chance import Draw
from byzanz.charts import Chart, Heading, Highlight
from byzanz.games.empire import bots, moves, orders
from byzanz.games.empire import view as empire_view
from byzanz.games.empire.bots import laid, swing
from byzanz.games.empire.moves import DECLINE
from byzanz.games.empire.state import (
    BYZANTINES,
    FOES,
    NUMBER,
    SEALED,
    State,
    awaited,
    due_shuffle,
    force,
    initial,
    kept_worth,
    legacy,
    numbers,
    read_move,
)
from byzanz.games.empire.view import View, view_of
from byzanz.moves import Message, Move, Order, OrderAnswer, OrderCase, Outcome, Question, Shuffle, check_setup
from byzanz.rules import ALL, PUBLIC, Rules, Viewer


class Empire(Rules[State, View]):
    """The rules of Empire."""

    slug: ClassVar[str] = "empire"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Empire and Foes"
    seats: ClassVar[range] = range(2, 3)
    state_type: ClassVar[type] = State
    state_format: ClassVar[int] = 1
    decisions: ClassVar[int] = 20
    example_orders: ClassVar[tuple[str, ...]] = (
        "redraw none always",
        "meld most",
        "defend vandals",
        "negotiate huns most",
        "replace most always",
        "buy-off most then ask",
        "keep science trade least",
    )
    sealed: ClassVar[frozenset[str]] = frozenset(SEALED)

    def setup(self, seats: int, options: Mapping[str, Any]) -> State:
        """Return year 1 before the first shuffles; Empire has no options."""
        check_setup(self.title, self.seats, seats, options)
        return initial()

    def chance(self, state: State) -> Shuffle | None:
        """Return the shuffle of an age's new cards at its start, or of a deck's discards when its pile is empty."""
        return due_shuffle(state)

    def awaited(self, state: State) -> dict[int, Question]:
        """Return the seats that owe a sealed choice, or the one that may respond."""
        return awaited(state)

    def moves(self, state: State, seat: int) -> tuple[Move, ...]:
        """Return the answers: small redraws first, strong melds first, cards to keep, or `decline` and responses."""
        return moves.legal_moves(state, seat)

    def out_of_turn_moves(self, state: State, seat: int) -> tuple[Move, ...]:
        """Return the same choices again while the other seat's is not in: the last one counts (docs/formats.md §1)."""
        return moves.replacements(state, seat)

    def is_out_of_turn(self, state: State, seat: int, move: Move) -> bool:
        """Return whether the move would replace a sealed choice."""
        return move.verb == state.step and moves.has_sealed(state, seat)

    def apply(self, state: State, seat: int | None, move: Move) -> State:
        """Return the state after a move in canonical form; refuse what docs/rules/empire.md does not allow."""
        return moves.apply(state, seat, move)

    def view(self, state: State, viewer: Viewer) -> View:
        """Return the view of docs/rules/empire.md "What is public and what is hidden"."""
        return view_of(state, viewer)

    def redact_move(self, move: Move, seat: int | None, viewer: Viewer, settled: bool) -> str:
        """Show of a shuffle its label, of others' sealed choices nothing, and of their redraws only the count."""
        if settled and viewer != ALL and viewer != seat and move.verb == "redraw":
            return f"redraw ? {len(move.args)}"
        if settled and viewer == PUBLIC and move.verb == "keep":
            return "keep ?"
        return super().redact_move(move, seat, viewer, settled)

    def sample_state(self, view: View, draw: Draw) -> State:
        """Return a random state of this view: hands, piles, cards face down and sealed choices are dealt anew."""
        return bots.sample_state(view, draw)

    def fallback(self, view: View, moves: Sequence[Move]) -> Move:
        """Choose as docs/rules/empire.md "Default moves" says, the first listed of equals."""
        deck = FOES if view.viewer == view.foe else BYZANTINES
        if view.step == "redraw":
            return Move("redraw")
        if view.step == "meld":
            melds = [numbers(deck, move.args) for move in moves]
            return moves[max(range(len(moves)), key=lambda at: (force(melds[at]), legacy(melds[at])))]
        if view.step == "keep":
            return min(moves, key=lambda move: kept_worth(NUMBER[deck][move.args[0]]))
        own, theirs = laid(view, view.emperor), laid(view, view.foe)
        best = max(moves, key=lambda move: swing(own, theirs, move))
        return best if swing(own, theirs, best) > 0 else DECLINE

    def evaluate(self, view: View) -> float:
        """Return the lead in legacy, with the prospects of this year's battle and the threat of a low territory."""
        return bots.evaluate(view, view.viewer) if isinstance(view.viewer, int) else 0.0

    def rollout_move(self, state: State, seat: int, draw: Draw) -> Move:
        """Play a strong meld, redraw weak cards, and pass on the worst one."""
        return bots.rollout_move(state, seat)

    def scores(self, state: State) -> tuple[int, ...]:
        """Return the legacy of each seat."""
        return state.legacy

    def over(self, state: State) -> bool:
        """Return whether the twelve years are over, or the Empire has fallen."""
        return state.step == "over"

    def outcome(self, state: State) -> Outcome | None:
        """Return the end: most legacy wins, equal legacy is a draw; `fallen` if no territory is left."""
        end = super().outcome(state)
        return end if end is None or state.territory > 0 else replace(end, reason="fallen")

    def parse(self, text: str) -> Move:
        """Read a move as a player writes it (docs/formats.md §1)."""
        return read_move(text)

    def parse_order(self, text: str) -> Order:
        """Read a standing order: `defend vandals then ask`, `meld most always` (docs/orders.md)."""
        return orders.read_order(text)

    def order_scope(self, order: Order, view: View) -> str:
        """Return the year that an order is for, such as `year 3`; empty for one with `always`."""
        return orders.order_scope(order, view)

    def order_expired(self, scope: str, view: View) -> bool:
        """Return whether the year is over."""
        return orders.order_expired(scope, view)

    def answer_order(self, order: Order, view: View, moves: Sequence[Move]) -> OrderAnswer | None:
        """Return an order's answer to the open question (docs/orders.md)."""
        return orders.answer_order(order, view, moves, self.fallback)

    def foresee_order(self, order: Order, view: View) -> tuple[OrderCase, ...]:
        """Return an order's answer with the cards that lie there now."""
        return orders.foresee(order, view, self.fallback)

    def heading(self, view: View) -> Heading:
        """Return the year."""
        return empire_view.heading(view)

    def followed(self, before: View, after: View) -> Sequence[Message]:
        """Return how a battle ended."""
        return after.battle.followed if after.battle and after.battle != before.battle else ()

    def charts(self, views: Sequence[View]) -> tuple[Chart, ...]:
        """Return the charts of territory and legacy."""
        return empire_view.charts(views)

    def highlights(self, views: Sequence[View], winners: Sequence[int]) -> Sequence[Highlight]:
        """Return the greatest victory of each side, and the turning point."""
        return empire_view.highlights(views, winners)
