"""Heartbeats of the parts of the server: a gap is an outage, which no clock counts (promises.md 5).

A clock of the machine that jumps against the monotonic one is no outage: nobody knows which time is right. Then
auto-pass rests until the jump is taken back or somebody has said that the present time is right (`thaw`).
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
STEP = timedelta(seconds=60)
"""A clock that jumps further than this is not believed."""
CLOCK_JUMPED = "clock-step"
SHORTEST_OUTAGE = timedelta(seconds=60)


def longest_gap(tick: float) -> timedelta:
    """How long a part may be silent before that is an outage; `tick` is the seconds between its beats."""
    return max(SHORTEST_OUTAGE, timedelta(seconds=6 * tick))


def silent(session: Session, part: str, now: datetime, tick: float) -> bool:
    """Whether a part is away: it never beat, or not for longer than it may, or in a future that is not ours."""
    row = session.get(Heartbeat, part)
    return row is None or abs(now - row.at) > longest_gap(tick)


def resting(session: Session, now: datetime, tick: float) -> str | None:
    """Why no seat may be played for at this moment, or None: an outage is still going on, or the clock jumped."""
    if alerts.standing(session, CLOCK_JUMPED):
        return "the clock jumped"
    away = [part for part in PARTS if silent(session, part, now, tick)]
    return f"no heartbeat from {' and '.join(away)}" if away else None


def thaw(session: Session, now: datetime) -> bool:
    """The present time is right: what passed under the other one becomes an outage. False if nothing was frozen."""
    alert = alerts.standing(session, CLOCK_JUMPED, lock=True)
    if alert is None:
        return False
    alert.cleared_at = now
    if alert.at < now:
        session.add(Outage(part="clock", from_at=alert.at, to_at=now))
    for row in session.scalars(select(Heartbeat).where(Heartbeat.at > now)):
        row.at = now  # a beat from a future that was none
    return True


class Pulse:
    """The beats of one part in one process, which remembers how its two clocks stood to each other.

    Args:
        part: `web` or `scheduler`.
        tick: seconds between beats.
    """

    def __init__(self, part: str, tick: float) -> None:
        self._part = part
        self._gap = longest_gap(tick)
        self._last: tuple[datetime, float] | None = None  # the last beat at a time that was believed
        self._frozen = False

    def beat(self, now: datetime, steady: float) -> bool:
        """One sign of life; records the outage that it ends, freezes at a jump of the clock.

        Args:
            now: the clock of the machine.
            steady: seconds of a clock that never jumps and runs on while the machine sleeps.

        Returns:
            Whether a jump was taken back with this beat, so that auto-pass goes on.
        """
        with transaction() as session:
            if self._frozen and not alerts.standing(session, CLOCK_JUMPED):  # somebody thawed it
                self._last, self._frozen = (now, steady), False
            row = session.scalar(select(Heartbeat).where(Heartbeat.part == self._part).with_for_update())
            if self._jumped(row, now, steady):
                self._freeze(session, now)
                return False
            thawed = self._frozen and thaw(session, now)
            self._frozen = False
            if row is None:
                insert(session, Heartbeat, {"part": self._part, "at": now}, key="part")
            else:
                if not thawed and self._was_away(row, now, steady):
                    session.add(Outage(part=self._part, from_at=row.at, to_at=now))
                row.at = now
        self._last = (now, steady)
        return thawed

    def _jumped(self, row: Heartbeat | None, now: datetime, steady: float) -> bool:
        if self._last is None:  # in a new process only a clock set back can be told from an outage
            return row is not None and now < row.at - STEP
        last_now, last_steady = self._last
        return abs(now - last_now - timedelta(seconds=steady - last_steady)) > STEP

    def _freeze(self, session: Session, now: datetime) -> None:
        since = min(now, self._last[0]) if self._last else now
        alerts.raise_alert(session, CLOCK_JUMPED, Fact("clock_jumped"), since)
        alert = alerts.standing(session, CLOCK_JUMPED, lock=True)
        assert alert is not None
        alert.at = min(alert.at, now)
        self._frozen = True

    def _was_away(self, row: Heartbeat, now: datetime, steady: float) -> bool:
        """Judged by this process's steady clock where it has beaten before: it may have slept, or been stopped."""
        if self._last is not None and timedelta(seconds=steady - self._last[1]) <= self._gap:
            return False
        return now - row.at > self._gap
