"""Tax, the last auction of a round, the market, and the next round (docs/rules/byzanz.md "A round")."""

from __future__ import annotations

import pytest

from byzanz.moves import IllegalMove
from tests.support.byzanz_positions import BYZANZ, after, answers, asked, astray, at, cards, move, words

EMPTY = ("", "", "", "")
WON = (2, 5, 3, 4)  # at the market, seats take in the order 0, 2, 3, 1


def taxing(lot, **given):
    return at(
        4, **{"step": "tax", "turn": 2, "hands": ("wine1", "wine2", "wine3", "wine4"), "lot": lot, **given}
    )


def refusal_of(state, seat, line):
    with pytest.raises(IllegalMove) as refused:
        BYZANZ.apply(state, seat, move(line))
    return str(refused.value)


# Tax


def test_the_winner_pays_one_card_of_the_lot_and_keeps_the_rest():
    state = taxing("cloth1 cloth1 grain4 wood2 merchant", market="olive3")
    assert answers(state, 2) == ["tax cloth1", "tax grain4", "tax wood2", "tax merchant"]
    state = after(state, "2 tax cloth1")
    assert words(state.hands[2]) == "cloth1 grain4 wine3 wood2 merchant"
    assert words(state.market) == "cloth1 olive3"
    assert state.won == (0, 0, 5, 0)
    assert asked(state) == {3: "bid"}
    assert len(state.lot) == 4


def test_a_merchant_may_be_the_tax():
    state = after(taxing("cloth1 cloth1 grain4 wood2 merchant"), "2 tax merchant")
    assert words(state.market) == "merchant"


def test_the_tax_comes_from_the_lot_and_is_one_card():
    state = taxing("cloth1 cloth1 grain4 wood2 merchant")
    reason = "Pay one card of the lot as tax: cloth1 cloth1 grain4 wood2 merchant."
    for line in ("tax wine3", "tax cloth1 cloth1", "tax"):
        assert refusal_of(state, 2, line) == reason
    assert refusal_of(state, 2, "pass") == "You won the lot. Pay one of its cards as tax first."


def test_the_last_auction_of_four_leaves_one_card_of_two():
    state = at(
        4, hands=("wine1", "wine2", "wine3", "wine4"), lot="cloth1 grain2 olive3", won=(5, 4, 0, 0), turn=2
    )
    state = after(state, "2 bid wine3", "3 pass", "2 tax cloth1")
    assert asked(state) == {3: "tax"}
    assert len(state.lot) == 2
    kept = state.lot[1]
    state = after(state, f"3 {answers(state, 3)[0]}")
    assert state.hands[3] == tuple(sorted((*cards("wine4"), kept)))
    assert state.won == (5, 4, 3, 2)
    assert asked(state) == {3: "take"}


@pytest.mark.parametrize("seats", [5, 6])
def test_the_last_auction_of_five_or_six_is_a_lot_of_one_that_goes_to_the_market(seats):
    state = at(
        seats, hands=("",) * seats, lot="cloth3", step="tax", won=(*range(seats, 1, -1), 0), turn=seats - 1
    )
    assert answers(state, seats - 1) == ["tax cloth3"], "no choice"
    state = after(state, f"{seats - 1} tax cloth3")
    assert state.hands[seats - 1] == ()
    assert words(state.market) == "cloth3"
    assert state.won[seats - 1] == 1
    assert asked(state) == {seats - 1: "take"}


def test_the_last_auction_of_three_leaves_one_card_of_two():
    state = at(3, hands=("", "", ""), lot="cloth3 merchant", step="tax", won=(6, 0, 4), turn=1)
    assert answers(state, 1) == ["tax cloth3", "tax merchant"]


# Market


def at_market(market, **given):
    return at(4, **{"step": "market", "turn": 0, "hands": EMPTY, "won": WON, "market": market, **given})


