"""States sampled from views of Empire, and pairs of states that a viewer cannot tell apart (promise 10)."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byzanz.games.empire.state import CARDS, LEGACY, age_of, force, known_of
from byzanz.moves import Move
from byzanz.rules import ALL, PUBLIC
from tests.support.empire_positions import (
    BYZANTINES,
    EMPIRE,
    FOES,
    after,
    astray,
    at,
    cards,
    choice,
    dealt,
    differing,
    game,
    remembered,
    words,
)


def sample_state(view, count, seed=5):
    rng = random.Random(seed)
    return [EMPIRE.sample_state(view, rng.randrange) for _ in range(count)]


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**9))
def test_a_world_gives_its_view_again(seed):
    rng = random.Random(seed)
    for state, _, _ in game(seed):
        for viewer in (0, 1, PUBLIC, ALL):
            if rng.random() < 0.1:
                view = EMPIRE.view(state, viewer)
                world = EMPIRE.sample_state(view, rng.randrange)
                assert EMPIRE.view(world, viewer) == view
                assert EMPIRE.view(world, PUBLIC) == EMPIRE.view(state, PUBLIC)
                assert not astray(world)
                assert viewer != ALL or world == state


@pytest.mark.parametrize("seed", range(4))
def test_a_world_can_be_played_on(seed):
    """What a seat holds or has sealed in a world is legal: a game goes on from it to its end."""
    rng = random.Random(seed)
    moments = [state for state, _, _ in game(seed) if EMPIRE.awaited(state)]
    for viewer in (0, 1, PUBLIC):
        state = EMPIRE.sample_state(EMPIRE.view(rng.choice(moments), viewer), rng.randrange)
        while EMPIRE.outcome(state) is None:
            state = dealt(state, "") if EMPIRE.chance(state) else EMPIRE.apply(state, *choice(state, rng))
            assert not astray(state)


@pytest.mark.parametrize("seed", range(6))
def test_in_a_world_every_card_may_be_held_where_it_lies(seed):
    """Hidden hands hold cards of this age, and face down lie cards of the age they were thrown away in."""
    rng = random.Random(seed)
    for state, _, _ in game(seed):
        if not EMPIRE.awaited(state) or rng.random() < 0.8:
            continue
        for viewer in (0, 1, PUBLIC):
            world = EMPIRE.sample_state(EMPIRE.view(state, viewer), rng.randrange)
            for hand in world.hands:
                assert all(age_of(world.year) in CARDS[card].ages for card in hand)
            for year, _, batch, known in world.buried:
                assert all(age_of(year) in CARDS[card].ages for card in batch)
                assert not Counter(known) - Counter(batch)


def test_what_is_known_is_in_the_hand_in_every_world():
    for state in (remembered(), after(remembered(), "F redraw", "E redraw", "F meld siege huns")):
        view = EMPIRE.view(state, 1)
        for world in sample_state(view, 40):
            assert not Counter(cards(FOES, " ".join(view.known[0]))) - Counter(world.hands[0])


def test_after_a_redraw_the_known_cards_are_in_hand_or_face_down():
    """Four of nine cards were redrawn, of which seven were unknown: at times none of the known ones is among them."""
    view = EMPIRE.view(after(remembered(), "F redraw huns crisis", "E redraw"), 1)
    known = Counter(cards(FOES, " ".join(view.known[0])))
    thrown = Counter[int]()
    for world in sample_state(view, 200):
        (_, _, batch, _), *_ = world.buried
        assert not known - Counter(world.hands[0] + batch)
        thrown[(known & Counter(batch)).total()] += 1
    assert set(thrown) == {0, 1, 2}


def test_who_threw_away_four_of_eight_cards_kept_at_most_four_of_those_seen():
    state = after(remembered(), "F redraw siege huns avars riots", "E redraw")
    view = EMPIRE.view(state, 1)
    known = Counter(cards(FOES, " ".join(view.known[0])))
    for world in sample_state(view, 100):
        assert 1 <= (known & Counter(world.buried[0][2])).total() <= 4


def test_worlds_do_not_remember_what_a_shuffle_of_this_year_took_from_sight():
    """A known limit, see `View`: of nine cards one was redrawn, so at most one can have lain open before."""
    foe, emperor = (
        "siege siege huns avars riots crisis famine plague",
        "trade taxes treaty marriage tribute coinage",
    )
    state = at(1, "redraw", foe=foe, emperor=f"{emperor} science militias literature", dry=True)
    lay_open = Counter(EMPIRE.view(state, 1).decks[BYZANTINES].discards)
    state = dealt(after(state, "F redraw", "E redraw trade"), "reforms")
    assert state.step == "meld"
    hands = [world.hands[0] for world in sample_state(EMPIRE.view(state, 1), 100)]
    assert (Counter(words(state.hands[0]).split()) & lay_open).total() == 1
    assert max((Counter(words(hand).split()) & lay_open).total() for hand in hands) > 1


def test_worlds_differ_and_reach_every_hidden_place():
    """Over many draws each card that is nowhere in sight turns up in the other's hand, face down and in the pile."""
    state = after(remembered(), "F redraw riots", "E redraw")
    view = EMPIRE.view(state, 1)
    many = sample_state(view, 400)
    pool = {card for card in many[0].piles[FOES] if "E" in CARDS[card].ages}
    for place in (
        lambda world: world.hands[0],
        lambda world: world.buried[0][2],
        lambda world: world.piles[FOES],
    ):
        assert pool <= {card for world in many for card in place(world)} | set(cards(FOES, "riots"))
    assert len({world.hands for world in many}) > 300


