"""Pages paint with their HTML and one stylesheet, and work without any script."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route

import server
from tests.support.browser.chromium import PHONE, Tab
from tests.support.browser.playing import Pointer, make_move
from tests.support.browser.site import Site
from tests.support.browser.states import place_of
from tests.support.games import count_entries, position, url

STATIC = Path(server.__file__).parent / "static"
CSS, SCRIPTS, HTML = 40_000, 24_000, 60_000
"""Bytes that all looks, all scripts and a page do not reach."""
NEEDED = """
() => new Promise((painted) => new PerformanceObserver((list, observer) => {
  const paint = list.getEntriesByName("first-contentful-paint")[0];
  if (!paint) return;
  observer.disconnect();
  const [page] = performance.getEntriesByType("navigation");
  const rest = performance.getEntriesByType("resource");
  const name = (entry) => new URL(entry.name).pathname;
  painted({
    blocking: rest.filter((entry) => entry.renderBlockingStatus === "blocking").map(name),
    looks: rest.filter((entry) => entry.initiatorType === "css" || /[.]css$/.test(name(entry))).map(name),
    bytes: page.decodedBodySize,
  });
}).observe({type: "paint", buffered: true}))
"""


@dataclass(frozen=True)
class Needed:
    """What a page fetched.

    Args:
        blocking: what had to be there before anything could be painted.
        looks: all sheets of looks, and what these asked for.
        bytes: of its HTML.
    """

    blocking: list[str]
    looks: list[str]
    bytes: int


def needed(page: Page) -> Needed:
    """What the page that is open has fetched until it was painted."""
    return Needed(**page.evaluate(NEEDED))


@pytest.mark.parametrize(
    "state", ["front", "byzanz bid", "byzantium put", "empire meld", "byzanz over history"]
)
def test_a_page_is_painted_after_two_requests(tab: Callable[..., Tab], site: Site, state: str) -> None:
    shown = tab()
    page = shown.goto(place_of(site, state).path)
    found = needed(page)
    assert len(found.blocking) == 1, found
    assert found.looks == found.blocking
    assert 0 < found.bytes < HTML
    sheet = page.request.get(shown.origin + found.blocking[0]).body()
    assert 0 < len(sheet) < CSS
    print(f"{state}: {found.bytes} bytes of HTML, {len(sheet)} of looks")


def test_a_script_in_the_way_is_found(tab: Callable[..., Tab], site: Site) -> None:
    shown = tab()
    address = shown.origin + place_of(site, "byzanz bid").path

    def slower(route: Route) -> None:
        sound = route.fetch()
        route.fulfill(response=sound, body=sound.text().replace(" defer>", ">"))

    shown.page.route(address, slower)
    shown.page.goto(address)
    assert len(needed(shown.page).blocking) > 1


def test_all_scripts_together_are_small() -> None:
    assert 0 < sum(path.stat().st_size for path in STATIC.glob("*.js")) < SCRIPTS


def test_a_move_is_made_before_the_scripts_have_come(tab: Callable[..., Tab], site: Site) -> None:
    shown = tab(size=PHONE)
    waiting: list[Route] = []
    shown.page.route("**/*.js", lambda route: waiting.append(route))  # noqa: PLW0108 - it wants a function
    game, seat = site.first("byzanz", "no scripts yet")
    shown.page.goto(shown.origin + url(game, seat), wait_until="commit")
    card = next(card for card in position(game.id).view(seat).hand if card != "merchant")
    shown.page.locator("#play").wait_for()
    before = count_entries(game.id)
    make_move(Pointer(shown.page), f"bid {card}", by_cards=True)
    assert waiting
    assert count_entries(game.id) > before
