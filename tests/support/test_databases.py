"""The PostgreSQL clone of the tests returns to its first state, whatever a test did to rows, counters or tables."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import sqlalchemy as sa

from tests.conftest import Table
from tests.support.databases import PostgresClone
from tests.support.neighbour_game import NEIGHBOUR


def query(url: str, *statements: str) -> list[object]:
    """Return what the last of these statements answers."""
    made = sa.create_engine(url, poolclass=sa.NullPool)
    with made.begin() as connection:
        for statement in statements:
            answer = connection.exec_driver_sql(statement)
        return list(answer.scalars()) if answer.returns_rows else []


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_game_is_gone_after_a_reset_and_numbers_start_again(
    table: Callable[..., Table], postgres_clone: PostgresClone
) -> None:
    first = table().people
    url = postgres_clone.reset(empty=True)
    assert query(url, "SELECT count(*) FROM entry") == [0]
    assert query(url, "SELECT count(*) FROM person") == [0]
    assert query(url, "SELECT nextval('person_id_seq')") == first[:1]
    busy = query(postgres_clone.reset(), "SELECT DISTINCT game_id FROM entry")
    assert busy == [NEIGHBOUR]
    postgres_clone.reset(empty=True)
    table()
    with pytest.raises(sa.exc.DBAPIError) as refused:  # the triggers are back
        query(url, "DELETE FROM entry")
    assert "append-only" in str(refused.value)


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
@pytest.mark.parametrize(
    "change",
    [
        "DROP TRIGGER entry_no_change ON entry",
        "ALTER TABLE entry DISABLE TRIGGER USER",
        "ALTER TABLE game ADD COLUMN more int",
        "DROP TABLE outage",
    ],
)
def test_changed_tables_are_made_anew(database_url: str, postgres_clone: PostgresClone, change: str) -> None:
    query(database_url, change)
    again = postgres_clone.reset()
    assert again != database_url
    assert postgres_clone.reset() == again
