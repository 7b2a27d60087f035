"""The engine: closed connections are replaced, queries are compiled once, and times are stored to the microsecond."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask

from server.store import engine
from server.store.models import Game, Outage
from tests.conftest import NOW


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_connection_that_was_cut_is_replaced_unnoticed(app: Flask) -> None:
    with engine.reading() as session:
        cut = session.scalar(sa.text("SELECT pg_backend_pid()"))
    other = sa.create_engine(app.config["SQLALCHEMY_DATABASE_URI"], poolclass=sa.NullPool)
    with other.connect() as connection:
        connection.execute(sa.text("SELECT pg_terminate_backend(:pid, 5000)"), {"pid": cut})
    with engine.reading() as session:
        assert session.scalar(sa.text("SELECT pg_backend_pid()")) != cut


@pytest.mark.usefixtures("app")
def test_a_query_by_a_time_is_compiled_once() -> None:
    compiled: dict[Any, Any] = {}
    with engine.db.engine.connect().execution_options(compiled_cache=compiled) as connection:
        for _ in range(2):
            connection.execute(sa.select(Game.id).where(Game.created_at == NOW))
    assert len(compiled) == 1


@pytest.mark.usefixtures("app")
def test_a_time_is_stored_to_the_microsecond() -> None:
    times = [NOW + timedelta(days=-day, microseconds=day * 100_003) for day in range(1, 9_999, 101)]
    eastern = timezone(timedelta(hours=5, minutes=30))
    with engine.transaction() as session:
        session.add_all(Outage(part="web", from_at=at.astimezone(eastern), to_at=at) for at in times)
    with engine.reading() as session:
        found = session.scalars(sa.select(Outage.from_at).order_by(Outage.to_at)).all()
        stored = session.scalar(sa.text("SELECT max(from_at) FROM outage"))
    assert found == times[::-1]
    assert {at.tzinfo for at in found} == {NOW.tzinfo}
    if engine.db.engine.dialect.name == "sqlite":
        assert stored == (times[0] - datetime.fromtimestamp(0, NOW.tzinfo)) // timedelta(microseconds=1)


@pytest.mark.usefixtures("app")
def test_a_time_without_a_zone_is_refused() -> None:
    query = sa.select(Game.id).where(Game.created_at == NOW.replace(tzinfo=None))
    with engine.reading() as session, pytest.raises(sa.exc.StatementError, match="without a time zone"):
        session.execute(query)
