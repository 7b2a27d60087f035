"""Every page in every state is usable in each language, light and dark, on a phone and on a desktop."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.browser.chromium import Tab
from tests.support.browser.page_checks import axe, contrast, looks, unfold
from tests.support.browser.site import Site
from tests.support.browser.states import AROUND, SPOKEN, SPOKEN_AT_NIGHT, STATES, place_of
from tests.support.pages import drawn

NARROW, PHONE, DESK = 320, 390, 1280
"""Widths of windows."""
WORDS = [
    "aria-input-field-name", "button-name", "document-title", "duplicate-id-aria", "empty-heading", "html-has-lang",
    "html-lang-valid", "image-alt", "input-button-name", "label", "landmark-unique", "link-name", "select-name",
    "summary-name", "svg-img-alt", "target-size", "valid-lang",
]  # fmt: skip
"""The rules of the engine that another language can break."""
SHOWN = (
    "front",
    "new",
    "byzanz bid",
    "empire meld",
    "byzantium put",
    "byzanz over",
    "moderate",
    "moderate game",
)
"""States of which pictures are kept: they take a tenth of the time."""
sound: set[str] = set()
"""The colours that have met on sound pages."""
parts: set[frozenset[str]] = set()
"""The sets of templates that the engine has seen together in English; at night, it looks at every state."""
checked: set[tuple[str, str]] = set()
"""The languages and templates around the games that the engine has looked at; at night, it looks at every state."""


def visit(kept: Callable[..., Tab], site: Site, state: str, width: int, language: str = "en") -> Tab:
    """A tab that shows this state."""
    place = place_of(site, state)
    shown = kept(place.person, language)
    shown.page.set_viewport_size({"width": width, "height": 800})
    if place.fields is None:
        shown.goto(place.path, place.status)
    else:
        shown.send(place.path, {"csrf_token": site.there.csrf(), **place.fields}, place.status)
    return shown


@pytest.mark.parametrize("state", STATES)
def test_everybody_can_use_every_page(
    kept: Callable[..., Tab], site: Site, state: str, pytestconfig: pytest.Config
) -> None:
    with drawn(site.house.app) as templates:
        shown = visit(kept, site, state, DESK)
    page, new = shown.page, frozenset(templates) not in parts or pytestconfig.getoption("nightly")
    if state in SHOWN:
        shown.shot(f"{state}-{DESK}-light")
    unfold(page)
    faults = axe(page, contrast=False) if new else []
    faults += contrast(page, sound) + looks(page, DESK)
    page.emulate_media(color_scheme="dark")
    faults += [f"by night: {fault}" for fault in contrast(page, sound)]
    faults += looks(page, PHONE) + looks(page, NARROW)
    if new:
        faults += [
            f"at {NARROW}: {fault}" for fault in axe(page, ["target-size", "scrollable-region-focusable"])
        ]
    parts.add(frozenset(templates))
    if state in SHOWN:
        shown.shot(f"{state}-{NARROW}-dark")
    assert faults == [], "\n".join(faults)


@pytest.mark.parametrize(
    ("language", "state"),
    [*SPOKEN, *(pytest.param(*other, marks=pytest.mark.nightly) for other in SPOKEN_AT_NIGHT)],
)
def test_every_page_in_every_language(
    kept: Callable[..., Tab], site: Site, language: str, state: str, pytestconfig: pytest.Config
) -> None:
    with drawn(site.house.app) as templates:
        page = visit(kept, site, state, NARROW, language).page
    assert page.get_attribute("html", "lang") == language
    unfold(page)
    faults = looks(page)
    seen = {(language, state if state not in AROUND else template) for template in templates}
    if not seen <= checked or pytestconfig.getoption("nightly"):
        faults += axe(page, WORDS)
    checked.update(seen)
    assert faults == [], "\n".join(faults)
