"""The laws of the clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from server import clock

START = datetime(2026, 3, 28, 12, 0, tzinfo=UTC)
moments = st.integers(-500_000, 500_000).map(lambda seconds: START + timedelta(seconds=seconds))
spans = st.lists(st.tuples(moments, moments), max_size=6)
allowances = st.integers(0, 400_000)


@given(allowances, spans)
def test_exactly_the_allowance_is_counted_until_it_is_due(allowance: int, stops: list[clock.Span]) -> None:
    assert clock.counted(START, clock.due(START, allowance, stops), stops_forward(stops)) == allowance


def stops_forward(stops: list[clock.Span]) -> list[clock.Span]:
    return clock.merged(stops)


@given(allowances, spans)
def test_a_stop_never_brings_a_deadline_forward(allowance: int, stops: list[clock.Span]) -> None:
    assert clock.due(START, allowance, stops) >= START + timedelta(seconds=allowance)


@given(allowances, allowances, spans)
def test_more_time_is_never_due_earlier(first: int, second: int, stops: list[clock.Span]) -> None:
    low, high = sorted((first, second))
    assert clock.due(START, low, stops) <= clock.due(START, high, stops)


@given(allowances, spans)
def test_the_order_and_the_overlaps_of_stops_do_not_matter(allowance: int, stops: list[clock.Span]) -> None:
    halves = [(a, a + (b - a) / 2) for a, b in stops if a < b] + [
        (a + (b - a) / 2, b) for a, b in stops if a < b
    ]
    assert clock.due(START, allowance, stops) == clock.due(START, allowance, [*reversed(stops), *halves])


@given(moments)
def test_rounding_up_gives_the_first_full_minute(moment: datetime) -> None:
    rounded = clock.rounded_up(moment)
    assert rounded.second == rounded.microsecond == 0
    assert timedelta(0) <= rounded - moment < timedelta(minutes=1)


def test_a_reminder_goes_out_at_four_fifths() -> None:
    assert clock.reminder(START, START + timedelta(hours=10)) == START + timedelta(hours=8)
