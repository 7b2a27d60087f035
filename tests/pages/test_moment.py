"""Times in words are unambiguous, even in the hour that occurs twice when clocks change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from flask import Flask

from server.web.http import format_moment

AUTUMN = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def test_the_hour_that_comes_twice_names_its_offset(app: Flask) -> None:
    told = [format_moment(AUTUMN + timedelta(hours=hour), "Europe/Amsterdam") for hour in range(-1, 3)]
    assert told == [
        "Sun 25 Oct, 01:30 (Europe/Amsterdam)",
        "Sun 25 Oct, 02:30 UTC+02:00 (Europe/Amsterdam)",
        "Sun 25 Oct, 02:30 UTC+01:00 (Europe/Amsterdam)",
        "Sun 25 Oct, 03:30 (Europe/Amsterdam)",
    ]


def test_no_other_hour_does(app: Flask) -> None:
    spring = datetime(2026, 3, 29, 0, 30, tzinfo=UTC)
    assert [format_moment(spring + timedelta(hours=hour), "Europe/Amsterdam") for hour in range(2)] == [
        "Sun 29 Mar, 01:30 (Europe/Amsterdam)",
        "Sun 29 Mar, 03:30 (Europe/Amsterdam)",
    ]
    assert format_moment(AUTUMN) == "Sun 25 Oct, 00:30 (UTC)"
    assert format_moment(AUTUMN, "America/New_York") == "Sat 24 Oct, 20:30 (America/New York)"
