"""What a tab notes: each kind of fault is made on purpose and must be seen."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.tabs import Tab

PLANTED = {
    "<script>1</script>": "policy: script-src-elem",
    '<p style="color: red">red</p>': "policy: style-src-attr",
    '<img src="https://elsewhere.example/x.png" alt="">': "asks elsewhere: https://elsewhere.example/x.png",
    '<link rel="stylesheet" href="/static/none.css">': "none.css",
    '<img src="/static/none.png" alt="">': "404: ",
    '<script src="/planted.js"></script>': "error: broken on purpose",
}


@pytest.mark.parametrize("markup", PLANTED)
def test_a_tab_sees_what_goes_wrong(tab: Callable[..., Tab], markup: str) -> None:
    made = tab()

    def plant(route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace("</main>", f"{markup}</main>"))

    made.page.route(f"{made.origin}/new", plant)
    made.page.route("**/planted.js", lambda route: route.fulfill(body="throw new Error('broken on purpose')"))
    made.page.route("**/x.png", lambda route: route.abort())
    made.goto("/new")
    assert any(PLANTED[markup] in fault for fault in made.faults), made.faults
    made.faults.clear()


def test_a_sound_page_has_no_faults_with_scripts_or_without(tab: Callable[..., Tab]) -> None:
    for scripts in (True, False):
        made = tab(scripts=scripts)
        made.goto("/new")
        made.goto("/nothing-here", status=404)
        made.shot(f"test-tabs-{scripts}")
        assert (made.shots / f"test-tabs-{scripts}.png").stat().st_size > 1000
        assert made.faults == []
