"""A server under a path of its host, in Chromium: a turn with scripts, whose answer is put in place."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, expect

from server.store.engine import utc_now
from tests.conftest import begun, copied
from tests.support.browser.chromium import opened
from tests.support.browser.server import browser_server
from tests.support.games import asked, count_entries, url


def test_a_turn_is_played_and_its_answer_put_in_place(chromium: Browser, migrated_file: Path) -> None:
    with copied(migrated_file) as database, browser_server(database, "/byzanz") as below:
        game = begun(3, "below", utc_now())
        before = count_entries(game.id)
        tab = opened(chromium, below, None)
        page = tab.goto(url(game, asked(game)))
        page.evaluate("document.body.dataset.same = 'page'")
        page.locator('button[name="move"][value="pass"]').first.click()
        expect(page.locator("#played")).to_be_visible()
        assert count_entries(game.id) > before
        assert page.url.startswith(f"{below.origin}/t/")
        assert page.evaluate("document.body.dataset.same") == "page"
        assert tab.faults == []
        tab.close()