def test_groups_are_taken_whole_in_ascending_order_of_lot_cards():
    state = at_market("cloth1 cloth4 grain2 wood1 merchant merchant")
    assert answers(state, 0) == ["take cloth", "take grain", "take wood", "take merchant"]
    state = after(state, "0 take cloth")
    assert words(state.hands[0]) == "cloth1 cloth4"
    assert words(state.market) == "grain2 wood1 merchant merchant"
    assert asked(state) == {2: "take"}
    state = after(state, "2 take merchant")
    assert words(state.hands[2]) == "merchant merchant"
    assert asked(state) == {3: "take"}
    assert asked(after(state, "3 take wood")) == {1: "take"}


def test_a_group_that_is_not_there_cannot_be_taken():
    state = at_market("cloth1 wood1 merchant")
    for line in ("take grain", "take", "take cloth1", "take silk", "take cloth wood"):
        assert refusal_of(state, 0, line) == "Take one of the groups in the market: cloth wood merchant."


def test_the_market_pick_cannot_be_declined():
    state = at_market("cloth1 wood1")
    for line in ("pass", "done", "discard cloth1"):
        assert refusal_of(state, 0, line) == "It is your turn at the market. Take one group."


def test_when_no_group_is_left_later_seats_get_nothing():
    state = after(at_market("cloth1 wood1"), "0 take wood", "2 take cloth")
    assert state.hands[3] == state.hands[1] == ()
    assert (state.step, state.round) == ("bid", 2)


def test_the_hand_limit_stops_the_market_before_the_next_seat():
    full = "grain1 grain2 olive1 olive2 spice1 wine1"
    market = at_market("cloth1 cloth2 cloth3 wood1", hands=(full, "", "", ""))
    state = after(market, "0 take cloth")
    assert asked(state) == {0: "limit"}
    assert state.number == market.number + 1
    state = after(state, "0 discard cloth1", "0 discard grain1")
    assert asked(state) == {2: "take"}
    assert words(state.gone) == "cloth1 grain1"


def test_the_limit_of_the_last_winner_comes_before_its_own_turn_at_the_market():
    """The seat with the lowest lot card both wins last and takes first: its two limits are not mixed up."""
    seven = "grain1 grain2 olive1 olive2 spice1 spice2 wine1"
    state = at(
        4,
        step="tax",
        lot="cloth1 cloth2",
        turn=0,
        won=(0, 5, 3, 4),
        hands=(seven, "", "", ""),
        market="wood1",
    )
    state = after(state, "0 tax cloth1")
    assert asked(state) == {0: "limit"}
    assert state.taken == 0
    state = after(state, "0 discard cloth2")
    assert asked(state) == {0: "take"}
    state = after(state, "0 take cloth")
    assert (asked(state), state.taken) == ({0: "limit"}, 1)
    state = after(state, "0 discard cloth1")
    assert asked(state) == {2: "take"}


def test_what_remains_leaves_the_game_and_lot_cards_go_back():
    state = at_market("cloth1 grain1 olive1 spice1 wine1 wood1 merchant")
    state = after(state, "0 take cloth", "2 take grain", "3 take olive", "1 take merchant")
    assert words(state.gone) == "spice1 wine1 wood1"
    assert state.market == ()
    assert state.won == (0, 0, 0, 0)
    assert state.taken == 0
    assert not astray(state)


def test_the_next_round_is_opened_by_the_lowest_lot_card():
    state = after(at_market("cloth1", won=(5, 4, 2, 3), turn=2), "2 take cloth")
    assert (state.round, state.starter) == (2, 2)
    assert asked(state) == {2: "bid"}
    assert len(state.lot) == 5


def test_after_the_last_round_nothing_is_auctioned():
    removed = "merchant " * 12
    state = at_market("cloth1", round=6, hands=("cloth1 cloth1", "", "", ""), removed=removed)
    state = after(state, "0 take cloth")
    assert state.step == "end"
    assert state.lot == ()
    assert asked(state) == {0: "end", 1: "end", 2: "end", 3: "end"}
