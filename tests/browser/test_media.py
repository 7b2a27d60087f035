"""Pages under media settings: reduced motion, forced colours, print."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from tests.support.browser.chromium import PHONE, Tab
from tests.support.browser.page_checks import looks, moving
from tests.support.browser.site import Site
from tests.support.browser.states import place_of

PAGES = ("front", "byzanz bid", "byzantium put", "empire meld", "byzanz over", "rules")
SIGNS = """
(label) => [label, ...label.querySelectorAll("*")].map((part) => {
  const style = getComputedStyle(part);
  return [style.outline, style.border, style.backgroundColor, style.color, style.boxShadow,
    getComputedStyle(part, "::after").content, getComputedStyle(part, "::before").content].join();
}).join(";")
"""
"""All by which one can see that a card is ticked, but for the box itself."""


def shown(tab: Tab, site: Site, state: str) -> Page:
    """A page that is only opened."""
    return tab.goto(place_of(site, "byzanz rules" if state == "rules" else state).path)


def test_nothing_moves_for_who_wants_no_motion(tab: Callable[..., Tab], site: Site) -> None:
    still = tab(reduced_motion="reduce")
    for state in PAGES:
        page = shown(still, site, state)
        assert moving(page) == [], state
        assert page.evaluate("() => getComputedStyle(document.documentElement).scrollBehavior") == "auto"


def test_with_forced_colours_all_is_there_and_a_tick_is_seen(tab: Callable[..., Tab], site: Site) -> None:
    forced = tab(forced_colors="active", size=PHONE)
    for state in PAGES:
        assert looks(shown(forced, site, state)) == [], state
    page = shown(forced, site, "byzanz bid")
    card = page.locator("#play label:has(input[name=card])").first
    before = card.evaluate(SIGNS)
    card.click()
    assert page.locator("#play input[name=card]").first.is_checked()
    assert card.evaluate(SIGNS) != before


@pytest.mark.parametrize("state", PAGES)
def test_a_page_fits_on_paper(kept: Callable[..., Tab], site: Site, state: str) -> None:
    page = shown(kept(), site, state)
    page.emulate_media(media="print", color_scheme="light")
    page.set_viewport_size({"width": 718, "height": 1000})  # A4 with a centimetre of margin
    try:
        assert [fault for fault in looks(page) if "target" not in fault] == []
        assert page.locator("h1").is_visible()
        assert (
            page.locator("button:visible:not(.unseen)").all_inner_texts() == []
        )  # nobody presses them on paper
        assert page.evaluate("() => getComputedStyle(document.body).backgroundColor") in (
            "rgba(0, 0, 0, 0)",
            "rgb(255, 255, 255)",
        )
    finally:
        page.emulate_media(media="screen")


@pytest.mark.parametrize("slug", ["byzanz", "byzantium", "empire"])
def test_a_finished_game_is_printed_on_one_sheet(kept: Callable[..., Tab], site: Site, slug: str) -> None:
    page = kept().goto(f"/g/{site.over(slug).id}")
    assert page.locator(".chart").count()
    page.emulate_media(media="print", color_scheme="light")
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))) == 1
    page.emulate_media(media="screen")
