"""One stylesheet for each page: base and game joined, small, and cached until it changes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from byzanz import games
from server import config
from server.web import assets

one_database = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
HEAVY = 40_000
"""The size in bytes that the stylesheet may not reach."""


def linked(client: FlaskClient, path: str = "/") -> list[str]:
    """Return the stylesheets of a page."""
    return re.findall(r'<link rel="stylesheet" href="([^"]+)"', client.get(path).text)


@one_database
@pytest.mark.parametrize("path", ["/", "/rules/byzanz", "/rules/empire", "/new", "/nothing"])
def test_a_page_asks_for_one_sheet(client: FlaskClient, path: str):
    assert len(linked(client, path)) == 1


@one_database
@pytest.mark.parametrize("slug", [each.slug for each in games.latest()])
def test_the_sheet_has_the_base_and_the_game_that_is_shown_and_is_light(client: FlaskClient, slug: str):
    with client.get(linked(client, f"/rules/{slug}")[0]) as answer:
        sheet = answer.get_data(as_text=True)
    assert answer.mimetype == "text/css"
    assert len(sheet.encode()) < HEAVY
    assert "/*" not in sheet
    own = config.TEMPLATES / "games" / slug / "style.css"
    for path in (assets.BASE, *([own] if own.is_file() else [])):
        names = re.findall(r"^([.][^{}/,]+) \{", path.read_text(), re.MULTILINE)
        assert names
        assert [name for name in names if f"{re.sub(r' *> *', '>', name)}{{" not in sheet] == []


@one_database
def test_the_page_that_checks_a_record_has_its_own_styles(client: FlaskClient):
    with (
        client.get(linked(client, "/verify")[0]) as checking,
        client.get(linked(client, "/nothing")[0]) as bare,
    ):
        assert b".checks{" in checking.get_data()
        assert b".checks{" not in bare.get_data()


@one_database
def test_the_rules_have_the_styles_of_their_game_and_their_own(client: FlaskClient):
    with client.get(linked(client, "/rules/empire")[0]) as rules, client.get(linked(client)[0]) as front:
        for style in (b".scene{", b".plaque{"):
            assert style in rules.get_data()
            assert style not in front.get_data()


@one_database
def test_a_page_without_a_game_has_the_base_alone(client: FlaskClient):
    with client.get(linked(client, "/nothing")[0]) as bare, client.get(linked(client)[0]) as front:
        assert len(bare.get_data()) < len(front.get_data())


@one_database
def test_the_sheet_is_kept_for_ever_and_an_old_address_brings_the_new_one(client: FlaskClient):
    [address] = linked(client)
    with client.get(address) as answer, client.get("/static/style-byzanz-front-0123456789ab.css") as old:
        kept = {word.strip() for word in answer.headers["Cache-Control"].split(",")}
        assert kept == {"public", "max-age=31536000", "immutable"}
        assert old.headers["Cache-Control"] == "no-cache"
        assert old.get_data() == answer.get_data()


def test_another_sheet_has_another_address(tmp_path: Path):
    path = tmp_path / "style.css"
    path.write_text("a { color: red; } /* said */\n")
    before = assets._concatenate(path)
    assets._concatenate.cache_clear()
    path.write_text("a { color: blue }\n")
    after = assets._concatenate(path)
    assert before[0] == "a{color:red}"
    assert before[1] != after[1]


def test_no_sheet_of_a_page_is_heavy() -> None:
    sizes = {name: len(assets._stylesheet(name)[0].encode()) for name in assets._sheets()}
    assert len(sizes) > len(assets.PAGES)
    assert {name: size for name, size in sizes.items() if size >= HEAVY} == {}
