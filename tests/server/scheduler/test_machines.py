"""Real processes: one on a machine with a wrong clock invents no outage, and a locked database ends nothing."""

from __future__ import annotations

import http.client
import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import sqlalchemy as sa

from server import create_app
from server.demo import free_port
from server.store import engine
from server.store.models import Turn
from server.store.operations import MACHINE_CLOCK, PARTS
from tests.conftest import Table, begun
from tests.support import servers
from tests.support.databases import copied, migrate, settings
from tests.support.games import give_to_bots

HELD = 3.0
"""Seconds for which a lock is held from outside: many times as long as the server here waits for it."""
IMPATIENT = "from server.store import engine; engine.BUSY_SECONDS = 0.2"


class Outside:
    """A look at a database from outside."""

    def __init__(self, url: str) -> None:
        self._engine = sa.create_engine(url, poolclass=sa.NullPool)

    def all(self, query: str) -> list[str]:
        with self._engine.connect() as connection:
            return [str(found) for found in connection.scalars(sa.text(query))]

    def alerts(self) -> list[str]:
        return self.all("SELECT key FROM alarm WHERE cleared_at IS NULL ORDER BY key")


@pytest.mark.skipif(servers.LIBRARY is None, reason="libfaketime is missing: apt-get install faketime")
@pytest.mark.parametrize("steps", [("+2h", "-2h"), pytest.param(("-2h", "+2h"), marks=pytest.mark.nightly)])
def test_a_second_scheduler_with_a_wrong_clock_invents_no_outage(
    bare_postgres: str, tmp_path: Path, steps: tuple[str, ...]
) -> None:
    migrate(bare_postgres)
    outside, clock = Outside(bare_postgres), servers.Clock(tmp_path / "clock")
    clock.set(steps[0])
    with ExitStack() as stack:
        right = stack.enter_context(
            servers.running(("serve", "--port", "0"), bare_postgres, tmp_path / "right.log")
        )
        right.wait_for_heartbeats(*PARTS)
        wrong = stack.enter_context(
            servers.running(("scheduler",), bare_postgres, tmp_path / "wrong.log", clock.environment)
        )
        for step in steps:
            clock.set(step)
            wrong.wait(lambda: bool(outside.alerts()), "the alert")
            right.wait_for_heartbeats(*PARTS)
            assert [key.startswith(MACHINE_CLOCK) for key in outside.alerts()] == [True]
            assert outside.all("SELECT count(*) FROM outage") == ["0"]
            ahead = "SELECT count(*) FROM beat WHERE abs(extract(epoch FROM at - now())) > 60"
            assert outside.all(ahead) == ["0"]
            clock.set("+0")
            wrong.wait(lambda: not outside.alerts(), "the end of the alert")
            assert outside.all("SELECT count(*) FROM outage") == ["0"]
            assert outside.all("SELECT DISTINCT off FROM process") == ["0"]
    assert outside.all("SELECT count(*) FROM process") == ["0"], "a clean stop deletes the rows"


@pytest.fixture
def played(migrated_file: Path) -> Iterator[tuple[str, Path, Table]]:
    """Return the URL and the file of a database with two games, and the first of them."""
    with copied(migrated_file) as url:
        with create_app(settings(url)).app_context():
            late = begun(3, "late", engine.utc_now())
            bots = begun(3, "bots", engine.utc_now())
            give_to_bots(bots, range(3), "random")
            with engine.transaction() as session:
                session.execute(sa.update(Turn).values(bot=False))
            engine.db.engine.dispose()
        yield url, Path(url.removeprefix("sqlite:///")), late


def test_a_running_server_goes_on_after_a_lock_that_was_held_from_outside(
    played: tuple[str, Path, Table], tmp_path: Path
) -> None:
    url, file, game = played
    outside, port = Outside(url), free_port()
    log = tmp_path / "log"
    held = sqlite3.connect(file, isolation_level=None, timeout=30)
    with servers.running(("serve", "--port", str(port)), url, log, first=IMPATIENT) as server:
        server.wait_for_heartbeats(*PARTS)
        held.execute("BEGIN IMMEDIATE")
        held.execute("UPDATE turn SET bot = 1 WHERE game_id = 'bots'")
        now = int(engine.utc_now().timestamp() * 1_000_000)
        held.execute("UPDATE turn SET started_at = opened_at, due_at = ? WHERE game_id = 'late'", (now,))
        held.execute("UPDATE game SET allowance = 0 WHERE id = 'late'")
        held.execute("COMMIT")
        held.execute("BEGIN IMMEDIATE")
        end = time.monotonic() + HELD
        while time.monotonic() < end:
            assert servers.status(port) == 200
            assert servers.status(port, f"/t/{game.tokens[0]}") == 200
        assert moved(port, game.tokens[0]) == (503, True)
        held.execute("ROLLBACK")
        done = "SELECT count(DISTINCT by) FROM entry WHERE by IN ('clock', 'bot')"
        server.wait(lambda: outside.all(done) == ["2"], "the deadline and the bots")
        server.wait_for_heartbeats(*PARTS)
    held.close()
    assert outside.all("SELECT count(*) FROM game WHERE quarantine IS NOT NULL") == ["0"]
    assert outside.alerts() == []
    for said in ("could not be played on; the next tick tries again", "job heartbeats failed"):
        assert said in log.read_text()


def moved(port: int, token: str) -> tuple[int, bool]:
    """Make a move through the API; return its status, and whether it says when to come back."""
    call = http.client.HTTPConnection("127.0.0.1", port, timeout=servers.PATIENCE)
    body = json.dumps({"move": "pass", "seen": 1, "request_id": "r"})
    call.request("POST", f"/api/v1/seats/{token}/moves", body, {"Content-Type": "application/json"})
    answer = call.getresponse()
    answer.read()
    call.close()
    return answer.status, "Retry-After" in answer.headers
