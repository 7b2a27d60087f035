"""Real processes: one on a machine with a wrong clock invents no outage, and a locked database ends nothing."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import sqlalchemy as sa

from server import create_app
from server.demo.smtp_sink import free_port
from server.scheduler.heartbeat import PARTS
from server.store import engine
from server.store.models import Game, Turn
from server.store.processes import MACHINE_CLOCK
from tests.conftest import begun
from tests.support import servers, wrong_clock
from tests.support.databases import copied, migrate, settings
from tests.support.ticks import give_to_bots

HELD = 4.0
"""Seconds for which a lock is held from outside: many times as long as the servers here wait for it."""
IMPATIENT = """
from datetime import timedelta
from server.scheduler import heartbeat
from server.store import engine
engine.BUSY_SECONDS = 0.2
heartbeat.SHORTEST_OUTAGE = timedelta(seconds=2)
"""


class Outside:
    """A look at a database from outside."""

    def __init__(self, url: str) -> None:
        self._engine = sa.create_engine(url, poolclass=sa.NullPool)

    def all(self, query: str) -> list[str]:
        with self._engine.connect() as connection:
            return [str(found) for found in connection.scalars(sa.text(query))]

    def alerts(self) -> list[str]:
        return self.all("SELECT key FROM alarm WHERE cleared_at IS NULL ORDER BY key")


@pytest.mark.skipif(wrong_clock.LIBRARY is None, reason="libfaketime is missing: apt-get install faketime")
@pytest.mark.parametrize("step", ["+2h", "-2h"])
def test_a_second_scheduler_with_a_wrong_clock_invents_no_outage(
    bare_postgres: str, tmp_path: Path, step: str
) -> None:
    migrate(bare_postgres)
    outside, clock = Outside(bare_postgres), wrong_clock.Clock(tmp_path / "clock")
    clock.set(step)
    with ExitStack() as stack:
        right = stack.enter_context(
            servers.running(("serve", "--port", "0"), bare_postgres, tmp_path / "right.log")
        )
        right.wait_for_heartbeats(*PARTS)
        wrong = stack.enter_context(
            servers.running(("scheduler",), bare_postgres, tmp_path / "wrong.log", clock.environment)
        )
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
def busy(migrated_file: Path) -> Iterator[tuple[str, Path]]:
    """Return the URL and the file of a database with an overdue turn, and with a game that bots play alone."""
    with copied(migrated_file) as url:
        with create_app(settings(url)).app_context():
            late, bots = begun(3, "late", engine.utc_now()), begun(3, "bots", engine.utc_now())
            give_to_bots(bots, range(3), "random")
            with engine.transaction() as session:
                turn = session.get_one(Turn, (late.id, 0))
                turn.started_at = turn.due_at = engine.utc_now()
                session.get_one(Game, late.id).allowance = 1
            engine.db.engine.dispose()
        yield url, Path(url.removeprefix("sqlite:///"))


def test_a_running_server_goes_on_after_a_lock_that_was_held_from_outside(
    busy: tuple[str, Path], tmp_path: Path
) -> None:
    url, file = busy
    outside, port = Outside(url), free_port()
    held = sqlite3.connect(file, isolation_level=None, timeout=30, check_same_thread=False)
    held.execute("BEGIN IMMEDIATE")
    end = threading.Timer(HELD, held.rollback)
    end.start()
    began = time.monotonic()
    with servers.running(("serve", "--port", str(port)), url, tmp_path / "log", first=IMPATIENT) as server:
        server.wait(lambda: servers.status(port) == 200, "the pages")
        while time.monotonic() < began + HELD:
            assert servers.status(port) == 200
            time.sleep(0.2)
        end.join()
        server.wait_for_heartbeats(*PARTS)
        played = "SELECT count(DISTINCT by) FROM entry WHERE by IN ('clock', 'bot')"
        server.wait(lambda: outside.all(played) == ["2"], "the deadline and the bots")
    held.close()
    assert outside.all("SELECT count(*) FROM game WHERE quarantine IS NOT NULL") == ["0"]
    assert outside.alerts() == []
