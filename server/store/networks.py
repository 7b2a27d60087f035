"""Whose request it is that stores something: the networks of its visitor, so that limits hold in all processes.

An origin is a row of keyed digests, the smallest network first, so that nobody reads an address from the database.
"""

from __future__ import annotations

import hmac
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from server.config import settings

# ---- origins ----

_DIGITS = 12
_LOCK = int.from_bytes(b"origins")
"""The number of the lock, which nothing else takes."""
_networks: ContextVar[tuple[str, ...]] = ContextVar("networks", default=())


def begin(networks: Sequence[str]) -> None:
    """Let what this thread stores from now on come from these networks, the smallest first."""
    _networks.set(tuple(networks))


def end() -> None:
    """Let what this thread stores from now on come from nobody outside: from a command or the scheduler."""
    _networks.set(())


def current() -> str | None:
    """Return the origin of what this thread stores now, None if no visitor causes it."""
    networks = _networks.get()
    if not networks:
        return None
    key = settings().key("origins")
    return " ".join(hmac.digest(key, each.encode(), "sha256").hex()[:_DIGITS] for each in networks)


def wait_for_others(session: Session) -> None:
    """Let visitors' requests that count by networks wait for each other until their transactions end.

    They do this before they lock or store anything else: otherwise requests at the same moment would not count each
    other on PostgreSQL. One lock serves all of them, since they count towards a total for everybody, too. SQLite has
    one writer at a time.
    """
    if current() is not None and session.get_bind().dialect.name == "postgresql":
        session.execute(select(func.pg_advisory_xact_lock(_LOCK)))


# ---- limits by growing networks ----
# One attacker has many addresses, and so have all who share a crowded hall. A small network may cause less than the
# larger one around it. To a total for everybody, a network adds only a few, however much it causes: so a few networks
# cannot use it up for all.

HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Caused:
    """Something that a visitor caused.

    Args:
        origin: of the visitor; None if no visitor did.
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
