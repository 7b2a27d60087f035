"""The rules pages: four pictures, an example step by step, and an anchor for every question of a turn."""

from __future__ import annotations

import re
from typing import Any

import pytest
from flask.testing import FlaskClient

from byzanz.games.byzantium import state
from byzanz.games.byzantium.state import CARD, SLOT
from tests.support.browser.site import KINDS
from tests.support.game_data import SEATS
from tests.support.games import asked, url
from tests.support.pages import Page, assert_sound, look

STEP = re.compile(r"Step (\d+) of (\d+)")
RANKS = {"jack": "j", "queen": "q", "king": "k"}


def ids(page: Page) -> set[str]:
    """Return the ids on a page."""
    return {item.get("id", "") for item in page.root.iter()}


def steps(client: FlaskClient, slug: str) -> list[Page]:
    """Return the page at every step of its example, by its links."""
    path, found = f"/rules/{slug}", []
    while path:
        page = look(client, path)
        found.append(page)
        further = [item for item in page.root.iter("a") if item.get("rel") == "next"]
        assert all(item.get("href", "").endswith("#example") for item in further)
        path = f"/rules/{slug}{further[0].get('href', '').partition('#')[0]}" if further else ""
    return found


@pytest.mark.parametrize("slug", KINDS)
def test_every_question_has_its_paragraph(client: FlaskClient, slug: str) -> None:
    assert set(KINDS[slug]) <= ids(look(client, f"/rules/{slug}"))


@pytest.mark.parametrize("slug", KINDS)
def test_the_turn_page_leads_to_the_paragraph_about_its_question(
    client: FlaskClient, table: Any, slug: str
) -> None:
    game = table(SEATS[slug], slug=slug)
    seat = asked(game)
    kind = next(iter(KINDS[slug]))
    assert f'href="/rules/{slug}#{kind}"' in look(client, url(game, seat)).html


@pytest.mark.parametrize("slug", KINDS)
def test_the_sections_are_folded_after_the_example(client: FlaskClient, slug: str) -> None:
    page = look(client, f"/rules/{slug}")
    headings = ["".join(item.itertext()).strip() for item in page.root.iter("h2")]
    assert headings[:2] == ["In 30 seconds", "An example"], "they come before all that is read"
    folded = [item for item in page.root.iter("details") if "panel" in item.get("class", "")]
    assert len(folded) == len(headings) - 2 >= 8
    assert not any(item.get("open") for item in folded)


@pytest.mark.parametrize("slug", KINDS)
def test_four_pictures_come_first(client: FlaskClient, slug: str) -> None:
    page = look(client, f"/rules/{slug}")
    scenes = [item for item in page.root.iter("div") if item.get("class") == "scene"]
    assert len(scenes) == 4
    assert all(any(str(item.tag).endswith("svg") for item in scene.iter()) for scene in scenes)
    assert page.html.index('class="scene"') < page.html.index('id="example"')


@pytest.mark.parametrize("slug", KINDS)
def test_the_example_is_clicked_through_without_scripts(client: FlaskClient, slug: str) -> None:
    pages = steps(client, slug)
    told = [tuple(map(int, STEP.findall(page.text)[0])) for page in pages]
    assert told == [(number, len(pages)) for number in range(1, len(pages) + 1)]
    assert len(pages) >= 6
    assert len({page.html for page in pages}) == len(pages)
    for page in pages:
        assert_sound(slug, page)
        assert len(page.html.encode()) < 60_000
    assert 'rel="prev"' not in pages[0].html
    for query in ("0", "-1", "x", "9" * 40, ""):
        assert STEP.findall(look(client, f"/rules/{slug}?step={query}").text)[0][0] == "1"
    assert STEP.findall(look(client, f"/rules/{slug}?step=99").text)[0] == (str(len(pages)),) * 2


def test_the_long_sections_of_byzanz_have_pictures_and_fold_their_exceptions(client: FlaskClient) -> None:
    page = look(client, "/rules/byzanz")
    for name in ("auctions", "the-market"):
        section = page.html.partition(f'<h2 id="{name}">')[2].partition('<details class="panel')[0]
        assert 'class="card good-' in section, name
    assert "the first player who passed takes the whole lot" in page.html.partition("<details>")[2]


def test_the_example_of_byzantium_keeps_the_rules(client: FlaskClient) -> None:
    lying, seen = state.NO_CARDS, set[tuple[str, str, str]]()
    for page in steps(client, "byzantium"):
        stage = page.html.partition('class="stage"')[2].partition("</section>")[0]
        now = set(re.findall(r'data-slot="(\w+)"[^>]*><title>(\w+) (\w+)</title>', stage))
        [laid] = now - seen
        slot, colour, rank = laid
        card = CARD[RANKS.get(rank, rank) + colour[0]]
        assert card in state.openings(lying)[SLOT[slot]], laid
        lying, seen = state.placed(lying, SLOT[slot], card), now


def test_the_example_of_empire_adds_up(client: FlaskClient) -> None:
    html = look(client, "/rules/empire?step=4").html
    sums = [int(number) for number in re.findall(r'class="number sum">(\d+)<', html)]
    assert len(sums) == 2
    assert f"The Empire is {sums[1] - sums[0]} behind, so its territory falls from 10 to 8." in html
    assert f"{sums[0]} &lt; {sums[1]}" in html, "the third picture shows the same battle"
