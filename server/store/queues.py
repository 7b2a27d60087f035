"""Queues of writers: those of one SQLite file, and on PostgreSQL those of one game in this process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from sqlalchemy import Engine
from sqlalchemy.exc import TimeoutError as NoConnection

try:
    import fcntl
except ImportError:  # not Unix: SQLite's busy handler alone serialises the writers
    fcntl = None  # type: ignore[assignment]

LOCK_SECONDS = 5
"""How long a transaction on PostgreSQL waits for a lock, or for its turn in the queue of its game."""
LONGEST_QUEUE = 16
"""Transactions of a process for one game, waiting or running: far fewer than a process has threads."""


@contextmanager
def one_writer(engine: Engine) -> Iterator[None]:
    """Queue the writers of one SQLite file: a file lock wakes the next one at once, while the busy handler polls.

    Never open a `transaction` inside the block: it would wait for the lock that this block holds.
    """
    name = engine.url.database
    if fcntl is None or not name or name == ":memory:":
        yield
        return
    with Path(f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def has_lock_files(engine: Engine) -> bool:
    """Whether processes on this database can tell one another by locked files beside it: SQLite on Unix."""
    name = engine.url.database
    return engine.dialect.name == "sqlite" and fcntl is not None and bool(name) and name != ":memory:"


def alone(engine: Engine, what: str) -> IO[str] | None:
    """Return a lock on a role that one process on an SQLite file has, until it is closed or the process ends.

    Args:
        what: the name of the role.

    Returns:
        None on PostgreSQL, or if another process has this role.
    """
    if not has_lock_files(engine):
        return None
    name = engine.url.database
    lock = Path(f"{name}.{what}.lock").open("w")  # noqa: SIM115 - the caller keeps it open
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        return None
    return lock


@dataclass(slots=True)
class _Queue:
    """The transactions of this process for one game: one runs, the others wait."""

    running: threading.Lock = field(default_factory=threading.Lock)
    length: int = 0


_queues: dict[str, _Queue] = {}
_queues_lock = threading.Lock()


@contextmanager
def in_queue(name: str) -> Iterator[None]:
    """Wait for the other transactions of this process in a queue, without holding a connection meanwhile.

    Raises:
        NoConnection: it takes too long, or too many wait already.
    """
    with _queues_lock:
        queue = _queues.setdefault(name, _Queue())
        if queue.length == LONGEST_QUEUE:
            raise NoConnection(f"{LONGEST_QUEUE} transactions for one game at once")
        queue.length += 1
    try:
        if not queue.running.acquire(timeout=LOCK_SECONDS):
            raise NoConnection(f"the other transactions for this game took more than {LOCK_SECONDS} s")
        try:
            yield
        finally:
            queue.running.release()
    finally:
        with _queues_lock:
            queue.length -= 1
            if not queue.length:
                del _queues[name]
