"""Hidden information in Byzanz (docs/rules/byzanz.md "What is public and what is hidden", promise 10)."""

from __future__ import annotations

import json
import random
from dataclasses import asdict, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byzanz.games.byzanz import moves
from byzanz.games.byzanz import rules as byzanz_rules
from byzanz.moves import Move
from byzanz.rules import ALL, PUBLIC
from tests.support.byzanz_positions import (
    BYZANZ,
    PACK,
    after,
    astray,
    at,
    dealt,
    differing,
    game,
    move,
    shuffled,
    words,
)

LOT = "cloth4 grain1 merchant spice2 wood3"
HANDS = ("cloth2 olive1", "grain3 merchant wine2", "cloth1 wood4", "olive2 spice1")


def test_a_seat_sees_its_own_hand_and_no_other():
    state = at(4, hands=HANDS, lot=LOT)
    view = BYZANZ.view(state, 2)
    assert view.hands == (None, None, ("cloth1", "wood4"), None)
    assert view.hand == ("cloth1", "wood4")
    assert view.hand_sizes == (2, 3, 2, 2)
    assert (view.deck, view.removed) == (None, None)
    assert BYZANZ.view(state, PUBLIC).hands == (None, None, None, None)
    assert BYZANZ.view(state, PUBLIC).hand is None
    everything = BYZANZ.view(state, ALL)
    assert everything.hands == tuple(tuple(words(hand).split()) for hand in state.hands)
    assert everything.deck == tuple(words(state.deck).split())


def test_a_view_tells_the_table():
    state = at(
        4,
        hands=HANDS,
        lot=LOT,
        market="wine1 wine3 merchant",
        kept=("merchant", "", "cloth4", ""),
        gone="wood1",
    )
    state = after(state, "0 bid olive1", "1 pass")
    view = BYZANZ.view(state, 2)
    assert (view.viewer, view.seats, view.step, view.round, view.rounds) == (2, 4, "bid", 1, 6)
    assert (view.lot_cards, view.lot_card) == ((5, 4, 3, 2), 5)
    assert view.lot == ("cloth4", "grain1", "spice2", "wood3", "merchant")
    assert (view.awaited, view.question, view.turn, view.starter) == ((2,), f"bid {state.number}", 2, 0)
    assert BYZANZ.view(state, 1).question is None
    assert (view.highest, view.leader, view.totals) == (1, 0, (1, 0, 0, 0))
    assert (view.bids[0], view.passed) == (("olive1",), (1,))
    assert view.market == (("wine", ("wine1", "wine3")), ("merchant", ("merchant",)))
    assert (view.kept, view.profits) == ((("merchant",), (), ("cloth4",), ()), (5, 0, 4, 0))
    assert view.gone == ("wood1",)
    assert (view.won, view.done) == ((None,) * 4, (False,) * 4)


def test_a_view_becomes_json():
    view = BYZANZ.view(at(4, hands=HANDS, lot=LOT), 1)
    assert json.loads(json.dumps(asdict(view)))["hands"][1] == ["grain3", "wine2", "merchant"]


def test_lot_cards_show_who_has_won():
    state = at(4, hands=HANDS, lot="cloth1 cloth2 cloth3", won=(5, 0, 4, 0), turn=1)
    view = BYZANZ.view(state, PUBLIC)
    assert (view.won, view.lot_card) == ((5, None, 4, None), 3)


# What everybody remembers


def test_first_hands_are_unknown_and_what_comes_in_the_open_is_known():
    state = at(4, hands=HANDS, lot=LOT)
    assert BYZANZ.view(state, PUBLIC).known == ((), (), (), ())
    state = after(state, "0 bid olive1", "1 bid wine2", "2 pass", "3 pass", "0 pass")
    assert BYZANZ.view(state, PUBLIC).known == (("olive1",), (), (), ())
    state = after(state, "1 tax cloth4")
    assert BYZANZ.view(state, PUBLIC).known[1] == ("grain1", "spice2", "wood3", "merchant")


def test_a_card_that_leaves_the_hand_is_no_longer_known_there():
    known = ("cloth1 merchant", "", "", "")
    hands = ("cloth1 cloth1 cloth2 merchant", "", "", "")
    state = at(4, hands=hands, known=known, lot=LOT)
    assert BYZANZ.view(after(state, "0 bid cloth1"), PUBLIC).known[0] == ("merchant",)
    assert BYZANZ.view(after(state, "0 sell cloth1 cloth1 cloth2"), PUBLIC).known[0] == ("merchant",)
    eight = at(
        4, hands=("cloth1 " * 6 + "grain1 merchant", "", "", ""), known=known, step="limit", won=(5, 0, 0, 0)
    )
    assert BYZANZ.view(after(eight, "0 discard merchant"), PUBLIC).known[0] == ("cloth1",)
    taking = at(4, hands=hands, known=known, step="market", market="wine1 wine2", won=(2, 3, 4, 5))
    assert BYZANZ.view(after(taking, "0 take wine"), PUBLIC).known[0] == (
        "cloth1",
        "wine1",
        "wine2",
        "merchant",
    )


@pytest.mark.parametrize("seats", [3, 4, 5, 6])
def test_what_is_known_is_in_the_hand(seats):
    for state, _, _ in game(seats, 40 + seats):
        for hand, known in zip(state.hands, state.known, strict=True):
            assert not [card for card in set(known) if known.count(card) > hand.count(card)]


# Worlds


