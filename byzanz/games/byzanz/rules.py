"""Byzanz, version 1: an auction of goods for three to six players, exactly as rules/byzanz.md.

This is the game as the contract wants it: who is asked, what may be answered, who may see what, and what is
played for a seat that does not answer. The cards are in `byzanz_cards`, what a move does in `byzanz_play`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from byzanz.chance import Draw, shuffled
from byzanz.charts import Chart, Heading
from byzanz.games.byzanz import charts, heuristics, orders
from byzanz.games.byzanz.cards import (
    CARD,
    GROUPS,
    PACK,
    PASS,
    PROFIT,
    TABLES,
    VALUE,
    Cards,
    Names,
    bids_from,
    groups_in,
    minus,
    names,
    numbers,
    of_group,
    plus,
    read_move,
    sales_from,
    singles_from,
    takes_from,
    total,
)
from byzanz.games.byzanz.state import ANSWERS, State, check_asked, deal, lot_card, needed, sell
from byzanz.moves import BadSetup, Move, Order, OrderAnswer, Outcome, Question, Shuffle
from byzanz.rules import ALL, Rules, Viewer

__all__ = ["Byzanz", "State", "View"]

KIND = {"bid": "bid", "tax": "tax", "limit": "limit", "market": "take", "end": "end"}
DONE = Move("done")
DEAL = Shuffle("deal", names(PACK))
_question = lru_cache(maxsize=1 << 11)(Question)


@dataclass(frozen=True, slots=True)
class View:
    """What one viewer knows of a moment: as `State` where the names agree, with cards by name.

    Args:
        viewer: a seat, `public` or `all`.
        lot_cards: the sizes of the lots of a round, in order; lot_card: the one on auction.
        awaited: the seats that are asked something; question: what the viewer is asked.
        turn: None when it is nobody or everybody.
        highest, leader: the highest standing bid, 0 and None without one; totals: the sum of each bid.
        won: None for a seat without a lot card this round.
        market: the groups there are, each good with its cards.
        hands: None where hidden from the viewer; profits: points of each profit pile.
        deck, removed: None unless the viewer is ALL.
    """

    viewer: Viewer
    seats: int
    step: str
    number: int
    round: int
    rounds: int
    lot_cards: tuple[int, ...]
    lot_card: int | None
    lot: Names
    awaited: tuple[int, ...]
    question: str | None
    turn: int | None
    starter: int
    highest: int
    leader: int | None
    bids: tuple[Names, ...]
    totals: tuple[int, ...]
    passed: tuple[int, ...]
    won: tuple[int | None, ...]
    market: tuple[tuple[str, Names], ...]
    taken: int
    hands: tuple[Names | None, ...]
    hand_sizes: tuple[int, ...]
    known: tuple[Names, ...]
    kept: tuple[Names, ...]
    profits: tuple[int, ...]
    gone: Names
    deck_size: int
    removed_size: int
    deck: Names | None
    removed: Names | None
    done: tuple[bool, ...]

    @property
    def hand(self) -> Names | None:
        """The viewer's own hand; None for one who holds none."""
        return self.hands[self.viewer] if isinstance(self.viewer, int) else None


