"""Real server processes, started as an operator starts them, and looked at from outside."""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa

from server.store.alerts import CLOCK_JUMPED
from tests.conftest import SECRET

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
