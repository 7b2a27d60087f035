"""The processes of the server: each says every few seconds that it lives, and compares its clock with the database's.

A process whose clock is more than a minute off does nothing until it is right again: its times would make an outage
that never was, or end a turn that has hours left. The time in a process's row is the database's. On SQLite that is the
clock of the one machine, and only its jumps can be noticed (`server/scheduler/heartbeat.py`).
"""

from __future__ import annotations

import secrets
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cache

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from server.store import alerts
from server.store.engine import UNAVAILABLE, db, insert, reading, transaction, utc_now
from server.store.facts import Fact
from server.store.models import Alert, Heartbeat, Process

CLOCK_PARTS = ("web", "scheduler")
"""The parts without which no clock runs: their last heartbeats stay, for an outage begins with them."""
LARGEST_DIFFERENCE = timedelta(seconds=60)
LATELY = timedelta(seconds=150)
"""How long after its last heartbeat a process is believed to live: `byzanz mail-in` sends one a minute."""
DEAD_AFTER = timedelta(days=1)
"""How long the row of a process stays that has ended without a word."""
DATABASE_CLOCK = "clock-database"
"""The key of the alert that all processes contradict the database."""
MACHINE_CLOCK = "clock-wrong:"
"""What the key of the alert begins with that the clock of one machine is wrong."""

COMPARE_AGAIN = 60.0
"""Seconds after which a process without a scheduler thread compares the clocks again when it is asked for a page."""

_found = {"off": timedelta(0)}
"""By how much the clock of this process was ahead of the database's when they were last compared."""
_compare_at = {"steady": 0.0}
"""The time of the steady clock from which on they are to be compared again."""
_one_compares = threading.Lock()


class WrongClock(Exception):
    """The clock of this process is wrong, so it does nothing."""


def clock_off() -> timedelta:
    """Return how far this process's clock was ahead of the database's when last compared, if that is too much.

    Returns:
        Less than 0 if it was behind; 0 if it may work.
    """
    return _found["off"] if abs(_found["off"]) > LARGEST_DIFFERENCE else timedelta(0)


def forget() -> None:
    """Forget what was found about the clock, as a new process."""
    _found["off"], _compare_at["steady"] = timedelta(0), 0.0


def compare_if_due() -> None:
    """Compare the clocks unless that was done lately: a WSGI server of one's own has nobody else who does it.

    The first time, nothing is answered before. What ails the database is left to the one who asked for the page.
    """
    if time.monotonic() < _compare_at["steady"]:
        return
    with _one_compares, suppress(*UNAVAILABLE):
        if time.monotonic() >= _compare_at["steady"]:
            _asked_for_pages().send(utc_now)


def check_clock() -> None:
    """Compare the clock of a process that sends no heartbeats, such as a command.

    Raises:
        WrongClock: it is too far off.
    """
    with reading() as session:
        off, _theirs = _compared(session, utc_now)
    if abs(off) > LARGEST_DIFFERENCE:
        raise WrongClock(
            f"the clock of this machine is {abs(int(off.total_seconds()))} seconds "
            f"{'ahead of' if off > timedelta(0) else 'behind'} the database's: set it"
        )


class ProcessHeartbeat:
    """The heartbeat of this process.

    Args:
        parts: the parts of the server that it is.
    """

    def __init__(self, parts: Sequence[str]) -> None:
        self._parts = tuple(parts)
        self._id = secrets.token_hex(8)
        self._machine = socket.gethostname()[:64]

    def send(self, clock: Callable[[], datetime] = utc_now) -> bool:
        """Say that this process lives, and raise or clear the alerts about clocks.

        Args:
            clock: that of this process.

        Returns:
            Whether its clock is right, so that it may work.
        """
        with transaction(wakes=False) as session:
            _found["off"], theirs = _compared(session, clock)
            _compare_at["steady"] = time.monotonic() + COMPARE_AGAIN
            seconds = int(_found["off"].total_seconds())
            for part in self._parts:
                row = {"id": self._id, "part": part, "machine": self._machine, "at": theirs, "off": seconds}
                insert(session, Process, row, key=("id", "part"), again={"at": theirs, "off": seconds})
            _bury(session, theirs)
            _tell(session, theirs)
        return not clock_off()

    def stop(self) -> None:
        """Say that this process ends as it should, so that nobody waits for its next heartbeat."""
        forget()
        with transaction(wakes=False) as session:
            session.execute(delete(Process).where(Process.id == self._id))
            _forget_parts(session, Heartbeat.part.in_(self._parts))


@cache
def _asked_for_pages() -> ProcessHeartbeat:
    """The heartbeat of a process that sends one only when it is asked for a page; made after its fork."""
    return ProcessHeartbeat(["web"])


def largest_difference(session: Session, now: datetime) -> int:
    """Return by how many seconds the clock of a living process differs from the database's at most."""
    living = select(func.max(func.abs(Process.off))).where(Process.at > now - LATELY)
    return session.scalar(living) or 0


def _compared(session: Session, clock: Callable[[], datetime]) -> tuple[timedelta, datetime]:
    """Return how far our clock is ahead of the database's, and the database's time.

    The question takes a while: only what lies outside of it is a difference.
    """
    before = clock()
    if db.engine.dialect.name != "postgresql":
        return timedelta(0), before
    theirs = session.scalar(select(func.clock_timestamp(type_=Process.at.type)))
    assert theirs is not None
    return max(before - theirs, timedelta(0)) + min(clock() - theirs, timedelta(0)), theirs


def _bury(session: Session, theirs: datetime) -> None:
    """Delete the rows of processes that died long ago."""
    dead = theirs - DEAD_AFTER
    session.execute(delete(Process).where(Process.at < dead))
    _forget_parts(session, Heartbeat.at < dead)


def _forget_parts(session: Session, *which: object) -> None:
    """Forget the last heartbeats of parts that nobody waits for: those of the clocks stay."""
    lives = select(Process.part)
    gone = delete(Heartbeat).where(Heartbeat.part.not_in(CLOCK_PARTS), Heartbeat.part.not_in(lives), *which)  # type: ignore[arg-type]
    session.execute(gone, execution_options={"synchronize_session": False})


def _is_wrong(off: int) -> bool:
    return abs(off) > LARGEST_DIFFERENCE.total_seconds()


def _tell(session: Session, theirs: datetime) -> None:
    """Raise an alert for each machine whose clock is wrong, or one about the database if all contradict it."""
    living = session.execute(select(Process.machine, Process.off).where(Process.at > theirs - LATELY)).all()
    wrong = {machine: off for machine, off in living if _is_wrong(off)}
    facts: dict[str, Fact] = {}
    if wrong and all(_is_wrong(off) for _machine, off in living):
        most = max(wrong.values(), key=abs)
        facts[DATABASE_CLOCK] = Fact(
            "database_clock", {"seconds": abs(most), "machines": ", ".join(sorted(wrong))}
        )
    elif wrong:
        for machine, off in wrong.items():
            code = "clock_ahead" if off > 0 else "clock_behind"
            facts[f"{MACHINE_CLOCK}{machine}"] = Fact(code, {"machine": machine, "seconds": abs(off)})
    ours = Alert.key.startswith(MACHINE_CLOCK, autoescape=True) | (Alert.key == DATABASE_CLOCK)
    standing = set(session.scalars(select(Alert.key).where(Alert.cleared_at.is_(None), ours)))
    for key in sorted(facts.keys() - standing):
        alerts.raise_alert(session, key, facts[key], theirs)
    if settled := sorted(standing - facts.keys()):
        alerts.clear(session, settled, theirs)
