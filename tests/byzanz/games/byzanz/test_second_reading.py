"""The second implementation of Byzanz agrees on positions, legal moves, refusals and the tree."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byzanz.games.byzanz import moves
from byzanz.games.byzanz.state import State, numbers
from byzanz.moves import IllegalMove
from tests.support.byzanz_positions import BYZANZ, answers, choices, dealt, move, shuffled, strides, words
from tests.support.second_rules.byzanz import GROUPS, Plain, in_order

pytestmark = pytest.mark.nightly

SEATS = [3, 4, 5, 6]
VERBS = ("bid", "pass", "tax", "take", "sell", "discard", "done")


# Positions and listings


def same(state: State, plain: Plain) -> None:
    """All that can be seen from above is alike, and so are all moves."""
    assert [Counter(words(hand).split()) for hand in state.hands] == list(map(Counter, plain.hands))
    assert [Counter(words(bid).split()) for bid in state.bids] == list(map(Counter, plain.bids))
    assert [Counter(words(pile).split()) for pile in state.kept] == list(map(Counter, plain.kept))
    for pile in ("market", "gone", "lot"):
        assert Counter(words(getattr(state, pile)).split()) == Counter(getattr(plain, pile)), pile
    assert words(state.deck).split() == plain.deck
    assert {seat + 1: size for seat, size in enumerate(state.won) if size} == {
        seat + 1: size for seat, size in plain.lot_cards.items()
    }
    assert (state.step, list(BYZANZ.awaited(state)), state.round) == (plain.step, plain.asked(), plain.round)
    for seat in plain.seats:
        listed = answers(state, seat)
        assert len(listed) == len(set(listed))
        assert set(listed) == plain.moves(seat)
        sales = {
            line
            for line in (*listed, *map(str, BYZANZ.out_of_turn_moves(state, seat)))
            if line.startswith("sell")
        }
        assert sales == plain.sales(seat)


def compare(seats: int, seed: int) -> None:
    rng = random.Random(seed)
    order = shuffled(rng)
    state, plain = dealt(seats, order), Plain(seats, order)
    while BYZANZ.awaited(state):
        same(state, plain)
        seat, chosen = choices(state, rng)
        state = BYZANZ.apply(state, seat, chosen)
        plain.play(seat, str(chosen))
    same(state, plain)


@settings(max_examples=12, deadline=None)
@given(st.integers(3, 6), st.integers(0, 10**9))
def test_a_second_reading_of_the_rules_agrees_move_by_move(seats, seed):
    compare(seats, seed)


# Refusals


def guesses(state: State, rng: random.Random) -> list[tuple[int, str]]:
    """Moves that somebody might try: any verb with cards mostly from the hand, by any seat."""
    tried = []
    for _ in range(60):
        seat, verb = (
            rng.randrange(len(state.hands)),
            rng.choice(VERBS),
        )
        pool = rng.choice(
            [state.hands[seat] or (0,), state.hands[seat] or (0,), state.lot or (24,), range(25)]
        )
        chosen = rng.choices(pool, k=rng.choice([1, 2, 3, 3]))
        if rng.random() < 0.8:
            chosen.sort()
        line = {"pass": "", "done": "", "take": rng.choice(GROUPS)}.get(verb, words(tuple(chosen)))
        tried.append((seat, f"{verb} {line}".strip()))
    return tried


def several(state: State, line: str) -> bool:
    """A discard of several cards that a seat over the limit may make."""
    verb, *thrown = line.split()
    if state.step != "limit" or verb != "discard":
        return False
    held = Counter(words(state.hands[state.turn]).split())
    return thrown == in_order(thrown) and Counter(thrown) <= held and len(thrown) <= sum(held.values()) - 7


def refusal(state: State, seat: int, line: str) -> str | None:
    try:
        BYZANZ.apply(state, seat, move(line))
    except IllegalMove as refused:
        return str(refused)
    return None


def refuse_the_rest(seats: int, seed: int) -> None:
    """Whatever the second reading does not allow is refused, with a reason, and what it allows is accepted."""
    rng = random.Random(seed)
    order = shuffled(rng)
    state, plain = dealt(seats, order), Plain(seats, order)
    while BYZANZ.awaited(state):
        for seat, line in guesses(state, rng):
            legal = line in plain.moves(seat) | plain.sales(seat) or (
                seat == state.turn and several(state, line)
            )
            assert (refusal(state, seat, line) is None) == legal, line
        seat, chosen = choices(state, rng)
        state = BYZANZ.apply(state, seat, chosen)
        plain.play(seat, str(chosen))


@pytest.mark.parametrize("seats", SEATS)
def test_what_the_second_reading_does_not_allow_is_refused(seats):
    refuse_the_rest(seats, seats)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("is_set", lambda cards: len(cards) == 3),
        ("minimum_raise", lambda _state, _seat: 1),
        ("MERCHANT", 25),
        ("parse_cards", numbers),
    ],
)
def test_a_refusal_left_out_is_found(name, fault, monkeypatch):
    monkeypatch.setattr(moves, name, fault)
    with pytest.raises((AssertionError, KeyError)):
        list(map(refuse_the_rest, [4] * 8, range(8)))


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("HAND_LIMIT", 8),
        ("profit_card", min),
        ("lot_card", lambda _state: 2),
        ("_next_bidder", lambda state, seat, _passed: (seat + 1) % len(state.won)),
    ],
)
def test_the_second_reading_finds_a_planted_fault(name, fault, monkeypatch):
    monkeypatch.setattr(moves, name, fault)
    with pytest.raises((AssertionError, ValueError, IndexError, KeyError)):
        list(map(compare, [4] * 8, range(8)))


# Counting the tree


def leaves(state: State, depth: int) -> int:
    """How many ways there are to go on for so many answers, sales out of turn left aside."""
    if not depth:
        return 1
    return sum(
        leaves(BYZANZ.apply(state, seat, answer), depth - 1)
        for seat in BYZANZ.awaited(state)
        for answer in BYZANZ.moves(state, seat)
    )


def plain_leaves(seats: int, order: list[str], line: tuple[tuple[int, str], ...], depth: int) -> int:
    if not depth:
        return 1
    plain = Plain(seats, order)
    for seat, text in line:
        plain.play(seat, text)
    moves = [(seat, text) for seat in plain.asked() for text in plain.moves(seat)]
    return (
        len(moves)
        if depth == 1
        else sum(plain_leaves(seats, order, (*line, each), depth - 1) for each in moves)
    )


SIZES = {  # players: the stride of the deal, and how many ways there are to go on for 1, 2, 3 … answers
    3: (37, [8, 27, 90, 185, 1009, 5832]),
    4: (45, [16, 144, 673, 2383, 6323, 20682]),
    5: (55, [8, 12, 44, 89, 339, 436]),
    6: (61, [16, 144, 157, 783, 3317, 3518]),
}


@pytest.mark.parametrize("seats", SEATS)
def test_the_tree_of_a_fixed_deal_has_these_sizes(seats):
    stride, sizes = SIZES[seats]
    assert [leaves(dealt(seats, strides(stride)), depth + 1) for depth in range(len(sizes))] == sizes


@pytest.mark.parametrize("seats", SEATS)
def test_the_second_reading_counts_the_same(seats):
    stride, sizes = SIZES[seats]
    assert [plain_leaves(seats, strides(stride), (), depth) for depth in range(1, 6)] == sizes[:5]


@pytest.mark.parametrize("seats", SEATS)
@pytest.mark.parametrize("step", ["tax", "limit", "market", "end"])
def test_both_count_the_same_from_every_kind_of_question(seats, step):
    order = strides(SIZES[seats][0])
    state, line = dealt(seats, order), []
    while state.step != step:
        seat = min(BYZANZ.awaited(state))
        line.append((seat, answers(state, seat)[-1]))
        state = BYZANZ.apply(state, seat, BYZANZ.moves(state, seat)[-1])
    for depth in (1, 2, 3):
        assert leaves(state, depth) == plain_leaves(seats, order, tuple(line), depth) > 0
