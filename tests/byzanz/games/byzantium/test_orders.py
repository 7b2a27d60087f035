"""Standing orders of Byzantium: how they are read, how long they last, what they answer (docs/orders.md)."""

from __future__ import annotations

import pytest

from byzanz.moves import AmbiguousMove, IllegalMove, UnreadableMove, UnreadableOrder
from tests.support.byzantium_positions import BYZANTIUM, at

HANDS = ("7r 9r 10r 5b", "2b 3b 6r", "4b 8b kr")


def answered_by_order(state, text, seat=0):
    """What an order makes of the question that its seat is asked."""
    return BYZANTIUM.answer_order(
        BYZANTIUM.parse_order(text), BYZANTIUM.view(state, seat), BYZANTIUM.moves(state, seat)
    )


def order_scope(state, text, seat=0):
    return BYZANTIUM.order_scope(BYZANTIUM.parse_order(text), BYZANTIUM.view(state, seat))


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("PUT 7r on e", "put 7r on e then ask"),
        ("order p kb on n,10r on el then an", "put kb on n, 10r on el then any"),
        ("put 7r on e 7r on w then ask", "put 7r on e, 7r on w then ask"),
        ("put any", "put any"),
        ("put any always", "put any always"),
    ],
)
def test_an_order_is_read_as_freely_as_a_move(written, canonical):
    order = BYZANTIUM.parse_order(written)
    assert (order.text, order.kind) == (canonical, "put")
    assert BYZANTIUM.parse_order(order.text) == order


@pytest.mark.parametrize(
    "text",
    [
        "", "order", "pass", "put", "put 7r", "put 7r on", "put 7r on n", "put 7r on ell", "put ar on e",
        "put 7r on e then", "put 7r on e then sing", "put 7r on e always", "put then any", "put any now",
        "put 7r on e, 7r on e", "put 1 on e", "put any always now", "p\x00t", "put " + "7r on e, " * 200,
    ],
)  # fmt: skip
def test_what_is_no_order_is_refused_with_a_sentence(text):
    with pytest.raises((UnreadableOrder, AmbiguousMove, UnreadableMove)) as refused:
        BYZANTIUM.parse_order(text)
    assert str(refused.value).endswith(".")
    assert "%(" not in str(refused.value), "every place is filled"


def test_the_first_placement_that_is_possible_is_made_and_its_card_leaves_the_list():
    state = at(HANDS, "e 8r")
    answer = answered_by_order(state, "put 7r on e, 10r on ef, 10r on w, 7r on w then ask")
    assert str(answer.move) == "put 10r on ef"
    assert str(answer.remaining) == "put 7r on e, 7r on w then ask"
    last = answered_by_order(state, "put 10r on ef then ask")
    assert last.remaining is None
    assert str(answered_by_order(state, "put 10r on ef then any").remaining) == "put any"


def test_when_none_is_possible_it_asks_or_places_any():
    state = at(HANDS, "e 8r")
    stopped = answered_by_order(state, "put 7r on e then ask")
    assert stopped.move is None
    assert str(stopped) == "None of the placements on your list is possible now."
    moves = BYZANTIUM.moves(state, 0)
    for text in ("put 7r on e then any", "put any always"):
        answer = answered_by_order(state, text)
        assert answer.move == BYZANTIUM.fallback(BYZANTIUM.view(state, 0), moves)
        assert answer.remaining is not None
    assert str(answered_by_order(state, "put any").remaining) == "put any"


def test_a_list_is_for_the_deal_and_ends_with_it():
    state = at(HANDS)
    assert order_scope(state, "put 7r on e") == "deal 1"
    assert order_scope(state, "put any always") == ""
    out = at(HANDS, passed=(0,), turn=1)
    assert order_scope(out, "put any") == "deal 2"
    assert BYZANTIUM.order_expired("deal 1", BYZANTIUM.view(out, 0))
    assert not BYZANTIUM.order_expired("deal 2", BYZANTIUM.view(out, 0))
    assert not BYZANTIUM.order_expired("deal 1", BYZANTIUM.view(out, 1))


def test_what_could_never_be_placed_is_refused():
    with pytest.raises(IllegalMove, match="do not hold 6r"):
        order_scope(at(HANDS), "put 7r on e, 6r on ef")
    with pytest.raises(IllegalMove, match="No card can be placed on e"):
        order_scope(at(HANDS, "e 8r"), "put 7r on e")
    with pytest.raises(IllegalMove, match="out for this round, and"):
        order_scope(at(HANDS, passed=(0,), turn=1), "put 7r on e")
    with pytest.raises(IllegalMove, match="no further turn"):
        order_scope(at(HANDS, passed=(0,), turn=1, round=3), "put any")
