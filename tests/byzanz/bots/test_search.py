"""The search bot plays legal moves, sees only its view, keeps its time limit, and is reproducible by seed."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import count
from math import exp
from typing import Any

import pytest

from byzanz.bots import End, _playout, _shares, decide, no_budget, playout_budget, time_budget
from byzanz.chance import Draw, Stream, deal
from byzanz.games import latest
from byzanz.moves import Move, Outcome, Question, Shuffle
from byzanz.rules import PUBLIC, Rules
from byzanz.umpire import play, settle
from tests.support.sealed_game import Duel, Sealed

GAMES: tuple[Rules[Any, Any], ...] = (*latest(), Sealed())
each_game = pytest.mark.parametrize("rules", GAMES, ids=lambda rules: rules.slug)


def draws(label: str) -> Draw:
    return Stream(b"search", label).below


def question_after(rules: Rules[Any, Any], label: str, moves: int) -> tuple[Any, int, tuple[Move, ...]]:
    """A table after so many moves at random: the state, a seat that is asked, and what it may do."""
    dealer, draw = deal(label.encode()), draws(label)
    state, _ = settle(rules, rules.setup(max(rules.seats), {}), dealer)
    while True:
        seat = min(rules.awaited(state))
        choices = (*rules.moves(state, seat), *rules.out_of_turn_moves(state, seat))
        if not moves:
            return state, seat, choices
        state, _ = settle(rules, play(rules, state, seat, choices[draw(len(choices))]), dealer)
        moves -= 1


def never(_n: int) -> int:
    raise AssertionError("nothing is to be drawn")


class Counting(Sealed):
    """Notes each question that an imagined player is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def rollout_move(self, state: Duel, seat: int, draw: Draw) -> Move:
        self.asked += 1
        return super().rollout_move(state, seat, draw)


@each_game
@pytest.mark.parametrize("moves", [0, 1, 3, 7])
def test_it_makes_one_of_its_moves_and_the_same_for_the_same_draws(
    rules: Rules[Any, Any], moves: int
) -> None:
    state, seat, choices = question_after(rules, f"table{moves}", moves)
    view = rules.view(state, seat)
    made = [decide("search", rules, view, choices, draws("one"), playout_budget(40)) for _ in range(2)]
    assert made[0] == made[1]
    assert made[0] in choices


@each_game
def test_it_decides_the_same_in_two_worlds_that_look_the_same_to_it(rules: Rules[Any, Any]) -> None:
    for moves in range(4):
        state, seat, choices = question_after(rules, f"pair{moves}", moves)
        other = rules.sample_state(rules.view(state, seat), draws("other"))
        views = [rules.view(world, seat) for world in (state, other)]
        moves_there = (*rules.moves(other, seat), *rules.out_of_turn_moves(other, seat))
        assert moves_there == choices
        assert (
            len({decide("search", rules, view, choices, draws("x"), playout_budget(25)) for view in views})
            == 1
        )


def test_it_plays_whole_games_of_sealed_choices() -> None:
    rules, won = Sealed(), 0
    for number in range(12):
        dealer, draw = deal(b"whole%d" % number), draws(f"whole{number}")
        state, _ = settle(rules, rules.setup(2, {}), dealer)
        while (outcome := rules.outcome(state)) is None:
            seat = min(rules.awaited(state))
            name = "search" if seat == number % 2 else "random"
            move = decide(
                name, rules, rules.view(state, seat), rules.moves(state, seat), draw, playout_budget(120)
            )
            state, _ = settle(rules, play(rules, state, seat, move), dealer)
        won += outcome.winners == (number % 2,)
    assert won >= 7


def test_the_only_move_is_made_without_thinking() -> None:
    state, seat, choices = question_after(Sealed(), "only", 0)
    view = Sealed().view(state, seat)
    assert decide("search", Sealed(), view, choices[:1], never, pytest.fail) == choices[0]


