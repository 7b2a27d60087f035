"""What operators and moderators learn of the server: its processes and their clocks, outages, alerts, and figures."""

from __future__ import annotations

import secrets
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import delete, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from server.store import statements
from server.store.engine import UNAVAILABLE, connection_of, db, insert, reading, transaction, utc_now
from server.store.facts import Fact
from server.store.models import Alert, Heartbeat, Outage, Process, Total

# ---- alerts for moderators ----

CLOCK_JUMPED = "clock-step"
"""The key of the alert that the machine's clock is in doubt."""


def raise_alert(session: Session, key: str, fact: Fact, now: datetime, game_id: str | None = None) -> None:
    """Raise an alert, or raise it again if it was cleared; an open one keeps its fact and its time.

    Args:
        key: what it is about, up to 120 characters; the same key is the same alert.
        fact: for moderators; contains no link.
    """
    row = {"key": key, "text": fact, "at": now, "game_id": game_id}
    again = {"text": fact, "at": now, "cleared_at": None}
    insert(session, Alert, row, key="key", again=again, where=Alert.cleared_at.is_not(None))


def open_alert(session: Session, key: str, *, lock: bool = False) -> Alert | None:
    """Return the alert of this key if it has not been cleared, or None; `lock` locks its row."""
    query = select(Alert).where(Alert.key == key, Alert.cleared_at.is_(None))
    return session.scalar(query.with_for_update() if lock else query)


def clear_alerts(session: Session, keys: str | Sequence[str], now: datetime) -> None:
    """Clear the alerts that are settled, of one key or several; do nothing about those that are not open."""
    settled = [{"name": key, "now": now} for key in ([keys] if isinstance(keys, str) else keys)]
    session.flush()
    statements.CLEAR_ALERT.run(connection_of(session), settled)


# ---- figures of /metrics ----
# Those that no query could count quickly are noted in memory and stored by a tick, so that no move waits. What a crash
# forgets of the last seconds does no harm.

_counted: Counter[str] = Counter()
_noted: dict[str, int] = {}
_figures_lock = threading.Lock()


def count_figure(name: str, n: int = 1) -> None:
    """Add to a figure that only grows."""
    with _figures_lock:
        _counted[name] += n


def count_each_figure(names: Iterable[str]) -> None:
    """Add one to each of these figures, which only grow."""
    with _figures_lock:
        _counted.update(names)


def note_figure(name: str, value: int) -> None:
    """Note the present value of a figure."""
    with _figures_lock:
        _noted[name] = value


def store_figures() -> None:
    """Store what was counted and noted since the last time.

    Raises:
        SQLAlchemyError: the database failed; the same is stored the next time.
    """
    with _figures_lock:  # taken out, so that two threads never store the same
        counted, noted = _counted.copy(), _noted.copy()
        _counted.clear()
        _noted.clear()
    if not counted and not noted:
        return
    try:
        with transaction() as session:
            _upsert(session, counted, add=True)
            _upsert(session, noted, add=False)
    except BaseException:
        with _figures_lock:
            _counted.update(counted)
            for name, value in noted.items():
                _noted.setdefault(name, value)
        raise


def _upsert(session: Session, figures: dict[str, int], *, add: bool) -> None:
    dialect: Any = postgresql if session.get_bind().dialect.name == "postgresql" else sqlite
    row = dialect.insert(Total)
    value = Total.value + row.excluded.value if add else row.excluded.value
    # In the same order in every process, so that none waits for another that waits for it.
    rows = [{"name": name, "value": figures[name]} for name in sorted(figures)]
    if rows:
        session.execute(row.on_conflict_do_update(index_elements=["name"], set_={"value": value}), rows)


def stored_figures(session: Session) -> dict[str, int]:
    """Return the stored figures, by name."""
    return {row.name: row.value for row in session.execute(select(Total.name, Total.value))}


def forget_figures() -> None:
    """Forget what was counted and noted."""
    with _figures_lock:
        _counted.clear()
        _noted.clear()


# ---- processes ----
# Each says every few seconds that it lives, and compares its clock with the database's. A process whose clock is more
# than a minute off does nothing until it is right again: its times would make an outage that never was, or end a turn
# that has hours left. The time in a process's row is the database's. On SQLite that is the clock of the one machine,
# and only its jumps can be noticed (below).

PARTS = ("web", "scheduler")
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


def forget_clock() -> None:
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
        forget_clock()
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
    gone = delete(Heartbeat).where(Heartbeat.part.not_in(PARTS), Heartbeat.part.not_in(lives), *which)  # type: ignore[arg-type]
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
        raise_alert(session, key, facts[key], theirs)
    if settled := sorted(standing - facts.keys()):
        clear_alerts(session, settled, theirs)


# ---- heartbeats of the parts ----
# A gap is an outage, which no clock counts (docs/promises.md 5).
# What is recorded here carries the time of the machine's clock, so only a process asks for it whose clock agrees with
# the database's. When the machine's clock jumps against the monotonic one, nobody knows which time is right, so it is
# no outage. Then the server plays for nobody until the jump is undone or an administrator confirms the present time
# (`accept_clock`).

LARGEST_STEP = timedelta(seconds=60)
"""A clock that jumps further than this is in doubt."""
SHORTEST_OUTAGE = timedelta(seconds=60)


