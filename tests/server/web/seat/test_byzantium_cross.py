"""The drawing of the Byzantium cross: every card and every button is where the rules say."""

from __future__ import annotations

import re
from itertools import combinations
from typing import Any

import pytest
from flask.testing import FlaskClient

from byzanz.games.byzantium.cards import NAME, SLOT, SLOTS, SUIT
from byzanz.games.byzantium.cross import DEAD, RIVALS, box, spot
from tests.support.byzantium_tables import moments
from tests.support.folders import ROOT
from tests.support.markup import assert_sound
from tests.support.pages import Page, look
from tests.support.tables import position, url

STYLE = (ROOT / "templates" / "games" / "byzantium" / "style.css").read_text()
USABLE = [slot for slot in SLOTS if slot not in DEAD]
one_database = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
"""Marks tests of pages, which do not depend on the database."""


def drawn(page: Page) -> dict[str, tuple[int, int, int, int]]:
    """Return the cards of the drawn cross by slot: centre and size."""
    found = {}
    for group in page.root.iter("g"):
        title, at = (
            group.find("title"),
            re.fullmatch(r"translate\((\S+) (\S+)\)", group.get("transform", "")),
        )
        if title is None or at is None or ":" not in (title.text or ""):
            continue
        slot = (title.text or "").split(":")[0]
        frame = group.find("rect")
        assert frame is not None
        found[slot] = (int(at[1]), int(at[2]), int(frame.get("width", 0)), int(frame.get("height", 0)))
    return found


def size(slot: str) -> tuple[int, int, int, int]:
    at, edges = spot(slot), box(spot(slot))
    return at.x, at.y, edges.right - edges.left, edges.bottom - edges.top


@one_database
def test_the_cards_lie_where_the_rules_say(client: FlaskClient, cross: Any):
    game = cross(4)
    for seat in moments(game, every=5):
        view = position(game.id).view(seat)
        for path in (url(game, seat), url(game, (seat + 1) % 4), f"/g/{game.id}"):
            page = look(client, path)
            assert drawn(page) == {place.slot: size(place.slot) for place in view.places if place.card}
            assert_in_the_picture(page, view)


def assert_in_the_picture(page: Page, view: Any) -> None:
    [svg] = [
        item for item in page.root.iter("svg") if item.get("role") == "img" and item.find("g") is not None
    ]
    left, top, wide, high = map(int, svg.get("viewbox", "").split())
    for place in view.places:
        if place.state in ("taken", "open"):
            edges = box(spot(place.slot))
            assert left < edges.left
            assert edges.right < left + wide
            assert top < edges.top
            assert edges.bottom < top + high


@one_database
def test_the_rules_page_draws_true_examples(client: FlaskClient):
    page = look(client, "/rules/byzantium")
    assert_sound("rules", page)
    assert len(drawn(page)) == len({"e", "ef", "el", "elf", "s", "sf", "sr", "w", "n"})
    for slot, shown in drawn(page).items():
        assert shown == size(slot)
    rects = {
        tuple(float(item.get(key, 0)) for key in ("x", "y", "width", "height"))
        for item in page.root.iter("rect")
        if item.get("class", "").split()[:1] in (["open"], ["dead"])
    }
    named = [slot for slot in SLOTS if slot[0] == "e"] + ["nf", "nl", "nr"]
    edges = [box(spot(slot)) for slot in named]
    assert rects == {
        (float(each.left), float(each.top), float(each.right - each.left), float(each.bottom - each.top))
        for each in edges
    }


def ground(slot: str) -> tuple[float, float, float, float]:
    """Return the edges of a slot's button, as the stylesheet defines them."""
    rule = re.search(rf"\.at-{slot} \{{(.*?)\}}", STYLE)
    assert rule, slot
    given = {name: float(value) for name, value in re.findall(r"--(\w): (\S+);", rule[1])}
    wide, high = given.get("w", size(slot)[2]), given.get("h", size(slot)[3])
    return given["x"] - wide / 2, given["y"] - high / 2, given["x"] + wide / 2, given["y"] + high / 2


def test_every_place_has_its_button_on_it_and_none_shares_ground_with_one_of_its_colour():
    for slot in USABLE:
        left, top, right, bottom = ground(slot)
        edges = box(spot(slot))
        assert edges.left <= left < right <= edges.right, slot
        assert edges.top <= top < bottom <= edges.bottom, slot
        if not RIVALS[SLOT[slot]]:
            assert (left, top, right, bottom) == edges, slot
    for one, other in combinations(USABLE, 2):
        if SUIT[one[0]] == SUIT[other[0]]:
            a, b = ground(one), ground(other)
            apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
            assert apart, (one, other)


def test_choosing_any_card_hides_the_places_it_does_not_fit():
    for card in NAME:
        chosen = f'.placing:has([value="{card}"]:checked)'
        assert f'{chosen} [data-takes]:not([data-takes~="{card}"])' in STYLE
