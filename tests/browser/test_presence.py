"""Who opens a link is not yet there: programs that fetch links run a page's scripts, but touch nothing (promise 12)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from server.store import engine, people
from server.store.models import Presence
from tests.conftest import Table
from tests.support.browser.chromium import Tab
from tests.support.browser.site import Site
from tests.support.games import url

Tabs = Callable[..., Tab]
SYNTHETIC = """() => {
  for (const [kind, name] of [["PointerEvent", "pointerdown"], ["KeyboardEvent", "keydown"], ["Event", "touchstart"]])
    for (const target of [window, document, document.querySelector("h1")])
      target.dispatchEvent(new window[kind](name, { bubbles: true }));
  document.querySelector("h1").click();
  scrollTo(0, 300);
}"""
"""What a program's script can do without a hand: events that no browser trusts."""
HIDE = "() => Object.defineProperty(document, 'visibilityState', { get: () => 'hidden' })"


def is_there(game: Table, seat: int) -> bool:
    """Whether the player of a seat is known to be at the table, which is forgotten with this question."""
    people.store()
    with engine.transaction() as session:
        found = session.get(Presence, (game.people[seat], game.id))
        if found is not None:
            session.delete(found)
    return found is not None


def ask(page: Page) -> None:
    """Let the page ask the server for news, as it does again and again."""
    with page.expect_response("**/head"):
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


@pytest.fixture
def waiting(tab: Tabs, site: Site, request: pytest.FixtureRequest) -> tuple[Page, Table, int]:
    """Return the open page of a seat, its game and its seat; time stands still unless it is told to pass."""
    game, seat = site.first("byzanz", request.node.name[-20:])
    page = tab(has_touch=True).goto(url(game, seat))
    page.clock.install()
    page.reload()
    return page, game, seat


def test_a_program_that_runs_scripts_is_nobody(waiting: tuple[Page, Table, int]) -> None:
    page, game, seat = waiting
    ask(page)
    page.evaluate(SYNTHETIC)
    ask(page)
    ask(page)
    assert not is_there(game, seat)


@pytest.mark.parametrize("how", ["mouse", "key", "finger"])
def test_a_hand_is_somebody_at_once_and_for_some_minutes(waiting: tuple[Page, Table, int], how: str) -> None:
    page, game, seat = waiting
    with page.expect_response("**/head"):
        if how == "mouse":
            page.mouse.click(5, 5)
        elif how == "key":
            page.keyboard.press("a")
        else:
            page.touchscreen.tap(5, 5)
    assert is_there(game, seat)
    ask(page)
    assert is_there(game, seat)
    page.clock.fast_forward(301_000)
    ask(page)
    is_there(game, seat)  # a question may have been on its way
    ask(page)
    assert not is_there(game, seat)


def test_a_page_that_nobody_sees_is_not_in_use(waiting: tuple[Page, Table, int]) -> None:
    page, game, seat = waiting
    page.evaluate(HIDE)
    page.keyboard.press("Tab")
    ask(page)
    assert not is_there(game, seat)
