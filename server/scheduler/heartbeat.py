"""Heartbeats of the parts of the server: a gap is an outage, which no clock counts (docs/promises.md 5).

When the machine's clock jumps against the monotonic one, nobody knows which time is right, so it is no outage. Then
the server plays for nobody until the jump is undone or an administrator confirms the present time (`accept_clock`).
"""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from server.store import alerts
from server.store.engine import insert, transaction
from server.store.facts import Fact
from server.store.models import Heartbeat, Outage

PARTS = ("web", "scheduler")
LARGEST_STEP = timedelta(seconds=60)
"""A clock that jumps further than this is in doubt."""
CLOCK_JUMPED = "clock-step"
"""The key of the alert that the clock is in doubt."""
SHORTEST_OUTAGE = timedelta(seconds=60)


def longest_gap(tick: float) -> timedelta:
    """Return how long a part may be silent before that is an outage; `tick` is the seconds between its heartbeats."""
    return max(SHORTEST_OUTAGE, timedelta(seconds=6 * tick))


def is_silent(session: Session, part: str, now: datetime, tick: float) -> bool:
    """Whether a part has sent no heartbeat lately; one from the future does not count."""
    row = session.get(Heartbeat, part)
    return row is None or abs(now - row.at) > longest_gap(tick)


def deadlines_suspended(session: Session, now: datetime, tick: float) -> bool:
    """Whether no deadline may be enforced now, because of an outage or a clock in doubt."""
    if alerts.find_open(session, CLOCK_JUMPED):
        return True
    return any(is_silent(session, part, now, tick) for part in PARTS)


def accept_clock(session: Session, now: datetime) -> bool:
    """Accept the present time as right after a jump, and make an outage of the time in doubt.

    Returns:
        False if the clock was not in doubt.
    """
    alert = alerts.find_open(session, CLOCK_JUMPED, lock=True)
    if alert is None:
        return False
    alert.cleared_at = now
    if alert.at < now:
        session.add(Outage(part="clock", from_at=alert.at, to_at=now))
    for row in session.scalars(select(Heartbeat).where(Heartbeat.at > now)):
        row.at = now  # sent while the clock ran ahead
    return True


class HeartbeatRecorder:
    """Records the heartbeats of one part in one process, and compares the machine's clock with a steady one.

    Args:
        part: `web` or `scheduler`.
        tick: seconds between heartbeats.
    """

    def __init__(self, part: str, tick: float) -> None:
        self._part = part
        self._gap = longest_gap(tick)
        self._last: tuple[datetime, float] | None = None  # the last heartbeat before the clock was in doubt
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
            if self._in_doubt and not alerts.find_open(session, CLOCK_JUMPED):  # an administrator accepted it
                self._last, self._in_doubt = (now, steady), False
            row = session.scalar(select(Heartbeat).where(Heartbeat.part == self._part).with_for_update())
            if self._clock_jumped(row, now, steady):
                self._raise_alert(session, now)
                return False
            corrected = self._in_doubt and accept_clock(session, now)
            self._in_doubt = False
            if row is None:
                insert(session, Heartbeat, {"part": self._part, "at": now}, key="part")
            else:
                if not corrected and self._was_silent(row, now, steady):
                    session.add(Outage(part=self._part, from_at=row.at, to_at=now))
                row.at = now
        self._last = (now, steady)
        return corrected

    def _clock_jumped(self, row: Heartbeat | None, now: datetime, steady: float) -> bool:
        if self._last is None:  # in a new process a clock set forward looks like an outage
            return row is not None and now < row.at - LARGEST_STEP
        last_now, last_steady = self._last
        return abs(now - last_now - timedelta(seconds=steady - last_steady)) > LARGEST_STEP

    def _raise_alert(self, session: Session, now: datetime) -> None:
        since = min(now, self._last[0]) if self._last else now
        alerts.raise_alert(session, CLOCK_JUMPED, Fact("clock_jumped"), since)
        alert = alerts.find_open(session, CLOCK_JUMPED, lock=True)
        assert alert is not None
        alert.at = min(alert.at, now)
        self._in_doubt = True

    def _was_silent(self, row: Heartbeat, now: datetime, steady: float) -> bool:
        """Whether a gap ends, by the steady clock if this process has sent a heartbeat: it may have been suspended."""
        if self._last is not None and timedelta(seconds=steady - self._last[1]) <= self._gap:
            return False
        return now - row.at > self._gap
