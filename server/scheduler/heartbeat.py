"""Heartbeats of the parts of the server: a gap is an outage, which no clock counts (docs/promises.md 5).

What is recorded here carries the time of the machine's clock, so only a process asks for it whose clock agrees with the
database's (`server/store/processes.py`).

When the machine's clock jumps against the monotonic one, nobody knows which time is right, so it is no outage. Then
the server plays for nobody until the jump is undone or an administrator confirms the present time (`accept_clock`).
"""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from server.store import alerts, processes
from server.store.engine import insert, transaction
from server.store.facts import Fact
from server.store.models import Heartbeat, Outage

PARTS = processes.CLOCK_PARTS
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
    if alerts.find_open(session, alerts.CLOCK_JUMPED):
        return None
    if any(is_silent(session, part, now, tick) for part in PARTS):
        return None
    return min(now, *(session.get_one(Heartbeat, part).at for part in PARTS))


def accept_clock(session: Session, now: datetime) -> bool:
    """Accept the present time as right after a jump, and make an outage of the time in doubt.

    Returns:
        False if the clock was not in doubt: no alert stands, and no heartbeat lies in the future.
    """
    alert = alerts.find_open(session, alerts.CLOCK_JUMPED, lock=True)
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
            if self._in_doubt and not alerts.find_open(session, alerts.CLOCK_JUMPED):
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
        alerts.raise_alert(session, alerts.CLOCK_JUMPED, Fact("clock_jumped"), since)
        alert = alerts.find_open(session, alerts.CLOCK_JUMPED, lock=True)
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
