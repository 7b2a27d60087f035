"""Queues of writers: those of one SQLite file, and on PostgreSQL those of one game in this process."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as NoConnection

try:
    import fcntl
except ImportError:  # not Unix: SQLite's busy handler alone serialises the writers
    fcntl = None  # type: ignore[assignment]

LOCK_SECONDS = 5
"""How long a transaction on PostgreSQL waits for a lock, or for its turn in the queue of its game."""
LONGEST_QUEUE = 16
"""Transactions of a process for one game, waiting or running: far fewer than a process has threads."""


_writers: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
"""For each SQLite file, who of this process writes, or is next in the queue of all processes."""
LOOK_AGAIN = 0.001
"""Seconds between two looks whether the writer of another process has ended, of one thread in each process."""


@contextmanager
def one_writer(engine: Engine, seconds: float | None = None) -> Iterator[None]:
    """Queue the writers of one SQLite file: a lock wakes the next one at once, while the busy handler polls.

    Never open a `transaction` inside the block: it would wait for the lock that this block holds.

    Args:
        seconds: how long to wait for the others; for ever if None.

    Raises:
        NoConnection: that was too long. OperationalError: the lock's file cannot be opened, as on a full disk.
    """
    name = engine.url.database
    if fcntl is None or not name or name == ":memory:":
        yield
        return
    end = None if seconds is None else time.monotonic() + seconds
    mine = _writers[name]
    if not mine.acquire(timeout=-1 if seconds is None else seconds):
        raise _too_long(seconds)
    try:
        with _opened(f"{name}.lock") as lock:
            if end is None:
                fcntl.flock(lock, fcntl.LOCK_EX)
            while end is not None and not _locked(lock):
                if time.monotonic() > end:
                    raise _too_long(seconds)
                time.sleep(LOOK_AGAIN)
            yield
    finally:
        mine.release()


def _too_long(seconds: float | None) -> NoConnection:
    return NoConnection(f"the other writers of this database took more than {seconds} s")


def _opened(name: str) -> IO[str]:
    try:
        return Path(name).open("w")
    except OSError as error:
        raise OperationalError(f"open {name}", None, error) from error


def _locked(file: IO[str]) -> bool:
    """Take the lock of a file unless another process has it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise OperationalError(f"lock {file.name}", None, error) from error
    return True


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
    lock = _opened(f"{engine.url.database}.{what}.lock")
    if _locked(lock):
        return lock
    lock.close()
    return None


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
