"""Whole games of Byzanz: no card is lost, games end and replay, states round-trip."""

from __future__ import annotations

import json
import random
from dataclasses import fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byzanz.games.byzanz import moves
from byzanz.games.byzanz.state import State, minus
from byzanz.moves import Move, Question
from tests.support.byzanz_positions import BYZANZ, astray, choices, dealt, game, shuffled

SEATS = [3, 4, 5, 6]
games = settings(max_examples=12, deadline=None)


# Conservation


def conserve(seats: int, seed: int) -> None:
    for state, _, _ in game(seats, seed):
        assert not astray(state)


@games
@given(st.integers(3, 6), st.integers(0, 10**9))
def test_no_move_loses_or_doubles_a_card(seats, seed):
    conserve(seats, seed)


def lost_tax(state, seat, args):
    """A tax that leaves the lot and reaches no market."""
    after = moves._tax(state, seat, args)
    return replace(after, market=minus(after.market, moves.parse_cards(args)))


def kept_twice(state, seat, args):
    """A discard that is also kept as profit."""
    after = moves._discard(state, seat, args)
    return replace(after, kept=((*after.kept[0], moves.parse_cards(args)[0]), *after.kept[1:]))


def bid_kept(state, seat, args):
    """A pass that takes the bid back and leaves it on the table."""
    after = moves._pass(state, seat, args)
    return replace(after, bids=state.bids)


@pytest.mark.parametrize(
    ("answer", "fault"),
    [(("tax", "tax"), lost_tax), (("limit", "discard"), kept_twice), (("bid", "pass"), bid_kept)],
)
def test_a_planted_fault_of_bookkeeping_is_found(answer, fault, monkeypatch):
    monkeypatch.setitem(moves.ANSWERS, answer, fault)
    with pytest.raises(AssertionError):
        list(map(conserve, [4] * 5, range(5)))


# The course of a game


@pytest.mark.parametrize("seats", SEATS)
def test_games_end_with_an_outcome(seats):
    for seed in range(10):
        *_, (last, _, _) = game(seats, seed)
        outcome = BYZANZ.outcome(last)
        assert outcome is not None
        assert outcome.reason == "finished"
        assert outcome.scores == BYZANZ.scores(last)
        assert outcome.winners
        assert {outcome.scores[seat] for seat in outcome.winners} == {max(outcome.scores)}
        assert last.deck == last.lot == last.market == ()
        assert all(last.done)


@pytest.mark.parametrize("seats", SEATS)
def test_the_moves_give_the_game_again(seats):
    rng = random.Random(seats)
    order = shuffled(rng)
    state = dealt(seats, order)
    log: list[tuple[int | None, str]] = [(None, "shuffle deal " + " ".join(order))]
    while BYZANZ.awaited(state):
        seat, chosen = choices(state, rng)
        log.append((seat, str(chosen)))
        state = BYZANZ.apply(state, seat, chosen)
    again = BYZANZ.setup(seats, {})
    for who, line in log:
        verb, *args = line.split()
        again = BYZANZ.apply(again, who, Move(verb, tuple(args)))
    assert again == state
    assert BYZANZ.encode(again) == BYZANZ.encode(state)


def test_a_turn_is_open_until_its_question_goes_and_a_number_never_comes_back():
    for seats in SEATS:
        closed: set[tuple[int, Question]] = set()
        before: set[tuple[int, Question]] = set()
        for state, _, _ in game(seats, 70 + seats):
            now = set(BYZANZ.awaited(state).items())
            assert not now & closed
            closed |= before - now
            before = now
            assert list(BYZANZ.awaited(state)) == sorted(BYZANZ.awaited(state))


@games
@given(st.integers(3, 6), st.integers(0, 10**9))
def test_what_is_listed_is_accepted_and_who_is_not_asked_has_no_moves(seats, seed):
    rng = random.Random(seed)
    for state, _, _ in game(seats, seed):
        if rng.random() < 0.7:
            continue
        for seat in range(seats):
            listed = BYZANZ.moves(state, seat)
            assert bool(listed) == (seat in BYZANZ.awaited(state))
            for answer in listed:
                BYZANZ.apply(state, seat, answer)
                assert not BYZANZ.is_out_of_turn(state, seat, answer)
            for sale in BYZANZ.out_of_turn_moves(state, seat):
                assert BYZANZ.is_out_of_turn(state, seat, sale)
                assert BYZANZ.awaited(BYZANZ.apply(state, seat, sale)) == BYZANZ.awaited(state)


# Codecs


@pytest.mark.parametrize("seats", SEATS)
def test_states_are_written_and_read(seats):
    assert BYZANZ.decode(BYZANZ.encode(BYZANZ.setup(seats, {}))) == BYZANZ.setup(seats, {})
    for state, _, _ in game(seats, 20 + seats):
        text = BYZANZ.encode(state)
        again = BYZANZ.decode(text)
        assert again == state
        assert hash(again) == hash(state)
        assert "\n" not in text
        assert list(json.loads(text)) == [field.name for field in fields(State)]


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"step":"bid"}', '{"unknown":1}'])
def test_what_is_no_state_is_refused(text):
    with pytest.raises((ValueError, TypeError, AttributeError)):
        BYZANZ.decode(text)
