"""Pure arithmetic of time: when a turn is due. Knows no database and no present moment."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

Span = tuple[datetime, datetime]
"""A stretch of time that no clock counts: from, to."""

REMINDER_SHARE = 0.8
"""The share of the time after which one reminder goes out (experience.md, "The turn mail")."""


def merged(spans: Iterable[Span]) -> list[Span]:
    """The same stretches of time, ascending, overlapping ones joined, empty ones left out."""
    joined: list[Span] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def due(start: datetime, allowance: float, stops: Iterable[Span]) -> datetime:
    """The moment at which `allowance` seconds have been counted since `start`, leaving out every stop.

    Args:
        start: when the clock began.
        allowance: seconds to be counted.
        stops: stretches that do not count (outages), in any order, overlapping or not.
    """
    end = start + timedelta(seconds=allowance)
    for stop_from, stop_to in merged(stops):
        if stop_to <= start:
            continue
        if stop_from >= end:
            break
        end += stop_to - max(stop_from, start)
    return end


def counted(start: datetime, until: datetime, stops: Iterable[Span]) -> float:
    """The seconds that count between two moments: the inverse of `due`."""
    seconds = (until - start).total_seconds()
    for stop_from, stop_to in merged(stops):
        overlap = (min(stop_to, until) - max(stop_from, start)).total_seconds()
        seconds -= max(0.0, overlap)
    return seconds


def rounded_up(moment: datetime) -> datetime:
    """The next full minute, or the moment itself if it is one: what a mail can print exactly."""
    floor = moment.replace(second=0, microsecond=0)
    return floor if floor == moment else floor + timedelta(minutes=1)


def reminder(start: datetime, end: datetime) -> datetime:
    """When to remind of a turn that began at `start` and is due at `end`."""
    return start + (end - start) * REMINDER_SHARE
