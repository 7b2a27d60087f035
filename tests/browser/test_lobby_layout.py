"""The pages around the games at the sizes that people have: what one came for is in view, and nothing is squeezed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import FloatRect, Locator, Page

from server.store.engine import utc_now
from tests.conftest import begun
from tests.support.browser.chromium import Tab
from tests.support.browser.site import Site
from tests.support.browser.states import place_of
from tests.support.games import make, position, start_clock

Kept = Callable[..., Tab]
PHONE, SMALL, DESK = (390, 844), (320, 640), (1280, 900)
WIDE = "document.documentElement.scrollWidth"
ON_TOP = """(item) => {
  const {x, y, width, height} = item.getBoundingClientRect();
  return item.contains(document.elementFromPoint(x + width / 2, y + height / 2));
}"""
"""Whether nothing covers the middle of an element."""


def state_page(kept: Kept, site: Site, state: str, size: tuple[int, int]) -> Page:
    """Return a page around the games in a window of this size."""
    place = place_of(site, state)
    tab = kept(place.person, "en")
    tab.page.set_viewport_size({"width": size[0], "height": size[1]})
    return tab.goto(place.path, place.status)


def box(found: Locator) -> FloatRect:
    """Return where an element is in the window."""
    made = found.bounding_box()
    assert made is not None
    return made


def bottom(found: Locator) -> float:
    """Return where an element ends."""
    return box(found)["y"] + box(found)["height"]


@pytest.mark.parametrize("size", [PHONE, SMALL, DESK])
def test_each_of_ones_games_is_one_link_and_its_clock_fits(
    kept: Kept, site: Site, size: tuple[int, int]
) -> None:
    game = begun(2, f"clock-{size[0]}", utc_now(), slug="empire")
    asked = sorted(position(game.id).awaited)
    if asked == [0, 1]:
        make(game, 0, str(position(game.id).rules.moves(position(game.id).state, 0)[0]), at=utc_now())
        asked = [1]
    start_clock(game.id, asked[0], utc_now())
    page = state_page(kept, site, "front signed in", size)
    assert page.evaluate(WIDE) == size[0]
    rows = page.locator(".mine li")
    mine = [row for row in rows.all() if "left (" in row.inner_text()]
    assert mine
    for row in rows.all():
        row.scroll_into_view_if_needed()
        at = box(row)
        inside = [row.locator(part) for part in ("p", "small", ".tag", ".button")]
        for part in (each for parts in inside for each in parts.all()):
            assert box(part)["x"] + box(part)["width"] <= at["x"] + at["width"]
        # the whole row leads to the game
        hit = "([x, y]) => document.elementFromPoint(x, y).closest('a')?.getAttribute('href')"
        middle = [at["x"] + at["width"] / 2, at["y"] + at["height"] / 2]
        assert page.evaluate(hit, middle) == row.locator("a").get_attribute("href")


@pytest.mark.parametrize(
    ("state", "size"), [("tables", PHONE), ("tables signed in", SMALL), ("front", PHONE)]
)
def test_on_a_phone_the_button_of_a_table_squeezes_no_text(
    kept: Kept, site: Site, state: str, size: tuple[int, int]
) -> None:
    page = state_page(kept, site, state, size)
    rows = page.locator(".offer").all()
    assert rows
    for row in rows:
        text, button = row.locator("div"), row.locator(".button")
        assert box(text)["width"] >= box(row)["width"] - 60
        assert box(button)["y"] >= bottom(text)
        assert box(button)["height"] < 60  # its words stand on one line


@pytest.mark.parametrize("state", ["tables", "front"])
def test_on_a_desktop_the_button_of_a_table_stands_beside_the_text(
    kept: Kept, site: Site, state: str
) -> None:
    page = state_page(kept, site, state, DESK)
    for row in page.locator("section:not(.side *) .offer").all():
        text, button = box(row.locator("div")), box(row.locator(".button"))
        assert button["x"] >= text["x"] + text["width"]


@pytest.mark.parametrize("state", ["invitation", "join", "join signed in"])
def test_on_a_phone_the_cards_and_the_button_of_a_free_seat_are_in_the_first_screen(
    kept: Kept, site: Site, state: str
) -> None:
    page = state_page(kept, site, state, PHONE)
    assert page.locator(".cover").is_visible()
    button = page.locator(".button.primary")
    assert bottom(page.locator(".cover")) < box(button)["y"]
    assert bottom(button) <= PHONE[1]


@pytest.mark.parametrize("size", [PHONE, SMALL, DESK])
def test_the_settings_are_saved_from_wherever_one_is_and_no_field_is_behind_the_button(
    kept: Kept, site: Site, size: tuple[int, int]
) -> None:
    page = state_page(kept, site, "account", size)
    save = page.get_by_role("button", name="Save", exact=True)
    for field in page.locator(".settings :is(input:not([type=hidden]), select)").all():
        field.focus()
        page.wait_for_timeout(20)
        assert bottom(save) <= size[1] + 1
        assert save.evaluate(ON_TOP)
        assert bottom(field) <= box(save)["y"]
