"""Properties of the clock."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from server.play import clock
from server.play.clock import Hours, Span

START = datetime(2026, 3, 28, 12, 0, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
ZONES = ("Europe/Amsterdam", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC")
CHANGES = {
    "Europe/Amsterdam": (date(2026, 3, 29), date(2026, 10, 25)),
    "America/New_York": (date(2026, 3, 8), date(2026, 11, 1)),
    "Australia/Lord_Howe": (date(2026, 10, 4), date(2026, 4, 5)),
    "America/Havana": (date(2026, 3, 8), date(2026, 11, 1)),  # at midnight
}
"""Time zones, with the days on which their clocks change."""

moments = st.integers(-500_000, 500_000).map(lambda seconds: START + timedelta(seconds=seconds))
spans = st.lists(st.tuples(moments, moments), max_size=6)
seconds = st.integers(0, 400_000)
quiet_hours = st.tuples(st.integers(0, 1439), st.integers(1, clock.LONGEST_QUIET)).map(
    lambda drawn: (drawn[0], sum(drawn) % clock.DAY)
)
days_off = st.sets(st.sampled_from("1234567"), max_size=clock.MOST_DAYS_OFF).map(
    lambda days: "".join(sorted(days))
)
hours = st.builds(
    Hours,
    zone=st.sampled_from(ZONES),
    quiet=st.none() | quiet_hours,
    table_zone=st.sampled_from(ZONES),
    days_off=days_off,
    absences=st.lists(st.tuples(moments, moments), max_size=2).map(tuple),
)
some = settings(max_examples=60, deadline=None)


@some
@given(moments, seconds, spans, hours)
def test_exactly_so_much_is_counted_until_it_is_due(
    start: datetime, allowed: int, stops: list[Span], left_out: Hours
) -> None:
    end = clock.due(start, allowed, stops, left_out)
    assert clock.counted(start, end, stops, left_out) == allowed


@some
@given(moments, st.integers(0, 900_000), spans, hours)
def test_what_is_counted_until_a_moment_is_due_by_then_or_before_the_stop_around_it(
    start: datetime, passed: int, stops: list[Span], left_out: Hours
) -> None:
    until = start + timedelta(seconds=passed)
    end = clock.due(start, clock.counted(start, until, stops, left_out), stops, left_out)
    assert end <= until
    assert clock.counted(end, until, stops, left_out) == 0


@some
@given(moments, seconds, seconds, spans, hours)
def test_more_time_is_never_due_earlier(
    start: datetime, first: int, second: int, stops: list[Span], left_out: Hours
) -> None:
    low, high = sorted((first, second))
    assert clock.due(start, low, stops, left_out) <= clock.due(start, high, stops, left_out)


@some
@given(moments, seconds, spans, moments, moments, hours)
def test_one_stop_more_never_brings_a_deadline_forward(
    start: datetime, allowed: int, stops: list[Span], since: datetime, to: datetime, left_out: Hours
) -> None:
    end = clock.due(start, allowed, stops, left_out)
    assert (
        start + timedelta(seconds=allowed)
        <= end
        <= clock.due(start, allowed, [*stops, (since, to)], left_out)
    )


@some
@given(seconds, spans, hours)
def test_the_order_and_the_overlaps_of_stops_do_not_matter(
    allowed: int, stops: list[Span], left_out: Hours
) -> None:
    halves = [half for a, b in stops if a < b for half in ((a, a + (b - a) / 2), (a + (b - a) / 2, b))]
    plain = clock.due(START, allowed, stops, left_out)
    assert clock.due(START, allowed, [*reversed(stops), *halves], left_out) == plain


@some
@given(moments, hours)
def test_every_week_and_a_day_something_counts_so_that_no_turn_is_endless(
    start: datetime, left_out: Hours
) -> None:
    weekly = Hours(left_out.zone, left_out.quiet, left_out.table_zone, left_out.days_off)
    assert clock.counted(start, start + 8 * DAY, hours=weekly) >= 20 * 3600
    assert clock.due(start, 30 * 86400, hours=weekly) <= start + timedelta(weeks=30)


@pytest.mark.parametrize(
    "endless",
    [
        {"quiet": (0, 601)},
        {"quiet": (1380, 541)},
        {"quiet": (60, 60)},  # from one to one is all day long
        {"days_off": "123456"},
        {"days_off": "8"},
    ],
)
def test_hours_that_would_make_a_turn_endless_cannot_be(endless: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"quiet hours|days off"):
        Hours(**endless)  # type: ignore[arg-type]


@some
@given(hours)
def test_hours_survive_being_kept(left_out: Hours) -> None:
    again = Hours.read(left_out.write())
    assert again.write() == left_out.write()
    assert clock.due(START, 86400, hours=again) == clock.due(START, 86400, hours=left_out)
    assert Hours.read("{}") == clock.ALWAYS


@some
@given(moments, hours)
def test_what_is_left_out_ascends_and_never_touches(start: datetime, left_out: Hours) -> None:
    found = list(islice(clock.left_out(start, [], left_out), 30))
    assert all(a < b for a, b in found)
    assert all(one[1] < two[0] for one, two in pairwise(found))


# A second reading, minute by minute, of days on which clocks are put forward or back


def walls(zone: str, day: date) -> list[tuple[datetime, datetime]]:
    """Yield each minute from two days before a day to two days after it, with the wall time of a zone."""
    begin = datetime.combine(day - 2 * DAY, time(), UTC)
    steps = (begin + n * MINUTE for n in range(4 * clock.DAY))
    return [(at, at.astimezone(ZoneInfo(zone)).replace(tzinfo=None)) for at in steps]


def plain_nights(zone: str, day: date, quiet: tuple[int, int]) -> list[Span]:
    """Return the windows that begin the day before, on a day, and the day after."""
    shown, found = walls(zone, day), []
    for first in (day - DAY, day):
        begins = datetime.combine(first, time()) + quiet[0] * MINUTE
        ends = (
            datetime.combine(first, time()) + quiet[1] * MINUTE + (DAY if quiet[1] <= quiet[0] else 0 * DAY)
        )
        start = min(at for at, wall in shown if wall >= begins)
        end = max(at for at, wall in shown if wall < ends) + MINUTE
        found.append((start, end))
    return [span for span in found if span[0] < span[1]]


changes = st.sampled_from([(zone, day) for zone, days in CHANGES.items() for day in days])


@settings(max_examples=40, deadline=None)
@given(changes, quiet_hours)
@example(("Europe/Amsterdam", date(2026, 3, 29)), (120, 180))  # the very hour that is left out
@example(("Europe/Amsterdam", date(2026, 3, 29)), (150, 420))  # from within it
@example(("Europe/Amsterdam", date(2026, 10, 25)), (90, 150))  # to within the hour that comes twice
@example(("Australia/Lord_Howe", date(2026, 10, 4)), (1380, 135))  # half an hour is left out
@example(("America/Havana", date(2026, 3, 8)), (1380, 0))  # midnight is left out
@example(("America/Havana", date(2026, 11, 1)), (840, 0))  # midnight comes twice
def test_quiet_hours_are_those_that_the_clocks_show(change: tuple[str, date], quiet: tuple[int, int]) -> None:
    zone, day = change
    expected = list(clock.merged(sorted(plain_nights(zone, day, quiet))))
    low, high = expected[0][0] - MINUTE, max(end for _, end in expected) + MINUTE
    found = clock.left_out(low, [], Hours(zone, quiet))
    assert [span for span in islice(found, 4) if span[0] < high][: len(expected)] == expected


@pytest.mark.parametrize(
    ("zone", "day", "length"),
    [
        ("Europe/Amsterdam", CHANGES["Europe/Amsterdam"][0], 23.0),
        ("Europe/Amsterdam", CHANGES["Europe/Amsterdam"][1], 25.0),
        ("America/New_York", CHANGES["America/New_York"][0], 23.0),
        ("America/New_York", CHANGES["America/New_York"][1], 25.0),
        ("Australia/Lord_Howe", CHANGES["Australia/Lord_Howe"][0], 23.5),
        ("Australia/Lord_Howe", CHANGES["Australia/Lord_Howe"][1], 24.5),
        ("America/Havana", CHANGES["America/Havana"][0], 23.0),
        ("America/Havana", CHANGES["America/Havana"][1], 25.0),
        ("Asia/Kathmandu", date(2026, 3, 29), 24.0),
    ],
)
def test_a_day_off_is_as_long_as_the_day(zone: str, day: date, length: float) -> None:
    whole = clock.whole_days(ZoneInfo(zone), day, day)
    assert (whole[1] - whole[0]) / HOUR == length
    noon = datetime.combine(day, time(12), ZoneInfo(zone)).astimezone(UTC)
    off = Hours(table_zone=zone, days_off=str(day.isoweekday()))
    assert next(clock.left_out(noon, [], off)) == whole
    assert clock.due(noon, 60, hours=off) == whole[1] + MINUTE


def test_a_night_over_midnight_on_the_day_the_clocks_go_forward() -> None:
    nights = Hours("Europe/Amsterdam", (23 * 60, 7 * 60))
    evening = datetime(2026, 3, 28, 21, 0, tzinfo=UTC)  # 22:00; the night is from 22:00 to 05:00 UTC
    assert clock.due(evening, 2 * 3600, hours=nights) == datetime(2026, 3, 29, 6, 0, tzinfo=UTC)


def test_kathmandu_s_quarter_of_an_hour_counts() -> None:
    nights = Hours("Asia/Kathmandu", (22 * 60, 6 * 60))
    start = datetime(2026, 5, 1, 16, 0, tzinfo=UTC)  # 21:45
    assert clock.due(start, 16 * 60, hours=nights) == datetime(2026, 5, 2, 0, 16, tzinfo=UTC)  # 06:01


def test_a_weekend_is_that_of_the_table_and_a_night_that_of_the_person() -> None:
    both = Hours("America/New_York", (22 * 60, 8 * 60), "Europe/Amsterdam", "67")
    friday = datetime(2026, 5, 1, 21, 0, tzinfo=UTC)  # an hour before the weekend begins in Amsterdam
    # Monday begins there on Sunday at 22:00 UTC, 18:00 in New York; four hours are left until its night
    assert clock.due(friday, 5 * 3600, hours=both) == datetime(2026, 5, 4, 2, 0, tzinfo=UTC)
    assert clock.due(friday, 5 * 3600 + 1, hours=both) == datetime(2026, 5, 4, 12, 0, 1, tzinfo=UTC)


@given(moments)
def test_rounding_up_gives_the_first_full_minute(moment: datetime) -> None:
    rounded = clock.rounded_up(moment)
    assert rounded.second == rounded.microsecond == 0
    assert timedelta(0) <= rounded - moment < timedelta(minutes=1)