class Byzanz(Rules[State, View]):
    """The rules of Byzanz."""

    slug: ClassVar[str] = "byzanz"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Byzanz"
    seats: ClassVar[range] = range(3, 7)
    state_type: ClassVar[type] = State
    state_format: ClassVar[int] = 1

    def setup(self, seats: int, options: Mapping[str, Any]) -> State:
        """The undealt pack; Byzanz has no options."""
        if seats not in TABLES:
            raise BadSetup("Byzanz is for 3 to 6 players, not %(seats)s.", seats=seats)
        if options:
            raise BadSetup("Byzanz has no option “%(option)s”.", option=min(map(str, options))[:40])
        nothing: tuple[Cards, ...] = ((),) * seats
        return State(
            step="deal",
            number=0,
            round=1,
            turn=-1,
            starter=0,
            deck=PACK,
            removed=(),
            lot=(),
            hands=nothing,
            bids=nothing,
            known=nothing,
            passed=(),
            won=(0,) * seats,
            market=(),
            taken=0,
            kept=nothing,
            gone=(),
            done=(False,) * seats,
        )

    def chance(self, state: State) -> Shuffle | None:
        """The one shuffle of the game, before everything else."""
        return DEAL if state.step == "deal" else None

    def awaited(self, state: State) -> dict[int, Question]:
        """The seat whose turn it is; at the end all that have not said `done`."""
        if state.turn >= 0:
            return {state.turn: _question(KIND[state.step], state.number)}
        if state.step != "end":
            return {}
        question = _question("end", state.number)
        return {seat: question for seat, done in enumerate(state.done) if not done}

    def moves(self, state: State, seat: int) -> Sequence[Move]:
        """The answers: `pass` and bids by their sums, or all else in canonical order, sales first.

        A `discard` of several cards down to seven is legal and not listed (rules/byzanz.md "Hand limit").
        """
        if seat != state.turn or seat < 0:
            return self._last_moves(state, seat)
        hand = state.hands[seat]
        if state.step == "bid":
            return bids_from(hand, needed(state, seat))
        if state.step == "tax":
            return singles_from("tax", state.lot)
        if state.step == "market":
            return takes_from(state.market)
        return (*sales_from(hand), *singles_from("discard", hand))

    def _last_moves(self, state: State, seat: int) -> tuple[Move, ...]:
        """The answers at the end, when it is everybody's turn."""
        selling = state.step == "end" and 0 <= seat < len(state.done) and not state.done[seat]
        return (*sales_from(state.hands[seat]), DONE) if selling else ()

    def out_of_turn_moves(self, state: State, seat: int) -> tuple[Move, ...]:
        """Sales while the game runs, unless they are among the answers (rules/byzanz.md "Selling")."""
        if state.step in ("deal", "end", "over") or not 0 <= seat < len(state.hands):
            return ()
        return () if state.step == "limit" and seat == state.turn else sales_from(state.hands[seat])

    def is_out_of_turn(self, state: State, seat: int, move: Move) -> bool:
        """A sale, unless this seat is over the limit or asked for its last sales."""
        question = self.awaited(state).get(seat)
        return move.verb == "sell" and (question is None or question.kind not in ("limit", "end"))

    def apply(self, state: State, seat: int | None, move: Move) -> State:
        """The state after a move in canonical form; refuses whatever rules/byzanz.md does not allow."""
        if seat is None:
            return deal(state, move)
        verb, words = move
        if verb == "sell":
            return sell(state, seat, words)
        check_asked(state, seat, verb)
        return ANSWERS[state.step, verb](state, seat, words)

    def view(self, state: State, viewer: Viewer) -> View:
        """All but others' hands, the deck and the removed cards (rules/byzanz.md "Public and hidden")."""
        everything = viewer == ALL
        table = TABLES[len(state.won)]
        awaited = self.awaited(state)
        question = awaited.get(viewer) if isinstance(viewer, int) else None
        totals = tuple(map(total, state.bids))
        highest = max(totals)
        hands, market = enumerate(state.hands), groups_in(state.market)
        return View(
            viewer=viewer,
            seats=len(state.won),
            step=state.step,
            number=state.number,
            round=state.round,
            rounds=table.rounds,
            lot_cards=table.lots,
            lot_card=lot_card(state) if state.step in ("bid", "tax") else None,
            lot=names(state.lot),
            awaited=tuple(awaited),
            question=str(question) if question else None,
            turn=state.turn if state.turn >= 0 else None,
            starter=state.starter,
            highest=highest,
            leader=totals.index(highest) if highest else None,
            bids=tuple(map(names, state.bids)),
            totals=totals,
            passed=state.passed,
            won=tuple(size or None for size in state.won),
            market=tuple((GROUPS[group], names(of_group(state.market, group))) for group in market),
            taken=state.taken,
            hands=tuple(names(hand) if everything or seat == viewer else None for seat, hand in hands),
            hand_sizes=tuple(map(len, state.hands)),
            known=tuple(map(names, state.known)),
            kept=tuple(map(names, state.kept)),
            profits=self.scores(state),
            gone=names(state.gone),
            deck_size=len(state.deck),
            removed_size=len(state.removed),
            deck=names(state.deck) if everything else None,
            removed=names(state.removed) if everything else None,
            done=state.done,
        )

    def redact_move(self, move: Move, seat: int | None, viewer: Viewer, settled: bool) -> str:
        """Every move is public, except in which order the cards lie."""
        return "shuffle deal" if seat is None and viewer != ALL else str(move)

    def sample_state(self, view: View, draw: Draw) -> State:
        """A state of this view: the unseen is dealt anew, to hands (with what is known) and all piles."""
        if view.step == "deal":
            return self.setup(view.seats, {})
        market = numbers(name for _, cards in view.market for name in cards)
        in_sight = [market, *map(numbers, (view.lot, view.gone, *view.bids, *view.kept))]
        hands = [numbers(view.known[seat] if hand is None else hand) for seat, hand in enumerate(view.hands)]
        deck, removed = numbers(view.deck or ()), numbers(view.removed or ())
        pool = shuffled(minus(PACK, sum([*in_sight, *hands, deck, removed], ())), draw)
        for seat, hand in enumerate(hands):
            places = view.hand_sizes[seat] - len(hand)
            hands[seat], pool = plus(hand, pool[:places]), pool[places:]
        places = view.removed_size - len(removed)
        return State(
            step=view.step,
            number=view.number,
            round=view.round,
            turn=-1 if view.turn is None else view.turn,
            starter=view.starter,
            deck=deck + pool[places:],
            removed=plus(removed, pool[:places]),
            lot=numbers(view.lot),
            hands=tuple(hands),
            bids=tuple(map(numbers, view.bids)),
            known=tuple(map(numbers, view.known)),
            passed=view.passed,
            won=tuple(size or 0 for size in view.won),
            market=market,
            taken=view.taken,
            kept=tuple(map(numbers, view.kept)),
            gone=numbers(view.gone),
            done=view.done,
        )

    def fallback(self, view: View, moves: Sequence[Move]) -> Move:
        """As rules/byzanz.md "What is played for a seat that does not answer"; ties: the first listed."""
        if view.step == "bid":
            return PASS
        if view.step == "market":
            market = dict(view.market)
            return max(moves, key=lambda move: sum(VALUE[CARD[name]] or 2 for name in market[move.args[0]]))
        sales = [move for move in moves if move.verb == "sell"]
        if sales and view.step == "limit":
            return max(sales, key=heuristics.profit)
        if sales:
            return max(sales, key=lambda move: (heuristics.profit(move), -move.args.count("merchant")))
        return DONE if view.step == "end" else min(moves, key=lambda move: VALUE[CARD[move.args[0]]] or 5)

    def evaluate(self, view: View) -> float:
        """Profit so far, and what the cards in hand, bid, or lot nearly won may still bring."""
        return heuristics.evaluate(view, view.viewer) if isinstance(view.viewer, int) else 0.0

    def rollout_move(self, state: State, seat: int, draw: Draw) -> Move:
        """What a player who counts on `byzanz_prospects.worth` answers."""
        return heuristics.rollout_move(state, seat)

    def scores(self, state: State) -> tuple[int, ...]:
        """The profit of each seat."""
        return tuple(sum(PROFIT[card] for card in pile) for pile in state.kept)

    def outcome(self, state: State) -> Outcome | None:
        """Most profit wins, then most cards in hand, then the win is shared (rules/byzanz.md "End")."""
        if state.step != "over":
            return None
        scores = self.scores(state)
        ranks = list(zip(scores, map(len, state.hands), strict=True))
        winners = tuple(seat for seat, rank in enumerate(ranks) if rank == max(ranks))
        return Outcome(scores, winners, "finished")

    def parse(self, text: str) -> Move:
        """Read a player's line: `b sp2 c4`, `TAKE wi`, `sell m cloth1 cloth1`."""
        return read_move(text)

    def parse_order(self, text: str) -> Order:
        """Read a standing order: `ladder sp3 wine2 upto 9 then pass`, `take wine cloth` (docs/orders.md)."""
        return orders.read_order(text)

    def order_scope(self, order: Order, view: View) -> str:
        """The lot that an order about bidding is for, such as `lot 7`, unless it is for every lot."""
        return orders.order_scope(order, view)

    def order_expired(self, scope: str, view: View) -> bool:
        """Whether the lot is decided, or the seat is out of its auction."""
        return orders.order_expired(scope, view)

    def answer_order(self, order: Order, view: View, moves: Sequence[Move]) -> OrderAnswer | None:
        """What an order answers to the question that its seat is asked (docs/orders.md)."""
        return orders.answer_order(order, view, moves)

    def heading(self, view: View) -> Heading:
        """The round and the lot or market, at last `end`."""
        return charts.heading(view)

    def charts(self, views: Sequence[View]) -> tuple[Chart, ...]:
        """Profit, prices, the market, hands."""
        return charts.charts(views)