def test_a_hidden_choice_may_be_any():
    state = after(at(1, foe="siege huns barbarians", emperor="trade taxes"), "F meld siege")
    chosen = {world.chosen[1] for world in sample_state(EMPIRE.view(state, 0), 300)}
    assert len(chosen) > 100
    state = after(at(1, "keep", foe="siege huns barbarians", emperor="trade taxes"), "F keep siege")
    for world in sample_state(EMPIRE.view(state, 0), 50):
        assert set(world.chosen[1] or ()) < set(world.hands[1])


def test_before_the_first_shuffle_there_is_one_world():
    state = EMPIRE.setup(2, {})
    for viewer in (0, 1, PUBLIC, ALL):
        assert sample_state(EMPIRE.view(state, viewer), 1) == [state]


# Paired worlds: who cannot tell two worlds apart now cannot after any events that look alike to him


def pair(viewer, rng):
    """A moment, and another that differs in what is hidden but for the draw piles, or in these, too."""
    moments = [state for state, _, _ in game(rng.randrange(10**6)) if state.step == "redraw"]
    state = rng.choice([moment for moment in moments if moment.chosen == (None, None)])
    view = EMPIRE.view(state, viewer)
    if rng.random() < 0.5:
        foes, byzantines = view.decks
        told = [tuple(words(pile).split()) for pile in state.piles]
        view = replace(view, decks=(replace(foes, pile=told[0]), replace(byzantines, pile=told[1])))
    return state, EMPIRE.sample_state(view, rng.randrange)


def alike(one, other, seat, viewer, rng):
    """A move of a seat in each world that looks the same to the viewer, now and when it is open; None without."""
    if seat == viewer:
        chosen = rng.choice(EMPIRE.moves(one, seat)[: rng.choice([1, None])])
        return (chosen, chosen) if chosen in EMPIRE.moves(other, seat) else None
    if one.step == "redraw":
        if rng.random() < 0.5:
            differ = [difference(one, other, seat), difference(other, one, seat)]
            if len(differ[0]) <= 4:
                return tuple(Move("redraw", tuple(words(each).split())) for each in differ)
        count = rng.randrange(5)
        return tuple(
            Move("redraw", tuple(words(sample(state.hands[seat], count, rng)).split()))
            for state in (one, other)
        )
    both = [each for each in EMPIRE.moves(one, seat) if each in EMPIRE.moves(other, seat)]
    if one.step == "keep":
        both = [each for each in both if left_over(one, seat, each) == left_over(other, seat, each)]
    return (rng.choice(both[:6]),) * 2 if both else None


def difference(one, other, seat):
    return tuple(sorted((Counter(one.hands[seat]) - Counter(other.hands[seat])).elements()))


def sample(hand, count, rng):
    return tuple(sorted(rng.sample(hand, min(count, len(hand)))))


def left_over(state, seat, kept):
    return Counter(words(state.hands[seat]).split()) - Counter(kept.args)


