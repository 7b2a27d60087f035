"""The fallback move of Byzantium, and how a bot evaluates a view (docs/rules/byzantium.md)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from byzanz.bots.simulate import simulate_game
from byzanz.rules import ALL, PUBLIC
from tests.support.byzantium_positions import BYZANTIUM, after, answers, at, cards, cross_of, game, words
from tests.support.second_rules.byzantium import CARDS, Plain

SEATS = [2, 3, 4]


def fallback(state, seat):
    view = BYZANTIUM.view(state, seat)
    return str(BYZANTIUM.fallback(view, BYZANTIUM.moves(state, seat)))


def test_the_card_that_leaves_most_cards_playable():
    """3r would turn the arm e downwards and leave no place for 9r and 10r; 9r leaves one for 10r."""
    state = at(("3r 9r 10r", "2b"), "e 8r w 2r wf qr wl kr wr jr")
    assert answers(state, 0)[0] == "put 3r on ef"
    assert fallback(state, 0) == "put 9r on ef"


def test_the_slot_that_leaves_most_cards_playable():
    """On el 9r would close nr, the one place for 3b."""
    state = at(("9r 3b", "2b"), "e 8r ef 10r w 2r wf qr wl kr n 2b nf kb nl jb s 4b sf 5b")
    assert answers(state, 0) == ["put 9r on el", "put 9r on er", "put 3b on nr"]
    assert fallback(state, 0) == "put 9r on er"


def test_ties_go_to_the_first_card_and_the_first_slot():
    assert fallback(at(("5b 7b", "2r")), 0) == "put 5b on n"
    assert fallback(at(("7b", "2r"), "n 5b"), 0) == "put 7b on nf"


def test_slots_are_ordered_by_their_names_and_not_by_their_depth():
    state = at(("9r", "2b"), "e 5r ef 7r")
    assert answers(state, 0) == [f"put 9r on {slot}" for slot in ("eff", "efl", "efr", "el", "er", "w")]
    assert fallback(state, 0) == "put 9r on eff"


def test_who_cannot_place_passes():
    state = at(("2r 3r", "2b"), "e 5r ef 6r w 7r wf 8r")
    assert fallback(state, 0) == "pass"


@pytest.mark.parametrize("seats", SEATS)
def test_the_fallback_is_the_one_a_plain_reader_finds(seats):
    for state, seat, _ in game(seats, 30 + seats):
        if seat is None or seat < 0:
            continue
        plain = Plain(seats)
        plain.cross, plain.hands = cross_of(state), [words(hand).split() for hand in state.hands]
        listed = plain.placements(seat)
        best = max((plain.left_after(seat, text) for text in listed), default=0)
        first = next((text for text in listed if plain.left_after(seat, text) == best), "pass")
        assert fallback(state, seat) == first


# Appraisal


def worth(state, seat=0):
    return BYZANTIUM.evaluate(BYZANTIUM.view(state, seat))


def test_only_a_seat_has_prospects():
    state = at(("7r", "2b"))
    assert BYZANTIUM.evaluate(BYZANTIUM.view(state, PUBLIC)) == 0
    assert BYZANTIUM.evaluate(BYZANTIUM.view(state, ALL)) == 0


def test_points_count_in_full_and_so_does_a_card_without_a_place():
    red = "e 5r ef 6r w 7r wf 8r"
    assert worth(at(("2r 3r", "2b"), red)) == -2
    assert worth(replace(at(("2r 3r", "2b"), red), shown=((cards("2r"), ()),))) == -3
    over = after(at(("2r 3r", ""), red, round=2), "0 pass")
    assert over.step == "over"
    assert worth(over) == -2
    assert worth(over, 1) == 0


def test_the_more_places_the_better():
    crowded = "e 5r ef 6r el 7r er 8r"
    assert worth(at(("9r", "2b"))) < 0
    assert worth(at(("9r", "2b"), crowded)) < worth(at(("9r", "2b"), "e 5r ef 6r")) + 1
    assert worth(at(("9r 10r", "2b"))) < worth(at(("9r", "2b")))
    assert -1 < worth(at(("3r", "2b"), crowded)) < worth(at(("9r", "2b"), crowded))


def test_the_greedy_bot_beats_the_random_one():
    points = [0, 0]
    for number in range(8):
        result = simulate_game(BYZANTIUM, 4, b"bots", number, ["greedy", "random"]).result
        assert result is not None
        for seat, score in enumerate(result.scores):
            points[seat % 2] += score
    assert points[0] * 2 < points[1]


def test_it_does_not_see_what_its_seat_may_not():
    """Any two hands of the others give the same prospects and the same move."""
    state = at(("2r 9r kr", "2b 3b"), "e 8r w 5r wf 10r")
    hidden = [words((card,)) for card in state.kitty]
    for other in hidden:
        changed = at(("2r 9r kr", f"2b {other}"), "e 8r w 5r wf 10r")
        assert (worth(changed), fallback(changed, 0)) == (worth(state), fallback(state, 0))
    assert len(hidden) == len(CARDS) - 9 + 1
    assert answers(state, 0)