def longest_gap(tick: float) -> timedelta:
    """Return how long a part may be silent before that is an outage; `tick` is the seconds between its heartbeats."""
    return max(SHORTEST_OUTAGE, timedelta(seconds=6 * tick))


def is_silent(session: Session, part: str, now: datetime, tick: float) -> bool:
    """Whether a part has sent no heartbeat lately; one from the future does not count."""
    row = session.get(Heartbeat, part)
    return row is None or abs(now - row.at) > longest_gap(tick)


def is_ahead(session: Session, part: str, now: datetime) -> bool:
    """Whether a part's last heartbeat lies in the future, because the clock was set back since."""
    row = session.get(Heartbeat, part)
    return row is not None and row.at > now + LARGEST_STEP


def enforced_until(session: Session, now: datetime, tick: float) -> datetime | None:
    """Return the moment up to which deadlines are enforced; None in an outage or while the clock is in doubt.

    That is the last moment at which every part is known to have been up: a part may have died right after it.
    """
    if open_alert(session, CLOCK_JUMPED):
        return None
    if any(is_silent(session, part, now, tick) for part in PARTS):
        return None
    return min(now, *(session.get_one(Heartbeat, part).at for part in PARTS))


def accept_clock(session: Session, now: datetime) -> bool:
    """Accept the present time as right after a jump, and make an outage of the time in doubt.

    Returns:
        False if the clock was not in doubt: no alert stands, and no heartbeat lies in the future.
    """
    alert = open_alert(session, CLOCK_JUMPED, lock=True)
    ahead = any(is_ahead(session, part, now) for part in PARTS)
    if alert is None and not ahead:
        return False
    beats = session.scalars(select(Heartbeat).where(Heartbeat.part.in_(PARTS))).all()
    if alert is not None:
        alert.cleared_at = now
        since = min([alert.at, *(row.at for row in beats)])
        if since < now:
            session.add(Outage(part="clock", from_at=since, to_at=now))
    for row in beats:
        if alert is not None or row.at > now:
            row.at = now  # or a jump back right after this would pass unnoticed
    return True


class HeartbeatRecorder:
    """Records the heartbeats of one part in one process, and compares the machine's clock with a steady one.

    Args:
        part: `web` or `scheduler`.
        tick: seconds between heartbeats.
    """

    def __init__(self, part: str, tick: float) -> None:
        self.part = part
        self._gap = longest_gap(tick)
        self._last: tuple[datetime, float] | None = None  # the last heartbeat before the clock was in doubt
        self._began: tuple[datetime, float] | None = None  # when it began, if the clock was in doubt then
        self._in_doubt = False

    def record(self, now: datetime, steady: float) -> bool:
        """Record a heartbeat and the outage that it ends; raise an alert instead if the clock has jumped.

        Args:
            now: the clock of the machine.
            steady: seconds of a clock that never jumps and runs on while the machine sleeps.

        Returns:
            Whether the clock was in doubt and a jump back has made it right, so that deadlines are enforced again.
        """
        with transaction() as session:
            if self._in_doubt and not open_alert(session, CLOCK_JUMPED):
                # An administrator has accepted the time that was shown then; the clock may have jumped once more since.
                self._last, self._began, self._in_doubt = None, None, False
            row = session.scalar(select(Heartbeat).where(Heartbeat.part == self.part).with_for_update())
            if self._clock_jumped(row, now, steady):
                self._raise_alert(session, now)
                self._began = self._began or (now, steady)
                return False
            corrected = self._in_doubt and accept_clock(session, now)
            self._in_doubt = False
            if row is None:
                insert(session, Heartbeat, {"part": self.part, "at": now}, key="part")
            else:
                if not corrected and self._was_silent(row, now, steady):
                    session.add(Outage(part=self.part, from_at=row.at, to_at=now))
                row.at = now
        self._last, self._began = (now, steady), None
        return corrected

    def _clock_jumped(self, row: Heartbeat | None, now: datetime, steady: float) -> bool:
        if self._last is not None:
            return _stepped(self._last, now, steady)
        # In a new process a clock set forward looks like an outage. One that was set back is not right again merely
        # because time has passed.
        is_behind = row is not None and now < row.at - LARGEST_STEP
        return is_behind or (self._began is not None and not _stepped(self._began, now, steady))

    def _raise_alert(self, session: Session, now: datetime) -> None:
        since = min(now, self._last[0]) if self._last else now
        raise_alert(session, CLOCK_JUMPED, Fact("clock_jumped"), since)
        alert = open_alert(session, CLOCK_JUMPED, lock=True)
        assert alert is not None
        alert.at = min(alert.at, now)
        self._in_doubt = True

    def _was_silent(self, row: Heartbeat, now: datetime, steady: float) -> bool:
        """Whether a gap ends, by the steady clock if this process has sent a heartbeat: it may have been suspended."""
        if self._last is not None and timedelta(seconds=steady - self._last[1]) <= self._gap:
            return False
        return now - row.at > self._gap


def _stepped(since: tuple[datetime, float], now: datetime, steady: float) -> bool:
    """Whether the clock of the machine has moved against the steady one since another look at both."""
    return abs(now - since[0] - timedelta(seconds=steady - since[1])) > LARGEST_STEP
