"""Hidden information in Byzantium; a pass reveals something about a hand (docs/rules/byzantium.md, promise 10)."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, replace
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byzanz.games.byzantium.rules import Byzantium
from byzanz.games.byzantium.state import State, playable
from byzanz.games.byzantium.view import View
from byzanz.moves import IllegalMove, Move
from byzanz.rules import ALL, PUBLIC
from tests.support.byzantium_positions import (
    BYZANTIUM,
    after,
    astray,
    at,
    cards,
    deal,
    differing,
    game,
    move,
    words,
)
from tests.support.second_rules.byzantium import CARDS, NAMES

SEATS = [2, 3, 4]
HANDS = ("7r 9r 4b", "2r 3r jb", "qr 2b")
RED = "e 5r ef 6r w 7r wf 8r"


def names(text):
    return tuple(text.split())


def places(view):
    return {place.slot: place for place in view.places}


# Fields


def test_a_seat_sees_its_own_hand_and_no_other():
    state = at(HANDS)
    view = BYZANTIUM.view(state, 1)
    assert view.hands == (None, names("2r 3r jb"), None)
    assert view.hand == names("2r 3r jb")
    assert view.hand_sizes == (3, 3, 2)
    assert (view.kitty, view.kitty_size) == (None, 16)
    assert BYZANTIUM.view(state, PUBLIC).hands == (None, None, None)
    assert BYZANTIUM.view(state, PUBLIC).hand is None
    everything = BYZANTIUM.view(state, ALL)
    assert everything.hands == tuple(map(names, HANDS))
    assert everything.kitty == names(words(state.kitty))


def test_a_view_tells_the_table():
    shown = ((cards("2r 3b"), (), cards("kb")),)
    view = BYZANTIUM.view(at(HANDS, "e 5r el 8r n 9b", turn=1, round=2, number=9, shown=shown), 1)
    assert (view.viewer, view.seats, view.step, view.number) == (1, 3, "put", 9)
    assert (view.round, view.rounds, view.dealer) == (2, 3, 0)
    assert (view.awaited, view.question, view.turn) == ((1,), "put 9", 1)
    assert view.shown == ((names("2r 3b"), (), ("kb",)),)
    assert (view.scores, view.passed, view.out) == ((2, 0, 1), (), (False, False, False))
    assert view.aces == ("ab", "ar")
    assert [(arm.arm, arm.colour, arm.direction) for arm in view.arms] == [
        ("e", "red", "rising"),
        ("n", "black", None),
        ("s", "black", None),
        ("w", "red", None),
    ]
    assert BYZANTIUM.view(at(HANDS), 1).question is None


def test_a_view_tells_the_state_of_every_slot():
    view = BYZANTIUM.view(at(HANDS, "e 5r el 8r n 9b"), PUBLIC)
    slots = places(view)
    assert list(slots) == NAMES
    assert (slots["e"].state, slots["e"].card, slots["e"].takes) == ("taken", "5r", ())
    assert (slots["ef"].state, slots["ef"].card) == ("open", None)
    assert slots["ef"].takes == names("6r 7r 9r 10r jr qr kr")
    assert slots["elf"].takes == names("9r 10r jr qr kr")
    assert slots["w"].takes == names("2r 3r 4r 6r 7r 9r 10r jr qr kr")
    assert slots["nf"].takes == names("2b 3b 4b 5b 6b 7b 8b 10b jb qb kb")
    assert (slots["eff"].state, slots["eff"].takes) == ("waiting", ())
    assert (slots["nr"].state, slots["nr"].takes) == ("closed", ())
    assert slots["nrf"].state == "closed", "it hangs on a closed slot"
    assert (slots["ell"].state, slots["ell"].takes) == ("dead", ())
    assert Counter(place.state for place in view.places) == {
        "taken": 3,
        "open": 8,
        "waiting": 30,
        "closed": 3,
        "dead": 8,
    }


def test_an_open_slot_may_fit_no_card_any_more():
    slots = places(BYZANTIUM.view(at(HANDS, "e 5r el kr"), PUBLIC))
    assert (slots["elf"].state, slots["elf"].takes) == ("open", ())


@pytest.mark.parametrize("seats", SEATS)
def test_what_the_slots_take_is_what_all_seats_may_do(seats):
    for state, _, _ in game(seats, 60 + seats):
        if BYZANTIUM.awaited(state):
            takes = {
                (name, card)
                for place in BYZANTIUM.view(state, PUBLIC).places
                for name in [place.slot]
                for card in place.takes
            }
            for seat, hand in enumerate(state.hands):
                asked = BYZANTIUM.moves(replace(state, turn=seat), seat)
                listed = {(line.args[2], line.args[0]) for line in asked if line.verb == "put"}
                assert listed == {(slot, card) for slot, card in takes if card in words(hand).split()}


def test_a_view_becomes_json():
    view = json.loads(json.dumps(asdict(BYZANTIUM.view(at(HANDS, RED), 1))))
    assert view["hands"][1] == ["2r", "3r", "jb"]
    assert view["places"][0] == {
        "slot": "e",
        "x": 14,
        "y": 0,
        "upright": False,
        "state": "taken",
        "card": "5r",
        "takes": [],
    }


def test_hands_are_shown_when_the_round_is_over_and_stay_in_memory():
    state = after(at(HANDS, RED, turn=1, passed=(0, 2)), "1 put jb on n")
    state = after(state, "1 pass")
    view = BYZANTIUM.view(state, 0)
    assert (view.step, view.turn) == ("deal", None)
    assert view.hands == view.shown[0] == (names("7r 9r 4b"), names("2r 3r"), names("qr 2b"))
    assert view.kitty is None
    again = BYZANTIUM.view(deal(state, CARDS), 0)
    assert again.hands == (names(" ".join(CARDS[16:])), None, None), "seat 1 got the first eight"
    assert again.shown == view.shown
    assert again.scores == (3, 2, 2)


def test_hands_of_the_last_round_are_shown_at_the_end():
    *_, (state, _, _) = game(3, 4)
    view = BYZANTIUM.view(state, PUBLIC)
    assert (view.step, view.round, len(view.shown)) == ("over", 3, 3)
    assert view.hands == view.shown[-1]


# What a pass tells


def test_a_pass_tells_which_cards_a_hand_lacks():
    state = after(at(("9r 4b", "2r 3r", "qr 2b"), RED, turn=1), "1 pass")
    view = BYZANTIUM.view(state, 0)
    assert view.passed == (1,)
    black = "2b 3b 4b 5b 6b 7b 8b 9b 10b jb qb kb"
    assert view.lacks == ((), names(f"9r 10r jr qr kr {black}"), ())
    later = after(state, "2 put qr on eff", "0 put 9r on wff")
    assert BYZANTIUM.view(later, 2).lacks == view.lacks, "as it was when it passed"


# Worlds


@settings(max_examples=12, deadline=None)
@given(st.sampled_from(SEATS), st.integers(0, 10**9))
def test_a_world_gives_its_view_again(seats, seed):
    rng = random.Random(seed)
    for state, _, _ in game(seats, seed):
        if rng.random() < 0.7:
            continue
        for viewer in (*range(seats), PUBLIC, ALL):
            view = BYZANTIUM.view(state, viewer)
            world = BYZANTIUM.sample_state(view, rng.randrange)
            assert BYZANTIUM.view(world, viewer) == view
            assert not astray(world)
            assert viewer != ALL or world == state


def test_before_the_deal_there_is_one_world():
    state = BYZANTIUM.setup(2, {})
    for viewer in (0, PUBLIC, ALL):
        assert BYZANTIUM.sample_state(BYZANTIUM.view(state, viewer), random.Random(1).randrange) == state


def rounds(seats, seed):
    """The rounds of a random game: for each the state before its first move, and seat and move of all its moves."""
    found: list[tuple[State, list[tuple[int, Move]], list[State]]] = []
    for state, seat, chosen in game(seats, seed):
        if seat is None:
            start = BYZANTIUM.apply(state, None, chosen)
            found.append((start, [], [start]))
        elif seat >= 0:
            found[-1][1].append((seat, chosen))
            found[-1][2].append(BYZANTIUM.apply(state, seat, chosen))
    return found


def reached(start, made, world):
    """The moment after the moves made so far this round, had the cards been dealt as the world has it."""
    hands = list(world.hands)
    for seat, chosen in made:
        if chosen.verb == "put":
            hands[seat] = tuple(sorted((*hands[seat], CARDS.index(chosen.args[0]))))
    state = replace(start, hands=tuple(hands), kitty=world.kitty)
    for seat, chosen in made:
        state = BYZANTIUM.apply(state, seat, chosen)
    return state


def replayable(seats, seed, worlds):
    """Every world drawn in a game can come of another deal by the very moves made; how many had news of a pass."""
    rng, news = random.Random(seed), 0
    for start, made, states in rounds(seats, seed):
        for count, state in enumerate(states[:-1]):
            if rng.random() < 0.5:
                continue
            for viewer in (*range(seats), PUBLIC):
                world = worlds(BYZANTIUM.view(state, viewer), rng.randrange)
                assert reached(start, made[:count], world) == world
                news += bool(state.passed)
    return news


@pytest.mark.parametrize("seats", SEATS)
def test_a_world_is_one_in_which_the_moves_made_were_legal_and_the_passes_forced(seats):
    assert sum(replayable(seats, seed, BYZANTIUM.sample_state) for seed in range(15)) > 40


def forgetting(view, draw):
    """Worlds that forget what a pass told."""
    blank = replace(view, lacks=((),) * view.seats)
    return replace(BYZANTIUM.sample_state(blank, draw), lacks=BYZANTIUM.sample_state(view, draw).lacks)


@pytest.mark.parametrize("seats", SEATS)
def test_worlds_that_forget_a_pass_are_found(seats):
    with pytest.raises((AssertionError, IllegalMove)):
        [replayable(seats, seed, forgetting) for seed in range(30)]


def all_worlds(start, made, state, viewer):
    """By trying every deal of the unseen: the hands under which these moves were legal."""
    unknown = [seat for seat in range(len(state.hands)) if seat != viewer]
    pool = sorted((*state.kitty, *(card for seat in unknown for card in state.hands[seat])))
    found = set()

    def give(hands, seats, rest):
        if seats:
            for held in combinations(rest, len(state.hands[seats[0]])):
                given = {**hands, seats[0]: held}
                give(given, seats[1:], [card for card in rest if card not in held])
            return
        dealt = tuple(hands.get(seat, state.hands[seat]) for seat in range(len(state.hands)))
        world = replace(state, hands=dealt, kitty=tuple(rest))
        try:
            reached(start, made, world)
        except IllegalMove:
            return
        found.add(world)

    give({}, unknown, pool)
    return found


def moments_after_passes(seats, most):
    """Moments with few unseen cards after somebody passed with cards in hand, from many games."""
    for seed in range(200):
        for start, made, states in rounds(seats, seed):
            for count, state in enumerate(states[:-1]):
                unseen = sum(map(len, state.hands[1:])) + len(state.kitty)
                if any(state.hands[seat] for seat in state.passed if seat) and unseen <= most:
                    yield start, made[:count], state


@pytest.mark.parametrize(("seats", "most"), [(2, 7), (3, 8), (4, 8)])
def test_worlds_are_drawn_from_all_that_fit_and_each_as_often(seats, most):
    draws, looked_at = 60, 0
    for start, made, state in moments_after_passes(seats, most):
        fitting = all_worlds(start, made, state, 0)
        if not 2 <= len(fitting) <= 30:
            continue
        rng = random.Random(looked_at)
        view = BYZANTIUM.view(state, 0)
        times = draws * len(fitting)
        drawn = Counter(BYZANTIUM.sample_state(view, rng.randrange) for _ in range(times))
        assert set(drawn) == fitting
        # chi-square with len(fitting)-1 degrees of freedom: mean k, deviation sqrt(2k); six deviations above it
        spread = sum((count - draws) ** 2 / draws for count in drawn.values())
        degrees = len(fitting) - 1
        assert spread < degrees + 6 * (2 * degrees) ** 0.5 + 6
        looked_at += 1
        if looked_at == 12:
            break
    assert looked_at == 12


# Paired worlds: who cannot tell two worlds apart now cannot after any public moves of the round


def moment(seats, rng):
    """A moment somewhere in a game, with a real choice or not."""
    found = [state for state, seat, _ in game(seats, rng.randrange(10**9)) if seat is not None and seat >= 0]
    return rng.choice(found)


def leaks(look, seats, viewer, seed):
    """The fields in which the viewer sees two worlds differ that go on by the same moves, as far as that goes."""
    rng = random.Random(seed)
    one = moment(seats, rng)
    other = BYZANTIUM.sample_state(BYZANTIUM.view(one, viewer), rng.randrange)
    found = set()
    while one.step == other.step == "put":
        found |= differing(look(one, viewer), look(other, viewer))
        if isinstance(viewer, int) and BYZANTIUM.moves(one, viewer) != BYZANTIUM.moves(other, viewer):
            found.add("moves")
        (seat,) = BYZANTIUM.awaited(one)
        both = set(BYZANTIUM.moves(one, seat)) & set(BYZANTIUM.moves(other, seat))
        if not both:
            break
        chosen = rng.choice(sorted(both, key=str))
        one, other = BYZANTIUM.apply(one, seat, chosen), BYZANTIUM.apply(other, seat, chosen)
    return found


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(SEATS), st.integers(0, 3), st.integers(0, 10**9))
def test_two_worlds_alike_stay_alike_through_public_moves(seats, viewer, seed):
    assert leaks(BYZANTIUM.view, seats, viewer if viewer < seats else PUBLIC, seed) == set()


def stuck(state):
    """Who could not place a card, were it asked."""
    can = playable(state.cross)
    return tuple(not set(hand) & set(can) for hand in state.hands)


def in_hands(state, place):
    """What a slot takes, but for the cards that nobody holds."""
    held = " ".join(map(words, state.hands)).split()
    return replace(place, takes=tuple(card for card in place.takes if card in held))


LEAKS: dict[str, Callable[[State, View], dict[str, Any]]] = {
    "the hand of who is out": lambda state, view: {
        "hands": tuple(
            names(words(hand)) if view.out[seat] else view.hands[seat]
            for seat, hand in enumerate(state.hands)
        )
    },
    "the kitty in the last round": lambda state, view: {
        "kitty": names(words(state.kitty)) if state.round == view.rounds else None
    },
    "out before the pass": lambda state, _view: {"out": stuck(state)},
    "a question of another kind": lambda state, view: {
        "question": f"pass {view.number}" if stuck(state)[max(state.turn, 0)] else view.question
    },
    "slots for cards in a hand only": lambda state, view: {
        "places": tuple(in_hands(state, place) for place in view.places)
    },
    "lacks without the kitty": lambda state, view: {
        "lacks": tuple(
            tuple(card for card in lack if card not in words(state.kitty).split()) for lack in view.lacks
        )
    },
    "passed in the order of what is left": lambda state, view: {
        "passed": tuple(sorted(view.passed, key=lambda seat: state.hands[seat]))
    },
    "ranks in hand as points": lambda state, _view: {"scores": tuple(map(sum, state.hands))},
}


@pytest.mark.parametrize("leak", LEAKS)
def test_planted_leaks_are_found(leak):
    def look(state, viewer):
        view = BYZANTIUM.view(state, viewer)
        return replace(view, **LEAKS[leak](state, view))

    tables = [(2, 0), (2, PUBLIC), (3, 1), (4, 3), (4, PUBLIC)]
    assert any(leaks(look, seats, viewer, seed) for seed in range(25) for seats, viewer in tables)


def test_moves_that_look_at_a_hidden_hand_are_found(monkeypatch):
    """Placements that are listed only when the next seat holds a black card."""
    honest = Byzantium.moves

    def moves(self, state, seat):
        listed = honest(self, state, seat)
        return listed if any(card > 11 for card in state.hands[seat - 1]) else listed[:1]

    monkeypatch.setattr(Byzantium, "moves", moves)
    assert any("moves" in leaks(BYZANTIUM.view, 3, viewer, seed) for seed in range(30) for viewer in range(3))


# What is told


def test_all_moves_are_told_to_all_but_the_order_of_the_cards():
    shuffle = Move("shuffle", ("deal:2", *CARDS))
    for viewer in (0, 3, PUBLIC):
        assert BYZANTIUM.redact_move(shuffle, None, viewer, True) == "shuffle deal:2"
        for line in ("pass", "put 7r on el"):
            for seat in (0, 1):
                assert BYZANTIUM.redact_move(move(line), seat, viewer, True) == line
    assert BYZANTIUM.redact_move(shuffle, None, ALL, True) == str(shuffle)
