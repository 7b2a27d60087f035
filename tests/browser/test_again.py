"""The button for the next game in Chromium: its page is loaded with its own stylesheet, and counts the players."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import expect

from tests.support.browser.chromium import Tab
from tests.support.browser.game_states import ended
from tests.support.browser.site import Site, set_seat
from tests.support.games import url

Tabs = Callable[..., Tab]
SHEETS = "[...document.styleSheets].map((sheet) => sheet.href).join()"


def test_the_form_has_its_stylesheet_and_counts_those_invited_again(tab: Tabs, site: Site) -> None:
    game = ended(site, "again-sheet")
    set_seat(game.id, 1, left=True)
    page = tab().goto(url(game, 0))
    page.get_by_role("button", name="Play again with the same people").click()
    page.wait_for_url("**/again")
    assert "/static/style-new-" in page.evaluate(SHEETS)
    count = page.locator("#count")
    expect(count).to_have_text("1 more player needed")
    page.get_by_label("Invite Charlie").select_option("Do not invite")
    expect(count).to_have_text("2 more players needed")
    expect(page.get_by_label("Invite Charlie")).to_be_visible()


def test_the_organisers_page_is_loaded_as_well(tab: Tabs, site: Site) -> None:
    game = ended(site, "again-loaded")
    page = tab().goto(url(game, 0))
    page.evaluate("window.untouched = true")
    page.get_by_role("button", name="Play again with the same people").dblclick()
    expect(page).to_have_url(
        re.compile(".*/o/[a-z2-7]+")
    )  # the second click ends what the first has begun to load
    assert not page.evaluate("window.untouched === true")
    expect(page.get_by_role("heading", name="1 of 3 seats taken")).to_be_visible()