def test_it_imagines_no_game_more_than_it_has_time_for() -> None:
    rules, asks = Sealed(), count()
    state, seat, choices = question_after(rules, "counted", 0)
    games = playout_budget(17)

    def spent() -> float:
        next(asks)
        return games()

    decide("search", rules, rules.view(state, seat), choices, draws("counted"), spent)
    assert next(asks) == 18, (
        "once before each game and at the end of a halving; the last time it is told to stop"
    )


def test_it_stops_when_its_time_is_over_by_a_clock_that_it_is_handed() -> None:
    rules, hours = Counting(), count()

    def clock() -> float:
        return next(hours) / 100  # each look at the clock takes a hundredth of a second

    state, seat, choices = question_after(rules, "clock", 0)
    rules.asked = 0
    decide("search", rules, rules.view(state, seat), choices, draws("clock"), time_budget(0.5, clock))
    assert next(hours) <= 50 + 4
    assert rules.asked > 40


@pytest.mark.parametrize(
    "time_left", [no_budget, time_budget(1e-9, time.perf_counter)], ids=["at once", "over"]
)
def test_without_time_it_imagines_no_game_and_makes_a_move_all_the_same(
    time_left: Callable[[], float],
) -> None:
    rules = Counting()
    state, seat, choices = question_after(rules, "none", 0)
    rules.asked = 0
    assert decide("search", rules, rules.view(state, seat), choices, draws("none"), time_left) in choices
    assert rules.asked == 1, "at first sight, what is likely"


def test_it_needs_a_seat() -> None:
    state, _, choices = question_after(Sealed(), "seat", 0)
    with pytest.raises(ValueError, match="the view of a seat"):
        decide("search", Sealed(), Sealed().view(state, PUBLIC), choices, never)


def test_it_finds_the_reply_that_wins() -> None:
    """The last reply: of two cards one wins."""
    gone = tuple(card for card in Duel().stock if card not in ("ash1", "ash4", "oak1", "ash2"))
    duel = Duel("answer", 2, 4, (("ash1", "ash2"), ()), (), ("ash4", "oak5"), gone)
    rules = Sealed()
    move = decide(
        "search", rules, rules.view(duel, 0), rules.moves(duel, 0), draws("reply"), playout_budget(30)
    )
    assert move == Move("respond", ("ash2",))


class Long(Counting):
    """Is never over."""

    def outcome(self, _state: Duel) -> Outcome | None:
        return None

    def awaited(self, state: Duel) -> dict[int, Question]:
        return {0: Question(state.step, state.number)}

    def chance(self, _state: Duel) -> Shuffle | None:
        return None

    def apply(self, state: Duel, _seat: int | None, _move: Move) -> Duel:
        return state


def test_it_looks_further_ahead_in_a_longer_game(monkeypatch: pytest.MonkeyPatch) -> None:
    start = Duel("lay", 1, 1, (("ash1",), ("ash2",)))

    def ahead(decisions: int) -> int:
        rules = Long()
        monkeypatch.setattr(Long, "decisions", decisions)
        _playout(rules, start, 0, draws("long"))
        return rules.asked // 2

    assert ahead(4) == ahead(25) == 6, "a game of six moves is played to its end"
    assert ahead(50) == 10
    assert ahead(100) == 20
    assert ahead(10_000) == ahead(1_000) == 24, "never without end"


@pytest.mark.parametrize("size", [1, 100])
def test_it_weighs_leads_by_how_far_apart_the_seats_are(size: float) -> None:
    """A game with scores a hundred times as large is searched just as closely."""
    moves = [Move("lay", (card,)) for card in ("ash1", "ash2")]
    ends = {
        moves[0]: [End(None, (0.0, -2.0 * size), 2.0 * size)],
        moves[1]: [End(None, (0.0, 2.0 * size), 2.0 * size), End(0.5, (0.0, 0.0), 2.0 * size)],
    }
    shares = _shares(ends)
    assert shares[moves[0]] == [pytest.approx(1 / (1 + exp(-1)))]
    assert shares[moves[1]] == [pytest.approx(1 / (1 + exp(1))), 0.5]


def test_equal_seats_share_the_win() -> None:
    move = Move("lay", ("ash1",))
    assert _shares({move: [End(None, (0.0, 0.0), 0.0)]}) == {move: [0.5]}
