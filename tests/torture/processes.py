"""Real servers to be killed: each is `byzanz WORDS…` in its own process group, on its own loopback port.

They are forked from a process that has imported everything and opened nothing, so a start takes a tenth of a second
instead of two; many kills need many starts. After the fork, the unmodified program runs.
"""

from __future__ import annotations

import http.client
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.torture.warm"])
LOOPBACK = "127.0.0.1"
SLOWEST_START = 60.0
"""Seconds after which a server that is not ready will never be."""


class Running:
    """A process that is started to be killed.

    Args:
        work: the function to run; the process ends with it.
        arguments: of `work`; must be picklable.
        environment: added to ours.
        log: the file to which its output is appended.
    """

    def __init__(
        self,
        work: Callable[..., object],
        arguments: tuple[Any, ...],
        environment: Mapping[str, str],
        log: Path,
    ) -> None:
        self._process = CONTEXT.Process(
            target=_live, args=(work, arguments, dict(environment), str(log)), daemon=True
        )
        self._process.start()

    @property
    def pid(self) -> int:
        """Its process id, which is also the id of its group."""
        assert self._process.pid is not None
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it is still running."""
        return self._process.is_alive()

    def kill(self) -> None:
        """`kill -9` the process and everything it has started, and wait until it is gone."""
        if self.alive:
            with suppress(ProcessLookupError):  # too young to lead a group yet
                os.killpg(self.pid, signal.SIGKILL)
            self._process.kill()
        self._process.join()

    def finish(self, seconds: float = SLOWEST_START) -> int | None:
        """Wait up to this long for the process to end; return its status."""
        self._process.join(seconds)
        return self._process.exitcode


def _live(
    work: Callable[..., object], arguments: tuple[Any, ...], environment: dict[str, str], log: str
) -> None:
    os.setsid()
    to = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (1, 2):
        os.dup2(to, stream)
    threading.Thread(target=_die_with_the_torturer, daemon=True).start()
    os.environ.update(environment)
    status = work(*arguments)
    sys.exit(status if isinstance(status, int) else 0)


def _die_with_the_torturer() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.killpg(0, signal.SIGKILL)


def start(
    words: tuple[str, ...], environment: Mapping[str, str], log: Path, breaks: str | None = None
) -> Running:
    """Start `byzanz WORDS…`; `breaks` names a promise to break on purpose, see `broken.py`."""
    return Running(_byzanz, (words, breaks), environment, log)


LEASE = timedelta(seconds=5)
"""How long the emails of a killed mailer wait here; with the usual lease, few would be sent under torture."""


def _byzanz(words: tuple[str, ...], breaks: str | None) -> int:
    from server.cli import main
    from server.mail.outgoing import deliver
    from server.store import outbox
    from tests.torture import broken

    outbox.LEASE, deliver.LONGEST_BATCH = LEASE, LEASE / 2
    if breaks is not None:
        broken.BREAKS[breaks]()
    return main(words)


def free_port() -> int:
    """Return a loopback port that is free."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def listens(port: int) -> bool:
    """Whether a process listens on a port."""
    with socket.socket() as probe:
        probe.settimeout(5)
        return probe.connect_ex((LOOPBACK, port)) == 0


def is_ready(port: int) -> bool:
    """Whether a server answers requests."""
    call = http.client.HTTPConnection(LOOPBACK, port, timeout=5)
    try:
        call.request("GET", "/healthz")
        return call.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        call.close()


def wait(until: Callable[[], bool], for_what: str, process: Running | None = None) -> None:
    """Poll until the condition holds.

    Raises:
        RuntimeError: it takes too long, or the process has ended.
    """
    last = time.monotonic() + SLOWEST_START
    while not until():
        if time.monotonic() > last or (process is not None and not process.alive):
            raise RuntimeError(f"waited in vain for {for_what}")
        time.sleep(0.005)
