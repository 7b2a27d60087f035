"""The turn page in Chromium: previews of selected cards, moves without a reload, notice of new moves."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Request, Route, expect

from byzanz import umpire
from byzanz.moves import RulesError
from server.play.positions import Position
from server.store import engine
from server.store.engine import utc_now
from server.store.models import Turn
from tests.conftest import Table
from tests.support.browser.chromium import PHONE, Tab
from tests.support.browser.page_checks import axe, looks
from tests.support.browser.site import Site, moderate
from tests.support.games import count_entries, make, position, start_clock, url

Tabs = Callable[..., Tab]
MARK = "window.untouched = true"
"""Told to a page once: it is gone when the page was loaded again."""
COUNT_ANSWERS = """
window.answers = 0;
const parse = DOMParser.prototype.parseFromString;
DOMParser.prototype.parseFromString = function (...given) {
  setTimeout(() => window.answers++);  // once the page has done with this one
  return parse.apply(this, given);
};
"""
CHOOSE = """(form) => form.insertAdjacentHTML("beforeend", '<input type="checkbox" name="card" checked>')"""
"""Begins something on a page, wherever its player may sell nothing."""


def tick(page: Page, *cards: str) -> None:
    """Tick one card of each of these names that is not ticked yet."""
    for card in cards:
        boxes = page.locator(f'#play input[name="card"][value^="{card}#"]:not(:checked)')
        boxes.first.check()


def goods(game: Table, seat: int) -> list[str]:
    """The goods in a hand of Byzanz."""
    return [card for card in position(game.id).view(seat).hand if card != "merchant"]


def tally(page: Page) -> Any:
    """What the page says of the cards, to be expected."""
    return expect(page.locator("#tally"))


def impossible(page: Page, verb: str) -> None:
    """The button for this verb does nothing when it is pressed, and the line about the cards says why."""
    button = page.locator(f'#play button[name="verb"][value="{verb}"]')
    expect(button).to_have_attribute("aria-disabled", "true")
    expect(button).to_have_accessible_description(page.locator("#tally").text_content() or "?")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.method))
    button.click(force=True)
    button.press("Enter")
    assert "POST" not in asked


def untouched(page: Page) -> bool:
    """Whether the page is still the one that was marked."""
    return bool(page.evaluate("window.untouched === true"))


# ---- Byzanz ----


def test_a_first_bid_is_added_up(tab: Tabs, site: Site) -> None:
    game, seat = site.first("byzanz", "adding")
    page = tab().goto(url(game, seat))
    button = page.locator('button[value="bid"]')
    tally(page).to_have_text("Tap cards to bid, or a set to sell.")
    expect(button).to_have_text("Bid 1+")
    impossible(page, "bid")
    one, other = goods(game, seat)[:2]
    tick(page, one)
    tally(page).to_contain_text(f"Total {one[-1]}: the first bid.")
    tick(page, other)
    expect(button).to_have_attribute("aria-disabled", "false")
    total = int(one[-1]) + int(other[-1])
    tally(page).to_contain_text(f"Total {total}: the first bid.")
    assert (button.text_content() or "").startswith(f"Bid {total} with ")
    page.get_by_role("button", name="Clear").click()
    expect(page.locator("#play input:checked")).to_have_count(0)
    expect(button).to_have_text("Bid 1+")
    expect(page.locator("#clear")).to_be_hidden()
    expect(page.locator('#play input[name="card"]').first).to_be_focused()


def test_a_bid_that_is_too_low_is_told_by_how_much(tab: Tabs, site: Site) -> None:
    game, seat = site.first("byzanz", "raising")
    standing = sorted(goods(game, seat), key=lambda card: int(card[-1]))[0]
    make(game, seat, f"bid {standing}", at=utc_now())
    seat = min(position(game.id).awaited)
    page = tab(size=PHONE).goto(url(game, seat))
    mine = sorted(goods(game, seat), key=lambda card: int(card[-1]))
    highest, least = int(standing[-1]), int(mine[0][-1])
    tick(page, mine[0])
    if least <= highest:
        impossible(page, "bid")
        tally(page).to_have_text(f"Total {least} is too low: add at least {highest + 1 - least} more.")
        expect(page.locator('button[value="bid"]')).to_have_text(f"Bid {highest + 1}+")
    tick(page, *mine[1:])
    total = sum(int(card[-1]) for card in mine)
    tally(page).to_contain_text(f"Total {total}: you would lead by {total - highest}.")


def test_merchants_cannot_be_bid(tab: Tabs, site: Site) -> None:
    game, seat = next(
        (game, seat)
        for number in range(20)
        for game, seat in [site.first("byzanz", f"merchant{number}")]
        if "merchant" in position(game.id).view(seat).hand
    )
    page = tab().goto(url(game, seat))
    tick(page, "merchant")
    tally(page).to_contain_text("Merchants cannot be bid.")
    expect(page.locator('button[value="bid"]')).to_have_text("Bid 1+")
    impossible(page, "bid")


def test_a_set_is_told_with_its_profit(tab: Tabs, site: Site) -> None:
    game, seat = site.asked("byzanz", "end")
    now = position(game.id)
    sale = next(str(move) for move in now.rules.moves(now.state, seat) if move.verb == "sell")
    page = tab().goto(url(game, seat))
    exact = page.locator(f'button[name="move"][value="{sale}"]')
    first, *others = sale.split()[1:]
    tick(page, first)
    tally(page).to_have_text("A set has three cards: add 2 more.")
    tick(page, *others)
    profit = exact.get_attribute("data-points")
    tally(page).to_have_text(f"A set: {profit} profit.")
    expect(page.locator('button[value="sell"]')).to_have_text(exact.locator(".says").text_content() or "")
    extra = page.locator('#play input[name="card"]:not(:checked)')
    if extra.count():
        extra.first.check()
        tally(page).to_have_text("These cards are not a set.")
        expect(page.locator('button[value="sell"]')).to_have_text("Sell")


def test_a_discard_says_how_many_are_still_to_go(tab: Tabs, site: Site) -> None:
    game, seat = site.asked("byzanz", "limit")
    over = len(position(game.id).view(seat).hand) - 7
    page = tab().goto(url(game, seat))
    boxes = page.locator('#play input[name="card"]')
    for number in range(over + 1):
        boxes.nth(number).check()
        left = over - number - 1
        if left > 0:
            tally(page).to_contain_text(f"After that, {left} more to go.")
        elif left == 0:
            tally(page).to_contain_text("That leaves you with seven cards.")
        else:
            tally(page).to_contain_text("You must keep at least seven cards: deselect 1.")
            expect(page.locator('button[value="discard"]')).to_have_text(re.compile("Discard [0-9]+ card"))


# ---- Empire ----


@pytest.mark.parametrize("seat", [0, 1])
def test_the_force_of_a_meld_is_added_up(tab: Tabs, site: Site, seat: int) -> None:
    game, _ = site.asked("empire", "meld")
    now = position(game.id)
    page = tab().goto(url(game, seat))
    for move in now.rules.moves(now.state, seat)[:3]:
        cards = move.args
        tick(page, *cards)
        force = now.view(seat).as_meld(seat, cards).force
        tally(page).to_contain_text(re.compile(rf"^Force {force}[.,]"))
        button = page.locator('button[name="verb"]')
        assert (button.text_content() or "").startswith("Seal ")
        page.locator("#clear").click()
    for box in page.locator('#play input[name="card"]').all():
        box.check()
    tally(page).to_contain_text("in a meld.")
    expect(button).to_have_text("Seal the selected cards")


def test_a_card_beyond_a_limit_is_grey_until_another_one_goes(tab: Tabs, site: Site) -> None:
    game, seat = site.asked("empire", "meld")
    page = tab().goto(url(game, seat))
    kinds = [box.get_attribute("data-kind") for box in page.locator("#hand input").all()]
    assert kinds.count("troop") > 4
    grey = page.locator("#hand .full")
    expect(grey).to_have_count(0)
    troops = page.locator('#hand [data-kind="troop"]')
    for number in range(4):
        troops.nth(number).check()
    expect(grey).to_have_count(kinds.count("troop") - 4)
    expect(grey.locator("input").first).to_have_attribute("data-kind", "troop")
    expect(page.locator(".of-troop")).to_have_css("content", "normal")
    assert (
        page.evaluate("getComputedStyle(document.querySelector('.of-troop'), '::before').content")
        == 'counter(troop) "/"'
    )
    troops.first.uncheck()
    expect(grey).to_have_count(0)


def test_a_redraw_counts_to_four(tab: Tabs, site: Site) -> None:
    game, seat = site.asked("empire", "redraw")
    page = tab(size=PHONE).goto(url(game, seat))
    boxes = page.locator('#play input[name="card"]')
    said = (
        "1 to redraw; you may select 3 more.",
        "2 to redraw; you may select 2 more.",
        "3 to redraw; you may select 1 more.",
        "4 to redraw, which is the maximum.",
        "You may redraw at most four cards: deselect 1.",
    )
    for number, sentence in enumerate(said):
        boxes.nth(number).check()
        tally(page).to_have_text(sentence)
    expect(page.locator('button[name="verb"]')).to_have_text("Redraw")


# ---- Byzantium ----


@pytest.mark.parametrize("card_first", [True, False])
def test_a_card_and_its_place_are_told_before_they_are_played(
    tab: Tabs, site: Site, card_first: bool
) -> None:
    game, seat = site.first("byzantium", f"placing-{card_first}")
    now = position(game.id)
    move = now.rules.moves(now.state, seat)[-1]
    card, _on, slot = move.args
    before = count_entries(game.id)
    page = tab(size=PHONE).goto(url(game, seat))
    go, place = page.locator("[data-place]"), page.locator(f'.slot[value="{slot}"]')
    expect(go).to_have_attribute("aria-disabled", "true")
    steps: list[Callable[[], object]] = [
        lambda: page.locator(f'#play input[value="{card}"]').check(force=True),
        place.click,
    ]
    for step in steps if card_first else reversed(steps):
        expect(go).to_have_text("Place the card")
        step()
    expect(place).to_have_attribute("aria-pressed", "true")
    expect(place.locator("svg.card")).to_be_visible()
    expect(page.locator(".slot svg")).to_have_count(1)
    fitting = [other.args[2] for other in now.rules.moves(now.state, seat) if other.args[0] == card]
    tally(page).to_contain_text(re.compile(rf": {len(fitting)} places?, lit up on the cross\."))
    option = page.locator(f'button[name="move"][value="{move}"]').text_content() or ""
    expect(go).to_have_text(option.strip())
    assert count_entries(game.id) == before
    go.click()
    expect(page.locator("#played")).to_be_visible()
    assert count_entries(game.id) > before


def test_a_card_that_does_not_fit_the_chosen_place_is_told(tab: Tabs, site: Site) -> None:
    game, seat = site.first("byzantium", "misplacing")
    now = position(game.id)
    moves = now.rules.moves(now.state, seat)
    red = next(move for move in moves if move.args[0].endswith("r"))
    black = next(move for move in moves if move.args[0].endswith("b"))
    before = count_entries(game.id)
    page = tab().goto(url(game, seat))
    page.locator(f'.slot[value="{red.args[2]}"]').click()
    page.locator(f'#play input[value="{black.args[0]}"]').check(force=True)
    tally(page).to_contain_text(" does not fit there.")
    page.locator("[data-place]").click(force=True)
    page.locator(f'#play input[value="{black.args[0]}"]').press("Enter")
    assert count_entries(game.id) == before
    page.locator("#clear").click()
    tally(page).to_have_text("Choose a card, then a place.")


# ---- without a reload ----


def test_after_a_move_the_same_page_comes_back_without_a_reload(tab: Tabs, site: Site) -> None:
    game, seat = site.first("byzanz", "swapping")
    page = tab().goto(url(game, seat))
    page.evaluate(MARK)
    page.get_by_role("button", name="Pass", exact=True).click()
    expect(page.locator("#played")).to_be_visible()
    assert untouched(page)
    assert re.search(r"\?played=\d+$", page.url)
    expect(page.locator("#played")).to_be_focused()
    assert page.evaluate("scrollY") == 0
    page.go_back()
    assert page.url == "about:blank"  # the move has added no page to go back to


def test_a_refusal_is_shown_at_the_top_and_the_selection_kept(tab: Tabs, site: Site) -> None:
    game, seat = site.first("byzanz", "refusing")
    made = tab()
    page = made.goto(url(game, seat))
    page.evaluate(MARK)
    tick(page, goods(game, seat)[0])
    first = page.locator('input[name="request_id"]').first.get_attribute("value")
    page.locator('button[name="verb"][value="bid"]').evaluate("button => button.value = 'sell'")
    page.locator('#play button[name="verb"]').first.click()
    expect(page.locator("#problem")).to_be_focused()
    assert untouched(page)
    assert page.url.endswith(url(game, seat))
    expect(page.locator("#play input:checked")).to_have_count(1)
    assert page.locator('input[name="request_id"]').first.get_attribute("value") != first
    tally(page).to_contain_text("the first bid")  # the fresh form is at work, too
    assert [fault for fault in made.faults if not fault.startswith("422: ")] == []
    made.faults.clear()


@pytest.mark.parametrize(
    "trouble",
    [
        lambda route: route.abort(),
        lambda route: route.fulfill(status=502, body="Bad gateway", content_type="text/html"),
        lambda route: route.fulfill(status=200, body="{}", content_type="application/json"),
        lambda route: route.fulfill(status=200, body="<h1>Please pay for this network</h1>"),
    ],
    ids=["no network", "a proxy's fault", "no page", "another page"],
)
def test_whatever_is_unexpected_is_left_to_the_browser(
    tab: Tabs, site: Site, trouble: Callable[[Route], None], request: pytest.FixtureRequest
) -> None:
    game, seat = site.first("byzanz", f"trouble-{request.node.callspec.id}".replace(" ", "").replace("'", ""))
    made = tab()
    page = made.goto(url(game, seat))
    page.evaluate(MARK)

    def meet(route: Route) -> None:
        if route.request.resource_type == "fetch" and route.request.method == "POST":
            trouble(route)
        else:
            route.continue_()

    page.route(f"**{url(game, seat)}", meet)
    page.get_by_role("button", name="Pass", exact=True).click()
    expect(page.locator("#played")).to_be_visible()
    assert not untouched(page)
    made.faults.clear()


def test_a_move_that_arrived_is_not_played_again(tab: Tabs, site: Site) -> None:
    game, seat = site.first("byzanz", "arriving")
    made = tab()
    page = made.goto(url(game, seat))
    before = count_entries(game.id)

    def lose(route: Route) -> None:
        if route.request.resource_type == "fetch" and route.request.method == "POST":
            route.fetch(max_redirects=0)  # it is played, and the answer lost
            route.abort()
        else:
            route.continue_()

    page.route(f"**{url(game, seat)}", lose)
    tick(page, goods(game, seat)[0])
    page.locator('button[value="bid"]').click()
    expect(page.locator("#played")).to_be_visible()
    assert count_entries(game.id) == before + 1
    made.faults.clear()


def test_a_double_click_is_one_move(tab: Tabs, site: Site) -> None:
    game, seat = site.first("byzanz", "doubling")
    page = tab().goto(url(game, seat))
    posts: list[Request] = []
    page.on("request", lambda request: posts.append(request) if request.method == "POST" else None)
    tick(page, goods(game, seat)[0])
    before = count_entries(game.id)
    page.locator('button[value="bid"]').dblclick()
    expect(page.locator("#played")).to_be_visible()
    assert count_entries(game.id) == before + 1
    assert len(posts) == 1


def test_an_order_is_previewed_and_saved(tab: Tabs, site: Site) -> None:
    game, seat = site.first("byzanz", "ordering")
    page = tab().goto(url(game, seat))
    page.get_by_role("link", name="Plan ahead").click()
    expect(page.locator("h1")).to_have_text("Plan ahead")
    page.evaluate(MARK)
    page.get_by_text("Type an order").click()
    page.locator('input[name="order"]:visible').fill("finish")
    page.locator("details[open]").get_by_role("button", name="Show what it does").click()
    expect(page.locator("h1")).to_have_text("Save this order?")
    page.get_by_role("button", name="Save this order").click()
    expect(page.locator(".standing")).to_have_count(1)
    page.get_by_role("button", name="Withdraw").click()
    expect(page.locator(".standing")).to_have_count(0)
    assert untouched(page)
    assert page.url.endswith(f"{url(game, seat)}/orders")


def test_the_cards_of_an_order_are_numbered_as_they_would_be_spent(tab: Tabs, site: Site) -> None:
    game, seat = site.first("byzanz", "ordering")
    page = tab().goto(f"{url(game, seat)}/orders")
    said = page.locator(".spend legend")
    expect(said).to_have_text("With any of my cards. Select some to use only those.", use_inner_text=True)
    for number in (1, 0):
        page.locator(".spend .tick").nth(number).click()
    expect(said).to_have_text("With these cards only, in this order", use_inner_text=True)
    expect(page.locator(".outcome .lead")).to_contain_text("Bid as few as needed of")


@pytest.mark.parametrize("scripts", [True, False])
def test_a_draft_says_what_it_would_do_before_it_is_saved(tab: Tabs, site: Site, scripts: bool) -> None:
    game, seat = site.first("byzanz", f"drafting-{scripts}")
    page = tab(scripts=scripts).goto(f"{url(game, seat)}/orders")
    told = page.locator(".outcome dl, #outcome dl").locator("visible=true")
    look = page.locator("details[open]").get_by_role("button", name="Show what it does")
    if scripts:
        expect(told).to_contain_text("When more than 1 is needed")
        expect(look).to_be_hidden()
    page.locator('.sentence input[name="part1"]').fill("3")
    if not scripts:
        expect(told).to_have_count(0)
        look.click()
    expect(told).to_contain_text("When more than 3 is needed")
    page.get_by_role("button", name="Play it and save the order").click()
    expect(page.locator("h1")).not_to_have_text("Plan ahead")
    assert page.url.endswith(url(game, seat))


def test_a_draft_that_is_no_order_says_why(tab: Tabs, site: Site) -> None:
    game, seat = site.first("byzanz", "drafting-nothing")
    shown = tab()
    page = shown.goto(f"{url(game, seat)}/orders")
    expect(page.locator(".outcome section")).to_be_visible()
    page.locator('.sentence input[name="part1"]').fill("0")
    expect(page.locator(".outcome .error")).to_contain_text("Nothing has changed.")
    expect(page.locator("details[open]").get_by_role("button", name="Show what it does")).to_be_visible()
    page.locator('.sentence input[name="part1"]').fill("2")
    expect(page.locator(".outcome .lead")).to_contain_text("up to 2 on one lot")
    shown.faults.clear()  # the refusal


def test_an_older_answer_about_a_draft_does_not_replace_a_newer_one(tab: Tabs, site: Site) -> None:
    game, seat = site.first("byzanz", "drafting-late-True")
    opened = tab()
    opened.page.add_init_script(COUNT_ANSWERS)
    page = opened.goto(f"{url(game, seat)}/orders")
    told = page.locator(".outcome dl").locator("visible=true")
    expect(told).to_contain_text("When more than 1 is needed")
    held: list[Route] = []

    def hold(route: Route) -> None:
        if "part1=3" in (route.request.post_data or ""):
            held.append(route)
        else:
            route.continue_()

    page.route("**/orders", hold)
    answers = page.evaluate("window.answers")
    with page.expect_request(lambda request: "part1=3" in (request.post_data or "")):
        page.locator('.sentence input[name="part1"]').fill("3")
    page.locator('.sentence input[name="part1"]').fill("2")
    expect(told).to_contain_text("When more than 2 is needed")
    held[0].continue_()
    page.wait_for_function("before => window.answers === before + 2", arg=answers)
    expect(told).to_contain_text("When more than 2 is needed")


def test_a_new_game_counts_its_players(tab: Tabs) -> None:
    page = tab().goto("/new")
    count = page.locator("#count")
    expect(count).to_have_text("2 more players needed")
    expect(count).not_to_have_class("missing")
    expect(page.get_by_role("button", name="Create the game")).to_have_class("button primary")
    expect(page.get_by_label("Strength")).to_be_hidden()
    page.locator("[name=friend_2_address]").fill("ann@example.org")
    expect(count).to_have_text("1 more player needed")
    page.get_by_role("button", name="Fill with bots").click()
    expect(page.get_by_role("button", name="Fill with bots")).to_be_hidden()
    expect(count).to_have_text("3 of 3–6 players")
    page.get_by_label("I’m playing too").uncheck()
    page.get_by_label("How many bots").select_option("2")
    expect(count).to_have_text("3 of 3–6 players")
    page.get_by_label("Empire and Foes").check()
    expect(count).to_have_text("At most 2 can play")
    expect(count).to_have_class("missing")
    expect(page.get_by_label("Strength")).to_be_visible()


def test_a_new_game_has_rows_for_the_friends_that_it_needs_and_one_more(tab: Tabs) -> None:
    page = tab().goto("/new")
    rows = page.locator(".friend:visible")
    expect(rows).to_have_count(2)
    page.locator("[name=friend_2]").fill("Ann")
    expect(rows).to_have_count(3)
    page.locator("[name=friend_2]").fill("")
    page.get_by_label("Empire and Foes").check()
    expect(rows).to_have_count(1)


def test_the_address_of_a_result_is_copied(tab: Tabs, site: Site) -> None:
    page = tab().goto(f"/g/{site.over('byzanz').id}")
    page.evaluate("navigator.clipboard.writeText = async (text) => { window.written = text; }")
    expect(page.get_by_label("Share this result")).to_be_hidden()
    page.get_by_role("button", name="Share", exact=True).click()
    expect(page.get_by_role("button", name="Link copied")).to_be_visible()
    assert page.evaluate("window.written") == page.locator("#share").input_value()


# ---- news ----


def wake(page: Page) -> None:
    """What the browser tells a page when somebody looks at it again: it asks for news at once."""
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


def pass_seconds(page: Page, seconds: int) -> None:
    """Let time pass second by second, so that a page can set its next timer when an answer has come."""
    for _ in range(seconds):
        page.clock.run_for(1000)


def test_news_of_the_table_leave_the_selection_alone(tab: Tabs, site: Site) -> None:
    game, _ = site.asked("empire", "redraw", "-news")
    page = tab(size=PHONE).goto(url(game, 1))
    page.evaluate(MARK)
    ticked = list(position(game.id).view(1).hand[:2])
    tick(page, *ticked)
    first = page.locator('#play input[name="request_id"]').get_attribute("value")
    make(game, 0, "redraw", at=utc_now())
    wake(page)
    expect(page.locator("#live p")).to_have_text("The game has moved on: 1 new entry.")
    expect(page.locator("#play input:checked")).to_have_count(2)
    page.locator("#live a").click()
    expect(page.locator("#live a")).to_be_hidden()
    assert untouched(page)
    chosen = [box.get_attribute("value") or "" for box in page.locator("#play input:checked").all()]
    assert [value.partition("#")[0] for value in chosen] == ticked
    assert page.locator('#play input[name="request_id"]').get_attribute("value") != first
    assert page.locator('#play input[name="seen"]').get_attribute("value") == str(count_entries(game.id))
    tally(page).to_have_text("2 to redraw; you may select 2 more.")
    expect(page.locator(f"#e{count_entries(game.id)}")).to_be_focused()
    page.locator('button[name="verb"]').click()
    expect(page.locator("#played")).to_be_visible()


def test_a_page_where_nothing_is_begun_has_the_news_at_once(tab: Tabs, site: Site) -> None:
    game, _ = site.asked("empire", "redraw", "-at-once")
    page = tab(size=PHONE).goto(url(game, 1))
    page.evaluate(MARK)
    make(game, 0, "redraw", at=utc_now())
    wake(page)
    expect(page.locator('#play input[name="seen"]')).to_have_value(str(count_entries(game.id)))
    expect(page.locator("#live a")).to_be_hidden()
    assert untouched(page)


def test_what_is_written_stays_until_the_news_are_asked_for(tab: Tabs, site: Site) -> None:
    game, _ = site.asked("empire", "redraw", "-written")
    page = tab(size=PHONE).goto(url(game, 1))
    page.locator("#main textarea").first.evaluate("field => { field.value = 'Not so fast'; }")
    where = page.locator("#play").bounding_box()
    make(game, 0, "redraw", at=utc_now())
    wake(page)
    expect(page.locator("#live p")).to_have_text("The game has moved on: 1 new entry.")
    assert page.locator("#main textarea").first.input_value() == "Not so fast"
    assert page.locator("#play").bounding_box() == where, "nothing moves under the finger"


def test_news_keep_a_card_and_its_place(tab: Tabs, site: Site) -> None:
    game, seat = site.first("byzantium", "noting")
    now = position(game.id)
    move = now.rules.moves(now.state, seat)[0]
    page = tab().goto(url(game, seat))
    page.locator(f'#play input[value="{move.args[0]}"]').check(force=True)
    page.locator(f'.slot[value="{move.args[2]}"]').click()
    for _ in range(2):
        moderate(site, game.id, "!note")
    wake(page)
    expect(page.locator("#live p")).to_have_text("The game has moved on: 2 new entries.")
    before = count_entries(game.id)
    page.locator("#live a").click()
    expect(page.locator("#live a")).to_be_hidden()
    expect(page.locator(f'.slot[value="{move.args[2]}"]')).to_have_attribute("aria-pressed", "true")
    assert count_entries(game.id) == before
    page.locator("[data-place]").click()
    expect(page.locator("#played")).to_be_visible()


def test_a_page_that_waits_says_when_it_is_ones_turn(tab: Tabs, site: Site) -> None:
    game, seat = site.first("byzanz", "waiting")
    made = tab(person="Bob")
    page = made.goto(url(game, seat + 1))
    page.clock.install()
    page.reload()
    page.evaluate(MARK)
    asked: list[Request] = []
    page.on("request", lambda request: asked.append(request) if request.url.endswith("/head") else None)
    with page.expect_response("**/head"):
        pass_seconds(page, 17)
    with page.expect_response("**/head") as second:
        pass_seconds(page, 20)
    assert second.value.status == 304
    assert all("cookie" not in request.all_headers() for request in asked)
    expect(page.locator("#live a")).to_be_hidden()
    make(game, seat, "pass", at=utc_now())
    with page.expect_response("**/head"):
        pass_seconds(page, 25)
    expect(page.locator("h1")).to_have_text("Your turn, Bob")
    assert page.title().startswith("● ")
    assert page.locator('link[rel="icon"]').get_attribute("href").endswith("/favicon-turn.svg")  # type: ignore[union-attr]
    assert untouched(page)


def test_a_page_where_something_is_begun_only_says_when_it_is_ones_turn(tab: Tabs, site: Site) -> None:
    game, seat = site.first("byzanz", "beginning")
    page = tab().goto(url(game, seat + 1))
    page.evaluate(MARK)
    page.locator("#play").evaluate(CHOOSE)
    make(game, seat, "pass", at=utc_now())
    wake(page)
    expect(page.locator("#live p")).to_have_text("It is your turn now.")
    page.locator("#live a").click()
    expect(page.locator("h1")).to_have_text("Your turn, Bob")
    assert untouched(page)


def test_what_bots_have_done_comes_by_itself_soon_after_a_move(tab: Tabs, site: Site) -> None:
    game, seat = site.first("byzanz", "botting")
    with engine.transaction() as session:
        for turn in session.query(Turn).filter_by(game_id=game.id):
            turn.bot = True
    made = tab()
    made.page.clock.install()
    page = made.goto(url(game, seat + 1))
    page.evaluate(MARK)
    make(game, seat, "pass", at=utc_now())
    with page.expect_response("**/head"):
        page.clock.run_for(600)
    expect(page.locator("h1")).to_have_text("Your turn, Bob")
    assert untouched(page)


def test_a_page_that_waits_in_another_tab_asks_now_and_then(tab: Tabs, site: Site) -> None:
    game, seat = site.first("byzanz", "hiding")
    made = tab()
    made.page.add_init_script(
        "Object.defineProperty(document, 'hidden', {get: () => true}); Math.random = () => 0.5"
    )
    made.page.clock.install()
    page = made.goto(url(game, seat + 1))
    make(game, seat, "pass", at=utc_now())
    with page.expect_response("**/head"):
        page.clock.run_for(
            125_000
        )  # asked after 120 s; the page's clock must not run past its patience for the answer
    expect(page).to_have_title(re.compile("^● Your turn"))


def test_a_page_that_nobody_sees_asks_nothing(tab: Tabs, site: Site) -> None:
    game, seat = site.first("byzanz", "sleeping")
    made = tab()
    made.page.add_init_script("Object.defineProperty(document, 'hidden', {get: () => window.away === true})")
    made.page.clock.install()
    page = made.goto(url(game, seat))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/head") else None)
    page.evaluate("window.away = true")
    page.clock.run_for(600_000)
    assert asked == []
    page.evaluate("window.away = false")
    with page.expect_response("**/head"):
        wake(page)


def test_a_revoked_link_is_not_asked_again(tab: Tabs, site: Site) -> None:
    game, seat = site.first("byzanz", "revoking")
    made = tab()
    made.page.clock.install()
    page = made.goto(url(game, seat))
    asked: list[str] = []
    page.on("request", lambda request: asked.append("head") if request.url.endswith("/head") else None)
    page.route("**/head", lambda route: route.fulfill(status=404))
    with page.expect_response("**/head"):
        page.clock.run_for(17_000)
    page.clock.run_for(600_000)
    assert asked == ["head"]
    made.faults.clear()


def test_the_time_left_counts_down(tab: Tabs, site: Site) -> None:
    game, seat = site.first("byzanz", "counting")
    start_clock(game.id, seat, utc_now())
    plain = minutes(tab(scripts=False).goto(url(game, seat)))
    made = tab()
    made.page.clock.install(time=0)  # a browser whose clock is far off
    page = made.goto(url(game, seat))
    first = minutes(page)
    assert first == plain == 1440
    page.clock.run_for(61 * 60_000)
    assert minutes(page) == 1380
    page.clock.fast_forward(14 * 60 * 60_000)
    page.clock.run_for(61_000)
    assert minutes(page) in range(535, 539)  # to the minute when they are few
    page.clock.fast_forward(9 * 60 * 60_000)
    page.clock.run_for(61_000)
    expect(page.locator(".left")).to_be_hidden()


def minutes(page: Page) -> int:
    """The time left that a page shows."""
    said = re.fullmatch(r"(\d+) h(?: (\d+) min)? left", page.locator("time[data-left]").text_content() or "")
    assert said is not None
    return int(said[1]) * 60 + int(said[2] or 0)


# ---- a newcomer's first minute ----


def ways(site: Site, slug: str, name: str) -> tuple[Table, int, list[Callable[[Page], object]]]:
    """A game at its first question, who is asked, and clicks that answer it, after the one on the link in the mail."""
    game, seat = site.first(slug, name)
    now = position(game.id)
    move = now.rules.moves(now.state, seat)[0]
    if slug == "byzanz":
        card = goods(game, seat)[0]
        return (
            game,
            seat,
            [
                lambda page: page.locator(f'#play input[value^="{card}#"]').first.click(),
                lambda page: page.locator('button[value="bid"]').click(),
            ],
        )
    if slug == "empire":
        return game, seat, [lambda page: page.get_by_role("button", name="Keep all", exact=True).click()]
    return (
        game,
        seat,
        [
            lambda page: page.locator(f'details:has(button[value="{move}"]) > summary').last.click(),
            lambda page: page.locator(f'button[name="move"][value="{move}"]').click(),
        ],
    )


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "plain"])
@pytest.mark.parametrize("slug", ["byzanz", "empire", "byzantium"])
def test_the_first_minute_takes_three_clicks_at_most(tab: Tabs, site: Site, slug: str, scripts: bool) -> None:
    game, seat, clicks = ways(site, slug, f"minute-{scripts}")
    page = tab(size=PHONE, scripts=scripts).goto(url(game, seat))  # the click on the link
    for click in clicks:
        click(page)
    expect(page.locator("#played")).to_be_visible()
    assert 1 + len(clicks) <= 3


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "plain"])
def test_an_option_of_a_mail_takes_two(tab: Tabs, site: Site, scripts: bool) -> None:
    game, seat = site.first("byzanz", f"option-{scripts}")
    page = tab(size=PHONE, scripts=scripts).goto(f"{url(game, seat)}?move=pass")
    page.locator("#chosen button").click()
    expect(page.locator("#played")).to_be_visible()


# ---- nothing is promised that would be refused, and nothing that may be done is called wrong ----

EVERY_CHOICE = """
(verb) => {
  const form = document.getElementById("play");
  const cards = [...form.querySelectorAll('input[name="card"][type="checkbox"]')];
  const button = form.querySelector(`button[name="verb"][value="${verb}"]`);
  const told = [];
  for (const card of cards) card.checked = false;
  form.dispatchEvent(new Event("change"));
  const plain = button.textContent;
  for (let choice = 1; choice < 2 ** cards.length; choice++) {
    cards.forEach((card, number) => (card.checked = Boolean(choice & (1 << number))));
    form.dispatchEvent(new Event("change"));
    const named = cards.filter((card) => card.checked).map((card) => card.value.split("#")[0]);
    told.push([named.join(" "), button.textContent !== plain]);
  }
  return told;
}
"""


@pytest.mark.parametrize(
    ("slug", "kind", "verb"),
    [
        ("byzanz", "bid", "bid"),
        ("byzanz", "bid", "sell"),
        ("byzanz", "limit", "discard"),
        ("byzanz", "end", "sell"),
        ("empire", "redraw", "redraw"),
        ("empire", "meld", "meld"),
    ],
)
def test_a_button_names_exactly_what_the_rules_allow(
    tab: Tabs, site: Site, slug: str, kind: str, verb: str
) -> None:
    game, seat = site.asked(slug, kind)
    page = tab().goto(url(game, seat))
    if not page.locator(f'button[name="verb"][value="{verb}"]').count():
        assert verb == "sell"  # nobody can sell from this hand
        return
    assert misjudged(page, position(game.id), seat, verb) == []


def misjudged(page: Page, now: Position, seat: int, verb: str) -> list[str]:
    """Choices of cards of which the button says something else than the rules."""
    wrong = []
    for cards, named in page.evaluate(EVERY_CHOICE, verb):
        try:
            umpire.play(now.rules, now.state, seat, now.rules.parse(f"{verb} {cards}"))
            legal = True
        except RulesError:
            legal = False
        if named != legal:
            wrong.append(cards)
    return wrong


@pytest.mark.parametrize(
    ("slug", "kind", "verb", "old", "new"),
    [
        ("byzanz", "limit", "discard", "count > most", "count > most + 1"),
        ("byzanz", "end", "sell", "data.size && !exact", "data.size && count < 3"),
        ("empire", "meld", "meld", "length > limit", "length > limit + 1"),
        ("empire", "redraw", "redraw", "if (count > most)", "if (false)"),
    ],
)
def test_a_button_that_promises_too_much_is_noticed(
    tab: Tabs, site: Site, slug: str, kind: str, verb: str, old: str, new: str
) -> None:
    game, seat = site.asked(slug, kind)
    made = tab()

    def plant(route: Route) -> None:
        answer = route.fetch()
        assert old in answer.text()
        route.fulfill(response=answer, body=answer.text().replace(old, new))

    made.page.route("**/play.js", plant)
    assert misjudged(made.goto(url(game, seat)), position(game.id), seat, verb) != []


# ---- within reach, and nothing in the way ----

COVERED = """
() => {
  const bar = document.querySelector(".bar").getBoundingClientRect();
  const at = document.activeElement;
  const place = (at.closest("label") || at).getBoundingClientRect();
  return !at.closest(".bar") && at.closest("#play") && place.top >= bar.top && place.top < bar.bottom;
}
"""


@pytest.mark.parametrize(("slug", "kind"), [("byzanz", "end"), ("empire", "meld"), ("byzantium", "put")])
def test_the_bar_hides_nothing_that_has_the_focus(tab: Tabs, site: Site, slug: str, kind: str) -> None:
    game, seat = site.asked(slug, kind)
    page = tab(size=PHONE).goto(url(game, seat))
    steps = page.locator("#play :is(input:not([type=hidden]), button, summary)").count() + 12
    for key in ("Tab", "Shift+Tab"):
        for _ in range(steps):
            page.keyboard.press(key)
            assert not page.evaluate(COVERED), page.evaluate("document.activeElement.outerHTML")


def test_the_primary_button_is_in_sight_while_cards_are_ticked(tab: Tabs, site: Site) -> None:
    game, seat = site.asked("empire", "meld")
    page = tab(size=PHONE).goto(url(game, seat))
    page.locator('#play input[name="card"]').first.check()
    expect(page.locator("#play .primary")).to_be_in_viewport(ratio=1)
    box = page.locator("#play .primary").bounding_box()
    assert box is not None
    assert box["height"] >= 44
    assert box["y"] > PHONE[1] / 2  # where thumbs are


# ---- what comes next, and how it all looks to a judge ----


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "plain"])
def test_a_move_leads_to_the_next_game(tab: Tabs, site: Site, scripts: bool) -> None:
    game, seat = site.first("byzanz", f"leading-{scripts}")
    site.first("byzanz", f"led-{scripts}")
    page = tab(scripts=scripts, person="Alice").goto(url(game, seat))
    page.get_by_role("button", name="Pass", exact=True).click()
    expect(page.locator("#played")).to_be_visible()
    counted = re.match(r"\((\d+)\) ", page.title())
    assert counted is not None
    assert int(counted[1]) >= 1
    expect(page.get_by_role("link", name=f"Games ({counted[1]})")).to_be_visible()
    next_game = page.locator("#played").get_by_role("link", name="Next game: ")
    expect(next_game).to_have_attribute("href", re.compile(r"/t/\w+$"))
    next_game.click()
    expect(page.locator("h1")).to_have_text("Your turn, Alice")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("slug", "kind"), [("byzanz", "bid"), ("byzanz", "end"), ("empire", "meld"), ("byzantium", "put")]
)
def test_a_page_at_work_is_sound(tab: Tabs, site: Site, slug: str, kind: str, scheme: str) -> None:
    game, seat = site.asked(slug, kind)
    made = tab(size=PHONE, scheme=scheme)
    page = made.goto(url(game, seat))
    for box in page.locator('#play input[name="card"]:enabled:not([type="hidden"])').all()[:2]:
        box.check(force=True)
    page.route("**/head", lambda route: route.fulfill(json={"seq": 99_999, "awaited": []}))
    wake(page)
    expect(page.locator("#live a")).to_be_visible()
    assert axe(page) == []
    assert looks(page) == []
    made.shot(f"at-work-{slug}-{kind}-{scheme}")
