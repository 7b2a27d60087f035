"""A model of people who play by email: when they open the page after an email."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, floor
from statistics import NormalDist

from byzanz.chance import Stream

MEDIAN_HOURS, SPREAD = 3.0, 1.0
"""Waking hours until a person comes: the median and the sigma of a log-normal distribution."""
WAKES, SLEEPS = 7.0, 23.0
"""Hours of the person's own day."""
ZONES = (-8, -5, 0, 1, 2, 8)
"""Hours east of Greenwich, equally likely."""
_STEPS = 2**32
_DAY = 24.0


@dataclass(frozen=True, slots=True)
class SimulatedPlayer:
    """A person at a table.

    Args:
        name: the seed of their response times: the same name, the same times.
        zone: hours east of Greenwich.
    """

    name: str
    zone: int

    @classmethod
    def drawn(cls, name: str) -> SimulatedPlayer:
        """Return a person of this name in a random zone."""
        return cls(name, ZONES[Stream(name.encode(), "zone").below(len(ZONES))])

    def comes(self, called: float, turn: int) -> float:
        """Return when they open the page.

        Args:
            called: when they were emailed, in hours since the beginning, UTC.
            turn: the number of the email: each has another response time.
        """
        part = (Stream(self.name.encode(), f"turn {turn}").below(_STEPS) + 0.5) / _STEPS
        takes = MEDIAN_HOURS * exp(SPREAD * NormalDist().inv_cdf(part))
        return _at(_awake(called + self.zone) + takes) - self.zone


def _awake(hours: float) -> float:
    """Return the waking hours up to a moment of the person's own time."""
    days = floor(hours / _DAY)
    return days * (SLEEPS - WAKES) + min(max(hours - days * _DAY, WAKES), SLEEPS) - WAKES


def _at(awake: float) -> float:
    """Return the first moment by which this many waking hours have passed."""
    days = floor(awake / (SLEEPS - WAKES))
    return days * _DAY + WAKES + awake - days * (SLEEPS - WAKES)
