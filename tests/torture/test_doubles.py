"""The test of double clicks tries its least number of intents, however slow the machine is."""

from __future__ import annotations

from tests.torture import doubles
from tests.torture.databases import SQLITE


def test_no_time_left_is_no_reason_to_try_nothing() -> None:
    report = doubles.run(SQLITE, None, intents=100, seconds=0.0, seed=1)
    assert report.n >= doubles.LEAST
    assert report.faults == ()
