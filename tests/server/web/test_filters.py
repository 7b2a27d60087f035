"""Times in words are unambiguous, even in the hour that occurs twice when clocks change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from server import validation
from server.web.http import format_moment, zone_name

AUTUMN = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.mark.usefixtures("app")
def test_the_hour_that_comes_twice_names_its_offset() -> None:
    told = [format_moment(AUTUMN + timedelta(hours=hour), "Europe/Amsterdam") for hour in range(-1, 3)]
    assert told == [
        "Sun 25 Oct, 01:30 (Amsterdam)",
        "Sun 25 Oct, 02:30 UTC+02:00 (Amsterdam)",
        "Sun 25 Oct, 02:30 UTC+01:00 (Amsterdam)",
        "Sun 25 Oct, 03:30 (Amsterdam)",
    ]


@pytest.mark.usefixtures("app")
def test_no_other_hour_does() -> None:
    spring = datetime(2026, 3, 29, 0, 30, tzinfo=UTC)
    assert [format_moment(spring + timedelta(hours=hour), "Europe/Amsterdam") for hour in range(2)] == [
        "Sun 29 Mar, 01:30 (Amsterdam)",
        "Sun 29 Mar, 03:30 (Amsterdam)",
    ]
    assert format_moment(AUTUMN) == "Sun 25 Oct, 00:30 (UTC)"
    assert format_moment(AUTUMN, "America/New_York") == "Sat 24 Oct, 20:30 (New York)"


@pytest.mark.usefixtures("app")
def test_zones_are_named_by_their_city_and_never_ambiguously() -> None:
    names = ("Europe/Berlin", "America/Argentina/Buenos_Aires", "UTC", "Etc/GMT+1", "US/Pacific")
    assert [zone_name(name) for name in names] == ["Berlin", "Buenos Aires", "UTC", "Etc/GMT+1", "US/Pacific"]
    clocks: dict[str, set[tuple[timedelta | None, ...]]] = {}
    for zone in validation.time_zones():
        hours = (AUTUMN + timedelta(days=days) for days in range(366))
        clocks.setdefault(zone_name(zone), set()).add(
            tuple(hour.astimezone(ZoneInfo(zone)).utcoffset() for hour in hours)
        )
    assert [name for name, different in clocks.items() if len(different) > 1] == []
