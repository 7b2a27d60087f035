"""Standing orders of every game round-trip, play only legal moves, and ignore what their owner cannot see.

The orders are random combinations of the words of each game; they play whole games.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from byzanz import chance, orders, umpire
from byzanz.chance import Draw, Stream
from byzanz.games import latest, rules_of
from byzanz.kit.played import LONGEST_GAME, choice
from byzanz.moves import IllegalMove, Move, Order, OrderAnswer, RulesError
from byzanz.orders import Decision, PlacedOrder
from byzanz.rules import ALL
from tests.support import game_data
from tests.support.sealed_game import Sealed

GAMES = 4
WORDS = game_data.of_all("ORDER_WORDS")
MAKERS = game_data.of_all("random_orders")
Answering = Callable[[Any, Any, int, list[PlacedOrder]], Decision | None]


def read_order(rules: Any, text: str) -> Any:
    """The order that a text is, or None where it is refused as it should be."""
    try:
        return rules.parse_order(text)
    except RulesError as error:
        refusal = str(error)
    assert refusal.endswith("."), "a refusal is a sentence"
    assert "%(" in text or "%(" not in refusal, "every place is filled"
    return None


def leave(rules: Any, state: Any, seat: int, draw: Draw) -> list[PlacedOrder]:
    """Orders that a seat may leave now; those that could never be carried out are refused with a reason."""
    view, left = rules.view(state, seat), list[PlacedOrder]()
    for text in MAKERS[rules.slug](draw, view):
        order = read_order(rules, text)
        if order is None:
            continue
        try:
            left.append(PlacedOrder(len(left), order, rules.order_scope(order, view)))
        except IllegalMove:
            continue
    return left


@cache
def driven(
    rules: Any, seats: int, number: int
) -> tuple[tuple[Any, int, tuple[PlacedOrder, ...], Decision | None], ...]:
    """A game of orders: each moment at which a seat is asked, its orders, and what they answered."""
    name = f"{rules.slug} {seats} {number}"
    draw, deal = Stream(name.encode(), "orders").below, chance.deal(name.encode())
    state, _ = umpire.settle(rules, rules.setup(seats, {}), deal)
    standing: dict[int, list[PlacedOrder]] = {seat: [] for seat in range(seats)}
    moments: list[tuple[Any, int, tuple[PlacedOrder, ...], Decision | None]] = []
    while rules.outcome(state) is None:
        assert len(moments) < LONGEST_GAME, "the game does not end"
        seat = choice(draw, tuple(rules.awaited(state)))
        if draw(3) == 0:
            standing[seat] = leave(rules, state, seat, draw)
        left = [
            each for each in standing[seat] if each not in orders.expired(rules, state, seat, standing[seat])
        ]
        decision = orders.decide(rules, state, seat, left)
        moments.append((state, seat, tuple(left), decision))
        standing[seat] = [each for each in left if decision is None or each is not decision.placed]
        move = choice(draw, rules.moves(state, seat))
        if decision is not None and decision.answer.move is not None:
            move = decision.answer.move
        if decision is not None and decision.answer.remaining is not None:
            standing[seat].append(
                PlacedOrder(decision.placed.key, decision.answer.remaining, decision.placed.scope)
            )
        state, _ = umpire.settle(rules, umpire.play(rules, state, seat, move), deal)
    return tuple(moments)


TABLES = [
    pytest.param(rules_of(slug), seats, id=f"{slug}-{seats}")
    for slug in MAKERS
    for seats in rules_of(slug).seats
]


@pytest.mark.parametrize(("rules", "seats"), TABLES)
def test_games_of_orders_end_and_each_answer_is_legal(rules, seats):
    counted = Counter[str]()
    for number in range(GAMES):
        for state, seat, _, decision in driven(rules, seats, number):
            counted["asked"] += decision is None
            if decision is None:
                continue
            given = decision.answer
            assert str(given), "what is done is explained"
            counted["stopped" if given.move is None else "answered"] += 1
            assert given.move is None or given.move in rules.moves(state, seat)
            assert given.move is not None or given.remaining is None
            assert str(given) != "It could not be carried out as the table stands now.", (
                "a fault of the game's"
            )
    assert min(counted["asked"], counted["stopped"], counted["answered"]) > 0, counted


@pytest.mark.parametrize(("rules", "seats"), TABLES)
def test_what_is_left_of_an_order_is_an_order_about_the_same(rules, seats):
    for number in range(GAMES):
        for _, _, left, decision in driven(rules, seats, number):
            for order in [each.order for each in left] + ([decision.answer.remaining] if decision else []):
                if order is not None:
                    assert rules.parse_order(order.text) == order
            assert (
                decision is None
                or decision.answer.remaining is None
                or decision.answer.remaining.kind == decision.placed.order.kind
            )


def check_blind(rules: Any, seats: int, number: int, answering: Answering) -> None:
    """In two worlds that look the same to a seat its orders answer the same."""
    differ = 0
    for at, (state, seat, left, _) in enumerate(driven(rules, seats, number)):
        if not left or at % 3:
            continue
        view = rules.view(state, seat)
        world = rules.sample_state(view, Stream(b"worlds", f"{number}:{at}").below)
        assert rules.view(world, seat) == view
        differ += rules.view(world, ALL) != rules.view(state, ALL)
        assert answering(rules, world, seat, list(left)) == answering(rules, state, seat, list(left))
    assert differ


@pytest.mark.parametrize(("rules", "seats"), TABLES)
def test_an_order_sees_no_more_than_its_owner(rules, seats):
    check_blind(rules, seats, 0, orders.decide)


def peeking(rules: Any, state: Any, seat: int, left: list[PlacedOrder]) -> Decision | None:
    """A planted fault: whether an order answers hangs on what another seat holds."""
    hidden = "".join(rules.view(state, ALL).hands[seat - 1])
    return None if len(hidden) % 2 else orders.decide(rules, state, seat, left)


@pytest.mark.parametrize(("rules", "seats"), TABLES)
def test_an_order_that_peeks_is_noticed(rules, seats):
    with pytest.raises(AssertionError):
        check_blind(rules, seats, 0, peeking)


@pytest.mark.parametrize("rules", latest(), ids=lambda rules: rules.slug)
@given(text=some.text(max_size=80), drawn=some.data())
@settings(max_examples=150, deadline=None)
def test_any_text_is_an_order_or_refused_with_a_sentence(rules, text, drawn):
    words = " ".join(WORDS.get(rules.slug, ("pass", "order"))).split()
    for line in (text, " ".join(drawn.draw(some.lists(some.sampled_from(words), max_size=9)))):
        order = read_order(rules, line)
        if order is not None:
            assert rules.parse_order(order.text) == order
            assert rules.parse_order("  ORDER " + order.text.upper().replace(" ", "  ")) == order


@pytest.mark.parametrize("rules", latest(), ids=lambda rules: rules.slug)
@pytest.mark.parametrize(
    "text", ["", " ", "?", "order", "order order", "\n", "ß", "a" * 5000, "!void 3", "0", "always"]
)
def test_nonsense_is_refused(rules, text):
    assert read_order(rules, text) is None


class Lays(Sealed):
    """Standing orders with a fault: each lays the card that it names, held or not."""

    def answer_order(self, order: Order, *_: Any) -> OrderAnswer:
        return OrderAnswer(Move("lay", (order.text,)), "Laid for you.", remaining=order)


def test_an_order_that_answers_with_an_illegal_move_stops():
    rules = Lays()
    state, _ = umpire.settle(rules, rules.setup(2, {}), chance.deal(b"lays"))
    other, own = state.hands[1][0], state.hands[0][0]
    for card, played, said in (
        (own, Move("lay", (own,)), "Laid for you."),
        (other, None, "It could not be carried out as the table stands now."),
    ):
        placed = PlacedOrder(7, Order(card, "lay"), "")
        decision = orders.decide(rules, state, 0, [placed])
        assert decision is not None
        assert decision.placed is placed
        assert (decision.answer.move, str(decision.answer)) == (played, said)
        assert decision.answer.remaining is (placed.order if played else None)


def test_a_game_without_orders_says_so():
    with pytest.raises(RulesError, match="takes no standing orders"):
        Sealed().parse_order("pass")
