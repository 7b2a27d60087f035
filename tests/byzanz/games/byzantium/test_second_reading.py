"""The second implementation of Byzantium agrees on positions, legal moves, refusals and the tree."""

from __future__ import annotations

import random
from copy import deepcopy
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byzanz.games.byzantium import moves, view
from byzanz.games.byzantium import state as byzantium_state
from byzanz.games.byzantium.rules import Byzantium
from byzanz.games.byzantium.state import State
from byzanz.moves import IllegalMove
from tests.support.byzantium_positions import (
    BYZANTIUM,
    answers,
    cross_of,
    deal,
    dealt,
    game,
    move,
    shuffled,
    strides,
    words,
)
from tests.support.second_rules.byzantium import CARDS, NAMES, Plain

pytestmark = pytest.mark.nightly

SEATS = [2, 3, 4]


@pytest.fixture
def forgetful():
    """A planted fault must not be hidden by what is remembered of crosses, nor remembered after it."""
    remembered = (byzantium_state.openings, byzantium_state.playable, view._places)
    for each in remembered:
        each.cache_clear()
    yield
    for each in remembered:
        each.cache_clear()


# Positions and listings


def same(state: State, plain: Plain) -> None:
    """All that can be seen from above is alike, and so are all moves."""
    assert [sorted(words(hand).split()) for hand in state.hands] == list(map(sorted, plain.hands))
    assert sorted(words(state.kitty).split()) == sorted(plain.kitty)
    assert cross_of(state) == plain.cross
    assert list(BYZANTIUM.awaited(state)) == ([] if plain.asked is None else [plain.asked])
    assert (state.round, list(BYZANTIUM.scores(state))) == (plain.round, plain.points)
    for seat in range(plain.seats):
        assert answers(state, seat) == plain.moves(seat)


def compare(seats: int, seed: int) -> None:
    rng = random.Random(seed)
    state, plain = BYZANTIUM.setup(seats, {}), Plain(seats)
    for _ in range(seats):
        order = shuffled(rng)
        state = deal(state, order)
        plain.deal(order)
        while plain.asked is not None:
            same(state, plain)
            seat, text = plain.asked, rng.choice(plain.moves(plain.asked))
            state = BYZANTIUM.apply(state, seat, move(text))
            plain.play(seat, text)
        same(state, plain)
    outcome = BYZANTIUM.outcome(state)
    assert outcome is not None
    assert [plain.points[seat] for seat in outcome.winners] == [min(plain.points)] * len(outcome.winners)


@settings(max_examples=12, deadline=None)
@given(st.sampled_from(SEATS), st.integers(0, 10**9))
def test_a_second_reading_of_the_rules_agrees_move_by_move(seats, seed):
    compare(seats, seed)


def refuse_the_rest(seats: int, seed: int) -> None:
    """Whatever the second reading does not allow is refused, with a reason, and what it allows is accepted."""
    rng = random.Random(seed)
    order = shuffled(rng)
    state, plain = dealt(seats, order), Plain(seats)
    plain.deal(order)
    while plain.asked is not None:
        for _ in range(120):
            seat = rng.choice([plain.asked, plain.asked, rng.randrange(seats)])
            card = rng.choice([*plain.hands[seat], *CARDS[:: rng.randint(1, 24)]])
            line = rng.choice(["pass", *[f"put {card} on {slot}" for slot in rng.sample(NAMES, 6)]])
            reason = refusal(state, seat, line)
            assert (reason is None) == (line in plain.moves(seat)), line
            assert reason is None or len(reason) > 10
        seat, text = plain.asked, rng.choice(plain.moves(plain.asked))
        state = BYZANTIUM.apply(state, seat, move(text))
        plain.play(seat, text)


def refusal(state: State, seat: int, line: str) -> str | None:
    try:
        BYZANTIUM.apply(state, seat, move(line))
    except IllegalMove as refused:
        return str(refused)
    return None


@pytest.mark.parametrize("seats", SEATS)
def test_what_the_second_reading_does_not_allow_is_refused(seats):
    refuse_the_rest(seats, seats)


def restless(state, seat):
    """Goes on with the seat to the right."""
    return replace(honest_onward(state, seat), turn=(seat - 1) % len(state.hands))


def merciful(state, seat):
    """Asks who has passed again."""
    return replace(honest_onward(state, seat), passed=())


def ahead(state):
    """Counts the cards of the running round."""
    return tuple(map(sum, zip(map(len, state.hands), honest_scores(state), strict=True)))


