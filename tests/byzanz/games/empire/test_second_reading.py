"""The second implementation of Empire agrees on positions, legal moves, refusals and the tree."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byzanz.chance import deal
from byzanz.games.empire import moves
from byzanz.games.empire import state as empire_state
from byzanz.games.empire.state import State, deck_of
from byzanz.games.empire.view import melded
from byzanz.moves import IllegalMove, Move
from byzanz.umpire import settle
from tests.support.empire_positions import EMPIRE, SHEET, at, choice, move, shuffled, words
from tests.support.second_rules.empire import DECKS, Plain, force

pytestmark = pytest.mark.nightly

NAMES = sorted({row["card"] for row in SHEET})
VERBS = ("redraw", "meld", "defend", "decline", "negotiate", "replace", "buy-off", "keep")


def multiset(cards: tuple[int, ...]) -> Counter[str]:
    return Counter(words(cards).split())


def same(state: State, plain: Plain) -> None:
    """All that can be seen from above is alike, and so are all moves."""
    for deck, name in enumerate(DECKS):
        assert words(state.piles[deck]).split() == plain.piles[name]
        buried = [
            card for year, seat, cards, _ in state.buried for card in cards if deck_of(seat, year) == deck
        ]
        assert multiset((*state.discards[deck], *buried)) == Counter(plain.discards[name])
        assert multiset(state.out[deck]) == Counter(plain.out[name])
        assert state.shuffles[deck] == plain.labels[name] - (
            EMPIRE.chance(state) is not None and plain.wants[0] == name
        )
    for seat in (0, 1):
        assert multiset(state.hands[seat]) == Counter(plain.hands[seat])
        assert words(state.shown[seat]).split() == plain.shown[seat]
        if state.step in ("defend", "negotiate", "replace", "buy-off"):
            assert multiset(state.melds[seat]) == Counter(plain.melds[seat])
    assert (state.year, state.territory, list(state.legacy)) == (plain.year, plain.territory, plain.legacy)
    for seat in (0, 1):
        listed = [str(each) for each in EMPIRE.moves(state, seat) + EMPIRE.out_of_turn_moves(state, seat)]
        assert len(listed) == len(set(listed))
        assert set(listed) == legal(plain, seat)
        assert bool(EMPIRE.moves(state, seat)) == (seat in seats_to_move(plain))


def legal(plain: Plain, seat: int) -> set[str]:
    """All that a seat may answer, or say anew."""
    return plain.wants["choices"].get(seat, set()) if isinstance(plain.wants, dict) else set()


def seats_to_move(plain: Plain) -> list[int]:
    return plain.wants["asked"] if isinstance(plain.wants, dict) else []


def both(state: State, plain: Plain, seat: int | None, made: Move) -> State:
    """Make a move in both."""
    plain.go(made.args[1:] if seat is None else (seat, str(made)))
    return EMPIRE.apply(state, seat, made)


def next_of(state: State, rng: random.Random) -> tuple[int | None, Move]:
    return (None, shuffled(state, rng)) if EMPIRE.chance(state) else choice(state, rng)


def compare(seed: int) -> None:
    rng, state, plain = random.Random(seed), EMPIRE.setup(2, {}), Plain()
    while EMPIRE.outcome(state) is None:
        due = EMPIRE.chance(state)
        if due is not None:
            deck, cards = plain.wants
            assert (due.label, list(due.cards)) == (f"{deck}:{plain.labels[deck]}", cards)
        else:
            same(state, plain)
        state = both(state, plain, *next_of(state, rng))
    same(state, plain)
    outcome = EMPIRE.outcome(state)
    assert outcome is not None
    assert (plain.wants, outcome.reason, list(outcome.scores)) == (None, plain.over, plain.legacy)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**9))
def test_a_second_reading_of_the_rules_agrees_move_by_move(seed):
    compare(seed)


# Force


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(DECKS), st.data())
def test_both_count_force_alike(deck, data):
    named = [row["card"] for row in SHEET if row["deck"] == deck]
    meld = data.draw(st.lists(st.sampled_from(named), max_size=10))
    numbers = empire_state.numbers(DECKS.index(deck), meld)
    assert empire_state.force(numbers) == force(deck, meld)
    counted = melded(numbers)
    assert counted.force == sum(each.force + each.bonus for each in counted.cards)


# Refusals


def guesses(state: State, rng: random.Random) -> list[tuple[int, str]]:
    """Moves that somebody might try: any verb with cards mostly from the hand, by any seat."""
    tried = []
    for _ in range(40):
        seat, verb = rng.randrange(2), rng.choice((*VERBS, state.step, state.step))
        pool = words(rng.choice([state.hands[seat], state.hands[seat], state.melds[1 - seat]])).split()
        chosen = (
            rng.choices(pool or NAMES, k=rng.choice([0, 1, 1, 3, 5]))
            if rng.random() < 0.9
            else [rng.choice(NAMES)]
        )
        if rng.random() < 0.8:
            chosen = list(empire_state.in_order(tuple(chosen)))
        if verb == "buy-off" and rng.random() < 0.8:
            chosen = [*chosen[:1], "with", rng.choice(words(state.melds[seat]).split() or NAMES)]
        tried.append((seat, " ".join((verb, *chosen))))
    return tried


def refusal(state: State, seat: int, text: str) -> str | None:
    try:
        EMPIRE.apply(state, seat, move(text))
    except IllegalMove as refused:
        return str(refused)
    return None


def refuse_the_rest(seed: int) -> None:
    """Whatever the second reading does not allow is refused, with a reason, and what it allows is accepted."""
    rng, state, plain = random.Random(seed), EMPIRE.setup(2, {}), Plain()
    while EMPIRE.outcome(state) is None:
        for seat, text in guesses(state, rng):
            assert (refusal(state, seat, text) is None) == (text in legal(plain, seat)), text
        state = both(state, plain, *next_of(state, rng))


def test_what_the_second_reading_does_not_allow_is_refused():
    list(map(refuse_the_rest, range(6)))


@pytest.mark.parametrize(
    ("module", "name", "fault"),
    [
        (moves, "broken_limit", lambda _meld: None),
        (moves, "in_order", lambda words: words),
        (moves, "MOST_REDRAWN", 5),
        (moves, "minus", lambda cards, gone: tuple(card for card in cards if card not in gone)),
        (empire_state, "choosers", lambda _state: (0, 1)),
    ],
)
def test_a_refusal_left_out_is_found(module, name, fault, monkeypatch):
    monkeypatch.setattr(module, name, fault)
    with pytest.raises((AssertionError, KeyError, ValueError, IndexError, AttributeError, RuntimeError)):
        list(map(refuse_the_rest, range(8)))


@pytest.mark.parametrize(
    ("module", "name", "fault"),
    [
        (moves, "HIGHEST", 21),
        (moves, "YEARS", 11),
        (moves, "FALLEN", 2),
        (moves, "force", lambda meld: sum(empire_state.FORCE[card] for card in meld)),
        (moves, "legacy", lambda _meld: 0),
        (moves, "RESPONSES", ("negotiate", "defend", "buy-off")),
        (empire_state, "hand_size", lambda _deck, _year: 8),
        (empire_state, "usable", lambda _card, _year: True),
        (empire_state, "thrown", lambda state, deck: state.discards[deck]),
        (empire_state, "emperor_of", lambda year: year % 2),
    ],
)
def test_the_second_reading_finds_a_planted_fault(module, name, fault, monkeypatch):
    monkeypatch.setattr(module, name, fault)
    with pytest.raises((AssertionError, ValueError, IndexError, KeyError, AttributeError, RuntimeError)):
        list(map(compare, range(12)))


# Counting the tree


def leaves(state: State, depth: int) -> int:
    """How many ways there are to go on for so many answers, changes of mind left aside."""
    if depth == 1:
        return sum(len(EMPIRE.moves(state, seat)) for seat in EMPIRE.awaited(state))
    return sum(
        leaves(EMPIRE.apply(state, seat, answer), depth - 1)
        for seat in EMPIRE.awaited(state)
        for answer in EMPIRE.moves(state, seat)
    )


@pytest.mark.parametrize(("key", "sizes"), [(b"perft 1", [377, 61952]), (b"perft 2", [419, 83456])])
def test_the_tree_of_a_fixed_deal_has_these_sizes(key, sizes):
    state, _ = settle(EMPIRE, EMPIRE.setup(2, {}), deal(key))
    assert [leaves(state, 1), leaves(state, 2)] == sizes


YEARS = {  # year, hand of the Foe, hand of the Emperor, and how many ways there are through melds and responses
    "a leader against a defence": (2, "barbarians vandals persians", "justinian trade", 32),
    "a negotiation": (3, "barbarians avars sassanids sassanids", "diplomacy militias coinage", 128),
    "buying off": (1, "barbarians huns gothic-tribes", "coinage justinian tribute", 160),
    "everything at once": (4, "barbarians huns vandals slavs", "belisarius marriage science", 434),
    "the last age": (10, "siege hungarians crusaders ottoman-turks", "renaissance treaty basil", 304),
    "nothing to respond to": (
        7,
        "plague famine riots crisis fleets",
        "trade trade campaigns coinage science",
        400,
    ),
}


def outcomes(state: State) -> Counter[tuple[int, tuple[int, int], int]]:
    """How often each end of the battle is reached by all ways through it: territory, legacy, cards left in hand."""
    if state.step not in ("meld", "defend", "negotiate", "replace", "buy-off"):
        left = sum(map(len, state.hands))
        return Counter([(state.territory, state.legacy, left if state.step == "keep" else 0)])
    seat = min(EMPIRE.awaited(state))
    return sum(
        (outcomes(EMPIRE.apply(state, seat, answer)) for answer in EMPIRE.moves(state, seat)), Counter()
    )


def plain_outcomes(
    start: Any, line: tuple[tuple[int, str], ...] = ()
) -> Counter[tuple[int, tuple[int, int], int]]:
    plain = start()
    for each in line:
        plain.go(each)
    if plain.wants is None:
        over = plain.battle()
        left = sum(map(len, plain.hands))
        return Counter([(plain.territory, tuple(plain.legacy), 0 if over else left)])
    seat = min(plain.wants["asked"])
    return sum(
        (plain_outcomes(start, (*line, (seat, text))) for text in plain.wants["choices"][seat]), Counter()
    )


@pytest.mark.parametrize("name", YEARS)
def test_all_ways_through_a_year_are_counted_alike(name):
    year, foe, emperor, ways = YEARS[name]

    def start() -> Plain:
        return Plain.at(year, foe.split(), emperor.split())

    counted = outcomes(at(year, foe=foe, emperor=emperor))
    assert sum(counted.values()) == ways
    assert counted == plain_outcomes(start)
