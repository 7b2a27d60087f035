"""The standing-orders benchmark: simulated players come when awake and needed, and less often with orders."""

from __future__ import annotations

from statistics import median
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from benchmarks import people
from benchmarks.people import MEDIAN_HOURS, SLEEPS, WAKES, SimulatedPlayer
from byzanz.games import rules_of

TABLES = [("byzanz", 3), ("empire", 2), ("byzantium", 2)]


class Watched(people.Table):
    """A table at which it is noticed when somebody is called who has no choice."""

    def _called(self, seat: int, now: float) -> float:
        moves = self.rules.moves(self.state, seat)
        assert len(moves) > 1, f"seat {seat} is called for {moves}"
        return super()._called(seat, now)


def tally_of_game(slug: str, seats: int, ordering: frozenset[int], number: int = 0) -> people.Tally:
    return Watched(rules_of(slug), seats, number, ordering).play()


@given(some.text(max_size=5), some.floats(0, 5000), some.integers(1, 500))
def test_people_come_awake_and_after_they_were_called(name: str, called: float, turn: int) -> None:
    person = SimulatedPlayer.drawn(name)
    comes = person.comes(called, turn)
    assert comes > called
    assert WAKES - 1e-6 <= (comes + person.zone) % 24 <= SLEEPS + 1e-6
    assert comes == person.comes(called, turn)


def test_half_of_the_calls_of_a_morning_are_answered_within_the_median() -> None:
    person = SimulatedPlayer("Anna", 0)
    took = [person.comes(WAKES, turn) - WAKES for turn in range(2000)]
    assert median(took) == pytest.approx(MEDIAN_HOURS, rel=0.1)


@pytest.mark.parametrize(("slug", "seats"), TABLES)
def test_a_game_is_played_to_its_end_and_orders_save_waits(slug: str, seats: int) -> None:
    without = tally_of_game(slug, seats, frozenset())
    ordered = tally_of_game(slug, seats, frozenset(range(seats)))
    for tally in (without, ordered):
        assert tally.winners
        assert tally.days > 0
        assert 0 < tally.visits <= tally.waits
    assert ordered.waits < 0.7 * without.waits


def test_the_same_deal_gives_the_same_game() -> None:
    assert tally_of_game("byzantium", 2, frozenset({1})) == tally_of_game("byzantium", 2, frozenset({1}))


def test_who_leaves_no_orders_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> None:
        raise AssertionError("nobody at this table leaves orders")

    monkeypatch.setattr(people.Table, "_leave", never)
    assert tally_of_game("byzantium", 2, frozenset()).waits > 0


@pytest.mark.nightly
def test_what_is_saved_is_printed_beside_how_the_savers_fare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(people, "TABLES", (("empire", 2),))
    figures = people.measure(games=1, mixed=1)
    before, after = figures["empire_2_waits_without_orders"], figures["empire_2_waits_with_orders"]
    assert figures["empire_2_waits_change_in_percent"] == pytest.approx(100 * (after / before - 1))
    assert figures["empire_2_mails_with_orders"] >= figures["empire_2_visits_with_orders"] + 2
    assert 0 <= figures["empire_2_wins_by_orders_in_percent"] <= 100
