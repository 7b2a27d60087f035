"""A pytest plugin that records which test runs which lines, and how long each test takes.

`line_map.record` loads it into the process that runs the tests.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from pathlib import Path

import coverage
import pytest

SUBPROCESS_TEST = "MUTANTS_TEST"
"""The environment variable that tells processes started by a test which test it is."""

ON_POSTGRESQL = "tests/server/store/"
"""The tests that are recorded on PostgreSQL too."""
RESULTS = "MUTANTS_RESULTS"
"""The environment variable with the file for the results; without it, the plugin does nothing."""


class Recorder:
    """Measures every test in a context of its own.

    Args:
        results: the file for the tests that passed and how long each took.
    """

    def __init__(self, results: Path) -> None:
        self.results = results
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Leave out what runs on PostgreSQL, except the store's tests and those of locks, which SQLite has not."""
        left_out = [item for item in items if item.get_closest_marker("postgresql")]
        left_out = [item for item in left_out if not item.nodeid.startswith(ON_POSTGRESQL)]
        left_out = [item for item in left_out if not item.get_closest_marker("concurrency")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Attribute the lines that run from here on, in this process and in those it starts, to this test."""
        measured = coverage.Coverage.current()
        assert measured is not None
        measured.switch_context(item.nodeid)
        os.environ[SUBPROCESS_TEST] = item.nodeid
        try:
            return (yield)
        finally:
            measured.switch_context("")
            del os.environ[SUBPROCESS_TEST]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up how long a test takes, and remember whether it passes."""
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if not report.passed:
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Write down the tests that passed."""
        passed = {test: round(took, 3) for test, took in self.seconds.items() if test not in self.failed}
        self.results.write_text(json.dumps(passed, indent=0, sort_keys=True))


def pytest_configure(config: pytest.Config) -> None:
    """Start to record if the environment names a file for the results."""
    results = os.environ.get(RESULTS)
    if results:
        config.pluginmanager.register(Recorder(Path(results)), "mutants-recorder")
