"""The pictures of the README: `TEST_PICTURES=docs/images python3 dev.py test tests/browser/test_pictures.py`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.browser.chromium import Tab
from tests.support.browser.site import Site
from tests.support.folders import ROOT

IMAGES = ROOT / "docs" / "images"
PHONE: dict[str, Any] = {"size": (390, 844), "device_scale_factor": 2}
PICTURES: dict[str, dict[str, Any]] = {
    "turn-phone": PHONE,
    "turn-dark": {"size": (1280, 860), "scheme": "dark"},
    "front": {"size": (1280, 800)},
    "story": {"size": (1280, 1000)},
}
"""Each picture with the window in which it is taken."""


def place(site: Site, name: str) -> str:
    """The path of the page that a picture shows."""
    if name == "front":
        return "/"
    if name == "story":
        return f"/g/{site.over('byzanz').id}"
    game, seat = site.asked("byzanz", "bid", "-picture")
    return f"/t/{game.tokens[seat]}"


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_taken(site: Site, tab: Callable[..., Tab], name: str, tmp_path: Path) -> None:
    folder = Path(os.environ.get("TEST_PICTURES") or tmp_path)
    page = tab(**PICTURES[name]).page
    page.goto(site.house.origin + place(site, name))
    if name.startswith("turn"):
        page.locator("#play label.card, #hand label").nth(1).click()
    path = folder / f"{name}.png"
    page.screenshot(path=path, animations="disabled")
    assert path.stat().st_size > 10_000


def test_the_readme_shows_these_pictures() -> None:
    assert {path.stem for path in IMAGES.glob("*.png")} == set(PICTURES)
    readme = (IMAGES.parents[1] / "README.md").read_text()
    assert all(f"docs/images/{name}.png" in readme for name in PICTURES)