@settings(max_examples=12, deadline=None)
@given(st.integers(3, 6), st.integers(0, 10**9))
def test_a_world_gives_its_view_again(seats, seed):
    rng = random.Random(seed)
    for state, _, _ in game(seats, seed):
        if rng.random() < 0.8:
            continue
        for viewer in (*range(seats), PUBLIC, ALL):
            view = BYZANZ.view(state, viewer)
            world = BYZANZ.sample_state(view, rng.randrange)
            assert BYZANZ.view(world, viewer) == view
            assert not astray(world)
            assert viewer != ALL or world == state


def test_before_the_deal_there_is_one_world():
    state = BYZANZ.setup(4, {})
    for viewer in (0, PUBLIC, ALL):
        assert BYZANZ.sample_state(BYZANZ.view(state, viewer), random.Random(1).randrange) == state


def test_worlds_differ_and_reach_every_hidden_place():
    """Over many draws each card that is nowhere in sight turns up in another's hand, aside and in the deck."""
    state = at(4, hands=HANDS, lot=LOT, removed="wine4 " * 2 + "wood4 " + "merchant " * 9)
    view, rng = BYZANZ.view(state, 0), random.Random(5)
    worlds = [BYZANZ.sample_state(view, rng.randrange) for _ in range(400)]
    hidden = set(map(PACK.index, PACK))
    for place in (lambda world: world.hands[1], lambda world: world.removed, lambda world: world.deck):
        assert len({card for world in worlds for card in place(world)}) == len(hidden)
    assert len({world.hands for world in worlds}) > 300


# Paired worlds: who cannot tell two worlds apart now cannot after any public moves


def pair(seats, viewer, rng):
    """A deal, and another that differs in the hidden hands and the removed cards only: the same lots will come."""
    state = dealt(seats, shuffled(rng))
    view = replace(BYZANZ.view(state, viewer), deck=tuple(words(state.deck).split()))
    return state, BYZANZ.sample_state(view, rng.randrange)


def leaks(look, seats, viewer, seed):
    """The fields in which the viewer sees two worlds differ that are played by the same moves, as far as that goes."""
    rng = random.Random(seed)
    one, other = pair(seats, viewer, rng)
    found = set()
    while BYZANZ.awaited(one):
        found |= differing(look(one, viewer), look(other, viewer))
        if isinstance(viewer, int) and BYZANZ.moves(one, viewer) != BYZANZ.moves(other, viewer):
            found.add("moves")
        seat = rng.choice(list(BYZANZ.awaited(one)))
        both = {*BYZANZ.moves(one, seat), *BYZANZ.out_of_turn_moves(one, seat)}.intersection(
            (*BYZANZ.moves(other, seat), *BYZANZ.out_of_turn_moves(other, seat))
        )
        if not both:
            break
        chosen = rng.choice(sorted(both, key=str))
        one, other = BYZANZ.apply(one, seat, chosen), BYZANZ.apply(other, seat, chosen)
    return found


@pytest.mark.parametrize("seats", [3, 4, 5, 6])
def test_no_view_tells_two_worlds_apart(seats):
    for seed in range(6):
        for viewer in (*range(seats), PUBLIC):
            assert leaks(BYZANZ.view, seats, viewer, seed) == set()


LEAKS = {
    "a hand over the limit shown to all": lambda state, view: {
        "hands": BYZANZ.view(state, ALL).hands if state.step == "limit" else view.hands
    },
    "the removed cards among those gone": lambda state, view: {
        "gone": view.gone + BYZANZ.view(state, ALL).removed
    },
    "known tells the whole hand": lambda state, _view: {"known": BYZANZ.view(state, ALL).hands},
    "a hand sorted last when it has merchants": lambda state, view: {
        "passed": tuple(sorted(view.passed, key=lambda seat: 24 in state.hands[seat]))
    },
    "the removed cards for the last viewer": lambda state, _view: {
        "removed": BYZANZ.view(state, ALL).removed if state.step == "end" else None
    },
    "points still in hand": lambda state, _view: {"profits": tuple(map(sum, state.hands))},
}


@pytest.mark.parametrize("leak", LEAKS)
def test_planted_leaks_are_found(leak):
    def look(state, viewer):
        view = BYZANZ.view(state, viewer)
        return replace(view, **LEAKS[leak](state, view))

    assert any(leaks(look, 4, viewer, seed) for seed in range(6) for viewer in (0, 3, PUBLIC))


def test_a_move_that_looks_at_a_hidden_hand_is_found(monkeypatch):
    """Bids listed for a seat that depend on what another holds."""
    honest = moves.minimum_raise
    monkeypatch.setattr(
        byzanz_rules,
        "minimum_raise",
        lambda state, seat: honest(state, seat) + state.hands[seat - 1].count(24),
    )
    assert any("moves" in leaks(BYZANZ.view, 4, viewer, seed) for seed in range(6) for viewer in range(4))


# What is told


def test_all_moves_are_told_to_all_but_the_order_of_the_cards():
    deal = Move("shuffle", ("deal", *PACK))
    for viewer in (0, 3, PUBLIC):
        assert BYZANZ.redact_move(deal, None, viewer, True) == "shuffle deal"
        for line in ("pass", "bid cloth1 wood2", "discard merchant", "sell wine1 wine2 merchant"):
            for seat in (0, 1):
                assert BYZANZ.redact_move(move(line), seat, viewer, True) == line
    assert BYZANZ.redact_move(deal, None, ALL, True) == str(deal)


def test_after_the_end_a_seat_still_sees_only_what_it_may_know():
    *_, (state, _, _) = game(4, 9)
    assert BYZANZ.outcome(state)
    view = BYZANZ.view(state, 1)
    assert [hand is None for hand in view.hands] == [True, False, True, True]
    assert (view.deck, view.removed, view.removed_size) == (None, None, 12)
