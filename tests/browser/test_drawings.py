"""Cards are drawn from files of their own: every one appears, with scripts and without, in the colours of the page."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import dist

import pytest

from tests.support.browser.chromium import Tab
from tests.support.browser.site import Site
from tests.support.browser.states import place_of
from tests.support.games import position, url

PHONE, DESK = (390, 844), (1280, 900)
BROKEN = """
() => [...document.querySelectorAll(".plaque-name")].filter((name) =>
  [...name.firstChild.data.matchAll(/\\S+/g)].some((word) => {
    const range = document.createRange();
    range.setStart(name.firstChild, word.index);
    range.setEnd(name.firstChild, word.index + word[0].length);
    return range.getClientRects().length > 1;
  })).map((name) => name.textContent)
"""
"""The names of cards that break inside a word."""
EMPTY = """
() => [...document.querySelectorAll("main use[href*='/static/']")].filter((use) => {
  const box = use.getBBox();
  return !(box.width > 0 && box.height > 0);
}).map((use) => use.getAttribute("href"))
"""
COUNT = """() => document.querySelectorAll("main use[href*='/static/']").length"""


@pytest.mark.parametrize("state", ["byzanz bid", "byzantium put", "empire meld"])
@pytest.mark.parametrize("language", ["en", "de"])
def test_every_card_is_drawn(kept: Callable[..., Tab], site: Site, state: str, language: str) -> None:
    place = place_of(site, state)
    page = kept(place.person, language).goto(place.path)
    page.wait_for_load_state("networkidle")
    assert page.evaluate(COUNT) > 5
    assert page.evaluate(EMPTY) == []


@pytest.mark.parametrize("language", ["en", "de", "nl"])
def test_cards_of_empire_stand_in_rows_with_whole_names(
    kept: Callable[..., Tab], site: Site, language: str
) -> None:
    place = place_of(site, "empire meld")
    page = kept(place.person, language).goto(place.path)
    for (wide, high), least in ((PHONE, 3), (DESK, 5)):
        page.set_viewport_size({"width": wide, "height": high})
        tops = page.locator(".plaques > *").evaluate_all("cards => cards.map((card) => card.offsetTop)")
        assert tops.count(tops[0]) >= least
        assert page.evaluate(BROKEN) == []


def test_places_on_the_cross_are_a_thumb_apart_on_a_phone(kept: Callable[..., Tab], site: Site) -> None:
    game = site.midway("byzantium")
    seat = min(position(game.id).awaited)
    page = kept().goto(url(game, seat))
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    nearest = []
    for card in page.locator('#play input[name="card"]:not([type="hidden"], :disabled)').all():
        card.check(force=True)
        boxes = [slot.bounding_box() for slot in page.locator(".slot:visible").all()]
        centres = [(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in boxes if box]
        nearest += [dist(one, other) for one, other in combinations(centres, 2)]
    assert len(nearest) > 5
    assert min(nearest) >= 44
