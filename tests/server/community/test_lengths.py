"""How long a game takes, before there are games to measure and after."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from byzanz.games import rules_of
from server.community import results
from server.community.results import Estimate
from server.store import engine
from server.store.models import Game
from tests.conftest import NOW, Table
from tests.support.games import asked, loaded, make, position
from tests.support.lobby import BOB, invited

Begin = Callable[..., Table]
pytestmark = [pytest.mark.usefixtures("app"), pytest.mark.empty_database]


def estimate(game_id: str) -> Estimate:
    with engine.reading() as session:
        hand = loaded(session, game_id)
        return results.estimate_length(session, hand.game, hand.seats)


def test_without_ended_games_it_follows_from_the_time_per_move() -> None:
    game_id, _host = invited(NOW)
    assert estimate(game_id) == Estimate(30, "day", 8, 14) or estimate(game_id).unit == "week"
    few, _host = invited(NOW, players=(BOB,), bots=("random",))
    assert estimate(few) == Estimate(30, "day", 6, 9)  # a bot needs no time
    assert estimate(invited(NOW, slug="empire", players=(BOB,))[0]).decisions == rules_of("empire").decisions


def test_ended_games_between_people_tell_how_long_theirs_take(table: Begin) -> None:
    for number in range(results.ENOUGH):
        game = table(3, f"ended{number}")
        for _ in range(6):
            seat = asked(game)
            make(game, seat, str(position(game.id).rules.moves(position(game.id).state, seat)[0]))
        with engine.transaction() as session:
            row = session.get_one(Game, game.id)
            row.status, row.ended_at = "over", NOW + timedelta(days=4 + number)
            row.started_at = NOW
    game_id, _host = invited(NOW)
    assert estimate(game_id) == Estimate(2, "day", 4, 8)
    with engine.transaction() as session:
        session.get_one(Game, "ended0").status = "running"  # too few
    assert estimate(game_id).decisions == 30


@pytest.mark.parametrize(
    ("hours", "expected"),
    [
        ((3, 9), ("hour", 3, 9)),
        ((0.1, 0.2), ("hour", 1, 1)),
        ((60, 100), ("day", 2, 4)),
        ((330, 500), ("week", 2, 3)),
    ],
)
def test_a_span_has_the_largest_unit_that_fits(
    hours: tuple[float, float], expected: tuple[str, int, int]
) -> None:
    assert results._in_units(*(hour * 3600 for hour in hours)) == expected
