"""What stands below something else keeps a distance from it, folded or unfolded: on a phone and on a desktop."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.browser.chromium import Tab
from tests.support.browser.page_checks import unfold
from tests.support.browser.site import Site
from tests.support.browser.states import place_of

LEAST = 6
"""Pixels between them."""
GAP = """([upper, lower]) => {
  const shown = (selector) => [...document.querySelectorAll(selector)].filter((item) => item.getClientRects().length);
  const below = shown(lower).map((item) => item.getBoundingClientRect().top);
  const gaps = shown(upper).map((item) => item.getBoundingClientRect().bottom).map((bottom) =>
    Math.min(...below.filter((top) => top > bottom - 20).map((top) => top - bottom)));
  return gaps.filter(Number.isFinite);
}"""
"""The distance of each upper element to the next lower one."""


@pytest.mark.parametrize("size", [(390, 844), (1280, 900)])
@pytest.mark.parametrize(
    ("state", "upper", "lower"),
    [
        ("byzanz said", ".since .latest", "#talk"),
        ("account", ".folds form .button", ".folds > details + details"),
        ("account", ".folds form .button", ".folds p"),
        ("new", "#going-hint", "#count"),
        ("new", ".choice", ".field label"),
    ],
)
def test_things_keep_their_distance(
    kept: Callable[..., Tab], site: Site, size: tuple[int, int], state: str, upper: str, lower: str
) -> None:
    place = place_of(site, state)
    page = kept(place.person).goto(place.path)
    page.set_viewport_size({"width": size[0], "height": size[1]})
    unfold(page)
    gaps = page.evaluate(GAP, [upper, lower])
    assert gaps
    assert min(gaps) >= LEAST, gaps


@pytest.mark.parametrize("slug", ["byzanz", "byzantium", "empire"])
def test_what_is_said_and_the_field_for_it_both_have_room(
    kept: Callable[..., Tab], site: Site, slug: str
) -> None:
    page = kept().goto(place_of(site, f"{slug} said").path)
    page.set_viewport_size({"width": 1280, "height": 900})
    assert page.evaluate("() => document.querySelector('.since > .latest').clientHeight") >= 90
    hidden = "() => { const panel = document.querySelector('.since'); return panel.scrollHeight - panel.clientHeight }"
    assert page.evaluate(hidden) <= 1
