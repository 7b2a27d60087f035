"""A whole game of each kind: without scripts by mouse, and with scripts by keyboard alone.

One seat plays in the browser, alternating between phone and desktop; the other seats' moves go directly to the server.
After LEAST decisions, a kind that was played ENOUGH times in the browser goes to the server directly, except at night.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from server.store.engine import utc_now
from tests.conftest import Table, begun
from tests.support.browser.chromium import DESK, PHONE, Tab
from tests.support.browser.playing import Keys, Pointer, make_move
from tests.support.game_data import SEATS
from tests.support.games import make, position, url

WAYS: dict[str, tuple[bool, type[Pointer] | type[Keys], int]] = {
    "byzanz without scripts": (False, Pointer, 0),
    "byzanz by keyboard": (True, Keys, 0),
    "byzantium without scripts": (False, Pointer, 0),
    "byzantium by keyboard": (True, Keys, 0),
    "empire without scripts": (False, Pointer, 10),
    "empire by keyboard": (True, Keys, 7),
}
"""Whether scripts run, how the page is used, and a luck with which the game is long enough to ask for most things."""
AT_NIGHT = ("byzanz by keyboard", "byzantium without scripts", "empire without scripts")
"""On each commit, each game is played in one way."""
LEAST = 12
"""Decisions of the seat in the browser."""
ENOUGH = 5
"""Decisions of each kind that are made in the browser on every commit, once there are LEAST."""


@pytest.mark.parametrize(
    "way", [pytest.param(way, marks=pytest.mark.nightly if way in AT_NIGHT else ()) for way in WAYS]
)
@pytest.mark.usefixtures("site")
def test_a_whole_game(kept: Callable[..., Tab], way: str, pytestconfig: pytest.Config) -> None:
    scripts, kind, luck = WAYS[way]
    slug = way.partition(" ")[0]
    game = begun(SEATS[slug], f"{way}-{luck}".replace(" ", "-"), utc_now(), slug=slug)
    shown = kept(scripts=scripts)
    hand = kind(shown.page)
    made, kinds = 0, Counter[str]()
    for seat, move in decisions(game, luck):
        verb = move.partition(" ")[0]
        enough = made >= LEAST and kinds[verb] >= ENOUGH and not pytestconfig.getoption("nightly")
        if seat != 0 or enough:
            make(game, seat, move, at=utc_now())
            continue
        made += 1
        kinds[verb] += 1
        width, height = (PHONE, DESK)[made % 2]
        shown.page.set_viewport_size({"width": width, "height": height})
        page = shown.goto(url(game, 0))
        make_move(hand, move, by_cards=made % 5 != 0)
        if scripts:
            assert_focus_is_kept(page)
    page = shown.goto(url(game, 0))
    assert "The game is over" in page.inner_text(".ask")
    assert made >= LEAST
    assert hand.faults == []
    print(f"{way}: {made} decisions in the browser")


def decisions(game: Table, luck: int):
    """Whose turn it is and what he does, by chance, until the game is over; whoever asks plays it."""
    dice = random.Random(luck)
    while (now := position(game.id)).awaited:
        seat = min(now.awaited)
        yield seat, str(dice.choice(now.rules.moves(now.state, seat)[:6]))


def assert_focus_is_kept(page: Page) -> None:
    """After a move the focus is at the answer, not lost with the button that was pressed."""
    assert page.evaluate("() => document.activeElement !== document.body") is True
