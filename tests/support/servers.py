"""Real servers: processes as an operator starts them, or a thread of this process; and a clock that tests set."""

from __future__ import annotations

import ctypes
import http.client
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask
from waitress import wasyncore
from waitress.server import create_server
from werkzeug.exceptions import NotFound

from server.demo import LOOPBACK
from server.store import engine
from server.store.operations import CLOCK_JUMPED
from tests.conftest import SECRET


def terminate_through_another_thread(process: subprocess.Popen[Any]) -> None:
    """Send SIGTERM to a thread that is not the main one, as the kernel may; where threads cannot be named, to any.

    Python notes the signal there, and its main thread goes on waiting.
    """
    tasks = Path(f"/proc/{process.pid}/task")
    if not tasks.exists():
        process.terminate()
        return
    others = {int(task.name) for task in tasks.iterdir()} - {process.pid}
    assert ctypes.CDLL(None).tgkill(process.pid, min(others), signal.SIGTERM) == 0


# ---- server processes ----

PATIENCE = 60.0
"""Seconds after which what has not happened will not happen."""
TICK = "0.1"


class Server:
    """A running server.

    Args:
        log: the file with its output.
        url: of its database.
    """

    def __init__(self, log: Path, url: str) -> None:
        self._log = log
        self._engine = sa.create_engine(url, poolclass=sa.NullPool)

    def _all(self, query: str, **values: str) -> list[str]:
        with self._engine.connect() as connection:
            return [str(found) for found in connection.scalars(sa.text(query), values)]

    def heartbeats(self, *parts: str) -> set[str]:
        """Return the times of the last heartbeats of these parts."""
        query = "SELECT at FROM beat WHERE part = :part"
        return {at for part in parts for at in self._all(query, part=part)}

    def in_doubt(self) -> bool:
        """Whether the alert stands that the clock has jumped."""
        query = "SELECT id FROM alarm WHERE key = :key AND cleared_at IS NULL"
        return bool(self._all(query, key=CLOCK_JUMPED))

    def wait(self, until: Callable[[], bool], what: str) -> None:
        """Wait for something that must happen."""
        last = time.monotonic() + PATIENCE
        while not until():
            if time.monotonic() > last:
                pytest.fail(f"waited in vain for {what}\n{self._log.read_text()[-2000:]}", pytrace=False)
            time.sleep(0.05)

    def wait_for_heartbeats(self, *parts: str) -> None:
        """Wait until each of these parts has sent two more heartbeats."""
        for _ in range(2):
            before = self.heartbeats(*parts)
            self.wait(partial(self._have_sent, parts, before), f"heartbeats of {parts}")

    def _have_sent(self, parts: tuple[str, ...], before: set[str]) -> bool:
        now = self.heartbeats(*parts)
        return len(now) == len(parts) and not now & before


@contextmanager
def running(
    words: tuple[str, ...], url: str, log: Path, more: Mapping[str, str] | None = None, first: str = ""
) -> Iterator[Server]:
    """Run `byzanz WORDS…` until the block ends.

    Args:
        url: of its database.
        log: the file for its output.
        more: of its environment.
        first: Python that the process runs before.
    """
    code = f"import sys\n{first}\nfrom server.cli import main\nsys.exit(main({words!r}))"
    environment = {
        "BYZANZ_DATABASE_URL": url,
        "BYZANZ_SECRET_KEY": SECRET,
        "BYZANZ_MAIL_URL": "smtp://127.0.0.1:9",
        "BYZANZ_TICK": TICK,
    }
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            env=os.environ | environment | dict(more or {}),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            yield Server(log, url)
        finally:
            process.terminate()
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def status(port: int, path: str = "/healthz", timeout: float = PATIENCE) -> int | None:
    """Return the status of a server's answer, None if there is none in time."""
    call = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        call.request("GET", path)
        return call.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        call.close()


# ---- a web server in a thread ----


def below(app: Callable[..., Any], path: str) -> Callable[..., Any]:
    """Return a proxy that passes on what lies under a path of its host, and finds nothing elsewhere."""

    def proxy(environ: dict[str, Any], start_response: Any) -> Any:
        if not f"{environ['PATH_INFO']}/".startswith(f"{path}/"):
            return NotFound()(environ, start_response)
        return app(environ, start_response)

    return proxy


@contextmanager
def serving(app: Flask, port: int, front: Callable[..., Any] | None = None) -> Iterator[None]:
    """Serve an app on a loopback port until the block ends.

    Args:
        front: a WSGI application to ask instead, which passes requests on to the app.
    """
    server: Any = create_server(front or app, host=LOOPBACK, port=port, threads=4)
    thread = Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.task_dispatcher.shutdown()  # an answer may be out before its thread is through
        # The loop closes its sockets itself: closed from here, one could just be polled.
        server.trigger.pull_trigger(lambda: wasyncore.close_all(server._map))
        thread.join(timeout=10)
        with app.app_context():
            engine.db.engine.dispose()


# ---- a clock that can be set ----

LIBRARY = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
"""The library that stands between a program and the machine's clock; None where it is not installed."""


class Clock:
    """The clock of one process.

    Args:
        file: read by the process before each look at the clock.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self.set("+0")

    def set(self, offset: str) -> None:
        """Set the clock wrong, as in `-4d` or `+1h`, or right again with `+0`."""
        fresh = self._file.with_suffix(".new")
        fresh.write_text(offset)
        fresh.replace(self._file)  # at once: the process may be reading

    @property
    def environment(self) -> dict[str, str]:
        """What the process needs in its environment."""
        return {
            "LD_PRELOAD": str(LIBRARY),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",  # a clock that is set leaves the monotonic one alone
        }
