"""Dead slots and exclusive pairs of slots, from the geometry of the cards (docs/rules/byzantium.md "Slots")."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byzanz.games.byzantium import state
from byzanz.games.byzantium.state import DEAD, RIVALS, SLOTS, Spot, box, kin, spot, touch
from byzanz.rules import PUBLIC
from tests.support.byzantium_positions import BYZANTIUM, at
from tests.support.second_rules import byzantium

LENGTHS = st.integers(1, 40).flatmap(lambda half: st.tuples(st.just(half), st.integers(half + 1, 2 * half)))
"""Half the sides of a card, the long one above the short one and at most twice as long."""
ALWAYS = [(5, 7), (1, 2), (20, 21), (57, 89), (63, 88)]


def boxes(half_short, half_long):
    """The edges of every card: the slots, and the Aces crossed in the middle, called by their arms."""
    sides = (half_short, half_long)
    lying = {name: box(spot(name, *sides), *sides) for name in SLOTS}
    aces = {"ew": box(Spot(0, 0, 1, 0), *sides), "ns": box(Spot(0, 0, 0, -1), *sides)}
    return lying, aces


def dead_slots(half_short, half_long):
    """All slots whose card would touch an Ace that it does not hang on."""
    lying, aces = boxes(half_short, half_long)
    return {
        name
        for name in SLOTS
        for arms, ace in aces.items()
        if touch(lying[name], ace) and not (len(name) == 1 and name in arms)
    }


def touching(half_short, half_long):
    """The pairs of usable slots whose cards would touch, parent and child excepted."""
    lying, _ = boxes(half_short, half_long)
    usable = [name for name in SLOTS if name not in DEAD]
    return {
        (one, other)
        for one, other in combinations(usable, 2)
        if not kin(one, other) and touch(lying[one], lying[other])
    }


def way(slot):
    """A slot and those it hangs on."""
    return [slot[:length] for length in range(1, len(slot) + 1)]


def needed(pairs):
    """The pairs that are not implied: neither they nor what they hang on excludes the other by another pair."""
    both = pairs | {(other, one) for one, other in pairs}
    return {
        (one, other)
        for one, other in pairs
        if not any((a, b) in both and {a, b} != {one, other} for a in way(one) for b in way(other))
    }


def unordered(pairs):
    return set(map(frozenset, pairs))


def check_cross(half_short, half_long):
    assert dead_slots(half_short, half_long) == set(byzantium.DEAD) == DEAD
    pairs = touching(half_short, half_long)
    assert len(pairs) == 48
    assert len(byzantium.EXCLUSIVE) == len(unordered(byzantium.EXCLUSIVE)) == 20
    assert unordered(needed(pairs)) == unordered(byzantium.EXCLUSIVE)
    rivals = {(SLOTS[slot], SLOTS[other]) for slot, others in enumerate(RIVALS) for other in others}
    assert len(rivals) == 96
    assert unordered(rivals) == unordered(pairs)


@settings(max_examples=25, deadline=None)
@given(LENGTHS)
def test_dead_slots_and_exclusive_pairs_follow_from_any_shape_of_card(lengths):
    check_cross(*lengths)


@pytest.mark.parametrize("lengths", ALWAYS)
def test_dead_slots_and_exclusive_pairs_follow_from_usual_shapes(lengths):
    check_cross(*lengths)


@pytest.mark.parametrize("lengths", [(7, 7), (5, 16), (7, 5)])
def test_other_shapes_would_make_another_game(lengths):
    with pytest.raises(AssertionError):
        check_cross(*lengths)


def leaning(slot, half_short=5, half_long=7):
    """Side cards that hang by the near end of the long side."""
    at = state.spot(slot, half_short, half_long)
    return at._replace(x=at.x - half_long + half_short) if slot[1:2] in ("l", "r") else at


def mirrored(slot, half_short=5, half_long=7):
    return state.spot(slot.translate(str.maketrans("lr", "rl")), half_short, half_long)


@pytest.mark.parametrize("fault", [leaning, mirrored])
def test_a_planted_fault_of_geometry_is_found(fault, monkeypatch):
    monkeypatch.setitem(globals(), "spot", fault)
    with pytest.raises(AssertionError):
        check_cross(5, 7)


def test_there_are_52_names_and_44_usable_slots():
    assert list(SLOTS) == byzantium.NAMES
    assert [sum(len(name) == depth for name in SLOTS) for depth in (1, 2, 3)] == [4, 12, 36]
    usable = [name for name in SLOTS if name not in DEAD]
    assert [sum(len(name) == depth for name in usable) for depth in (1, 2, 3)] == [4, 12, 28]


@pytest.mark.parametrize(
    ("slot", "x", "y", "upright"),
    [
        ("e", 14, 0, False),
        ("n", 0, -14, True),
        ("w", -14, 0, False),
        ("s", 0, 14, True),
        ("ef", 28, 0, False),
        ("eff", 42, 0, False),
        ("el", 14, -12, True),  # seen outward the left of east is north
        ("er", 14, 12, True),
        ("elf", 14, -26, True),
        ("elr", 26, -12, False),
        ("ell", 2, -12, False),
        ("efl", 28, -12, True),
        ("nl", -12, -14, False),
        ("sl", 12, 14, False),
        ("wl", -14, 12, True),
        ("wlf", -14, 26, True),
        ("nrl", 12, -26, True),
    ],
)
def test_where_cards_lie(slot, x, y, upright):
    view = BYZANTIUM.view(at(("", "")), PUBLIC)
    place = next(place for place in view.places if place.slot == slot)
    assert (place.x, place.y, place.upright) == (x, y, upright)


@settings(max_examples=20, deadline=None)
@given(LENGTHS, st.sampled_from(byzantium.NAMES))
def test_a_card_hangs_by_its_whole_short_side_in_the_middle_of_a_side(lengths, slot):
    """The two short corners of the near end lie on one edge of the parent, and the middle on that edge's middle."""
    half_short, half_long = lengths
    here = spot(slot, *lengths)
    near = (here.x - half_long * here.dx, here.y - half_long * here.dy)
    parent = spot(slot[:-1], *lengths) if len(slot) > 1 else Spot(0, 0, here.dx, here.dy)
    outward = half_long if (parent.dx, parent.dy) == (here.dx, here.dy) else half_short
    assert near == (parent.x + outward * here.dx, parent.y + outward * here.dy)
    assert touch(box(here, *lengths), box(parent, *lengths))


def test_lengths_fit_the_grid():
    """Whole tenths, so that a page draws without rounding."""
    assert (state.HALF_SHORT, state.HALF_LONG) == (5, 7)
    for place in BYZANTIUM.view(at(("", "")), PUBLIC).places:
        assert isinstance(place.x, int)
        assert max(abs(place.x), abs(place.y)) <= 42
