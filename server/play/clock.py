"""Pure arithmetic of time: when a turn is due, and how much time it has used; without a database or the current time.

A clock leaves out spans of time: outages, and the quiet hours, days off and absences that were fixed when the turn
opened. Daily and weekly spans are generated lazily, day by day. `due` and `counted` are inverse to each other.
"""

from __future__ import annotations

import heapq
import json
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from itertools import count

from server import i18n

Span = tuple[datetime, datetime]
"""A span of time that a clock leaves out: from, to."""

REMINDER_SHARE = 0.8
"""The share of the allowance after which one reminder goes out."""
DAY = 24 * 60
"""Minutes."""
LONGEST_QUIET = 10 * 60
"""Minutes a day that a person's quiet hours may take."""
MOST_DAYS_OFF = 5
"""Days off in a week: two are left, so that every turn comes to an end."""


@dataclass(frozen=True, slots=True)
class Hours:
    """The times that the clock of a turn leaves out, besides outages.

    Args:
        zone: the IANA name of the time zone of the quiet hours.
        quiet: minutes of the day at which the quiet hours begin and end, past midnight if the end is not the later.
        table_zone: the IANA name of the time zone of the days off.
        days_off: weekdays as ISO numbers, ascending: `67` is the weekend.
        absences: when the player is away.

    Raises:
        ValueError: so much is left out that a turn might never end.
    """

    zone: str = "UTC"
    quiet: tuple[int, int] | None = None
    table_zone: str = "UTC"
    days_off: str = ""
    absences: tuple[Span, ...] = ()

    def __post_init__(self) -> None:
        if self.quiet is not None and not 0 < quiet_minutes(*self.quiet) <= LONGEST_QUIET:
            raise ValueError(f"quiet hours of {self.quiet}")
        if len(set(self.days_off)) > MOST_DAYS_OFF or not set(self.days_off) <= set("1234567"):
            raise ValueError(f"days off {self.days_off!r}")

    @classmethod
    def read(cls, text: str) -> Hours:
        """Read what `write` has written; an empty object leaves nothing out."""
        kept = json.loads(text)
        quiet, absences = kept.pop("quiet", None), kept.pop("absences", ())
        away = tuple((datetime.fromisoformat(start), datetime.fromisoformat(end)) for start, end in absences)
        table = i18n.known_zone(kept.pop("table_zone", None)) or i18n.DEFAULT_ZONE
        zone = i18n.known_zone(kept.pop("zone", None)) or table
        return cls(zone, tuple(quiet) if quiet else None, table, **kept, absences=away)

    def write(self) -> str:
        """Write the hours as JSON, without the fields that do not matter."""
        kept: dict[str, object] = {}
        if self.quiet or self.absences:
            kept["zone"] = self.zone
        if self.quiet:
            kept["quiet"] = self.quiet
        if self.days_off:
            kept |= {"table_zone": self.table_zone, "days_off": self.days_off}
        if self.absences:
            kept["absences"] = [[start.isoformat(), end.isoformat()] for start, end in self.absences]
        return json.dumps(kept)


ALWAYS = Hours()
"""Nothing is left out."""


def quiet_minutes(start: int, end: int) -> int:
    """The length of quiet hours on an ordinary day; from a minute of the day to the same minute is a whole day."""
    return (end - start - 1) % DAY + 1


def merged(spans: Iterable[Span]) -> Iterator[Span]:
    """Join overlapping and touching spans, lazily because there may be no last one.

    Args:
        spans: ascending.
    """
    last: Span | None = None
    for start, end in spans:
        if last is not None and start <= last[1]:
            last = (last[0], max(last[1], end))
            continue
        if last is not None:
            yield last
        last = (start, end)
    if last is not None:
        yield last


def left_out(start: datetime, stops: Iterable[Span], hours: Hours) -> Iterator[Span]:
    """The spans left out after `start`, ascending and disjoint; without end if any of them recurs."""
    single = sorted(span for span in (*stops, *hours.absences) if start < span[1] and span[0] < span[1])
    return merged(heapq.merge(single, _nights(start, hours), _days_off(start, hours)))


def night_end(moment: datetime, hours: Hours) -> datetime | None:
    """The end of the quiet hours in which a moment lies, or None."""
    night = next(_nights(moment, hours), None)
    return night[1] if night is not None and night[0] <= moment else None


