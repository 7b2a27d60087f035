"""A game of sealed choices in one short file keeps the whole contract; what a class lacks is said at its import."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from byzanz.bots import decide
from byzanz.chance import Stream, deal
from byzanz.games.sealed import Hands, OpenHandsGame, Round, SealedGame
from byzanz.moves import BadSetup, IllegalMove, Move, NotAwaited, UnreadableMove
from byzanz.rules import ALL, PUBLIC, Rules
from byzanz.umpire import play, settle
from tests.support.folders import EXAMPLES, example

Goofspiel = example("goofspiel").Goofspiel


def test_goofspiel_is_one_short_file() -> None:
    assert len((EXAMPLES / "goofspiel" / "goofspiel.py").read_text().splitlines()) <= 80


def start_sealed(seats: int = 3) -> tuple[Any, Any]:
    """Return the rules and the first round of a game."""
    rules = Goofspiel()
    state, _ = settle(rules, rules.setup(seats, {}), deal(b"goofspiel"))
    return rules, state


def test_choices_are_sealed_until_all_are_in_and_may_be_replaced() -> None:
    rules, state = start_sealed()
    offered = state.position.offered
    state = play(rules, state, 1, rules.parse("bid 13"))
    state = play(rules, state, 1, rules.parse("bid 12"))
    assert [rules.view(state, viewer).choices for viewer in (0, 1, PUBLIC, ALL)] == [
        ("", "?", ""),
        ("", "12", ""),
        ("", "?", ""),
        ("", "12", ""),
    ]
    state = play(rules, play(rules, state, 0, Move("bid", ("3",))), 2, Move("bid", ("4",)))
    assert (state.number, state.last, state.choices) == (2, ("3", "12", "4"), ("", "", ""))
    assert rules.scores(state) == (0, int(offered[0]), 0)
    assert "12" not in rules.view(state, 1).hand


def test_equal_highest_bids_carry_the_prize_over() -> None:
    rules, state = start_sealed(2)
    first = state.position.offered
    for seat in (0, 1):
        state = play(rules, state, seat, Move("bid", ("7",)))
    assert rules.scores(state) == (0, 0)
    assert state.position.offered[:1] == first
    assert len(state.position.offered) == 2


def test_a_card_that_is_gone_is_refused_with_those_that_are_left() -> None:
    rules, state = start_sealed(2)
    for seat, card in ((0, "13"), (1, "12")):
        state = play(rules, state, seat, Move("bid", (card,)))
    with pytest.raises(IllegalMove, match="Choose one of these: 1 2 3 4 5 6 7 8 9 10 11 12") as refused:
        play(rules, state, 0, Move("bid", ("13",)))
    with pytest.raises(NotAwaited):
        play(rules, state, 2, Move("bid", ("1",)))
    assert all(isinstance(place, str) for place in refused.value.places.values())  # pages translate words


def test_bots_play_to_the_end() -> None:
    rules, state = start_sealed(4)
    draws = [Stream(b"bots", str(seat)).below for seat in range(4)]
    while rules.outcome(state) is None:
        seat = min(rules.awaited(state))
        name = ("random", "greedy")[seat % 2]
        move = decide(name, rules, rules.view(state, seat), rules.moves(state, seat), draws[seat])
        state, _ = settle(rules, play(rules, state, seat, move), deal(b"goofspiel"))
    outcome = rules.outcome(state)
    assert max(outcome.scores) == outcome.scores[outcome.winners[0]]


def test_moves_are_read_by_the_grammar() -> None:
    rules = Goofspiel()
    assert rules.parse(" B 13 ") == Move("bid", ("13",))
    for text, said in (
        ("", "Write a move like this: bid 1."),
        ("bid", "Write a move like this: bid 1."),
        ("bid 14", "There is no 14 here."),
    ):
        with pytest.raises(UnreadableMove) as refusal:
            rules.parse(text)
        assert str(refusal.value) == said


@pytest.mark.parametrize(("seats", "options"), [(1, {}), (6, {}), (3, {"speed": 2})])
def test_other_tables_are_refused(seats: int, options: Mapping[str, Any]) -> None:
    with pytest.raises(BadSetup, match=r"^Goofspiel (is for 2–5 players, not .|has no option “speed”)"):
        Goofspiel().setup(seats, options)


def test_what_a_game_lacks_is_said_in_one_line_when_it_is_imported() -> None:
    with pytest.raises(
        TypeError, match=r"^The game Half lacks: version, .*moves.*, outcome or over, grammar or parse\."
    ):

        class Half(Rules[Any, Any]):
            slug = "half"

    with pytest.raises(TypeError, match=r"^The game Blind lacks: position, deck, .*resolve.*shown"):

        class Blind(SealedGame[Any]):
            slug, version, title, seats, state_format = "blind", 1, "Blind", range(2, 3), 1
            verb, cards = "lay", ("1", "2")

    with pytest.raises(TypeError, match=r"^The game Bare lacks: face_down, .*resolve"):

        class Bare(OpenHandsGame[Hands]):
            slug, version, title, seats, state_format = "bare", 1, "Bare", range(2, 3), 1
            position, verb, cards, deck = Hands, "lay", ("1", "2"), ("1", "2")


def test_of_cards_face_down_everybody_sees_which_but_only_all_in_which_order() -> None:
    rules, state = start_sealed()
    to_come, offered = state.position.to_come, state.position.offered
    for viewer in (0, 1, PUBLIC, ALL):
        shown = rules.view(state, viewer).shown
        assert shown["to_come"] == (to_come if viewer == ALL else tuple(sorted(to_come, key=int)))
        assert (shown["offered"], shown["hands"]) == (offered, state.position.hands)
        assert "points" not in shown, "they are the scores of the view"
    imagined = {
        rules.sample(rules.view(state, 1), Stream(b"to come", str(number)).below).to_come
        for number in range(20)
    }
    assert len(imagined) == 20
    assert {tuple(sorted(order)) for order in imagined} == {tuple(sorted(to_come))}
    assert rules.sample(rules.view(state, ALL), lambda _n: 0) == state.position


@pytest.mark.parametrize(
    ("left", "bid", "told"),
    [
        (("13",), ("13", "13"), "Tie at 13: (0, 1). Nobody wins ('7', '2')."),
        (("3", "13"), ("13", "13"), "Tie at 13: (0, 1). Carried over: ('7', '2')."),
        (("3", "13"), ("3", "13"), "1 bids 13 and wins ('7', '2')."),
    ],
)
def test_what_followed_from_the_last_bid_is_told(
    left: tuple[str, ...], bid: tuple[str, str], told: str
) -> None:
    rules, module = example("goofspiel").Goofspiel(), example("goofspiel")
    state = Round(module.Position((left, left), (0, 0), ("7", "2")), 5, ("", ""))
    views = [rules.view(state, PUBLIC)]
    for seat, card in enumerate(bid):
        state = rules.apply(state, seat, rules.parse(f"bid {card}"))
        views.append(rules.view(state, PUBLIC))
    assert rules.followed(views[0], views[1]) == ()
    (message,) = rules.followed(views[1], views[2])
    assert message.text % {**message.places, **message.seats} == told
