"""The contract of every game, and the rules of this one."""

import pytest
from byzanz.kit.conformance import CHECKS, Game, faults

import toll


@pytest.mark.parametrize("seats", toll.Toll.seats)
def test_it_keeps_the_contract(seats: int) -> None:
    assert [found.wrong for found in faults(Game(toll.Toll(), seats, seed=1), CHECKS)] == []


# What follows is about the game that you start from: replace it with the rules of yours.
def test_the_highest_card_that_nobody_else_played_wins_the_gate() -> None:
    before = toll.Position((toll.CARDS,) * 3, (1, 1, 1), gate=("gate5",), ahead=("gate2",))
    assert toll.Toll().resolve(before, ("7", "3", "7")).points == (1, 6, 1)
    assert toll.Toll().resolve(before, ("3", "3", "3")).points == (1, 1, 1)