def _nights(start: datetime, hours: Hours) -> Iterator[Span]:
    if hours.quiet is None:
        return
    zone, (begin, end) = i18n.zone(hours.zone), hours.quiet
    later = end if end > begin else end + DAY
    for day in _days_from(start, zone):
        night = first_shown(zone, day, begin), last_shown(zone, day, later)
        if night[0] < night[1] and start < night[1]:
            yield night


def _days_off(start: datetime, hours: Hours) -> Iterator[Span]:
    if not hours.days_off:
        return
    zone = i18n.zone(hours.table_zone)
    for day in _days_from(start, zone):
        if str(day.isoweekday()) in hours.days_off and start < (whole := whole_days(zone, day, day))[1]:
            yield whole


def _days_from(start: datetime, zone: tzinfo) -> Iterator[date]:
    """The days of a zone's calendar from the day before `start`, whose night may reach into the next."""
    first = start.astimezone(zone).date() - timedelta(days=1)
    return (first + timedelta(days=number) for number in count())


def whole_days(zone: tzinfo, first: date, last: date) -> Span:
    """From the beginning of one day to the end of another in a zone's calendar."""
    return first_shown(zone, first, 0), last_shown(zone, last, DAY)


def first_shown(zone: tzinfo, day: date, minute: int) -> datetime:
    """The first moment at which clocks in a zone show a minute of a day or, if they skip it, a later one."""
    early, late = _twice(zone, day, minute)
    return early if early <= late else _behind_gap(zone, day, minute)


def last_shown(zone: tzinfo, day: date, minute: int) -> datetime:
    """The moment after which clocks in a zone no longer show a time before a minute of a day."""
    early, late = _twice(zone, day, minute)
    if early > late:
        return _behind_gap(zone, day, minute)
    # If an hour comes twice from just this minute on, nothing before it is shown again.
    again, last_again = _twice(zone, day, minute - 1)
    return late if again < last_again else early


def _wall(day: date, minute: int) -> datetime:
    return datetime.combine(day, time()) + timedelta(minutes=minute)


def _twice(zone: tzinfo, day: date, minute: int) -> tuple[datetime, datetime]:
    """Both readings of a wall time: equal except when clocks change, and in reverse order for a skipped time."""
    shown = _wall(day, minute).replace(tzinfo=zone)
    return shown.replace(fold=0).astimezone(UTC), shown.replace(fold=1).astimezone(UTC)


def _behind_gap(zone: tzinfo, day: date, minute: int) -> datetime:
    """The moment at which clocks are put forward past this wall time."""
    after, before = _twice(zone, day, minute)
    wanted = _wall(day, minute)
    seconds = range(round((after - before).total_seconds()))

    def is_behind(second: int) -> bool:
        shown = (before + timedelta(seconds=second)).astimezone(zone)
        return shown.replace(tzinfo=None) >= wanted

    return before + timedelta(seconds=bisect_left(seconds, True, key=is_behind))


def due(start: datetime, seconds: float, stops: Iterable[Span] = (), hours: Hours = ALWAYS) -> datetime:
    """The first moment at which this many seconds have been counted since `start`.

    Args:
        start: when the clock started.
        seconds: to be counted.
        stops: spans that do not count (outages), in any order, overlapping or not.
        hours: the hours, days and absences that do not count either.
    """
    end = start + timedelta(seconds=seconds)
    for stop_from, stop_to in left_out(start, stops, hours):
        since = max(stop_from, start)
        if since >= end:
            break
        end += stop_to - since
    return end


def counted(start: datetime, until: datetime, stops: Iterable[Span] = (), hours: Hours = ALWAYS) -> float:
    """The seconds that count between two moments, `start` first: the inverse of `due`."""
    passed = until - start
    for stop_from, stop_to in left_out(start, stops, hours):
        if stop_from >= until:
            break
        passed -= min(stop_to, until) - max(stop_from, start)
    return passed.total_seconds()


def rounded_up(moment: datetime) -> datetime:
    """The next full minute, or the moment itself if it is one: a time that an email can print exactly."""
    floor = moment.replace(second=0, microsecond=0)
    return floor if floor == moment else floor + timedelta(minutes=1)
