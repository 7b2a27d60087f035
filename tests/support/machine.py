"""A healthy server whose time a test sets."""

from __future__ import annotations

from datetime import datetime, timedelta

from server.scheduler import heartbeat, jobs, loop
from tests.conftest import NOW
from tests.support.ticks import TICK

MINUTE = timedelta(minutes=1)


class Machine:
    """A machine that runs web and scheduler, with a clock that can be set and a monotonic one."""

    def __init__(self, now: datetime = NOW) -> None:
        self.now = now
        self.steady = 1000.0
        self.start()

    def start(self) -> None:
        self.recorders = [heartbeat.HeartbeatRecorder(part, TICK) for part in heartbeat.PARTS]

    def send_heartbeats(self) -> None:
        for recorder in self.recorders:
            loop.record_heartbeat(recorder, self.now, self.steady)

    def wait(self, span: timedelta) -> None:
        self.now += span
        self.steady += span.total_seconds()

    def run(self, span: timedelta) -> int:
        """Let time pass on a healthy server; return the number of timeouts."""
        played, end = 0, self.now + span
        while self.now < end:
            self.wait(min(9 * MINUTE, end - self.now))
            self.send_heartbeats()
            played += jobs.tick_turns(self.now, TICK)
        return played
