"""The log of an outage has one line a minute of each kind, and other errors keep their tracebacks."""

from __future__ import annotations

import io
import logging
import sqlite3
import sys
from collections.abc import Iterator

import psycopg
import pytest
from sqlalchemy.exc import IntegrityError, OperationalError

from server.mail.outgoing import deliver
from server.mail.outgoing.smtp import TemporaryFailure
from server.ops import logs, serve
from tests.conftest import NOW, begun
from tests.support.mail_servers import FakeMailer

LOGGER = logging.getLogger("server.of.this.test")
GONE = OperationalError("SELECT 1", {}, psycopg.OperationalError("the server\nhas gone"))


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """Return what a running server writes to its log."""
    written = io.StringIO()
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    root.handlers = []
    monkeypatch.setattr(sys, "stderr", written)
    logs.log_to_stderr()
    yield written
    root.handlers = handlers
    root.setLevel(level)


def fail(error: Exception, times: int, place: str = "turn.show") -> None:
    for _ in range(times):
        try:
            raise error
        except Exception:
            LOGGER.exception("fault at %s", place)


def lines(log: io.StringIO) -> list[str]:
    return [line.partition(": ")[2] for line in log.getvalue().splitlines()]


def test_an_outage_is_one_line_a_minute_and_kind(log: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    first = "fault at turn.show: the server has gone"
    fail(GONE, 300)
    assert lines(log) == [first]
    fail(GONE, 5, "turn.move")  # the same kind
    fail(sqlite3.OperationalError("database is locked"), 7)
    try:
        raise GONE
    except OperationalError:
        LOGGER.exception("job %s failed", "turns")
    others = ["fault at turn.show: database is locked", "job turns failed: the server has gone"]
    assert lines(log) == [first, *others]
    now[0] += logs.SECONDS - 1
    fail(GONE, 1)
    assert lines(log) == [first, *others]
    now[0] += 1
    fail(GONE, 1)
    assert lines(log) == [first, *others, f"{first} (305 more like it before)"]
    now[0] += logs.SECONDS
    fail(GONE, 1)
    assert lines(log)[-1] == first


@pytest.mark.usefixtures("app")
@pytest.mark.empty_database
def test_emails_that_wait_for_the_mail_server_are_one_line_a_minute(log: io.StringIO) -> None:
    for game_id in ("g1", "g2", "g3"):
        begun(3, game_id)
    assert deliver.deliver(NOW, FakeMailer(*[TemporaryFailure("busy")] * 3)) == 3
    (line,) = lines(log)
    assert line.endswith("will be retried: busy")


@pytest.mark.parametrize("error", [ValueError("boom"), IntegrityError("INSERT", {}, Exception("boom"))])
def test_an_error_of_ours_keeps_its_traceback(log: io.StringIO, error: Exception) -> None:
    fail(error, 3)
    assert log.getvalue().count("Traceback") == 3


def test_the_log_of_gunicorn_is_limited_too(log: io.StringIO) -> None:
    options = serve.options("127.0.0.1", 1, 1)
    web = serve.GunicornServer(None, options)  # type: ignore[arg-type]  # nothing is asked of it
    own = web.cfg.logger_class(web.cfg)
    for _ in range(3):
        try:
            raise GONE
        except OperationalError:
            own.exception("Error handling request %s", "/")
    assert lines(log) == ["Error handling request /: the server has gone"]
