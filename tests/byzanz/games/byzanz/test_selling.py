"""Sales, the hand limit, the end and the winner (docs/rules/byzanz.md "Selling", "Hand limit", "End")."""

from __future__ import annotations

import pytest

from byzanz.moves import IllegalMove, NotAwaited, ranked
from tests.support.byzanz_positions import BYZANZ, after, answers, asked, at, differing, move, words

LOT = "cloth4 grain1 merchant spice2 wood3"


def out_of_turn_moves(state, seat):
    return list(map(str, BYZANZ.out_of_turn_moves(state, seat)))


def refusal_of(state, seat, line):
    with pytest.raises(IllegalMove) as refused:
        BYZANZ.apply(state, seat, move(line))
    return str(refused.value)


# What is a set


@pytest.mark.parametrize(
    ("sold", "kept", "points"),
    [
        ("cloth1 cloth2 cloth4", "cloth4", 4),
        ("olive3 olive3 olive3", "olive3", 3),
        ("wine1 wine2 merchant", "wine2", 2),
        ("wood4 merchant merchant", "wood4", 4),
        ("spice1 merchant merchant", "spice1", 1),
        ("merchant merchant merchant", "merchant", 5),
    ],
)
def test_a_set_brings_its_highest_good_and_three_merchants_bring_five(sold, kept, points):
    state = after(at(4, hands=("", sold + " grain1", "", ""), lot=LOT), f"1 sell {sold}")
    assert words(state.kept[1]) == kept
    assert BYZANZ.scores(state) == (0, points, 0, 0)
    assert words(state.hands[1]) == "grain1"
    assert sorted([*words(state.gone).split(), kept]) == sorted(sold.split())


@pytest.mark.parametrize(
    "line",
    [
        "sell cloth1 cloth2 grain1",
        "sell cloth1 grain1 merchant",
        "sell cloth1 cloth2",
        "sell cloth1 cloth1 cloth2 cloth2",
        "sell",
        "sell merchant merchant",
    ],
)
def test_other_cards_are_no_set(line):
    hand = "cloth1 cloth1 cloth2 cloth2 grain1 merchant merchant"
    state = at(4, hands=(hand, "", "", ""), lot=LOT)
    assert (
        refusal_of(state, 0, line)
        == "A set is three cards of one good, with merchants as substitutes, or three merchants."
    )
    assert line not in out_of_turn_moves(state, 0)


def test_the_listed_sales_are_distinct_and_in_canonical_order():
    state = at(4, hands=("", "cloth1 cloth1 cloth3 grain2 merchant merchant merchant", "", ""), lot=LOT)
    assert out_of_turn_moves(state, 1) == [
        "sell cloth1 cloth1 cloth3",
        "sell cloth1 cloth1 merchant",
        "sell cloth1 cloth3 merchant",
        "sell cloth1 merchant merchant",
        "sell cloth3 merchant merchant",
        "sell grain2 merchant merchant",
        "sell merchant merchant merchant",
    ]


def test_only_what_is_in_hand_is_sold():
    state = after(at(4, hands=("cloth1 cloth1 cloth2", "wine1", "", ""), lot=LOT), "0 bid cloth2")
    assert out_of_turn_moves(state, 0) == []
    assert refusal_of(state, 0, "sell cloth1 cloth1 cloth2") == (
        "These cards are already in your bid: cloth2."
    )
    assert refusal_of(state, 1, "sell wine1 wine1 wine1") == "You do not hold wine1 wine1."


# When


