"""The data for the scripts of a seat's page: texts, numbers and URLs in attributes."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any
from xml.etree.ElementTree import Element

import pytest
from flask.testing import FlaskClient

from server import play
from tests.conftest import NOW, Table
from tests.support import game_data
from tests.support.folders import STATIC
from tests.support.game_data import SEATS
from tests.support.games import advance, asked, count_entries, make, outsider, position, url
from tests.support.pages import Page, look

FIGURES = {
    "data-label": {"total", "cards"},
    "data-fits": {"total", "lead", "count", "left", "points", "cards"},
    "data-fits-more": {"total", "extra"},
    "data-short": {"total", "more"},
    "data-over": {"count", "more"},
    "data-full": {"count"},
    "data-few": {"more"},
    "data-wrong": {"card", "place"},
    "data-card": {"card", "places"},
    "data-at": {"cards"},
    "data-many": {"count"},
    "data-idle": set(),
    "data-left": {"hours", "minutes"},
    "data-one": set(),
    "data-yours": set(),
}
"""The figures that the scripts insert into each kind of text (play.js, live.js)."""
QUESTIONS = game_data.of_all("QUESTIONS")
EVERY = [(slug, kind) for slug, kinds in QUESTIONS.items() for kind in kinds]


def brought(table: Any, slug: str, kind: str) -> tuple[Table, int]:
    """Return a game with this question open, and the seat to move."""
    game = table(SEATS[slug], f"{game_data.of(slug, 'DEALS', slug)}-{kind}", slug=slug)
    return game, advance(game, kind, QUESTIONS[slug][kind])


def found(page: Page, key: str, value: str | None = None) -> list[Element]:
    """Return the elements of a page that have this attribute."""
    return [item for item in page.root.iter() if item.get(key) is not None and value in (None, item.get(key))]


def button(page: Page, verb: str) -> Element:
    """Return the button for this verb with the selected cards."""
    return next(
        item for item in page.root.iter("button") if (item.get("name"), item.get("value")) == ("verb", verb)
    )


@pytest.mark.nightly
@pytest.mark.parametrize(("slug", "kind"), EVERY)
def test_all_words_name_figures_that_there_are(client: FlaskClient, table: Any, slug: str, kind: str):
    game, seat = brought(table, slug, kind)
    for page in (look(client, url(game, seat)), look(client, url(game, (seat + 1) % 2))):
        for item in page.root.iter():
            for key, words in item.items():
                if key in FIGURES:
                    assert set(re.findall(r"\{(\w+)\}", words)) <= FIGURES[key], (key, words)
                    assert words.strip() or key == "data-label"
                elif key.startswith("data-"):
                    assert "{" not in words or key == "data-many", (key, words)


@pytest.mark.nightly
@pytest.mark.parametrize(("slug", "kind"), EVERY)
def test_where_cards_are_chosen_there_is_a_line_about_them(
    client: FlaskClient, table: Any, slug: str, kind: str
):
    page = look(client, url(*brought(table, slug, kind)))
    chosen = [item for item in found(page, "name", "card") if item.get("type") in ("checkbox", "radio")]
    tallies, clears = found(page, "id", "tally"), found(page, "id", "clear")
    assert len(tallies) == len(clears) == bool(chosen)
    if chosen:
        assert (tallies[0].get("role"), tallies[0].text) == ("status", None)  # said by scripts, or by nobody
        assert clears[0].get("hidden") is not None
        assert clears[0].get("type") == "button"


def test_a_bid_is_held_against_the_highest(client: FlaskClient, table: Any):
    game = table(3)
    first = asked(game)
    data = button(look(client, url(game, first)), "bid")
    assert (data.get("data-total"), data.get("data-least")) == ("0", "1")
    good = next(card for card in position(game.id).view(first).hand if card != "merchant")
    make(game, first, f"bid {good}")
    second = asked(game)
    data = button(look(client, url(game, second)), "bid")
    assert (data.get("data-total"), data.get("data-least")) == ("0", str(int(good[-1]) + 1))
    assert json.loads(data.get("data-limits", "")) == [["merchant", 0, "Merchants cannot be bid."]]


def test_an_own_bid_counts_in_a_raise(client: FlaskClient, table: Any):
    for number in range(30):
        game = table(3, f"raise{number}")
        for _ in range(6):
            now = position(game.id)
            seat = asked(game)
            bids = [str(move) for move in now.rules.moves(now.state, seat) if move.verb == "bid"]
            if not bids or now.view(seat).totals[seat]:
                break
            make(game, seat, bids[0])
        view = position(game.id).view(asked(game))
        if view.totals[view.viewer]:
            data = button(look(client, url(game, view.viewer)), "bid")
            assert data.get("data-total") == str(view.totals[view.viewer])
            assert data.get("data-label", "").startswith("Raise to ")
            return
    raise AssertionError("nobody could raise")


def test_a_discard_knows_how_many_are_to_go(client: FlaskClient, table: Any):
    game, seat = brought(table, "byzanz", "limit")
    data = button(look(client, url(game, seat)), "discard")
    assert data.get("data-most") == str(len(position(game.id).view(seat).hand) - 7)


def test_each_sale_says_its_profit(client: FlaskClient, table: Any):
    game, seat = brought(table, "byzanz", "end")
    page = look(client, url(game, seat))
    now = position(game.id)
    sales = [move for move in now.rules.moves(now.state, seat) if move.verb == "sell"]
    for sale in sales:
        option = found(page, "value", str(sale))[0]
        sold = now.rules.apply(now.state, seat, sale)
        gained = now.rules.view(sold, seat).profits[seat] - now.view(seat).profits[seat]
        assert option.get("data-points") == str(gained)
    assert button(page, "sell").get("data-size") == "3"


def test_a_card_of_empire_brings_what_is_printed_on_it(client: FlaskClient, table: Any):
    game, _seat = brought(table, "empire", "meld")
    for seat in (0, 1):
        page = look(client, url(game, seat))
        deck = position(game.id).view(seat).deck(seat)
        for box in found(page, "name", "card"):
            facts = deck.facts(box.get("value", "").partition("#")[0])
            assert box.get("data-worth") == str(facts.force)
            assert box.get("data-kind") == facts.kind
            assert int(box.get("data-extra", "0")) == facts.legacy
            assert int(box.get("data-plus", "0")) == facts.bonus
        limits = json.loads(button(page, "meld").get("data-limits", ""))
        assert limits[-1] == ["natural-disaster", 1, "At most one natural disaster in a meld."]
        assert all(str(most) in words for _kind, most, words in limits[:-1])


def test_a_page_knows_where_to_ask_for_news(client: FlaskClient, table: Any):
    game = table(3)
    seat = asked(game)
    for number in range(3):
        (live,) = found(look(client, url(game, number)), "id", "live")
        assert live.get("data-head") == f"{url(game, number)}/head"
        assert live.get("data-seq") == str(count_entries(game.id))
        assert live.get("data-seat") == str(number)
        assert (live.get("data-yours") is None) == (number == seat)
    seq = make(game, seat, "pass")
    assert len(found(look(client, f"{url(game, seat)}?played={seq}"), "id", "live")) == 1


def test_news_are_the_newest_entry_and_who_is_awaited(client: FlaskClient, table: Any):
    game = table(3)
    seat = asked(game)
    first = client.get(f"{url(game, 1)}/head")
    assert first.json == {"seq": count_entries(game.id), "awaited": [seat]}
    assert "Set-Cookie" not in first.headers
    again = client.get(f"{url(game, 1)}/head", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")
    make(game, seat, "pass")
    later = client.get(f"{url(game, 1)}/head", headers={"If-None-Match": first.headers["ETag"]})
    assert later.json == {"seq": count_entries(game.id), "awaited": [asked(game)]}


def test_news_are_the_same_for_everybody_at_the_table(client: FlaskClient, table: Any):
    game = table(2, "e1", slug="empire")
    make(game, 0, "redraw")
    assert {client.get(f"{url(game, seat)}/head").text for seat in (0, 1)} == {
        json.dumps({"awaited": [1], "seq": count_entries(game.id)}).replace(" ", "") + "\n"
    }


def test_a_game_that_is_over_has_no_news(client: FlaskClient, table: Any):
    game = table(3)
    make(game, asked(game), "pass")
    play.moderate(game.id, "!abandon", reason="Enough", person_id=outsider(), now=NOW + timedelta(hours=1))
    assert found(look(client, url(game, 0)), "id", "live") == []
    assert client.get(f"{url(game, 0)}/head").json == {"seq": count_entries(game.id), "awaited": []}


def test_the_scripts_are_few_and_light(client: FlaskClient, table: Any):
    game = table(3)
    seq = make(game, asked(game), "pass")
    for path in (url(game, asked(game)), f"{url(game, 0)}?played={seq}"):
        scripts = list(look(client, path).root.iter("script"))
        assert len(scripts) <= 2
        assert all(item.get("defer") is not None for item in scripts)
    assert sum(script.stat().st_size for script in STATIC.glob("*.js")) < 24_000


def test_no_script_draws_markup_of_its_own():
    for script in STATIC.glob("*.js"):
        text = script.read_text()
        for way in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
        ):
            assert way not in text, (script.name, way)
