"""The contract of every game, and the rules of this one."""

import pytest
from toll import CARDS, Position, Toll

from byzanz.conformance import CHECKS, Game, faults


@pytest.mark.parametrize("seats", Toll.seats)
def test_it_keeps_the_contract(seats: int) -> None:
    assert [found.wrong for found in faults(Game(Toll(), seats, seed=1), CHECKS)] == []


def test_the_highest_card_that_nobody_else_played_wins_the_gate() -> None:
    before = Position((CARDS,) * 3, (1, 1, 1), gate=("gate5",), ahead=("gate2",))
    assert Toll().resolve(before, ("7", "3", "7")).points == (1, 6, 1)
    assert Toll().resolve(before, ("3", "3", "3")).points == (1, 1, 1)
