"""The history in Chromium: one steps from moment to moment without a reload, and the log scrolls by itself."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.support.browser.chromium import DESK, PHONE, Tab
from tests.support.browser.site import Site
from tests.support.games import count_entries

Tabs = Callable[..., Tab]
MARK = "window.untouched = true"
"""Told to a page once: it is gone when the page was loaded again."""


def history_at(tab: Tabs, site: Site, at: int, **how: object) -> tuple[Page, int]:
    """Return a finished game's page at this entry, and the newest entry."""
    game = site.over("byzanz")
    page = tab(**how).goto(f"/g/{game.id}/history?at={at}")
    page.evaluate(MARK)
    return page, count_entries(game.id)


def expect_entry(page: Page, at: int) -> None:
    """Expect this entry in the address, above the table and in sight in the log; the page was not loaded again."""
    expect(page).to_have_url(re.compile(rf"\?at={at}$"))
    expect(page.locator(".moments p")).to_contain_text(f"Entry {at} of")
    expect(page.locator(".log > .at")).to_have_attribute("id", f"e{at}")
    assert page.evaluate("window.untouched") is True


def test_keys_links_and_the_slider_step_without_a_reload(tab: Tabs, site: Site) -> None:
    page, last = history_at(tab, site, 20, size=DESK)
    page.keyboard.press("ArrowRight")
    expect_entry(page, 21)
    page.keyboard.press("ArrowLeft")
    expect_entry(page, 20)
    page.keyboard.press("End")
    expect_entry(page, last)
    expect(page.locator(".log > .at")).to_be_in_viewport()
    page.keyboard.press("Home")
    expect_entry(page, 1)
    page.locator("a[rel=next]").focus()
    page.keyboard.press("Enter")
    expect_entry(page, 2)
    expect(page.locator("a[rel=next]")).to_be_focused()
    page.locator("#e5 .seq").click()
    expect_entry(page, 5)
    page.locator("#moment").focus()
    page.keyboard.press("ArrowRight")
    expect_entry(page, 6)
    expect(page.locator("#moment")).to_be_focused()
    page.go_back()
    expect_entry(page, 5)


def test_the_log_scrolls_beside_the_table(tab: Tabs, site: Site) -> None:
    page, _last = history_at(tab, site, 60, size=DESK)
    table, log = (page.locator(what).bounding_box() for what in (".replay .board", ".entries"))
    assert table is not None
    assert log is not None
    assert log["x"] >= table["x"] + table["width"]
    assert log["height"] <= DESK[1]
    expect(page.locator(".log > .at")).to_be_in_viewport()


def test_on_a_phone_the_steps_stay_in_reach(tab: Tabs, site: Site) -> None:
    page, _last = history_at(tab, site, 20, size=PHONE)
    for down in (0, 5000):
        page.mouse.wheel(0, down)
        for rel in ("first", "prev", "next", "last"):
            expect(page.locator(f"a[rel={rel}]")).to_be_in_viewport(ratio=1)
    page.locator("a[rel=next]").click()
    expect_entry(page, 21)
    for beside in (20, 22):
        expect(page.locator(".near", has_text=f"{beside} ·")).to_be_visible()


def test_without_scripts_the_steps_are_links(tab: Tabs, site: Site) -> None:
    game = site.over("byzanz")
    page = tab(size=DESK, scripts=False).goto(f"/g/{game.id}/history?at=20")
    page.locator("a[rel=next]").click()
    expect(page.locator(".moments p")).to_contain_text("Entry 21 of")
    page.locator("#moment").fill("30")
    page.get_by_role("button", name="Show the table").click()
    expect(page.locator(".moments p")).to_contain_text("Entry 30 of")


def test_on_a_phone_the_stepper_is_one_row_and_the_entry_stays_in_sight(tab: Tabs, site: Site) -> None:
    page, _last = history_at(tab, site, 20, size=(390, 844))
    bar, said = page.locator(".moments"), page.locator("#said")
    height = bar.evaluate("item => item.offsetHeight")
    assert height < 64
    page.evaluate("scrollTo(0, document.querySelector('.board').getBoundingClientRect().top)")
    assert page.evaluate("scrollY") > 0
    expect(said).to_be_in_viewport(ratio=1)
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    end = page.evaluate("document.querySelector('.foot').getBoundingClientRect().bottom")
    assert end <= 844 - height + 1  # nothing stays below the stepper
