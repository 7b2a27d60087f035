"""A group is the people of a table: all games of exactly these people, and nobody else's."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.community import results, statistics
from server.store import engine
from tests.conftest import NOW
from tests.support.results import counted

pytestmark = pytest.mark.usefixtures("app")

DAY = timedelta(days=1)


def of(game_id: str) -> statistics.Group | None:
    with engine.reading() as session:
        return statistics.group(session, game_id)


def ranking(game_id: str) -> list[tuple[Any, ...]]:
    found = of(game_id)
    assert found is not None
    return [(each.name, each.played, each.won, each.place, each.points) for each in found.members]


def test_all_games_of_exactly_these_people() -> None:
    counted("g1", ["Alice", "Bob", "Charlie"], [1, 2, 3])
    counted("g2", ["Charlie", "Alice", "Bob"], [1, 1, 3], at=NOW + DAY, listed=False)
    counted("with a bot", ["Alice", "Bob", "Bot", "Charlie"], [4, 3, 2, 1], at=NOW + 2 * DAY)
    counted("fewer", ["Alice", "Bob"], [1, 2])
    counted("more", ["Alice", "Bob", "Charlie", "Daphne"], [1, 2, 3, 4])
    counted("others", ["Alice", "Bob", "Daphne"], [1, 2, 3])
    counted("ended early", ["Alice", "Bob", "Charlie"], [1, 2, 3], early=True)
    found = of("g1")
    assert found is not None
    assert [game.id for game in found.games] == ["with a bot", "g2", "g1"]
    assert ranking("g1") == ranking("g2") == ranking("with a bot")
    assert ranking("g1") == [
        ("Charlie", 3, 2, pytest.approx(5 / 3), pytest.approx((0 + 75 + 100) / 3)),
        ("Alice", 3, 2, 2.0, pytest.approx((100 + 75 + 0) / 3)),
        ("Bob", 3, 0, pytest.approx(8 / 3), pytest.approx((50 + 0 + 100 / 3) / 3)),
    ]
    assert [each[:3] for each in ranking("fewer")] == [("Alice", 1, 1), ("Bob", 1, 0)]


@pytest.mark.parametrize("game_id", ["early", "unknown", "busy"])
def test_without_a_group_there_is_none(game_id: str) -> None:
    counted("early", ["Alice", "Bob"], [1, 2], early=True)
    assert of(game_id) is None


@given(st.lists(st.integers(1, 6), min_size=2, max_size=6))
def test_the_points_of_a_table_are_shared_out(places: list[int]) -> None:
    """The average is always half, and who comes before another has more."""
    seats = tuple(results.Placed(n, "x", n, None, place, 0) for n, place in enumerate(places))
    game = results.Ended("g", "byzanz", "Byzanz", "A table", True, NOW, NOW, seats)
    points = [game.points(seat) for seat in seats]
    assert sum(points) / len(points) == pytest.approx(50)
    assert all(0 <= each <= 100 for each in points)
    for one, other in zip(seats, points, strict=True):
        for two, another in zip(seats, points, strict=True):
            assert (one.place < two.place) == (other > another)
