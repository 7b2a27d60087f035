"""Bidding: the turn order, legal bids, and the winner and price of a lot (docs/rules/byzanz.md "A round")."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byzanz.games.byzanz.state import MERCHANT, VALUE, bids_from, names
from byzanz.kit.moves import check_reading
from byzanz.moves import IllegalMove, Move, NotAwaited
from tests.support.byzanz_positions import BYZANZ, after, answers, asked, at, cards, game, move, words

HANDS = ("cloth2 olive1 olive1 spice4", "grain3 merchant wine2", "cloth1 wood4", "olive2 spice1")
LOT = "cloth4 grain1 merchant spice2 wood3"


def opening(**given):
    return at(4, hands=HANDS, lot=LOT, **given)


def refusal_of(state, seat, line):
    with pytest.raises(IllegalMove) as refused:
        BYZANZ.apply(state, seat, move(line))
    return str(refused.value)


def test_the_listed_bids_are_all_distinct_raises_small_first():
    assert answers(opening(), 0) == [
        "pass",
        "bid olive1",
        "bid cloth2",
        "bid olive1 olive1",
        "bid cloth2 olive1",
        "bid cloth2 olive1 olive1",
        "bid spice4",
        "bid olive1 spice4",
        "bid cloth2 spice4",
        "bid olive1 olive1 spice4",
        "bid cloth2 olive1 spice4",
        "bid cloth2 olive1 olive1 spice4",
    ]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([0, 1, 2, 3, 5, 9, 20, MERCHANT]), max_size=8).map(sorted), st.integers(1, 33)
)
def test_however_the_bids_are_read_they_are_all_raises_by_sum_and_card_by_card(hand, least):
    goods = [card for card in hand if card != MERCHANT]
    choices = {chosen for size in range(1, len(goods) + 1) for chosen in combinations(goods, size)}
    sums = {chosen: sum(VALUE[card] for card in chosen) for chosen in choices}
    raises = sorted((sums[chosen], chosen) for chosen in choices if sums[chosen] >= least)
    expected = (Move("pass"), *(Move("bid", names(chosen)) for _, chosen in raises))
    listed = bids_from(tuple(hand), least)
    check_reading(listed, expected)
    assert {listed: "found"}[expected] == "found"
    assert listed != expected[1:]
    for chosen in choices:
        assert (Move("bid", names(chosen)) in listed) == (sums[chosen] >= least)
    assert Move("bid", ("wood4",)) not in listed


@pytest.mark.parametrize("seed", range(6))
def test_the_listed_bids_are_those_that_counting_by_hand_finds(seed):
    for state, _, _ in game(3 + seed % 4, seed):
        if state.step != "bid":
            continue
        standing = [sum(card % 4 + 1 for card in bid) for bid in state.bids]
        goods = [card for card in state.hands[state.turn] if card != 24]
        expected = {
            "bid " + words(chosen)
            for size in range(1, len(goods) + 1)
            for chosen in combinations(goods, size)
            if standing[state.turn] + sum(card % 4 + 1 for card in chosen) > max(standing)
        }
        listed = answers(state, state.turn)
        assert len(listed) == len(set(listed))
        assert set(listed) == expected | {"pass"}


def test_a_bid_leaves_the_hand_and_may_be_any_raise():
    state = after(opening(), "0 bid olive1", "1 bid grain3 wine2")
    assert words(state.hands[0]) == "cloth2 olive1 spice4"
    assert [words(bid) for bid in state.bids] == ["olive1", "grain3 wine2", "", ""]
    assert asked(state) == {2: "bid"}
    assert BYZANZ.view(state, 2).highest == 5
    assert BYZANZ.view(state, 2).leader == 1


def test_a_later_bid_adds_to_the_own_one():
    state = after(opening(), "0 bid cloth2", "1 bid grain3", "2 pass", "3 pass", "0 bid olive1 olive1")
    assert words(state.bids[0]) == "cloth2 olive1 olive1"
    assert BYZANZ.view(state, 0).totals == (4, 3, 0, 0)
    assert asked(state) == {1: "bid"}


def test_an_equal_total_is_no_raise():
    state = after(opening(), "0 bid cloth2")
    assert "bid wine2" not in answers(state, 1)
    assert refusal_of(state, 1, "bid wine2") == (
        "You must bid more than 2. With these cards your bid would be 2."
    )


def test_the_own_bid_counts_in_the_refusal():
    state = after(opening(), "0 bid cloth2", "1 bid grain3 wine2", "2 pass", "3 pass")
    assert "more than 5. With these cards your bid would be 3." in refusal_of(state, 0, "bid olive1")


def test_merchants_cannot_be_bid():
    state = after(opening(), "0 pass")
    assert not [line for line in answers(state, 1) if "merchant" in line]
    assert refusal_of(state, 1, "bid merchant") == "A bid is one or more goods. Merchants cannot be bid."
    assert refusal_of(state, 1, "bid grain3 merchant") == refusal_of(state, 1, "bid merchant")
    assert refusal_of(state, 1, "bid") == refusal_of(state, 1, "bid merchant")


def test_what_is_not_in_hand_cannot_be_bid():
    assert refusal_of(opening(), 0, "bid grain3 wood4 wood4") == "You do not hold grain3 wood4 wood4."
    assert refusal_of(opening(), 0, "bid olive1 olive1 olive1") == "You do not hold olive1."
    state = after(opening(), "0 bid cloth2", "1 bid grain3", "2 pass", "3 pass")
    assert refusal_of(state, 0, "bid cloth2 olive1") == "These cards are already in your bid: cloth2."


def test_words_out_of_order_and_unknown_cards_are_refused():
    assert refusal_of(opening(), 0, "bid olive1 cloth2") == "Write the cards in this order: cloth2 olive1."
    assert refusal_of(opening(), 0, "bid silk2") == "There is no card silk2 in this game."
    assert "no card" in refusal_of(opening(), 0, "bid " + "x" * 500)
    assert refusal_of(opening(), 0, "pass olive1") == "This move takes no cards."


def test_only_the_seat_whose_turn_it_is_is_asked():
    state = opening()
    for seat in (1, 2, 3):
        assert BYZANZ.moves(state, seat) == ()
        with pytest.raises(NotAwaited, match=r"not your turn\. Until it is, you can only sell sets"):
            BYZANZ.apply(state, seat, move("pass"))
    for seat in (-1, 4):
        assert BYZANZ.moves(state, seat) == BYZANZ.out_of_turn_moves(state, seat) == ()
        with pytest.raises(NotAwaited, match="no seat"):
            BYZANZ.apply(state, seat, move("pass"))


@pytest.mark.parametrize("line", ["tax grain1", "take wood", "discard cloth2", "done", "fly"])
def test_other_moves_do_not_answer_a_bid(line):
    assert refusal_of(opening(), 0, line) == "It is your turn to bid. Bid goods from your hand, or pass."


def test_passing_takes_the_bid_back():
    state = after(opening(), "0 bid olive1", "1 bid wine2", "2 pass", "3 bid olive2 spice1", "0 pass")
    assert words(state.hands[0]) == HANDS[0]
    assert state.bids[0] == ()
    assert state.passed == (2, 0)
    assert asked(state) == {1: "bid"}


def test_a_bid_wins_at_once_when_all_others_have_passed():
    state = after(opening(), "0 bid olive1", "1 bid wine2", "2 pass", "3 pass", "0 pass")
    assert asked(state) == {1: "tax"}
    assert words(state.market) == "wine2"
    assert state.bids == ((), (), (), ())
    assert words(state.hands[1]) == "grain3 merchant"
    assert words(state.lot) == LOT.replace("merchant spice2 wood3", "spice2 wood3 merchant")


def test_the_last_seat_chooses_to_bid_or_to_pass():
    state = after(opening(), "0 pass", "1 pass", "2 pass")
    assert asked(state) == {3: "bid"}
    assert answers(state, 3) == ["pass", "bid spice1", "bid olive2", "bid olive2 spice1"]
    won = after(state, "3 bid spice1")
    assert asked(won) == {3: "tax"}
    assert words(won.market) == "spice1"


def test_when_all_pass_the_first_to_pass_takes_the_whole_lot_for_nothing():
    state = after(opening(), "0 pass", "1 pass", "2 pass", "3 pass")
    assert state.market == ()
    assert state.won == (5, 0, 0, 0)
    assert sorted(state.hands[0]) == sorted(cards(HANDS[0] + " " + LOT))
    assert asked(state) == {0: "limit"}, "nine cards are over the limit"


def test_the_hand_limit_comes_before_the_next_auction():
    state = after(opening(), "0 pass", "1 pass", "2 pass", "3 pass")
    assert state.lot == ()
    state = after(state, "0 discard olive1", "0 discard olive1")
    assert asked(state) == {1: "bid"}
    assert len(state.lot) == 4
    assert state.passed == ()


def test_the_next_auction_starts_after_the_winner_among_those_without_a_lot_card():
    state = at(4, hands=HANDS, lot="cloth1 olive3", won=(0, 5, 0, 4), turn=2, starter=2, market="wine1")
    state = after(state, "2 bid cloth1", "0 pass", "2 tax olive3")
    assert asked(state) == {0: "tax"}, "the last auction of the round knows no bidding"
    assert state.starter == 0


@pytest.mark.parametrize(("winner", "starter"), [(0, 1), (1, 2), (2, 3), (3, 0)])
def test_after_the_first_auction_the_seat_clockwise_of_the_winner_starts(winner, starter):
    lines = [f"{seat} pass" for seat in range(winner)]
    bid = {0: "olive1", 1: "wine2", 2: "cloth1", 3: "spice1"}[winner]
    lines += [f"{winner} bid {bid}"]
    lines += [f"{seat} pass" for seat in range(winner + 1, 4)]
    state = after(opening(), *lines, f"{winner} tax grain1")
    while state.step == "limit":
        state = after(state, f"{winner} {answers(state, winner)[-1]}")
    assert asked(state) == {starter: "bid"}
    assert state.starter == starter


def test_who_holds_a_lot_card_is_not_asked():
    state = at(4, hands=HANDS, lot="cloth1 olive3 wood1", won=(5, 0, 4, 0), turn=1, starter=1)
    state = after(state, "1 bid wine2")
    assert asked(state) == {3: "bid"}
    state = after(state, "3 bid olive2 spice1")
    assert asked(state) == {1: "bid"}
    state = after(state, "1 pass")
    assert asked(state) == {3: "tax"}


def test_a_seat_that_cannot_outbid_has_one_move():
    state = after(opening(), "0 bid cloth2 olive1 olive1 spice4")
    assert answers(state, 1) == ["pass"]


def test_a_hand_of_merchants_can_only_pass():
    state = at(
        3,
        hands=("merchant merchant merchant", "wine1", "wood1"),
        lot="cloth1 cloth1 cloth2 cloth3 wine2 wine3",
    )
    assert answers(state, 0) == ["pass"]


def test_each_new_decision_has_a_new_number():
    state = opening()
    numbers = [state.number]
    for line in ("0 bid olive1", "1 pass", "2 pass", "3 pass", "0 tax cloth4"):
        state = after(state, line)
        numbers.append(state.number)
    assert numbers == sorted(set(numbers))
    assert str(BYZANZ.awaited(state)[1]) == f"bid {state.number}"
