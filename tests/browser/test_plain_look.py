"""The plain look in Chromium: a game that brings rules alone is played on a phone, with and without scripts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import pytest
from playwright.sync_api import Page, expect

from byzanz import games
from server.store import engine
from server.store.engine import utc_now
from server.store.models import Game
from tests.browser.test_table_layout import box, in_sight
from tests.conftest import Table, begun
from tests.support.browser.chromium import Tab
from tests.support.browser.page_checks import axe, looks
from tests.support.games import make, position, url
from tests.support.passing_game import Passing

Tabs = Callable[..., Tab]
PHONE = (390, 844)
NUMBERS = count()


@pytest.fixture
def game(monkeypatch: pytest.MonkeyPatch) -> Iterator[Table]:
    """Add the game, and begin one that is called off at the end, as its rules are gone then."""
    monkeypatch.setattr(games, "_added", [Passing()])
    made = begun(2, f"plain{next(NUMBERS)}", utc_now(), slug="passing")
    yield made
    with engine.transaction() as session:
        session.get_one(Game, made.id).status = "cancelled"


def passing(page: Page) -> None:
    """The whole hand and the button are in sight."""
    cards = page.locator("#hand .tick").all()
    assert len(cards) == 7
    for part in (*cards, page.locator('#play button[value="pass"]')):
        in_sight(page, part)


def test_the_button_counts_the_cards_and_a_choice_can_be_changed(tab: Tabs, game: Table) -> None:
    page = tab(size=PHONE).goto(url(game, 0))
    passing(page)
    assert axe(page) == []
    assert looks(page) == []
    held = position(game.id).view(0).hand
    boxes, button, tally = (
        page.locator("#hand input"),
        page.locator('#play button[value="pass"]'),
        page.locator("#tally"),
    )
    for number, said, enabled in (
        (0, "Choose 1 more.", False),
        (2, "2 of 2 chosen", True),
        (4, "Too many: deselect 1.", False),
    ):
        boxes.nth(number).check()
        expect(tally).to_have_text(said)
        expect(button).to_have_attribute("aria-disabled", str(not enabled).lower())
    boxes.nth(0).uncheck()
    expect(button).to_have_text(f"Pass: {held[2]} and {held[4]}")
    button.click()
    expect(page.locator("#hand")).to_contain_text("Your choice is in.")
    assert position(game.id).state.passed[0] == (held[2], held[4])
    for number in (1, 2):
        boxes.nth(number).check()
    button.click()
    expect(page.locator("#played")).to_contain_text(f"{held[1]}, {held[2]}")
    assert position(game.id).state.passed[0] == held[1:3]


def test_without_scripts_the_server_counts(tab: Tabs, game: Table) -> None:
    page = tab(size=PHONE, scripts=False).goto(url(game, 0))
    passing(page)
    expect(page.locator("#tally")).to_have_text("Choose 2 cards.")
    page.locator("#hand input").nth(3).check()
    page.locator('#play button[value="pass"]').click()
    expect(page.locator("#problem")).to_contain_text("Select 2 cards, not 1.")
    expect(page.locator("#hand input").nth(3)).to_be_checked()
    page.locator("#hand input").nth(5).check()
    page.locator('#play button[value="pass"]').click()
    held = position(game.id).view(0).hand
    assert position(game.id).state.passed[0] == (held[3], held[5])


def test_only_legal_cards_can_be_tapped_and_what_else_there_is_stands_below(tab: Tabs, game: Table) -> None:
    for seat in (0, 1):
        make(game, seat, " ".join(("pass", *position(game.id).view(seat).hand[:2])), at=utc_now())
    led = next(
        card
        for card in position(game.id).view(0).hand
        if 1 < sum(card[-1] == other[-1] for other in position(game.id).view(1).hand) < 7
    )
    make(game, 0, f"play {led}", at=utc_now())
    page = tab(size=PHONE).goto(url(game, 1))
    held = position(game.id).view(1).hand
    legal = [card for card in held if card[-1] == led[-1]]
    expect(page.locator("#hand button")).to_have_count(len(legal))
    expect(page.locator("#hand .off")).to_have_count(7 - len(legal))
    in_sight(page, page.locator(".plain-laid svg"))
    in_sight(page, page.locator("#hand button").last)
    assert axe(page) == []
    assert looks(page) == []
    page.evaluate(
        """document.querySelector(".others").insertAdjacentHTML("afterbegin", '<p class="panel" id="own">x</p>')"""
    )
    assert box(page.locator("#own"))["y"] > box(page.locator(".answer"))["y"], "whatever its class"
    page.locator("#hand button").first.click()
    expect(page.locator("#played")).to_contain_text(f"You: play {legal[0]}")


def test_cards_are_dark_on_light_at_night_and_a_name_stays_whole_beside_many_facts(
    tab: Tabs, game: Table
) -> None:
    page = tab(size=PHONE, scheme="dark").goto(url(game, 0))
    value = page.locator("#hand .value").first
    assert value.evaluate("(it) => getComputedStyle(it).fill") == "rgb(43, 36, 34)"
    assert (
        page.locator("#hand .sheet").first.evaluate("(it) => getComputedStyle(it).fill") != "rgb(43, 36, 34)"
    )
    name = page.locator(".seat-name strong").last
    whole = box(name)["height"]
    name.evaluate(
        "(it) => it.closest('.seat').querySelector('.seat-counts').append('Chosen: sealed, played last: 13, points: 9')"
    )
    assert box(name)["height"] == whole
