"""The deal, the turn order, and the end of rounds and games (docs/rules/byzantium.md "Cards", "Play")."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from byzanz.chance import deal as dealer
from byzanz.moves import BadSetup, IllegalMove, Move, Outcome
from byzanz.umpire import settle
from tests.support.byzantium_positions import (
    BYZANTIUM,
    after,
    answers,
    astray,
    at,
    cards,
    deal,
    dealt,
    shuffled,
    words,
)
from tests.support.second_rules.byzantium import CARDS

SIZES = {2: (10, 4), 3: (8, 0), 4: (6, 0)}
RED = "e 5r ef 6r w 7r wf 8r"
"""Both red arms rise: 2r, 3r and 4r have no place."""
BLACK = "n 9b nf 10b s qb sf kb"
"""Both black arms rise: 2b to 8b have no place."""


# The deal


def test_the_pack_is_both_suits_without_the_aces():
    shuffle = BYZANTIUM.chance(BYZANTIUM.setup(2, {}))
    assert shuffle is not None
    assert shuffle.label == "deal:1"
    assert " ".join(shuffle.cards) == (
        "2r 3r 4r 5r 6r 7r 8r 9r 10r jr qr kr 2b 3b 4b 5b 6b 7b 8b 9b 10b jb qb kb"
    )


@pytest.mark.parametrize("seats", SIZES)
def test_hands_are_dealt_from_the_front_and_the_rest_is_the_kitty(seats):
    order, (size, kitty) = shuffled(random.Random(seats)), SIZES[seats]
    state = dealt(seats, order)
    for seat in range(seats):
        assert state.hands[seat] == cards(" ".join(order[size * seat : size * (seat + 1)]))
    assert state.kitty == cards(" ".join(order[size * seats :]))
    assert len(state.kitty) == kitty
    assert (state.round, state.turn) == (1, 0)
    assert not astray(state)


@pytest.mark.parametrize("seats", SIZES)
def test_the_deal_passes_left_and_the_first_hand_goes_to_the_dealers_left(seats):
    order, size = shuffled(random.Random(seats)), SIZES[seats][0]
    for number in range(1, seats + 1):
        last = at(("",) * seats, round=number - 1, step="deal", turn=-1)
        state = deal(last, order)
        starter = number - 1
        assert (state.round, state.turn) == (number, starter)
        assert BYZANTIUM.view(state, 0).dealer == (starter - 1) % seats
        for place in range(seats):
            seat = (starter + place) % seats
            assert state.hands[seat] == cards(" ".join(order[size * place : size * (place + 1)]))


@pytest.mark.parametrize("seats", [-1, 0, 1, 5, 24])
def test_other_numbers_of_players_are_refused(seats):
    with pytest.raises(BadSetup, match=f"for 2–4 players, not {seats}"):
        BYZANTIUM.setup(seats, {})


def test_options_are_refused_by_name():
    with pytest.raises(BadSetup, match="no option “kitty”"):
        BYZANTIUM.setup(2, {"kitty": 2})


@pytest.mark.parametrize(
    "shuffle",
    [
        Move("shuffle", ("deal:1", *CARDS[1:])),
        Move("shuffle", ("deal:1", *CARDS, "2r")),
        Move("shuffle", ("deal:1", *CARDS[1:], "3r")),
        Move("shuffle", ("deal:1", *CARDS[1:], "ar")),
        Move("shuffle", ("deal:2", *CARDS)),
        Move("shuffle", ("deal", *CARDS)),
        Move("shuffle", ()),
        Move("put", ("deal:1", *CARDS)),
    ],
)
def test_a_shuffle_of_anything_but_the_whole_pack_is_refused(shuffle):
    with pytest.raises(IllegalMove):
        BYZANTIUM.apply(BYZANTIUM.setup(4, {}), None, shuffle)


def test_a_second_deal_is_refused():
    with pytest.raises(IllegalMove, match="Nothing is to be shuffled"):
        BYZANTIUM.apply(dealt(4, CARDS), None, Move("shuffle", ("deal:2", *CARDS)))


# Turns


def test_turns_go_clockwise_and_each_is_a_question_of_its_own():
    state = at(("2r 3r", "2b 3b", "4b 5b"))
    seen = []
    for _ in range(4):
        ((seat, question),) = BYZANTIUM.awaited(state).items()
        seen.append((seat, str(question)))
        state = BYZANTIUM.apply(state, seat, BYZANTIUM.moves(state, seat)[0])
    assert seen == [(0, "put 1"), (1, "put 2"), (2, "put 3"), (0, "put 4")]


def test_who_cannot_place_has_one_move_and_is_out_for_the_round():
    state = at(("4b 5b", "2r 4r", "6b 7b"), RED)
    state = after(state, "0 put 4b on n")
    assert answers(state, 1) == ["pass"]
    state = after(state, "1 pass")
    assert state.passed == (1,)
    assert list(BYZANTIUM.awaited(state)) == [2]
    state = after(state, "2 put 6b on nf")
    assert list(BYZANTIUM.awaited(state)) == [0], "the others play on, past who is out"
    assert BYZANTIUM.view(state, 0).out == (False, True, False)


def test_a_forced_pass_is_made_by_the_rules():
    state = after(at(("4b 5b", "2r 4r", "6b 7b"), RED), "0 put 4b on n")
    state, steps = settle(BYZANTIUM, state, dealer(b"key"))
    assert [(step.seat, step.by, str(step.move)) for step in steps] == [(1, "rules", "pass")]
    assert list(BYZANTIUM.awaited(state)) == [2]


def test_an_only_placement_is_made_by_the_rules():
    state = at(("4r", "5b 6b"), "e 5r ef 7r w 3r wf 9r s 2b sr 3b")
    assert answers(state, 0) == ["put 4r on wr"], "e and wf have gone past it, and sr closes wl"
    state, steps = settle(BYZANTIUM, state, dealer(b"key"))
    assert [(step.seat, step.by, str(step.move)) for step in steps] == [(0, "rules", "put 4r on wr")]


def test_an_empty_hand_is_out_without_an_entry():
    state = after(at(("4b", "5b 6b", "7b 8b")), "0 put 4b on n")
    assert BYZANTIUM.view(state, 1).out == (True, False, False)
    state = after(state, "1 put 5b on nf", "2 put 7b on nl")
    assert (state.turn, state.passed) == (1, ())


def test_a_seat_alone_goes_on_alone():
    state = at(("4b 5b 6b", "2r"), RED, turn=1)
    state = after(state, "1 pass", "0 put 4b on n", "0 put 5b on nf")
    assert list(BYZANTIUM.awaited(state)) == [0]
    assert state.round == 1
    assert BYZANTIUM.chance(state) is None


# The end of a round and of the game


def test_a_round_ends_when_every_seat_is_out_with_a_point_for_each_card_left():
    state = after(at(("4b", "2r 3r 4r", "2b"), RED, passed=(1, 2)), "0 put 4b on n")
    assert (state.step, BYZANTIUM.awaited(state)) == ("deal", {})
    assert BYZANTIUM.scores(state) == (0, 3, 1)
    shuffle = BYZANTIUM.chance(state)
    assert shuffle is not None
    assert (shuffle.label, shuffle.cards) == ("deal:2", tuple(CARDS))


def test_a_pass_ends_the_round_too():
    state = after(at(("4r", ""), RED), "0 pass")
    assert (state.step, BYZANTIUM.scores(state)) == ("deal", (1, 0))


def test_the_cards_of_a_round_lie_until_the_next_deal():
    state = after(at(("4b", "9r"), passed=(1,)), "0 put 4b on n")
    assert words(state.hands[1]) == "9r"
    assert state.shown == (((), cards("9r")),)
    again = deal(state, CARDS)
    assert set(again.cross) == {-1}
    assert (again.passed, again.lacks, again.shown) == ((), ((), ()), state.shown)
    assert not astray(again)


def test_a_running_round_scores_nothing_yet():
    state = replace(at(("4b 5b", "9r")), shown=((cards("2r"), ()),), round=2)
    assert BYZANTIUM.scores(state) == (1, 0)


@pytest.mark.parametrize(
    ("left", "winners"),
    [
        ([("2r 3r", "2b", ""), ("", "2b", "4b"), ("", "", "5b 6b")], (0, 1)),
        ([("2r", "2b 3b", ""), ("", "2b", "4b"), ("", "", "5b 6b")], (0,)),
        ([("", "", ""), ("", "", ""), ("", "", "")], (0, 1, 2)),
        ([("2r", "2b", "3b"), ("2r", "2b", ""), ("2r", "", "")], (2,)),
    ],
)
def test_as_many_rounds_as_players_and_the_lowest_total_wins(left, winners):
    *early, last = left
    shown = tuple(tuple(map(cards, hands)) for hands in early)
    hands = (last[0], last[1], last[2] or "jb")
    state = at(hands, BLACK, round=3, turn=2, passed=(0, 1), shown=shown)
    over = after(state, "2 pass" if last[2] else "2 put jb on nl")
    assert over.step == "over"
    scores = tuple(sum(len(hands[seat].split()) for hands in left) for seat in range(3))
    assert BYZANTIUM.outcome(over) == Outcome(scores, winners, "finished")
    assert BYZANTIUM.chance(over) is None
    assert BYZANTIUM.awaited(over) == {}
