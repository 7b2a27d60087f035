"""People who play by mail, as a benchmark imagines them: when somebody comes to a page after he was called."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, floor
from statistics import NormalDist

from byzanz.chance import Stream

MEDIAN_HOURS, SPREAD = 3.0, 1.0
"""Waking hours until somebody comes: the median of a log-normal distribution, and its sigma."""
WAKES, SLEEPS = 7.0, 23.0
"""Hours of the person's own day."""
ZONES = (-8, -5, 0, 1, 2, 8)
"""Hours east of Greenwich, each as likely."""
_STEPS = 2**32
_DAY = 24.0


@dataclass(frozen=True, slots=True)
class SimulatedPlayer:
    """Somebody at a table.

    Args:
        name: what his answer times are drawn from: the same name, the same times.
        zone: hours east of Greenwich.
    """

    name: str
    zone: int

    @classmethod
    def drawn(cls, name: str) -> SimulatedPlayer:
        """A person of this name who lives somewhere."""
        return cls(name, ZONES[Stream(name.encode(), "zone").below(len(ZONES))])

    def comes(self, called: float, turn: int) -> float:
        """When he is at the page.

        Args:
            called: hours since the beginning, in UTC.
            turn: the number of the call: each takes another time.
        """
        part = (Stream(self.name.encode(), f"turn {turn}").below(_STEPS) + 0.5) / _STEPS
        takes = MEDIAN_HOURS * exp(SPREAD * NormalDist().inv_cdf(part))
        return _at(_awake(called + self.zone) + takes) - self.zone


def _awake(hours: float) -> float:
    """The waking hours up to a moment of the person's own time."""
    days = floor(hours / _DAY)
    return days * (SLEEPS - WAKES) + min(max(hours - days * _DAY, WAKES), SLEEPS) - WAKES


def _at(awake: float) -> float:
    """The first moment by which so many hours have been waked through."""
    days = floor(awake / (SLEEPS - WAKES))
    return days * _DAY + WAKES + awake - days * (SLEEPS - WAKES)