def leaks(look, told, viewer, seed):
    """What the viewer sees differ between two worlds in which the same happens as far as he can tell."""
    rng = random.Random(seed)
    one, other = pair(viewer, rng)
    found, events = set(), 0
    while EMPIRE.outcome(one) is None:
        found |= differing(look(one, viewer), look(other, viewer))
        if isinstance(viewer, int) and EMPIRE.moves(one, viewer) != EMPIRE.moves(other, viewer):
            found.add("moves")
        if due := EMPIRE.chance(one):
            shuffle = Move("shuffle", (due.label, *rng.sample(due.cards, len(due.cards))))
            if EMPIRE.chance(other) != due:
                break
            one, other = EMPIRE.apply(one, None, shuffle), EMPIRE.apply(other, None, shuffle)
            continue
        seat = rng.choice(list(EMPIRE.awaited(one)))
        if seat != viewer and one.step in EMPIRE.sealed and len(EMPIRE.awaited(one)) == 2:
            # Under seal the choices may be quite different ones.
            hidden = [
                EMPIRE.apply(state, seat, rng.choice(EMPIRE.moves(state, seat))) for state in (one, other)
            ]
            found |= differing(look(hidden[0], viewer), look(hidden[1], viewer))
        made = alike(one, other, seat, viewer, rng)
        if made is None:
            break
        for settled in (False, True):
            if told(made[0], seat, viewer, settled) != told(made[1], seat, viewer, settled):
                found.add("told")
        before, secret = one, one.piles != other.piles
        one, other, events = EMPIRE.apply(one, seat, made[0]), EMPIRE.apply(other, seat, made[1]), events + 1
        if secret and brings_news(before, one, other, viewer):
            break
    return found, events


def brings_news(before, one, other, viewer):
    """Whether the viewer rightly sees what came from draw piles that differ: shown, drawn by himself, or expired."""
    drew = isinstance(viewer, int) and one.redrawn[viewer] > 0
    return (
        one.year != before.year or one.out != other.out or drew or one.step in ("begin", "draw", "redrawing")
    )


def test_no_view_tells_two_worlds_apart():
    events = 0
    for seed in range(60):
        for viewer in (0, 1, PUBLIC):
            found, more = leaks(EMPIRE.view, EMPIRE.redact_move, viewer, seed)
            assert found == set()
            events += more
    assert events > 500


LEAKS: dict[str, Callable[[Any, Any], dict[str, Any]]] = {
    "cards under seal are taken from the hand": lambda state, _view: {
        "hand_sizes": tuple(len(h) - len(c or ()) for h, c in zip(state.hands, state.chosen, strict=True))
    },
    "a sealed choice is told": lambda state, _view: {"chosen": EMPIRE.view(state, ALL).chosen},
    "redrawn cards lie face up": lambda state, _view: {"decks": EMPIRE.view(state, ALL).decks},
    "the memory is the whole hand": lambda state, _view: {"known": EMPIRE.view(state, ALL).hands},
    "the passed card is public": lambda state, _view: {"received": EMPIRE.view(state, ALL).received},
    "all that is still hidden is in the count of questions": lambda state, _view: {
        "number": sum(state.hands[0])
    },
    "the memory of the players is public": lambda state, _view: {
        "known": (known_of(state, 0, True), known_of(state, 1, True))
    },
    "legacy in hand counts": lambda state, _view: {
        "legacy": tuple(sum(LEGACY[card] for card in hand) for hand in state.hands)
    },
    "the draw pile is told while a choice is sealed": lambda state, view: {
        "decks": EMPIRE.view(state, ALL).decks if any(view.sealed) else view.decks
    },
    "the force in a hand": lambda state, _view: {"territory": force(state.hands[1])},
}


@pytest.mark.parametrize("leak", LEAKS)
def test_planted_leaks_are_found(leak):
    def look(state, viewer):
        view = EMPIRE.view(state, viewer)
        return replace(view, **LEAKS[leak](state, view))

    assert any(
        leaks(look, EMPIRE.redact_move, viewer, seed)[0] for seed in range(30) for viewer in (0, 1, PUBLIC)
    )


def test_a_told_choice_is_found():
    def told(made, seat, viewer, settled):
        return str(made) if made.verb == "redraw" else EMPIRE.redact_move(made, seat, viewer, settled)

    assert any(
        "told" in leaks(EMPIRE.view, told, viewer, seed)[0] for seed in range(10) for viewer in (0, 1, PUBLIC)
    )
