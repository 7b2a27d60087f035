"""Times in words: unambiguous even in the hour that occurs twice, and in the reader's language."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from flask import Flask
from markupsafe import Markup

from server import i18n, validation
from server.mail.text import as_text
from server.web import templating
from server.web.http import format_moment, zone_name
from tests.support.folders import ROOT

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


@pytest.mark.parametrize(
    ("language", "saturday", "weekend", "dates"),
    [
        ("en", "Saturday", "Saturday and Sunday", "25 Oct – 27 Oct"),
        ("de", "Samstag", "Samstag und Sonntag", "25. Okt. – 27. Okt."),
        ("nl", "zaterdag", "zaterdag en zondag", "25 okt – 27 okt"),
    ],
)
def test_days_are_named_in_the_readers_language(
    app: Flask, language: str, saturday: str, weekend: str, dates: str
) -> None:
    with app.test_request_context(headers={"Accept-Language": language}):
        assert templating.weekday("6") == saturday
        assert templating.weekdays("67") == weekend
        midnight = datetime(2026, 10, 24, 22, tzinfo=UTC)
        assert (
            templating.date_range((midnight, midnight + timedelta(days=3, hours=1)), "Europe/Berlin") == dates
        )


@pytest.mark.usefixtures("app")
def test_an_absence_is_told_by_the_first_and_the_last_day_it_touches() -> None:
    start = datetime(2026, 3, 2, 23, tzinfo=UTC)
    for hours, told in ((24, "3 Mar"), (24.001, "3 Mar – 4 Mar"), (23.999, "3 Mar"), (48, "3 Mar – 4 Mar")):
        text = templating.date_range((start, start + timedelta(hours=hours)), "Europe/Berlin")
        assert text == told, hours


@pytest.mark.parametrize(
    ("language", "near", "far", "names"),
    [
        ("en", "18 Nov", "18 Nov 2026", "Ann, Bob and Carol"),
        ("de", "18. Nov.", "18. Nov. 2026", "Ann, Bob und Carol"),
        ("nl", "18 nov", "18 nov 2026", "Ann, Bob en Carol"),
    ],
)
def test_a_day_has_its_year_unless_it_is_near(
    app: Flask, language: str, near: str, far: str, names: str
) -> None:
    late = datetime(2026, 11, 17, 23, 30, tzinfo=UTC)
    with app.test_request_context(headers={"Accept-Language": language}):
        assert templating.day(late, "Europe/Berlin") == far
        for days, told in ((299, near), (-299, near), (300, far), (-300, far)):
            assert templating.day(late, "Europe/Berlin", late + timedelta(days=days)) == told
        assert templating.listed(["Ann", "Bob", "Carol"]) == names


@pytest.mark.parametrize(("minute", "told"), [(0, "00:00"), (59, "00:59"), (60, "01:00"), (1439, "23:59")])
@pytest.mark.usefixtures("app")
def test_a_time_of_day_has_two_digits_each(minute: int, told: str) -> None:
    assert templating.time_of_day(minute) == told


BOARD = "  a b\n1 X .\n\n2 . O   \n"


def test_a_board_keeps_its_lines_in_the_text_of_an_email(app: Flask) -> None:
    template = app.jinja_env.from_string("{% macro board() %}{{ given }}{% endmacro %}{{ board()|as_text }}")
    assert template.render(given=BOARD) == "  a b\n1 X .\n\n2 . O"


@pytest.mark.usefixtures("app")
@pytest.mark.parametrize(
    ("html", "text"),
    [
        (Markup("<b>Ann</b> &amp; Bob&#39;s &lt;3"), "Ann & Bob's <3"),
        (Markup('<span class="unseen">: </span><small>x</small>'), ": x"),
        (Markup("a<!-- <b> \n -->b"), "ab"),
        (Markup("<a\nhref='x'>y</a>"), "y"),
        (" one line ", "one line"),
        ("\n\n", ""),
        ("2 < 3", "2 < 3"),
        (None, "None"),
    ],
)
def test_tags_and_escapes_are_taken_out(html: object, text: str) -> None:
    assert as_text(html) == text


@pytest.mark.usefixtures("app")
def test_no_template_of_an_email_folds_lines() -> None:
    texts = [path for path in (ROOT / "templates").rglob("*") if path.suffix in (".txt", ".html")]
    assert len(texts) > 50
    assert [str(path) for path in texts if "striptags" in path.read_text()] == []


@pytest.mark.parametrize(
    ("at", "told"),
    [
        (datetime(2026, 3, 4, 12, tzinfo=UTC), "Wed 4 Mar, 12:00 (UTC)"),
        (datetime(2025, 3, 4, 12, tzinfo=UTC), "Tue 4 Mar 2025, 12:00 (UTC)"),
        (datetime(2025, 12, 30, 12, tzinfo=UTC), "Tue 30 Dec 2025, 12:00 (UTC)"),
        (datetime(2028, 3, 4, 12, tzinfo=UTC), "Sat 4 Mar 2028, 12:00 (UTC)"),
    ],
)
@pytest.mark.usefixtures("app")
def test_a_moment_that_is_not_of_this_year_has_its_year(at: datetime, told: str) -> None:
    assert format_moment(at) == told
    with i18n.read_at(datetime(2025, 12, 29, tzinfo=UTC)):  # an email is read when it is sent
        assert format_moment(datetime(2026, 1, 2, 8, tzinfo=UTC)) == "Fri 2 Jan, 08:00 (UTC)"
        assert format_moment(datetime(2025, 3, 4, 12, tzinfo=UTC)) == "Tue 4 Mar, 12:00 (UTC)"
