"""What a check of `byzanz doctor` has found."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

WRONG_CLOCK = timedelta(seconds=60)
"""How far the clocks of two machines may differ."""
CLOCK_REMEDY = "set the one that is wrong, and keep both right with NTP"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check.

    Args:
        ok: nothing is wrong.
        what: what was found.
        remedy: what to do, if something is wrong.
    """

    ok: bool
    what: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"ok     {self.what}" if self.ok else f"WRONG  {self.what}: {self.remedy}"


def apart(differs: timedelta) -> str:
    """Return how far a clock is from another one, as `2 minutes ahead of`."""
    minutes = abs(differs) / timedelta(minutes=1)
    count, unit = (minutes / 60, "hours") if minutes >= 120 else (minutes, "minutes")
    return f"{count:.0f} {unit} {'ahead of' if differs > timedelta() else 'behind'}"


def minute(at: datetime) -> str:
    """Return a time as findings tell it."""
    return f"{at:%Y-%m-%d %H:%M} UTC"
