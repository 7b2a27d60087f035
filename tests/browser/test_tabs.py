"""The tabs record every kind of error: each is provoked and must be reported."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Route

from tests.support.browser.chromium import Tab

PLANTED = {
    "<script>1</script>": "policy: script-src-elem",
    '<p style="color: red">red</p>': "policy: style-src-attr",
    '<img src="https://elsewhere.example/x.png" alt="">': "asks elsewhere: https://elsewhere.example/x.png",
    '<link rel="stylesheet" href="/static/none.css">': "none.css",
    '<img src="/static/none.png" alt="">': "404: ",
    '<script src="/planted.js"></script>': "error: broken on purpose",
}


def test_a_tab_sees_what_goes_wrong(tab: Callable[..., Tab]) -> None:
    made = tab()
    made.page.route("**/planted.js", lambda route: route.fulfill(body="throw new Error('broken on purpose')"))
    made.page.route("**/x.png", lambda route: route.abort())
    for markup, expected in PLANTED.items():
        plant(made, markup)
        made.goto("/asked")
        assert any(expected in fault for fault in made.faults), made.faults
        made.faults.clear()


def plant(made: Tab, markup: str) -> None:
    """Put this into the page /asked, in place of what was put there before."""

    def answer(route: Route) -> None:
        sound = route.fetch()
        route.fulfill(response=sound, body=sound.text().replace("</main>", f"{markup}</main>"))

    made.page.unroute(f"{made.origin}/asked")
    made.page.route(f"{made.origin}/asked", answer)


def test_a_sound_page_has_no_faults_with_scripts_or_without(
    kept: Callable[..., Tab], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for scripts in (True, False):
        made = kept(scripts=scripts)
        monkeypatch.setattr(made, "shots", tmp_path)
        made.goto("/asked")
        made.goto("/nothing-here", status=404)
        made.shot(f"scripts {scripts}")
        assert (tmp_path / f"scripts-{scripts}.png").stat().st_size > 1000
        assert made.faults == []
