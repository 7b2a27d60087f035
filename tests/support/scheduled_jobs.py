"""The jobs of the scheduler and how often each runs."""

from __future__ import annotations

from typing import Any

from server.mail.outgoing.smtp import Transport

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
    "nudges": (600, [("tick_nudges",)]),
    "rematches": (600, [("tick_rematches",)]),
    "tables": (600, [("tick_tables", SECONDS)]),
    "purge": (600, [("tick_purge", SECONDS)]),
    "results": (60, [("tick_results", SECONDS)]),
    "rules": (600, [("tick_rules",)]),
    "figures": (600, [("tick_figures",)]),
}
"""The jobs: seconds between two runs, and the calls of one run with what they pass besides the time."""
