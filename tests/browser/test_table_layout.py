"""A decision fits into one screen, and a card is the control: in Chromium, at the sizes that people have."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from playwright.sync_api import FloatRect, Locator, Page, expect

from server.store.engine import utc_now
from tests.conftest import Table, begun
from tests.support.browser.chromium import PHONE, Tab
from tests.support.browser.site import Site
from tests.support.games import make, position, url

Tabs = Callable[..., Tab]
ON_TOP = """(item) => {
  const {x, y, width, height} = item.getBoundingClientRect();
  const top = document.elementFromPoint(x + width / 2, y + height / 2);
  return item.contains(top) || top.contains(item);
}"""
"""Whether nothing covers the middle of an element."""


def contested(name: str) -> tuple[Table, int]:
    """Return a game of four in which three have bid for the first lot, and the seat to move."""
    game = begun(4, name, utc_now())
    for _ in range(3):
        now = position(game.id)
        seat = min(now.awaited)
        bids = [move for move in now.rules.moves(now.state, seat) if move.verb == "bid"]
        make(game, seat, str(bids[0] if bids else "pass"), at=utc_now())
    return game, min(position(game.id).awaited)


def box(found: Locator) -> FloatRect:
    """Return where an element is in the window."""
    made = found.bounding_box()
    assert made is not None
    return made


def in_sight(page: Page, found: Locator) -> None:
    """The element is wholly in the window, and nothing covers its middle."""
    at, size = box(found), page.viewport_size
    assert size is not None
    assert at["x"] >= 0
    assert at["y"] >= 0
    assert at["x"] + at["width"] <= size["width"] + 1
    assert at["y"] + at["height"] <= size["height"] + 1
    assert found.evaluate(ON_TOP)


@pytest.mark.parametrize("scripts", [True, False])
@pytest.mark.parametrize("size", [(390, 844), (1280, 900)])
def test_a_decision_is_one_screen(tab: Tabs, size: tuple[int, int], scripts: bool) -> None:
    game, seat = contested(f"screen-{size[0]}-{scripts}")
    page = tab(size=size, scripts=scripts).goto(url(game, seat))
    for part in (
        ".until",
        ".auction > .cards",
        ".bidders",
        ".kinds",
        '#play button[value="bid"]',
        '#play button[value="pass"]',
    ):
        in_sight(page, page.locator(part))
    assert page.evaluate("scrollY") == 0


@pytest.mark.parametrize("scripts", [True, False])
@pytest.mark.parametrize("size", [(390, 844), (1280, 900)])
def test_a_meld_is_one_screen(tab: Tabs, site: Site, size: tuple[int, int], scripts: bool) -> None:
    game, seat = site.asked("empire", "meld")
    page = tab(size=size, scripts=scripts).goto(url(game, seat))
    ticks = page.locator("#hand .tick").all()
    assert len(ticks) == len(position(game.id).view(seat).hand) > 7
    for part in (
        *ticks,
        page.locator(".until"),
        page.locator(".limits"),
        page.locator('#play [value="meld"]').first,
    ):
        in_sight(page, part)
    if size[0] < 600:
        bar = box(page.locator(".bar"))["y"]
        assert all(at["y"] + at["height"] <= bar for at in map(box, ticks))
    assert page.evaluate("scrollY") == 0


@pytest.mark.parametrize("size", [(320, 720), (390, 844), (1280, 900)])
def test_years_and_territory_are_two_bars_from_edge_to_edge(
    tab: Tabs, site: Site, size: tuple[int, int]
) -> None:
    game, seat = site.asked("empire", "meld")
    page = tab(size=size).goto(url(game, seat))
    years, territory = box(page.locator(".years")), box(page.locator(".track"))
    assert (years["x"], years["width"]) == (territory["x"], territory["width"])
    labels = page.locator(".measure > p").all()
    assert len({box(label)["x"] for label in labels}) == 1
    assert all(box(label)["x"] + box(label)["width"] < years["x"] for label in labels)


@pytest.mark.parametrize("size", [(390, 844), (1280, 900)])
def test_the_ages_of_cards_can_be_read(tab: Tabs, site: Site, size: tuple[int, int]) -> None:
    game, seat = site.asked("empire", "meld")
    view = position(game.id).view(seat)
    limited = [card for card in view.hand if view.deck(seat).facts(card).ages != "EML"]
    page = tab(size=size).goto(url(game, seat))
    ages = page.locator("#hand .age").all()
    assert len(ages) == len(limited) > 0
    for age in ages:
        at, card = box(age), box(age.locator("xpath=ancestor::label"))
        assert at["height"] >= 12
        assert card["x"] <= at["x"] < at["x"] + at["width"] <= card["x"] + card["width"]
        assert at["y"] + at["height"] <= card["y"] + card["height"]


@pytest.mark.parametrize("size", [(390, 844), (1280, 900)])
def test_eight_cards_of_byzantium_lie_in_one_row_above_the_button(
    tab: Tabs, site: Site, size: tuple[int, int]
) -> None:
    game, seat = site.asked("byzantium", "put")
    page = tab(size=size).goto(url(game, seat))
    places = [box(tick) for tick in page.locator("#hand .tick").all()]
    assert len(places) > 6
    if size[0] < 600:
        assert len({place["y"] for place in places}) == 1
        drawn = box(page.locator("#hand .card").first)["width"]
        assert all(after["x"] - one["x"] > drawn * 0.7 for one, after in itertools.pairwise(places))
    for part in ("#hand", "[data-place]", ".cross", ".until"):
        in_sight(page, page.locator(part))


def test_the_log_stands_beside_the_hand_and_scrolls_by_itself(tab: Tabs) -> None:
    game, seat = contested("beside")
    page = tab(size=(1280, 900)).goto(url(game, seat))
    hand, log = box(page.locator(".answer")), box(page.locator(".since"))
    assert log["x"] > hand["x"] + hand["width"]
    assert log["y"] <= hand["y"]
    assert abs(log["y"] + log["height"] - hand["y"] - hand["height"]) < 1
    page.locator(".since .log").first.evaluate(
        "log => log.append(...Array.from({length: 99}, () => log.lastElementChild.cloneNode(true)))"
    )
    assert abs(box(page.locator(".since"))["height"] - log["height"]) < 1
    assert page.locator(".latest").evaluate("item => item.scrollHeight > item.clientHeight")
    frame, newest = page.locator(".latest"), box(page.locator(".log > li").first)
    border = frame.evaluate("item => item.clientTop")
    assert abs(newest["y"] - box(frame)["y"] - border) < 1
    page.set_viewport_size({"width": 390, "height": 844})
    assert box(page.locator(".since"))["y"] > box(page.locator(".lot"))["y"]


@pytest.mark.parametrize("width", [390, 1280])
def test_the_row_of_the_reader_is_as_high_as_the_others(tab: Tabs, width: int) -> None:
    game, seat = contested(f"rows-{width}")
    page = tab(size=(width, 900)).goto(url(game, seat))
    rows = [box(row)["height"] for row in page.locator(".bidders tbody tr").all()]
    assert max(rows) - min(rows) < 6, "“you” stays beside the name"


def test_after_a_move_the_log_fills_the_column_beside_the_table(tab: Tabs) -> None:
    game, seat = contested("after")
    played = make(game, seat, "pass", at=utc_now())
    page = tab(size=(1280, 900)).goto(f"{url(game, seat)}?played={played}")
    hand, log = box(page.locator(".answer")), box(page.locator(".since"))
    assert log["x"] > hand["x"] + hand["width"]
    assert abs(log["y"] + log["height"] - hand["y"] - hand["height"]) < 1
    for line in page.locator(".since .log > li").all()[:5]:
        in_sight(page, line)
    assert "You pass." in page.locator(".since .log > li").first.inner_text()


def test_the_market_is_on_the_first_screen_of_a_phone(tab: Tabs) -> None:
    game, seat = contested("market")
    while not (position(game.id).view(0).market and position(game.id).view(0).step == "bid"):
        now = position(game.id)
        seat = min(now.awaited)
        make(game, seat, str(now.rules.moves(now.state, seat)[0]), at=utc_now())
    seat = min(position(game.id).awaited)
    page = tab(size=(390, 640)).goto(url(game, seat))
    assert box(page.locator(".market-panel"))["y"] > box(page.locator(".answer"))["y"], "the hand comes first"
    page.set_viewport_size({"width": 390, "height": 844})
    lot, market, hand = (box(page.locator(part)) for part in (".lot", ".market-panel", ".answer"))
    assert lot["y"] < market["y"] < hand["y"]
    assert market["height"] < 90
    for part in (".market-panel", ".kinds", '#play button[value="pass"]'):
        in_sight(page, page.locator(part))


@pytest.mark.parametrize("scripts", [True, False])
def test_a_card_is_its_own_control(tab: Tabs, site: Site, scripts: bool) -> None:
    game, seat = site.first("byzanz", "controls")
    page = tab(scripts=scripts).goto(url(game, seat))
    expect(page.locator("#hand input").first).to_have_css("opacity", "0")  # no square is drawn
    ticks, drawn = page.locator("#hand .tick"), page.locator("#hand .tick .card").first
    before = box(drawn)
    ticks.first.click(position={"x": 10, "y": 30})
    expect(page.locator("#hand input").first).to_be_checked()
    page.wait_for_timeout(300)
    assert box(drawn)["y"] < before["y"] - 5  # it is lifted
    expect(drawn).to_have_css("outline-style", "solid")
    page.locator("#hand input").nth(1).focus()
    page.keyboard.press("Shift+Tab")
    expect(ticks.first).to_have_css("outline-style", "solid")


def test_of_a_long_hand_each_card_shows_its_corner_and_can_be_hit(tab: Tabs, site: Site) -> None:
    game, seat = site.asked("byzanz", "limit")
    page = tab(size=PHONE).goto(url(game, seat))
    ticks = page.locator("#hand .tick").all()
    assert len(ticks) == len(position(game.id).view(seat).hand) > 7
    places = [box(tick) for tick in ticks]
    drawn = box(page.locator("#hand .card").first)["width"]
    for one, after in itertools.pairwise(places):
        assert after["y"] > one["y"] or after["x"] - one["x"] > drawn * 0.7  # value and letter
    for tick in ticks:
        tick.click()
        expect(tick.locator("input")).to_be_checked()
