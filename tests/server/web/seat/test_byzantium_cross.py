"""The drawing of the Byzantium cross: every card and every button is where the rules say."""

from __future__ import annotations

import math
import re
from itertools import combinations
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from byzanz.games.byzantium.state import DEAD, NAME, SLOTS, SUIT, box, kin, spot
from tests.support.byzantium_positions import legal, moments
from tests.support.folders import ROOT
from tests.support.games import make, position, url
from tests.support.pages import Page, assert_sound, look

STYLE = (ROOT / "templates" / "games" / "byzantium" / "style.css").read_text()
USABLE = [slot for slot in SLOTS if slot not in DEAD]
PHONE, WIDEST = 356, 100
"""The pixels that a phone of 390 has for the cross, and how many units a cross can be wide."""
one_database = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
"""Marks tests of pages, which do not depend on the database."""


def drawn(page: Page) -> dict[str, tuple[int, int, int, int]]:
    """Return the cards of the drawn cross by slot: centre and size."""
    found = {}
    for group in page.root.iter("g"):
        slot, at = (
            group.get("data-slot"),
            re.fullmatch(r"translate\((\S+) (\S+)\)", group.get("transform", "")),
        )
        if slot is None or at is None:
            continue
        face = group.find("use")
        assert face is not None
        found[slot] = (int(at[1]), int(at[2]), int(face.get("width", 0)), int(face.get("height", 0)))
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
            assert_in_the_picture(page, view, view.hand if path == url(game, seat) else ())


def assert_in_the_picture(page: Page, view: Any, hand: tuple[str, ...]) -> None:
    """Whatever the reader sees and can do is in the picture, which reaches no further than it must."""
    [svg] = [
        item for item in page.root.iter("svg") if item.get("role") == "img" and item.find("g") is not None
    ]
    left, top, wide, high = map(int, svg.get("viewbox", "").split())
    for place in view.places:
        if place.card or set(place.takes) & set(hand):
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


Ground = tuple[float, float, float, float]


@pytest.fixture
def grounds(app: Flask) -> dict[str, Ground]:
    """Return the edges of every slot's button, as its classes and the stylesheet define them."""
    places = [
        {"slot": slot, "x": spot(slot).x, "y": spot(slot).y, "upright": spot(slot).dx == 0, "state": "open"}
        | {"takes": [NAME[card] for card in SUIT[slot[0]]]}
        for slot in USABLE
    ]
    rules = dict(re.findall(r"\.([\w-]+) \{([^}]*)\}", STYLE))
    template = app.jinja_env.get_template("games/byzantium/cards.html")
    with app.test_request_context():
        html = str(template.module.cross(places, ("ab", "ar"), NAME, press=True))  # type: ignore[attr-defined]
    found = {}
    for classes, slot in re.findall(r'<button class="slot ([^"]*)" name="card" value="(\w+)"', html):
        given = {"w": 14.0, "h": 10.0, "x": 0.0, "y": 0.0, "dx": 0.0, "dy": 0.0}
        for name in classes.split():
            given |= {key: float(value) for key, value in re.findall(r"--(\w+): (\S+);", rules.get(name, ""))}
        x, y = given["x"] + given["dx"], given["y"] + given["dy"]
        found[slot] = (x - given["w"] / 2, y - given["h"] / 2, x + given["w"] / 2, y + given["h"] / 2)
    assert set(found) == set(USABLE)
    return found


@one_database
def test_every_place_has_its_button_on_it(grounds: dict[str, Ground]):
    for slot, (left, top, right, bottom) in grounds.items():
        edges = box(spot(slot))
        assert left < edges.right
        assert edges.left < right
        assert top < edges.bottom
        assert edges.top < bottom
        if slot[1:] not in ("fl", "fr", "lr", "rl"):
            assert (left, top, right, bottom) == edges, slot


@one_database
def test_places_that_one_card_fits_can_be_told_apart_by_a_thumb(grounds: dict[str, Ground]):
    for one, other in combinations(USABLE, 2):
        if SUIT[one[0]] == SUIT[other[0]] and not kin(one, other):
            a, b = grounds[one], grounds[other]
            apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
            assert apart, (one, other)
            steps = math.dist(*[((each[0] + each[2]) / 2, (each[1] + each[3]) / 2) for each in (a, b)])
            assert steps * PHONE / WIDEST >= 44, (one, other)


@one_database
def test_what_others_placed_since_bears_a_ring_and_an_initial(client: FlaskClient, cross: Any):
    game = cross(3)
    for seat in (0, 1, 2, 0):
        make(game, seat, legal(game, seat)[0])
    shown = ringed(look(client, url(game, 1)))
    placed = {place.slot: place.card for place in position(game.id).view(1).places if place.card}
    assert sorted(shown.values()) == ["A", "C"]
    assert set(shown) < set(placed)
    page = look(client, url(game, 0))
    assert sorted(ringed(page).values()) == []
    assert list(ringed(look(client, f"/g/{game.id}")).values()) == ["A"]  # the newest move


def ringed(page: Page) -> dict[str, str]:
    """Return the marked cards of the drawn cross by slot, each with the initial on it."""
    groups = [group for group in page.root.iter("g") if group.get("data-slot")]
    rings = {group.get("data-slot", ""): group.find("g[@class='initial']/text") for group in groups}
    return {slot: text.text or "" for slot, text in rings.items() if text is not None}


def test_choosing_any_card_hides_the_places_it_does_not_fit():
    for card in NAME:
        assert f"&:has(.c{card} :checked) .c{card}" in STYLE
    assert ".ckb { visibility: visible; }" in STYLE
    assert "&:has(:checked) :is(.slot, .open) { visibility: hidden; }" in STYLE
