"""Results of finished games: standings, conduct and reliability, counted once, and again to the same bits."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from server.community import recount, results
from server.store import engine
from server.store.models import Conduct, Reliability, Standing
from tests.conftest import NOW, Table
from tests.support.lived_games import lived

pytestmark = [pytest.mark.usefixtures("app")]
Begin = Callable[..., Table]
LATER = NOW + timedelta(days=400)


def counted() -> dict[str, list[Any]]:
    """Return all that was counted."""
    with engine.reading() as session:
        return {
            table.__tablename__: sorted(map(repr, session.scalars(select(table)).all()))
            for table in (Standing, Conduct, Reliability)
        }


@pytest.mark.parametrize("seed", range(4))
def test_what_is_counted_is_what_a_diary_of_the_game_says(table: Begin, seed: int) -> None:
    game = table(3 + seed % 2, f"life{seed}", listed=seed % 2 == 0, bank=3600)
    life = lived(game, seed, NOW)
    assert results.count(game.id, life.now)
    with engine.reading() as session:
        rows = session.scalars(select(Conduct).where(Conduct.game_id == game.id)).all()
    assert {row.person_id for row in rows} >= {each for each in life.holders.values() if each is not None}
    for row in rows:
        assert json.loads(row.answers) == life.expected(row.person_id), row.person_id
    first = counted()
    assert not results.count(game.id, LATER)
    assert counted() == first
    assert recount.everything(LATER) == 1
    assert counted() == first
