"""Whole games of Empire: no card is lost, games end and replay, bots play them, their records verify."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byzanz.bots import decide
from byzanz.bots.simulate import simulate_game
from byzanz.chance import Stream, deal
from byzanz.games import rules_of
from byzanz.games.empire import moves
from byzanz.games.empire import state as empire_state
from byzanz.games.empire.state import State
from byzanz.moves import Question
from byzanz.record import open_choices, redact_entries, redact_record, verify, write
from byzanz.rules import PUBLIC
from byzanz.umpire import play, replay, settle
from tests.support.empire_positions import EMPIRE, astray, game, words
from tests.support.records import RecordedTable

SEED = b"empire"


# Conservation


def conserve(seed: int) -> None:
    for state, _, _ in game(seed):
        assert not astray(state)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**9))
def test_no_move_loses_or_doubles_a_card(seed):
    conserve(seed)


def kept_twice(state, first, second):
    """Kept cards that are passed on and discarded, too."""
    after = honest_keep(state, first, second)
    return replace(
        after, discards=empire_state.put(after.discards, 0, after.discards[0] + after.hands[1][:1])
    )


def replaced_from_nowhere(state, words):
    """A card put in the place of another that stays in hand."""
    after = honest_replace(state, words)
    return replace(after, hands=state.hands)


def unique_and_discarded(state, deck, cards):
    """Melded unique cards that leave the game and lie among the discards."""
    after = honest_put_away(state, deck, cards)
    return replace(after, discards=empire_state.put(after.discards, deck, state.discards[deck] + cards))


def expired_forgotten(state, deck):
    """Expired cards that lie nowhere."""
    return replace(honest_expired(state, deck), out=state.out)


honest_keep, honest_replace = moves.end_year, moves._replace
honest_put_away, honest_expired = moves._put_away, empire_state._expired


@pytest.mark.parametrize(
    ("place", "name", "fault"),
    [
        (moves._OPENED, "keep", kept_twice),
        (moves._RESPONSES, "replace", replaced_from_nowhere),
        (moves, "_put_away", unique_and_discarded),
        (empire_state, "_expired", expired_forgotten),
    ],
)
def test_a_planted_fault_of_bookkeeping_is_found(place, name, fault, monkeypatch):
    if isinstance(place, dict):
        monkeypatch.setitem(place, name, fault)
    else:
        monkeypatch.setattr(place, name, fault)
    with pytest.raises((AssertionError, ValueError)):
        list(map(conserve, range(20)))


# The course of a game


@pytest.mark.parametrize("seed", range(20))
def test_games_end_with_an_outcome(seed):
    *_, (last, _, _) = game(seed)
    outcome = EMPIRE.outcome(last)
    assert outcome is not None
    assert outcome.scores == EMPIRE.scores(last) == last.legacy
    assert outcome.reason == ("fallen" if last.territory <= 0 else "finished")
    assert last.year == 12 or outcome.reason == "fallen"
    assert {outcome.scores[seat] for seat in outcome.winners} == {max(outcome.scores)}
    assert last.territory <= 20


def test_games_end_in_every_way():
    ends = [EMPIRE.outcome(list(game(seed))[-1][0]) for seed in range(60)]
    assert {(end.reason, len(end.winners)) for end in ends if end} == {
        ("fallen", 1), ("finished", 1), ("fallen", 2), ("finished", 2)
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_the_moves_give_the_game_again(seed):
    made = [(seat, chosen) for _, seat, chosen in game(seed)][:-1]
    *_, (last, _, _) = game(seed)
    again = replay(EMPIRE, 2, {}, made)
    assert again == last
    assert EMPIRE.encode(again) == EMPIRE.encode(last)


def test_a_turn_is_open_until_its_question_goes_and_a_number_never_comes_back():
    for seed in range(6):
        closed: set[tuple[int, Question]] = set()
        before: set[tuple[int, Question]] = set()
        for state, _, _ in game(seed):
            now = set(EMPIRE.awaited(state).items())
            assert not now & closed
            closed |= before - now
            before = now


@pytest.mark.parametrize("seed", range(3))
def test_states_are_written_and_read(seed):
    for state, _, _ in game(seed):
        text = EMPIRE.encode(state)
        again = EMPIRE.decode(text)
        assert again == state
        assert hash(again) == hash(state)
        assert "\n" not in text
        assert list(json.loads(text)) == [field.name for field in fields(State)]


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"step":"meld"}', '{"unknown":1}'])
def test_what_is_no_state_is_refused(text):
    with pytest.raises((ValueError, TypeError, AttributeError)):
        EMPIRE.decode(text)


# Bots


def scores_of(number: int, players: tuple[str, str]) -> tuple[int, ...]:
    """The scores of a game among these."""
    dealer, draw = deal(b"%d" % number), Stream(SEED, str(number)).below
    state, _ = settle(EMPIRE, EMPIRE.setup(2, {}), dealer)
    while EMPIRE.outcome(state) is None:
        seat = min(EMPIRE.awaited(state))
        view, moves = EMPIRE.view(state, seat), EMPIRE.moves(state, seat)
        name = players[seat]
        chosen = (
            EMPIRE.fallback(view, moves) if name == "fallback" else decide(name, EMPIRE, view, moves, draw)
        )
        state, _ = settle(EMPIRE, play(EMPIRE, state, seat, chosen), dealer)
    return EMPIRE.scores(state)


@pytest.mark.parametrize("better", ["greedy", "fallback"])
def test_the_greedy_bot_and_the_fallback_beat_the_random_bot(better):
    for number in range(2):
        own, other = scores_of(number, (better, "random"))
        assert own > other
        other, own = scores_of(number, ("random", better))
        assert own > other


# Records


@pytest.mark.parametrize("bots", [["random"], ["greedy"], ["random", "greedy"]])
def test_a_simulated_game_is_true_and_repeats(bots):
    for number in range(4):
        record = simulate_game(EMPIRE, 2, SEED, number, bots)
        report = verify(record)
        assert (report.unchecked, report.replayed) == (0, True)
        assert record.result is not None
        assert record.result.reason in ("finished", "fallen")
        assert record.header.game == "empire"
        if "greedy" not in bots:
            assert write(simulate_game(EMPIRE, 2, SEED, number, bots)) == write(record)


def test_the_registered_rules_are_these():
    assert isinstance(rules_of("empire"), type(EMPIRE))
    assert EMPIRE.version == 1
    assert sorted(EMPIRE.sealed) == ["keep", "meld", "redraw"]


def read_by(table: RecordedTable, viewer) -> list[str]:
    """The moves as a reader of the running game sees them, shuffles left out."""
    entries = redact_entries(EMPIRE, table.entries, viewer, False, open_choices(EMPIRE, 2, {}, table.entries))
    return [entry.move for entry in entries if entry.seat is not None]


def test_a_running_record_tells_each_reader_what_he_may_know():
    table = RecordedTable(EMPIRE, 2)
    first, second = [words(hand).split()[0] for hand in table.state.hands]
    table.move(1, f"redraw {second}")
    assert read_by(table, 0) == read_by(table, PUBLIC) == ["redraw ?"]
    table.move(1, "redraw")
    table.move(0, f"redraw {first}")
    assert read_by(table, 0) == ["redraw ?", "redraw ? 0", f"redraw {first}"]
    assert read_by(table, 1) == [f"redraw {second}", "redraw", "redraw ? 1"]
    assert read_by(table, PUBLIC) == ["redraw ?", "redraw ? 0", "redraw ? 1"]
    table.move(0, "meld")
    assert read_by(table, PUBLIC)[3:] == ["meld ?"]
    table.move(1, "meld")
    assert read_by(table, PUBLIC)[3:] == ["meld", "meld"]
    while table.state.step != "keep":
        table.choose()
    for _ in range(2):
        table.choose()
        assert read_by(table, PUBLIC)[-1] == "keep ?"
    kept = [f"keep {name}" for name in reversed(EMPIRE.view(table.state, 0).received)]
    assert read_by(table, 0)[-2:] == read_by(table, 1)[-2:] == kept
    assert read_by(table, PUBLIC)[-2:] == ["keep ?", "keep ?"]
    for viewer in (0, 1, PUBLIC):
        salts = {
            e.salt
            for e in redact_record(table.running(), viewer).entries
            if e.move.split()[0] in ("redraw", "keep")
        }
        assert salts == {None}


def test_a_void_of_a_sealed_choice_replays():
    table = RecordedTable(EMPIRE, 2)
    table.choose()
    table.choose()
    table.void(table.entries[-1].seq)
    table.resume()
    table.finish()
    assert verify(table.record()).replayed
