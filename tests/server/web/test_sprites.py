"""The drawings of the cards: one file a game and language, complete, kept by browsers, and in no page."""

from __future__ import annotations

import re
from collections.abc import Callable
from xml.etree import ElementTree

import pytest
from flask.testing import FlaskClient

from server import config, i18n
from tests.conftest import Table
from tests.support.game_data import SEATS
from tests.support.games import asked, url
from tests.support.pages import look

one_database = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
DRAWN = [slug for slug in SEATS if (config.TEMPLATES / "games" / slug / "sprite.svg").is_file()]
USED = re.compile(r'href="(/static/[a-z]+-[a-z]{2}-[0-9a-f]{8}[.]svg)#([^"]+)"')


def drawings(client: FlaskClient, address: str) -> str:
    """Return the file of drawings at an address."""
    with client.get(address) as answer:
        assert answer.status_code == 200
        assert answer.mimetype == "image/svg+xml"
        return answer.get_data(as_text=True)


@one_database
@pytest.mark.parametrize("slug", DRAWN)
def test_what_a_page_draws_is_in_the_file_and_not_in_the_page(
    client: FlaskClient, table: Callable[..., Table], slug: str
) -> None:
    game = table(SEATS[slug], slug=slug)
    for path in (url(game, asked(game)), f"/rules/{slug}"):
        page = look(client, path)
        uses = USED.findall(page.html)
        assert uses
        assert "<symbol" not in page.html
        assert not re.search(r'<use[^>]* href="#', page.html)
        (address,) = {address for address, _ in uses}
        root = ElementTree.fromstring(drawings(client, address))
        there = {item.get("id") for item in root.iter()}
        assert {name for _, name in uses} <= there
        inner = {item.get("href", "")[1:] for item in root.iter("{http://www.w3.org/2000/svg}use")}
        assert inner <= there


@one_database
@pytest.mark.parametrize("slug", DRAWN)
def test_drawings_need_no_style_of_the_page(client: FlaskClient, slug: str) -> None:
    (address,) = {address for address, _ in USED.findall(look(client, f"/rules/{slug}").html)}
    text = drawings(client, address)
    assert not re.search(r'\b(class|style)="|<script|<style', text)


@one_database
def test_the_drawings_are_in_the_language_of_the_page(client: FlaskClient) -> None:
    told = {}
    for code in i18n.NAMES:
        page = look(client, "/rules/byzanz", headers={"Accept-Language": code})
        ((address, _), *_more) = USED.findall(page.html)
        told[code] = set(re.findall(">([A-Za-z]+)</text>", drawings(client, address)))
    assert {"Wine", "Wood", "Wi", "Wo"} <= told["en"]
    assert {"Wein", "Holz"} <= told["de"]
    assert {"Wijn", "Hout"} <= told["nl"]


@one_database
def test_drawings_are_kept_for_ever_and_an_old_address_brings_the_new_ones(client: FlaskClient) -> None:
    ((address, _), *_more) = USED.findall(look(client, "/rules/empire").html)
    with client.get(address) as answer, client.get("/static/empire-en-00000000.svg") as old:
        kept = {word.strip() for word in answer.headers["Cache-Control"].split(",")}
        assert kept == {"public", "max-age=31536000", "immutable"}
        assert old.headers["Cache-Control"] == "no-cache"
        assert old.get_data() == answer.get_data()
    for nothing in ("chess-en-00000000", "empire-fr-00000000", "..-en-00000000"):
        assert client.get(f"/static/{nothing}.svg").status_code == 404
