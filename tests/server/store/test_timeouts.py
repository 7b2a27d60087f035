"""Locks, statements and idle transactions end in time on PostgreSQL, so that one game never stops the others."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
import sqlalchemy as sa
from flask import Flask
from sqlalchemy.exc import OperationalError

from server.lobby import create, invitations
from server.store import engine, migrate
from tests.conftest import NOW, begun
from tests.support.games import entries_by
from tests.support.lobby import ALICE, token, wish

pytestmark = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
CROWD = 40
"""Requests for one game at once: more than the connections of a process."""
SHORT = 1
"""Seconds until a lock is given up, here."""


@pytest.fixture
def impatient(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Flask:
    monkeypatch.setattr(engine, "LOCK_SECONDS", SHORT)
    engine.db.engine.dispose()  # new connections give up sooner
    return app


@contextmanager
def other_session(app: Flask) -> Iterator[sa.Connection]:
    """A session of another program on the same database."""
    other = sa.create_engine(app.config["SQLALCHEMY_DATABASE_URI"], poolclass=sa.NullPool)
    with other.connect() as connection:
        yield connection


def post_move(app: Flask, token: str, number: int) -> tuple[int, str | None]:
    form = {"move": "pass", "seen": "1", "request_id": f"r{number}"}
    answer = app.test_client().post(f"/t/{token}", data=form)
    return answer.status_code, answer.headers.get("Retry-After")


def test_a_locked_game_stops_neither_pages_nor_other_games(impatient: Flask) -> None:
    locked, free = begun(3, "g1"), begun(3, "g2")
    with ThreadPoolExecutor(CROWD) as crowd, other_session(impatient) as holder:
        holder.execute(sa.text("SELECT 1 FROM game WHERE id = 'g1' FOR UPDATE"))
        posts = [crowd.submit(post_move, impatient, locked.tokens[0], number) for number in range(CROWD)]
        client = impatient.test_client()
        for path in ("/healthz", "/", f"/t/{locked.tokens[0]}", f"/t/{free.tokens[0]}"):
            assert client.get(path).status_code == 200, path
        assert post_move(impatient, free.tokens[0], 0)[0] == 303
        assert [each.result() for each in posts] == [(503, "5")] * CROWD
    assert entries_by(locked.id) == []
    assert post_move(impatient, locked.tokens[0], 0)[0] == 303


def test_forms_of_a_locked_game_leave_connections_to_others(impatient: Flask) -> None:
    game_id = create.create_game(wish(), NOW)
    host = token("organise", ALICE, game_id, NOW)

    def press() -> bool:
        with impatient.app_context():
            try:
                invitations.set_listed(host, True, NOW)
            except engine.UNAVAILABLE:
                return False
        return True

    with ThreadPoolExecutor(CROWD) as crowd, other_session(impatient) as holder:
        holder.execute(sa.text("SELECT 1 FROM game WHERE id = :id FOR UPDATE"), {"id": game_id})
        presses = [crowd.submit(press) for _ in range(CROWD)]
        for _ in range(10):
            with engine.reading() as session:
                assert session.scalar(sa.text("SELECT 1")) == 1
            assert engine.db.engine.pool.checkedout() <= 2  # type: ignore[attr-defined]
        assert [each.result() for each in presses] == [False] * CROWD
    assert press()


def test_moves_of_one_game_at_once_wait_for_each_other(impatient: Flask) -> None:
    game = begun(3, "g1")
    with ThreadPoolExecutor(engine.LONGEST_QUEUE) as crowd:
        posts = [crowd.submit(post_move, impatient, game.tokens[0], 7) for _ in range(engine.LONGEST_QUEUE)]
    assert {each.result()[0] for each in posts} == {303}
    assert entries_by(game.id).count((0, "player", "pass")) == 1


@pytest.mark.usefixtures("app")
def test_each_connection_gives_up_in_time() -> None:
    with engine.reading() as session:
        found = {
            name: session.scalar(sa.text(f"SHOW {name}"))
            for name in ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout")
        }
    assert found == {
        "lock_timeout": "5s",
        "statement_timeout": "30s",
        "idle_in_transaction_session_timeout": "1min",
    }


@pytest.mark.usefixtures("impatient")
def test_a_statement_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "STATEMENT_SECONDS", SHORT)
    with pytest.raises(OperationalError, match="statement timeout"), engine.reading() as session:
        session.execute(sa.text("SELECT pg_sleep(30)"))


def test_an_upgrade_waits_for_another_one_however_long_it_takes(impatient: Flask) -> None:
    def upgrade() -> None:
        with impatient.app_context():
            migrate.upgrade()

    with ThreadPoolExecutor(1) as other, other_session(impatient) as holder:
        holder.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": migrate.LOCK})
        waiting = other.submit(upgrade)
        with pytest.raises(TimeoutError):
            waiting.result(timeout=3 * SHORT)
        holder.rollback()
        waiting.result(timeout=60)
