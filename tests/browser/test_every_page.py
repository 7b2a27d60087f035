"""Every page in every state, in each language, by day and by night, on a phone and on a desk: usable by everybody."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.judges import axe, looks, unfold
from tests.browser.states import STATES
from tests.browser.tabs import Tab
from tests.browser.town import Town

PHONE, PHONE_2, DESK = 320, 390, 1280


def visit(tab: Callable[..., Tab], town: Town, state: str, **how: object) -> Tab:
    """A tab that shows this state."""
    place = STATES[state](town)
    shown = tab(person=place.person, **how)
    if place.fields is None:
        shown.goto(place.path, place.status)
    else:
        shown.send(place.path, {"csrf_token": town.there.csrf(), **place.fields}, place.status)
    return shown


@pytest.mark.parametrize("state", STATES)
def test_everybody_can_use_every_page(tab: Callable[..., Tab], town: Town, state: str) -> None:
    shown = visit(tab, town, state)
    page = shown.page
    shown.shot(f"{state}-{DESK}-light".replace(" ", "-"))
    unfold(page)
    faults = axe(page) + looks(page, DESK)
    page.emulate_media(color_scheme="dark")
    faults += [f"by night: {fault}" for fault in axe(page, ["color-contrast"])]
    faults += looks(page, PHONE_2) + looks(page, PHONE)
    faults += [f"by night: {fault}" for fault in axe(page, ["target-size", "scrollable-region-focusable"])]
    shown.shot(f"{state}-{PHONE}-dark".replace(" ", "-"))
    assert faults == [], "\n".join(faults)
