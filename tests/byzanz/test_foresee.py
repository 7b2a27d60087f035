"""What an order is foreseen to do is what it does: checked wherever a seat is asked in whole games."""

from __future__ import annotations

import random

import pytest

from byzanz import umpire
from byzanz.chance import deal, key
from byzanz.games import rules_of
from byzanz.moves import OrderAnswer
from tests.support import game_data

ORDERS = game_data.of_all("FORESEEN")


@pytest.mark.parametrize("slug", ORDERS)
def test_what_is_foreseen_is_what_is_done(slug: str) -> None:
    rules, dice = rules_of(slug), random.Random(7)
    orders = [rules.parse_order(text) for text in ORDERS[slug]]
    foreseen, stopped = set(), 0
    for game in range(3):
        dealt = deal(key(f"g{game}", bytes(32), ["a", "b"]))
        state, _ = umpire.settle(rules, rules.setup(max(rules.seats), {}), dealt)
        while rules.outcome(state) is None:
            seat = dice.choice(sorted(rules.awaited(state)))
            view, moves = rules.view(state, seat), rules.moves(state, seat)
            for order in orders:
                answer = rules.answer_order(order, view, moves)
                if answer is None or str(rules.awaited(state)[seat]).split()[0] in ("defend", "buy-off"):
                    continue
                case = rules.foresee_order(order, view)[0]
                assert outcome(case.answer) == outcome(answer), (str(order), view)
                foreseen.add(order.text)
                stopped += answer.move is None
            state, _ = umpire.settle(rules, rules.apply(state, seat, dice.choice(list(moves))), dealt)
    assert foreseen == {order.text for order in orders}
    assert stopped or slug == "byzantium"


def outcome(answer: OrderAnswer) -> tuple[str, str]:
    return str(answer.move), str(answer)


def test_a_raise_says_where_it_ends() -> None:
    rules = rules_of("byzanz")
    state, _ = umpire.settle(rules, rules.setup(4, {}), deal(key("g", bytes(32), ["a"])))
    now, beyond = rules.foresee_order(rules.parse_order("raise upto 3"), rules.view(state, 2))
    assert (now.when, str(now.answer.move).split(" ")[0]) == ("price 0", "bid")
    assert (beyond.when, str(beyond.answer)) == (
        "from 3",
        "Passed for you: the price hit 3, your limit was 3.",
    )
    state = rules.apply(state, 0, rules.parse(str(rules.moves(state, 0)[-1])))
    price = max(rules.view(state, 2).totals)
    (only,) = rules.foresee_order(rules.parse_order(f"raise upto {price}"), rules.view(state, 2))
    assert (only.when, str(only.answer.move)) == (f"price {price}", "pass")
    own = rules.foresee_order(rules.parse_order("raise upto 99"), rules.view(state, 0))
    assert own[0].when == f"price {price + 1}"  # nobody raises their own bid


def test_a_raise_for_the_next_lot_begins_at_nothing() -> None:
    rules = rules_of("byzanz")
    state, _ = umpire.settle(rules, rules.setup(4, {}), deal(key("g", bytes(32), ["a"])))
    state = rules.apply(state, 0, rules.parse("pass"))
    state = rules.apply(state, 1, rules.parse(str(rules.moves(state, 1)[-1])))
    assert rules.foresee_order(rules.parse_order("raise upto 3"), rules.view(state, 0))[0].when == "price 0"


@pytest.mark.parametrize("slug", ORDERS)
def test_others_foresee_nothing(slug: str) -> None:
    rules = rules_of(slug)
    state, _ = umpire.settle(rules, rules.setup(min(rules.seats), {}), deal(key("g", bytes(32), ["a"])))
    for text in ORDERS[slug]:
        assert rules.foresee_order(rules.parse_order(text), rules.view(state, "public")) == ()
