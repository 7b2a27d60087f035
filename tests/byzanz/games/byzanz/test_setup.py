"""The deck, the setup for each number of players, and the deal (docs/rules/byzanz.md "Cards", "Set-up")."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from byzanz.games.byzanz.state import TABLES
from byzanz.moves import BadSetup, IllegalMove, Move
from byzanz.rules import ALL
from tests.support.byzanz_positions import BYZANZ, PACK, asked, astray, cards, dealt, shuffled, words

ROWS = {  # players: lots, removed, rounds
    3: ((6, 4, 2), 4, 8),
    4: ((5, 4, 3, 2), 12, 6),
    5: ((5, 4, 3, 2, 1), 2, 6),
    6: ((6, 5, 4, 3, 2, 1), 4, 4),
}


def test_the_pack_has_96_goods_and_16_merchants():
    shuffle = BYZANZ.chance(BYZANZ.setup(3, {}))
    assert shuffle is not None
    assert shuffle.label == "deal"
    assert shuffle.cards == tuple(PACK)
    counts = Counter(shuffle.cards)
    assert len(shuffle.cards) == 112
    assert counts["merchant"] == 16
    for good in ("cloth", "grain", "olive", "spice", "wine", "wood"):
        assert [counts[f"{good}{value}"] for value in (1, 2, 3, 4)] == [6, 5, 3, 2]


@pytest.mark.parametrize("seats", ROWS)
def test_each_row_of_the_table_uses_up_the_pack(seats):
    lots, removed, rounds = ROWS[seats]
    assert TABLES[seats] == (lots, removed, rounds)
    assert len(lots) == seats
    assert 4 * seats + removed + rounds * sum(lots) == 112


@pytest.mark.parametrize("seats", ROWS)
def test_the_deal_goes_from_the_front(seats):
    order = shuffled(random.Random(seats))
    state = dealt(seats, order)
    for seat in range(seats):
        assert sorted(words(state.hands[seat]).split()) == sorted(order[4 * seat : 4 * seat + 4])
    front = 4 * seats
    lots, removed, _ = ROWS[seats]
    assert Counter(state.removed) == Counter(cards(" ".join(order[front : front + removed])))
    front += removed
    assert state.lot == cards(" ".join(order[front : front + lots[0]]))
    assert words(state.deck).split() == order[front + lots[0] :]
    assert asked(state) == {0: "bid"}
    assert (state.round, state.starter, BYZANZ.chance(state)) == (1, 0, None)
    assert not astray(state)


def test_before_the_deal_nobody_is_asked_and_no_card_is_missing():
    state = BYZANZ.setup(5, {})
    assert BYZANZ.awaited(state) == {}
    assert not astray(state)
    assert BYZANZ.outcome(state) is None
    assert BYZANZ.view(state, ALL).deck_size == 112
    for seat in range(5):
        assert BYZANZ.moves(state, seat) == BYZANZ.out_of_turn_moves(state, seat) == ()
        with pytest.raises(IllegalMove, match="not been dealt yet"):
            BYZANZ.apply(state, seat, Move("pass"))


@pytest.mark.parametrize("seats", [-1, 0, 1, 2, 7, 112])
def test_other_numbers_of_players_are_refused(seats):
    with pytest.raises(BadSetup, match=f"for 3–6 players, not {seats}"):
        BYZANZ.setup(seats, {})


def test_options_are_refused_by_name():
    with pytest.raises(BadSetup, match="no option “speed”"):
        BYZANZ.setup(4, {"speed": 2})


@pytest.mark.parametrize(
    "shuffle",
    [
        Move("shuffle", ("deal", *PACK[1:])),
        Move("shuffle", ("deal", *PACK, "merchant")),
        Move("shuffle", ("deal", *PACK[1:], "merchant")),
        Move("shuffle", ("deal", *PACK[1:], "silk1")),
        Move("shuffle", ("foes:1", *PACK)),
        Move("shuffle", ()),
    ],
)
def test_a_shuffle_of_anything_but_the_whole_pack_is_refused(shuffle):
    with pytest.raises(IllegalMove, match="followed by all 112 cards of the pack"):
        BYZANZ.apply(BYZANZ.setup(4, {}), None, shuffle)


def test_another_move_of_chance_and_a_second_deal_are_refused():
    with pytest.raises(IllegalMove, match="Nothing is to be shuffled"):
        BYZANZ.apply(BYZANZ.setup(4, {}), None, Move("bid", ("deal", *PACK)))
    with pytest.raises(IllegalMove, match="Nothing is to be shuffled"):
        BYZANZ.apply(dealt(4, PACK), None, Move("shuffle", ("deal", *PACK)))