honest_onward, honest_scores = moves._onward, BYZANTIUM.scores
FAULTS = {
    "no direction": (byzantium_state, "direction", lambda _cross, _arm: 0),
    "always rising": (byzantium_state, "direction", lambda _cross, _arm: 1),
    "touching": (byzantium_state, "rival", lambda _cross, _slot: -1),
    "dead slots": (byzantium_state, "_USABLE", tuple(range(len(NAMES)))),
    "hanging on nothing": (byzantium_state, "_PARENT", (-1,) * len(NAMES)),
    "another handful": (moves, "HAND_SIZE", {2: 9, 3: 7, 4: 5}),
    "another turn": (moves, "_onward", restless),
    "a pass forgotten": (moves, "_onward", merciful),
    "early points": (Byzantium, "scores", lambda _self, state: ahead(state)),
}


@pytest.mark.usefixtures("forgetful")
@pytest.mark.parametrize("fault", FAULTS)
def test_the_second_reading_finds_a_planted_fault(fault, monkeypatch):
    monkeypatch.setattr(*FAULTS[fault])
    with pytest.raises((AssertionError, IllegalMove, IndexError, ValueError)):
        list(map(compare, [3] * 4, range(4)))


# The law on which the one pass rests


@pytest.mark.parametrize("seats", SEATS)
def test_a_card_once_unplayable_stays_so(seats):
    for seed in range(15):
        for (before, seat, _), (state, _, _) in pairwise(game(seats, seed)):
            if seat is not None:
                assert set(byzantium_state.playable(state.cross)) <= set(
                    byzantium_state.playable(before.cross)
                )


# Counting the tree


def leaves(state: State, order: list[str], depth: int) -> int:
    """How many ways there are to go on for so many answers; every round is dealt from the same order."""
    if BYZANTIUM.chance(state):
        state = deal(state, order)
    if not depth:
        return 1
    return sum(
        leaves(BYZANTIUM.apply(state, seat, answer), order, depth - 1)
        for seat in BYZANTIUM.awaited(state)
        for answer in BYZANTIUM.moves(state, seat)
    )


def plain_leaves(plain: Plain, order: list[str], depth: int) -> int:
    if plain.asked is None and plain.round < plain.seats:
        plain.deal(order)
    if not depth:
        return 1
    seat, total = plain.asked, 0
    if seat is None:
        return 0
    for text in plain.moves(seat):
        other = deepcopy(plain)
        other.play(seat, text)
        total += plain_leaves(other, order, depth - 1)
    return total


SIZES = {  # players: the stride of the deals, and how many ways there are to go on for 1, 2, 3 … answers
    2: (5, [20, 592, 17536]),
    3: (7, [16, 384, 10040]),
    4: (11, [12, 216, 4080, 89556]),
}
LATE = {  # players: how many first answers are made, and the ways from there
    2: (14, [11, 54, 296, 356, 500, 2400]),
    3: (15, [7, 30, 103, 187, 248, 272, 280, 700]),
    4: (17, [8, 25, 122, 346, 632, 632, 716]),
}


def play_both(seats: int, count: int) -> tuple[State, Plain, list[str]]:
    """A game of the fixed deals after so many answers, each the middle one of those listed."""
    order = strides(SIZES[seats][0])
    state, plain = dealt(seats, order), Plain(seats)
    plain.deal(order)
    for _ in range(count):
        (seat,) = BYZANTIUM.awaited(state)
        listed = plain.moves(seat)
        text = listed[len(listed) // 2]
        state = BYZANTIUM.apply(state, seat, move(text))
        plain.play(seat, text)
        if BYZANTIUM.chance(state):
            state = deal(state, order)
            plain.deal(order)
    return state, plain, order


@pytest.mark.parametrize("seats", SEATS)
def test_the_tree_of_a_fixed_deal_has_these_sizes(seats):
    state, _, order = play_both(seats, 0)
    sizes = SIZES[seats][1]
    assert [leaves(state, order, depth + 1) for depth in range(len(sizes))] == sizes


@pytest.mark.parametrize("seats", SEATS)
def test_the_second_reading_counts_the_same(seats):
    _, plain, order = play_both(seats, 0)
    assert [plain_leaves(plain, order, depth) for depth in (1, 2)] == SIZES[seats][1][:2]


@pytest.mark.parametrize("seats", SEATS)
def test_both_count_the_same_across_the_end_of_a_round(seats):
    count, sizes = LATE[seats]
    state, plain, order = play_both(seats, count)
    assert plain.round == 1
    depths = range(1, len(sizes) + 1)
    assert [leaves(state, order, depth) for depth in depths] == sizes
    assert [plain_leaves(plain, order, depth) for depth in depths] == sizes
