"""Limits by growing networks: one attacker has many addresses, and so have all who share a crowded hall.

A small network may cause less than the larger one around it. To a total for everybody, a network adds only a few,
however much it causes: so a few networks cannot use it up for all.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Caused:
    """Something that a visitor caused.

    Args:
        origin: of the visitor (`server/store/origins.py`); None if no visitor did.
        at: when it counts; later than now if it waits.
    """

    origin: str | None
    at: datetime

    @property
    def networks(self) -> list[str]:
        """The networks of its visitor, the smallest first."""
        return self.origin.split() if self.origin else []


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may be caused within an hour.

    Args:
        networks: by one network: the smallest, one between, the largest.
        share: what one of the largest networks adds to the total at most.
    """

    networks: tuple[int, int, int]
    share: int

    def room_for(self, origin: str | None, caused: Iterable[Caused], now: datetime) -> datetime:
        """Return the first moment from now on at which the networks of an origin may cause one more."""
        mine, until = Caused(origin, now).networks, now
        for level, network in enumerate(mine):
            limit = self.networks[-1 if level == len(mine) - 1 and level else level]
            until = max(until, _room(_times(caused, level, network), limit, now))
        return until

    def half_more(self) -> Limits:
        """Return limits that let every network cause half as much again."""
        small, middle, large = (limit * 3 // 2 for limit in self.networks)
        return replace(self, networks=(small, middle, large))

    def total(self, caused: Iterable[Caused], now: datetime) -> int:
        """Return what counts towards the total of the hour that ends now."""
        within = [each for each in caused if now - HOUR < each.at <= now]
        by_network = Counter(each.networks[-1] for each in within if each.networks)
        return sum(not each.networks for each in within) + sum(
            min(self.share, count) for count in by_network.values()
        )

    def below(self, total: int, caused: Sequence[Caused], now: datetime) -> datetime:
        """Return the first moment from now on at which less than a total counts unless something is added."""
        moments = [now, *sorted(each.at + HOUR for each in caused if now - HOUR < each.at <= now)]
        past = [each for each in caused if each.at <= now]
        low, high = 0, len(moments) - 1
        while low < high:
            middle = (low + high) // 2
            if self.total(past, moments[middle]) < total:
                high = middle
            else:
                low = middle + 1
        return moments[low]


def _times(caused: Iterable[Caused], level: int, network: str) -> list[datetime]:
    return sorted(each.at for each in caused if each.networks[level : level + 1] == [network])


def _room(times: Sequence[datetime], limit: int, now: datetime) -> datetime:
    """Return the first moment from now on in whose hour less than the limit lies, what waits for it included."""
    for moment in (now, *(at + HOUR for at in times if at + HOUR > now)):
        if bisect_right(times, moment) - bisect_right(times, moment - HOUR) < limit:
            return moment
    return now
