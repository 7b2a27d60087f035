"""The markup of every page in every state is valid, consistent and small, and no page is forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

import pytest

from server.config import TEMPLATES
from tests.support.browser.site import KINDS, Site
from tests.support.browser.states import STATES, place_of
from tests.support.pages import Page, assert_sound, drawn, parsed

LIGHT = 60_000
"""Bytes that the page of a game does not reach."""
DEMO = {"demo/inbox.html"}
"""Pages that only the demo has."""


def site_pages(site: Site) -> Iterator[tuple[str, Page]]:
    """Every state as it would be sent to a browser."""
    for state in STATES:
        place = place_of(site, state)
        method = "GET" if place.fields is None else "POST"
        answer = site.there.ask(site.there.browser(place.person), method, place.path, place.fields)
        assert answer.status_code == place.status, state
        yield state, Page(answer.status_code, answer.text, Element("unparsed"))


def test_every_page_is_sound(site: Site) -> None:
    faults = []
    with drawn(site.house.app) as names:
        for state, page in site_pages(site):
            try:
                assert_sound(state, page)
            except AssertionError as error:
                faults.append(str(error).partition("\n")[0])
            if state.startswith(tuple(KINDS)) and "over" not in state and len(page.html.encode()) >= LIGHT:
                faults.append(f"{state} is of {len(page.html.encode())} bytes")
    assert faults == [], "\n".join(faults)
    whole = {
        str(path.relative_to(TEMPLATES))
        for path in TEMPLATES.rglob("*.html")
        if '{% extends "base.html" %}' in path.read_text()
    }
    assert whole - names - DEMO == set(), "no state shows these pages"


@pytest.mark.parametrize(
    ("fault", "markup"),
    [
        ("a mistake", "<p><div></div></p>"),
        ("a style in place", "<p style='color: red'></p>"),
        ("twice the same id", "<p id=x></p><p id=x></p>"),
        ("a field without a label", "<input name=x>"),
        ("a label for nothing", "<label for=y>Y</label>"),
        ("a button in a link", "<a href='/'><button>Go</button></a>"),
        ("something else in a list", "<ul><p>one</p></ul>"),
        ("a script in place", "<script>1</script>"),
        ("two main headings", "<h1>Another</h1>"),
    ],
)
def test_a_planted_fault_is_found(site: Site, fault: str, markup: str) -> None:
    sound = site.there.ask(site.there.browser(), "GET", "/asked").text
    assert_sound("as it is", parsed(sound))
    page = Page(200, sound.replace("</main>", f"{markup}</main>"), Element("unparsed"))
    with pytest.raises(AssertionError):
        assert_sound(fault, page)
