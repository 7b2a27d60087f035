"""One server and one Chromium for all tests of this folder; tabs fail the test if anything goes wrong.

The fixtures end with the tests of this folder, because nothing else in the process may run an event loop while
Playwright is active.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from server.store.engine import utc_now
from tests.conftest import copied
from tests.support.browser.chromium import ARGS, CHROMIUM, Tab, opened
from tests.support.browser.server import BrowserServer, browser_server
from tests.support.browser.site import Site
from tests.support.visitors import make_visitors


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """Return the browser; without one, the tests are skipped."""
    if not CHROMIUM.exists():
        pytest.skip(f"there is no {CHROMIUM}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGS))
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def running(migrated_file: Path) -> Iterator[BrowserServer]:
    """Return the server that all tests share, with an initially empty database; create games with unique ids."""
    with copied(migrated_file) as url, browser_server(url) as made:
        yield made


@pytest.fixture(scope="package")
def site(running: BrowserServer) -> Site:
    """Return the games and people behind all pages."""
    return Site(running, make_visitors(running.app, utc_now()))


@pytest.fixture(scope="package")
def shots() -> Path | None:
    """Return the folder for screenshots, which TEST_SCREENSHOTS names, or None."""
    named = os.environ.get("TEST_SCREENSHOTS")
    if named:
        Path(named).mkdir(parents=True, exist_ok=True)
    return Path(named) if named else None


@pytest.fixture
def tab(chromium: Browser, running: BrowserServer, shots: Path | None) -> Iterator[Callable[..., Tab]]:
    """Return a function that opens fresh tabs (see `tabs.opened`); an error recorded in one fails the test."""
    made: list[Tab] = []

    def open_one(**how: object) -> Tab:
        made.append(opened(chromium, running, shots, **how))  # type: ignore[arg-type]
        return made[-1]

    yield open_one
    for each in made:
        each.close()
    assert [fault for each in made for fault in each.faults] == []


@pytest.fixture(scope="package")
def windows(chromium: Browser, running: BrowserServer, shots: Path | None) -> Iterator[dict[bool, Tab]]:
    """Return the tabs that `kept` reuses, by whether scripts run."""
    made = {
        scripts: opened(chromium, running, shots, scripts=scripts, language=None) for scripts in (True, False)
    }
    yield made
    for each in made.values():
        each.close()


@pytest.fixture
def kept(windows: dict[bool, Tab], running: BrowserServer) -> Iterator[Callable[..., Tab]]:
    """Return a function that hands out a used tab without cookies; a fresh one costs as much as three pages.

    Use it for tests that only look and click. Tests that route, listen or add scripts take a fresh `tab`.
    """

    def hand_out(person: str | None = None, language: str = "en", scripts: bool = True) -> Tab:
        windows[scripts].as_if_fresh(running, person, language)
        return windows[scripts]

    for each in windows.values():
        each.faults.clear()
    yield hand_out
    assert [fault for each in windows.values() for fault in each.faults] == []
