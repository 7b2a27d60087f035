"""Whole games of Byzantium: no card is lost, games end and replay, states and records round-trip."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byzanz.bots.simulate import simulate_game
from byzanz.games import rules_of
from byzanz.games.byzantium import moves
from byzanz.games.byzantium.state import State
from byzanz.moves import Question
from byzanz.record import InvalidRecord, read, redact_record, verify, write
from byzanz.rules import PUBLIC
from tests.support.byzantium_positions import BYZANTIUM, astray, game, move
from tests.support.records import RecordedTable

SEATS = [2, 3, 4]


# Conservation


def conserve(seats: int, seed: int) -> None:
    for state, _, _ in game(seats, seed):
        assert not astray(state)
        assert BYZANTIUM.view(state, PUBLIC).aces == ("ab", "ar")


@settings(max_examples=15, deadline=None)
@given(st.sampled_from(SEATS), st.integers(0, 10**9))
def test_no_move_loses_or_doubles_a_card(seats, seed):
    conserve(seats, seed)


def keeps_the_card(state, seat, words):
    """A placement after which the card is still in the hand."""
    return replace(honest_put(state, seat, words), hands=state.hands)


def loses_the_kitty(state, shuffle):
    """A deal that forgets what nobody gets."""
    return replace(honest_deal(state, shuffle), kitty=())


def leaves_the_cross(state, shuffle):
    """A deal onto the cross of the last round."""
    return replace(honest_deal(state, shuffle), cross=state.cross)


honest_put, honest_deal = moves._put, moves._deal


@pytest.mark.parametrize(
    ("name", "fault"),
    [("_put", keeps_the_card), ("_deal", loses_the_kitty), ("_deal", leaves_the_cross)],
)
def test_a_planted_fault_of_bookkeeping_is_found(name, fault, monkeypatch):
    monkeypatch.setattr(moves, name, fault)
    with pytest.raises((AssertionError, ValueError)):
        conserve(2, 1)


# The course of a game


@pytest.mark.parametrize("seats", SEATS)
def test_games_end_with_an_outcome(seats):
    for seed in range(10):
        made = list(game(seats, seed))
        outcome = BYZANTIUM.outcome(made[-1][0])
        assert outcome is not None
        assert outcome.scores == BYZANTIUM.scores(made[-1][0])
        assert {outcome.scores[seat] for seat in outcome.winners} == {min(outcome.scores)}
        deals = [chosen.args[0] for _, seat, chosen in made if seat is None]
        assert deals == [f"deal:{number}" for number in range(1, seats + 1)]


@pytest.mark.parametrize("seats", SEATS)
def test_a_seat_passes_once_a_round_at_most_and_never_with_an_empty_hand(seats):
    for seed in range(10):
        passes: Counter[tuple[int, int]] = Counter()
        for state, seat, chosen in game(seats, seed):
            if chosen.verb == "pass" and seat is not None:
                assert state.hands[seat]
                passes[state.round, seat] += 1
        assert max(passes.values(), default=1) == 1


@pytest.mark.parametrize("seats", SEATS)
def test_a_turn_is_open_until_its_question_goes_and_a_number_never_comes_back(seats):
    closed: set[Question] = set()
    for state, _, _ in game(seats, 70 + seats):
        now = set(BYZANTIUM.awaited(state).values())
        assert not now & closed
        closed |= now


@pytest.mark.parametrize("seats", SEATS)
def test_the_moves_give_the_game_again(seats):
    *made, (last, _, _) = game(seats, seats)
    again = BYZANTIUM.setup(seats, {})
    for _, seat, chosen in made:
        again = BYZANTIUM.apply(again, seat, move(str(chosen)))
    assert again == last
    assert BYZANTIUM.encode(again) == BYZANTIUM.encode(last)


# Codecs


@pytest.mark.parametrize("seats", SEATS)
def test_states_are_written_and_read(seats):
    for state, _, _ in game(seats, 20 + seats):
        text = BYZANTIUM.encode(state)
        again = BYZANTIUM.decode(text)
        assert again == state
        assert hash(again) == hash(state)
        assert "\n" not in text
        assert list(json.loads(text)) == [field.name for field in fields(State)]


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"step":"put"}', '{"unknown":1}'])
def test_what_is_no_state_is_refused(text):
    with pytest.raises((ValueError, TypeError, AttributeError)):
        BYZANTIUM.decode(text)


# Records


@pytest.mark.parametrize("seats", SEATS)
def test_simulated_games_are_true_and_repeat(seats):
    rules = rules_of("byzantium")
    for number in range(6):
        record = simulate_game(rules, seats, b"byzantium", number, ["random"])
        assert verify(record).replayed
        assert [verify(again).replayed for again in read(write(record))] == [True]
        assert write(simulate_game(rules, seats, b"byzantium", number, ["random"])) == write(record)
        assert {entry.by for entry in record.entries if entry.move == "pass"} <= {"rules"}


def test_a_running_record_hides_the_deals_and_nothing_else():
    table = RecordedTable(BYZANTIUM, 3)
    for which in range(30):
        table.choose(which)
    record = redact_record(table.running(), 1)
    assert verify(record).unchecked == len([entry for entry in record.entries if entry.salt is None])
    assert {entry.move for entry in record.entries if entry.seat is None} <= {
        "shuffle deal:1",
        "shuffle deal:2",
    }
    assert [entry.move for entry in record.entries if entry.seat is not None] == [
        entry.move for entry in table.entries if entry.seat is not None
    ]
    assert {entry.by for entry in record.entries if entry.seat != 1} <= {"chance", "player"}


def test_a_void_across_a_deal_never_deals_anew():
    """The label of a voided shuffle is free again and gives the same order."""
    table = RecordedTable(BYZANTIUM, 2)
    while table.state.round == 1:
        target = table.choose(1)
    hands = table.state.hands
    table.void(target)
    assert table.state.round == 1
    table.resume()
    table.choose(1)
    assert (table.state.round, table.state.hands) == (2, hands)
    assert verify(table.finish().record()).replayed


def test_a_pass_that_was_not_forced_makes_a_record_false():
    table = RecordedTable(BYZANTIUM, 2)
    table.choose()
    table.write(min(BYZANTIUM.awaited(table.state)), "player", "pass")
    with pytest.raises(InvalidRecord, match="may not pass"):
        verify(table.running())
