"""Several requests at the same moment, each in a thread of its own, for tests of locks."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import sqlalchemy as sa
from flask import Flask
from sqlalchemy.orm import Session

from server.errors import Refused
from server.store import engine

PATIENCE = 5.0
"""Seconds until another session must have met a lock."""


def at_once(app: Flask, *deeds: Callable[[], object]) -> list[object]:
    """Return what several simultaneous requests return, or the type of what they refuse."""
    ready = Barrier(len(deeds))

    def run(deed: Callable[[], object]) -> object:
        with app.app_context():
            ready.wait(timeout=30)
            try:
                return deed()
            except Refused as refusal:
                return type(refusal)
            finally:
                engine.db.session.remove()

    with ThreadPoolExecutor(len(deeds)) as pool:
        return list(pool.map(run, deeds))


def wait_until_held_up(session: Session) -> None:
    """Wait until another session waits for a lock that this session holds, on PostgreSQL; give up after a while."""
    waiting = sa.text(
        "SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))"
    )
    until = time.monotonic() + PATIENCE
    while not session.scalar(waiting) and time.monotonic() < until:
        time.sleep(0.01)