SELLER = "olive1 olive2 olive3 wine1"
MOMENTS = {
    "another bids": {"lot": LOT, "turn": 0},
    "another taxes": {"lot": LOT, "turn": 0, "step": "tax"},
    "another is over the limit": {"turn": 0, "step": "limit", "won": (5, 0, 0, 0)},
    "another takes": {"turn": 0, "step": "market", "market": "wood1", "won": (2, 3, 4, 5)},
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_sale_out_of_turn_changes_nobodys_turn(moment):
    eight = "cloth1 cloth2 grain1 grain2 spice1 spice2 wine2 wood2"
    state = at(4, hands=(eight, "", SELLER, ""), **MOMENTS[moment])
    sale = move("sell olive1 olive2 olive3")
    assert BYZANZ.is_out_of_turn(state, 2, sale)
    assert sale in BYZANZ.out_of_turn_moves(state, 2)
    assert BYZANZ.moves(state, 2) == ()
    sold = BYZANZ.apply(state, 2, sale)
    assert BYZANZ.awaited(sold) == BYZANZ.awaited(state)
    assert BYZANZ.moves(sold, 0) == BYZANZ.moves(state, 0)
    assert differing(state, sold) == {"hands", "kept", "gone"}


def test_a_seat_may_sell_while_it_is_to_bid_and_still_bids():
    state = at(4, hands=(SELLER, "", "", ""), lot=LOT)
    assert BYZANZ.is_out_of_turn(state, 0, move("sell olive1 olive2 olive3"))
    sold = after(state, "0 sell olive1 olive2 olive3")
    assert BYZANZ.awaited(sold) == BYZANZ.awaited(state)
    assert answers(sold, 0) == ["pass", "bid wine1"]


def test_one_who_has_won_a_lot_card_may_still_sell():
    state = at(4, hands=("", "", SELLER, ""), lot="cloth4 grain1 wood2 wood3", won=(0, 0, 5, 0))
    assert BYZANZ.scores(after(state, "2 sell olive1 olive2 olive3")) == (0, 0, 3, 0)


# The hand limit


def game_over(hand, **given):
    return at(4, **{"step": "limit", "turn": 1, "hands": ("", hand, "", ""), "won": (0, 5, 0, 0), **given})


NINE = "cloth1 cloth2 cloth4 grain1 olive1 spice1 wine1 wine2 merchant"


def test_over_the_limit_one_may_sell_or_discard():
    state = game_over(NINE)
    assert answers(state, 1) == [
        "sell cloth1 cloth2 cloth4",
        "sell cloth1 cloth2 merchant",
        "sell cloth1 cloth4 merchant",
        "sell cloth2 cloth4 merchant",
        "sell wine1 wine2 merchant",
        *(f"discard {name}" for name in NINE.split()),
    ]
    assert out_of_turn_moves(state, 1) == []
    assert not BYZANZ.is_out_of_turn(state, 1, move("sell cloth1 cloth2 cloth4"))


def test_the_question_stays_until_seven_are_left():
    state = game_over(NINE)
    lighter = after(state, "1 discard merchant")
    assert BYZANZ.awaited(lighter) == BYZANZ.awaited(state)
    assert words(lighter.gone) == "merchant"
    free = after(lighter, "1 discard cloth1")
    assert asked(free) == {2: "bid"}
    assert len(free.hands[1]) == 7


def test_a_sale_may_go_below_seven_and_ends_the_limit():
    state = after(game_over(NINE), "1 sell cloth1 cloth2 cloth4")
    assert len(state.hands[1]) == 6
    assert asked(state) == {2: "bid"}


def test_a_sale_that_leaves_eight_does_not_end_the_limit():
    state = after(game_over(NINE + " wood1 wood2"), "1 sell cloth1 cloth2 cloth4")
    assert asked(state) == {1: "limit"}
    assert len(state.hands[1]) == 8


def test_several_cards_may_be_discarded_at_once_down_to_seven():
    state = game_over(NINE)
    assert asked(after(state, "1 discard cloth1 merchant")) == {2: "bid"}
    assert after(state, "1 discard cloth1 merchant") == after(state, "1 discard merchant", "1 discard cloth1")
    for line in ("discard cloth1 grain1 merchant", "discard"):
        assert refusal_of(state, 1, line) == "Discard from 1 to 2 cards. The hand limit is 7."
    assert refusal_of(state, 1, "discard cloth3") == "You do not hold cloth3."
    assert refusal_of(state, 1, "discard cloth2 cloth1") == "Write the cards in this order: cloth1 cloth2."


def test_nothing_else_goes_on_over_the_limit():
    assert (
        refusal_of(game_over(NINE), 1, "pass") == "You hold more than 7 cards. Sell a set or discard first."
    )
    with pytest.raises(NotAwaited):
        BYZANZ.apply(game_over(NINE), 2, move("pass"))


def test_nobody_discards_with_seven_cards_or_in_anothers_turn():
    state = at(4, hands=("cloth1 cloth2", "cloth1", "", ""), lot=LOT)
    assert (
        refusal_of(state, 0, "discard cloth1") == "It is your turn to bid. Bid goods from your hand, or pass."
    )
    assert "not your turn" in refusal_of(state, 1, "discard cloth1")


# The end


def ending(*hands, kept=("", "", "", "")):
    return at(4, step="end", turn=-1, round=6, hands=hands, kept=kept)


def test_at_the_end_all_sell_and_say_done_in_any_order():
    state = ending("cloth1 cloth2 cloth3 cloth4 merchant merchant", "wine1 merchant merchant", "", "wood1")
    assert asked(state) == {0: "end", 1: "end", 2: "end", 3: "end"}
    assert answers(state, 1) == ["sell wine1 merchant merchant", "done"]
    assert [BYZANZ.out_of_turn_moves(state, seat) for seat in range(4)] == [(), (), (), ()]
    assert not BYZANZ.is_out_of_turn(state, 1, move("sell wine1 merchant merchant"))
    later = after(state, "1 sell wine1 merchant merchant", "0 sell cloth1 cloth2 cloth3", "2 done")
    assert {question.number for question in BYZANZ.awaited(later).values()} == {state.number}
    assert asked(later) == {0: "end", 1: "end", 3: "end"}
    assert answers(later, 1) == ["done"]
    over = after(later, "1 done", "3 done", "0 sell cloth4 merchant merchant", "0 done")
    assert BYZANZ.awaited(over) == {}
    assert BYZANZ.scores(over) == (7, 1, 0, 0)


def test_a_seat_that_can_sell_nothing_has_only_done():
    state = ending("cloth1 grain1 merchant", "", "merchant merchant", "wood1 wood2 wood3")
    assert [len(answers(state, seat)) for seat in range(4)] == [1, 1, 1, 2]
    assert answers(state, 0) == ["done"]


def test_after_its_done_a_seat_neither_sells_nor_answers():
    state = after(ending("wood1 wood2 wood3", "wine1 wine1 wine1", "", ""), "0 done")
    assert BYZANZ.moves(state, 0) == BYZANZ.out_of_turn_moves(state, 0) == ()
    assert refusal_of(state, 0, "sell wood1 wood2 wood3") == (
        "You have finished selling. You cannot sell any more cards."
    )
    with pytest.raises(NotAwaited, match="already finished selling"):
        BYZANZ.apply(state, 0, move("done"))


def test_done_is_said_only_at_the_end_and_alone():
    assert refusal_of(ending("", "", "", ""), 0, "done cloth1") == "This move takes no cards."
    assert (
        refusal_of(ending("", "", "", ""), 0, "pass")
        == "The last round is over. Sell your sets, then play done."
    )


def test_after_the_end_nothing_moves():
    state = after(ending("wood1 wood2 wood3", "", "", ""), "0 done", "1 done", "2 done", "3 done")
    assert BYZANZ.awaited(state) == {}
    for line in ("sell wood1 wood2 wood3", "done", "pass"):
        with pytest.raises(NotAwaited, match="The game is over"):
            BYZANZ.apply(state, 0, move(line))
    assert BYZANZ.out_of_turn_moves(state, 0) == BYZANZ.moves(state, 0) == ()


# Who wins


def outcome(*hands, kept):
    state = after(ending(*hands, kept=kept), "0 done", "1 done", "2 done", "3 done")
    result = BYZANZ.outcome(state)
    assert result is not None
    return result.scores, result.winners, result.reason


def test_most_profit_wins():
    kept = ("cloth4 merchant", "cloth4 grain4", "wine1", "")
    assert outcome("", "wood1 wood2", "", "", kept=kept) == ((9, 8, 1, 0), (0,), "finished")


def test_a_tie_goes_to_most_cards_in_hand_merchants_too():
    kept = ("merchant", "cloth1 cloth4", "wine1", "")
    assert outcome("wood1", "merchant merchant", "grain1 grain2 grain3", "", kept=kept) == (
        (5, 5, 1, 0),
        (1,),
        "finished",
    )


def test_still_tied_the_win_is_shared():
    kept = ("merchant", "cloth1 cloth4", "wine1", "spice2 spice3")
    assert outcome("wood1", "merchant", "", "", kept=kept) == ((5, 5, 1, 5), (0, 1), "finished")


def test_a_tie_behind_the_winner_goes_to_most_cards_in_hand_too():
    kept = ("merchant merchant", "cloth1 cloth4", "merchant", "")
    state = after(ending("", "", "wood1", "wood2 wood3", kept=kept), "0 done", "1 done", "2 done", "3 done")
    assert BYZANZ.scores(state) == (10, 5, 5, 0)
    assert BYZANZ.places(state) == (1, 3, 2, 4)
    assert ranked(BYZANZ.places(state)) == [(1, 0), (2, 2), (3, 1), (4, 3)]


def test_there_is_no_outcome_before_all_are_done():
    assert BYZANZ.outcome(after(ending("", "", "", ""), "0 done", "1 done", "2 done")) is None
