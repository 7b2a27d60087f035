"""The fallback move of Byzanz, and how a bot evaluates a view (docs/rules/byzanz.md)."""

from __future__ import annotations

import random

import pytest

from byzanz.rules import ALL, PUBLIC
from tests.support.byzanz_positions import BYZANZ, after, answers, at, dealt, game, shuffled

LOT = "cloth4 grain1 merchant spice2 wood3"


def fallback(state, seat):
    view = BYZANZ.view(state, seat)
    return str(BYZANZ.fallback(view, BYZANZ.moves(state, seat)))


def test_bidding_is_passed():
    assert fallback(at(4, hands=("cloth1 cloth4", "", "", ""), lot=LOT), 0) == "pass"


@pytest.mark.parametrize(
    ("lot", "tax"),
    [
        ("cloth4 grain1 merchant spice2 wood1", "grain1"),
        ("cloth4 olive2 spice2 merchant merchant", "olive2"),
        ("wood4 merchant merchant merchant merchant", "wood4"),
        ("merchant merchant merchant merchant merchant", "merchant"),
    ],
)
def test_the_lowest_card_is_the_tax_and_a_merchant_only_for_want_of_goods(lot, tax):
    assert fallback(at(4, step="tax", lot=lot), 0) == f"tax {tax}"


@pytest.mark.parametrize(
    ("hand", "played"),
    [
        ("cloth1 cloth1 cloth4 grain2 grain2 grain3 wood1 wood2", "sell cloth1 cloth1 cloth4"),
        ("cloth1 cloth1 cloth2 grain2 grain2 grain3 wood1 wood2", "sell grain2 grain2 grain3"),
        ("cloth1 cloth4 grain2 olive1 spice1 merchant merchant merchant", "sell merchant merchant merchant"),
        ("cloth1 cloth2 cloth3 cloth4 cloth4 olive1 spice4 merchant", "sell cloth1 cloth2 cloth4"),
        ("cloth2 cloth3 grain1 grain4 olive1 olive3 wine1 wood4", "discard grain1"),
        ("cloth2 cloth3 grain2 grain4 olive2 olive3 wine2 wood4", "discard cloth2"),
    ],
)
def test_over_the_limit_the_best_set_is_sold_else_the_lowest_good_goes(hand, played):
    assert fallback(at(4, step="limit", hands=(hand, "", "", ""), won=(5, 0, 0, 0)), 0) == played


@pytest.mark.parametrize(
    ("market", "taken"),
    [
        ("cloth1 cloth2 grain4 merchant", "grain"),
        ("cloth1 cloth2 wood1 merchant merchant", "merchant"),
        ("cloth1 cloth3 wood4 merchant merchant", "cloth"),
        ("wood4 merchant merchant", "wood"),
    ],
)
def test_the_group_with_the_highest_total_is_taken_merchants_as_two(market, taken):
    assert fallback(at(4, step="market", market=market, won=(2, 3, 4, 5)), 0) == f"take {taken}"


def test_at_the_end_sets_are_sold_one_by_one_with_the_fewest_merchants():
    hand = "cloth1 cloth2 cloth4 grain4 merchant merchant merchant merchant"
    state = at(4, step="end", turn=-1, round=6, hands=(hand, "", "", ""))
    played = []
    while not state.done[0]:
        played.append(fallback(state, 0))
        state = after(state, f"0 {played[-1]}")
    assert played == ["sell merchant merchant merchant", "sell cloth1 cloth2 cloth4", "done"]
    state = at(
        4, step="end", turn=-1, round=6, hands=("cloth1 cloth2 cloth4 grain4 merchant merchant", "", "", "")
    )
    assert fallback(state, 0) == "sell cloth1 cloth2 cloth4"
    state = after(state, "0 sell cloth1 cloth2 cloth4")
    assert fallback(state, 0) == "sell grain4 merchant merchant"
    assert fallback(state, 1) == "done"


@pytest.mark.parametrize("seats", [3, 4, 5, 6])
def test_the_fallback_is_always_one_of_the_moves(seats):
    for state, _, _ in game(seats, 5 + seats):
        for seat in BYZANZ.awaited(state):
            assert fallback(state, seat) in answers(state, seat)


@pytest.mark.parametrize("seats", [3, 4, 5, 6])
def test_a_game_nobody_answers_comes_to_an_end(seats):
    state = dealt(seats, shuffled(random.Random(seats)))
    for _ in range(1000):
        if BYZANZ.outcome(state):
            return
        seat = min(BYZANZ.awaited(state))
        state = after(state, f"{seat} {fallback(state, seat)}")
    pytest.fail("still going")


# Appraising


def worth(state, seat=0):
    return BYZANZ.evaluate(BYZANZ.view(state, seat))


def test_profit_is_worth_its_points_and_a_set_a_little_less():
    plain = at(4, step="end", turn=-1, round=6, hands=("cloth1 cloth2 cloth4", "", "", ""))
    assert worth(after(plain, "0 sell cloth1 cloth2 cloth4")) == 4
    assert 3 < worth(plain) < 4


def test_more_cards_are_worth_more():
    for more in ("cloth1", "wood4", "merchant"):
        assert worth(at(4, hands=("grain2 olive3 " + more, "", "", ""), lot=LOT)) > worth(
            at(4, hands=("grain2 olive3", "", "", ""), lot=LOT)
        )


def test_leading_for_a_good_lot_is_worth_a_small_bid():
    state = at(4, hands=("cloth1 grain4 grain4", "", "", ""), lot="merchant merchant merchant cloth1 wood3")
    assert worth(after(state, "0 bid cloth1")) > worth(after(state, "0 pass"))
    assert worth(after(state, "0 bid cloth1")) > worth(after(state, "0 bid cloth1 grain4 grain4"))


def test_a_lot_won_is_worth_more_than_a_lot_led_for():
    state = at(4, hands=("cloth1 grain4", "", "", ""), lot="merchant merchant merchant cloth1 wood3")
    leading = after(state, "0 bid cloth1")
    assert worth(after(leading, "1 pass", "2 pass", "3 pass")) > worth(leading)


def test_who_sits_nowhere_has_no_prospects():
    state = at(4, lot=LOT)
    assert BYZANZ.evaluate(BYZANZ.view(state, PUBLIC)) == BYZANZ.evaluate(BYZANZ.view(state, ALL)) == 0


def greedy_scores(seed):
    """One seat looks one move ahead in one world that fits its view; three move at random."""
    rng = random.Random(seed)
    state, greedy = dealt(4, shuffled(rng)), seed % 4
    while not BYZANZ.outcome(state):
        seat = min(BYZANZ.awaited(state))
        options = (*BYZANZ.moves(state, seat), *BYZANZ.out_of_turn_moves(state, seat))
        chosen = rng.choice(options)
        if seat == greedy:
            world = BYZANZ.sample_state(BYZANZ.view(state, seat), rng.randrange)
            chosen = max(
                options, key=lambda move: BYZANZ.evaluate(BYZANZ.view(BYZANZ.apply(world, seat, move), seat))
            )
        state = BYZANZ.apply(state, seat, chosen)
    scores = BYZANZ.scores(state)
    return scores[greedy], sum(scores[seat] for seat in range(4) if seat != greedy) / 3


def test_looking_one_move_ahead_beats_chance_by_far():
    games = [greedy_scores(seed) for seed in range(8)]
    assert sum(own for own, _ in games) > 2 * sum(others for _, others in games)
