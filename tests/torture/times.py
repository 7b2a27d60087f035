"""A clock that runs faster than the machine's; the server takes time as an argument."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta


@dataclass(frozen=True, slots=True)
class Time:
    """A clock shared by all processes that runs `rate` times as fast as the machine's.

    Args:
        origin: the machine's steady clock when it showed `start`.
    """

    origin: float
    rate: float
    start: datetime = datetime(2026, 1, 5, tzinfo=UTC)

    def steady(self) -> float:
        """Return the seconds since the start."""
        return (time.monotonic() - self.origin) * self.rate

    def now(self) -> datetime:
        """Return the time it shows."""
        return self.start + timedelta(seconds=self.steady())
