"""The jobs of the scheduler, how often each runs, and a healthy server whose time a test sets."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from server.mail.outgoing.smtp import Transport
from server.scheduler import jobs, loop
from server.store import operations
from tests.conftest import NOW
from tests.support.games import TICK

SECONDS = 7.5
"""The tick of the scheduler of these tests."""


JOBS: dict[str, tuple[float, list[tuple[Any, ...]]]] = {
    "heartbeats": (SECONDS, [("record_heartbeat", "web"), ("record_heartbeat", "scheduler")]),
    "presence": (SECONDS, [("presence.store",)]),
    "totals": (15, [("totals.store",)]),
    "turns": (SECONDS, [("tick_turns", SECONDS)]),
    "unreached": (SECONDS, [("tick_unreached", SECONDS)]),
    "reminders": (SECONDS, [("tick_reminders",)]),
    "bots": (SECONDS, [("tick_bots",)] * 3),
    "outbox": (SECONDS, [("tick_outbox", Transport)] * 2),
    "digests": (60, [("tick_digests", SECONDS)]),
    "addresses": (60, [("tick_addresses", SECONDS)]),
    "nudges": (600, [("tick_invitation_reminders",)]),
    "rematches": (600, [("tick_rematches",)]),
    "tables": (600, [("tick_tables", SECONDS)]),
    "purge": (600, [("tick_purge", SECONDS)]),
    "results": (60, [("tick_results", SECONDS)]),
    "rules": (600, [("tick_rules",)]),
    "figures": (600, [("tick_figures",)]),
}
"""The jobs: seconds between two runs, and the calls of one run with what they pass besides the time."""


# ---- a server whose time a test sets ----


class Machine:
    """A machine that runs web and scheduler, with a clock that can be set and a monotonic one.

    Args:
        tick: seconds between two heartbeats; the slower, the fewer it takes until hours have passed.
    """

    def __init__(self, now: datetime = NOW, tick: float = TICK) -> None:
        self.now = now
        self.tick = tick
        self.steady = 1000.0
        self.start()

    def start(self) -> None:
        self.recorders = [operations.HeartbeatRecorder(part, self.tick) for part in operations.PARTS]

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
            self.wait(min(0.9 * operations.longest_gap(self.tick), end - self.now))
            self.send_heartbeats()
            played += jobs.tick_turns(self.now, self.tick)
        return played
