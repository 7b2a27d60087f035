"""Requirements for every page: valid HTML, nothing inline, small, legible, translatable."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient

from server import play
from server.store import engine, people
from server.store.models import Game
from tests.conftest import NOW
from tests.support.folders import STATIC
from tests.support.games import advance, asked, make, url
from tests.support.pages import Page, assert_sound, forgotten, look, outside_brackets, press, read

KINDS = ("bid", "tax", "limit", "take", "end")


def pages(client: FlaskClient, table: Any) -> Iterator[tuple[str, Page]]:
    """Return every page of a running game and around it."""
    for kind in KINDS:
        game = table(3, f"g-{kind}")
        seat = advance(game, kind)
        yield kind, look(client, url(game, seat))
        yield f"{kind} of others", look(client, url(game, (seat + 1) % 3))
        yield f"{kind} in public", look(client, f"/g/{game.id}")
    yield "history", look(client, f"{url(game, seat)}/history?at=9")
    yield "public history", look(client, f"/g/{game.id}/history")
    game = table(3, "g-refused")
    page = look(client, url(game, asked(game)))
    two = {"verb": "sell", "card": page.form("play").boxes[:2], "seen": "1", "request_id": "two"}
    yield "refused", read(client.post(url(game, 0), data=two))
    seq = make(game, 0, "pass")
    yield "receipt", look(client, f"{url(game, 0)}?played={seq}")
    yield "stale", read(press(client, page, "move", "pass"))
    moderator = _moderator()
    play.moderate(game.id, "!extend 1 7200", reason="Quiet", person_id=moderator, now=NOW)
    play.moderate(game.id, f"!void {seq}", reason="A slip", person_id=moderator, now=NOW)
    yield "paused", look(client, url(game, 0))
    play.moderate(game.id, "!abandon", reason="Enough", person_id=moderator, now=NOW)
    yield "over", look(client, url(game, 0))
    yield "over in public", look(client, f"/g/{game.id}")
    with engine.transaction() as session:
        session.get_one(Game, game.id).status = "inviting"
    yield "before", look(client, url(game, 0))
    yield "before in public", look(client, f"/g/{game.id}")
    yield "rules", look(client, "/rules/byzanz")
    yield "no rules", look(client, "/rules/chess")
    yield "no link", look(client, "/t/nothing")
    yield "no game", look(client, "/g/nothing")


def _moderator() -> int:
    with engine.transaction() as session:
        return people.get_or_create(session, "mod@example.org", "Mo", NOW).id


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_every_page_is_sound(client: FlaskClient, table: Any):
    for name, page in pages(client, table):
        assert_sound(name, page)


DATA = re.compile(
    r"Byzanz|The Golden Horn|Alice|Bob|Charlie|Quiet|A slip|Enough|UTC|[0-9a-f]{64}"
    r"|(Mon|Tue) \d+ Mar, \d\d:\d\d|\d+ Mar, \d\d:\d\d"
)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.usefixtures("marked")
def test_every_text_can_be_translated(client: FlaskClient, table: Any):
    for name, page in pages(client, table):
        assert forgotten(page, DATA) == [], name


def test_the_marks_would_find_a_forgotten_text():
    assert outside_brackets("⟦Your ⟦hand⟧⟧ forgotten") == "⟧ forgotten"


def test_the_policy_allows_what_the_pages_use(client: FlaskClient, table: Any):
    game = table(3)
    answer = client.get(url(game, 0))
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "img-src 'self'" in policy
    assert answer.headers["Cache-Control"] == "no-store"
    for name in re.findall(r'(?:href|src)="(/static/[^"]+)"', answer.text):
        with client.get(name) as file:
            assert file.status_code == 200


@pytest.mark.parametrize(("kind", "most"), [(".js", 24_000), (".svg", 5_000)])
def test_the_static_files_are_small(kind: str, most: int):
    """The total size of scripts and of images; test_style.py checks the stylesheet as it is served."""
    assert 0 < sum(path.stat().st_size for path in STATIC.iterdir() if path.suffix == kind) < most


def _luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _tokens() -> tuple[dict[str, str], dict[str, str]]:
    """Return the colours of light and dark mode."""
    css = (STATIC / "style.css").read_text()
    blocks = re.findall(r":root \{(.*?)\n *\}", css, re.DOTALL)
    day, night = (dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-fA-F]{6});", block)) for block in blocks[:2])
    return day, day | night


GROUNDS = ("marble", "slab", "slab-2")
PAIRS = [
    *(
        (ink, ground)
        for ink in ("ink", "ink-2", "lapis", "gold", "porphyry", "title", "wrong")
        for ground in GROUNDS
    ),
    *(("ink", wash) for wash in ("gold-wash", "wrong-wash", "good-wash")),
    ("gold", "gold-wash"),
    ("ink-2", "gold-wash"),
    ("lapis", "gold-wash"),
    ("on-lapis", "lapis-fill"),
    ("on-lapis", "lapis-hover"),
    *(
        (good, "paper")
        for good in ("cloth", "grain", "olive", "spice", "wine", "wood", "merchant", "card-ink", "suit-red")
    ),
]


@pytest.mark.parametrize("scheme", [0, 1], ids=["day", "night"])
def test_every_text_has_contrast_enough(scheme: int):
    colours = _tokens()[scheme]
    weak = {pair: ratio for pair in PAIRS if (ratio := _contrast(*(colours[name] for name in pair))) < 4.5}
    assert weak == {}
