"""The page about this server, and what programs look for: who may list what, and whom to tell about a problem."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

import pytest
from flask import Flask
from flask.testing import FlaskClient

from byzanz import games
from server.config import ConfigError, load
from server.store import engine
from tests.conftest import Table, settings
from tests.support.games import url
from tests.support.lobby import invited
from tests.support.pages import log_in, look

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
Seating = Callable[..., Table]
BASE = "https://byzanz.test"


def lines_by_title(client: FlaskClient, path: str) -> dict[str, list[str]]:
    """Return the fields of a text file."""
    answer = client.get(path)
    assert answer.mimetype == "text/plain"
    found: dict[str, list[str]] = {}
    for line in answer.text.splitlines():
        name, _, value = line.partition(": ")
        found.setdefault(name, []).append(value)
    return found


# ---- who may list what ----


def is_listed(client: FlaskClient, path: str) -> bool:
    with client.get(path) as answer:
        assert "noindex" not in answer.get_data(as_text=True)
        return "noindex" not in answer.headers.get("X-Robots-Tag", "")


def test_the_sitemap_names_exactly_the_pages_that_may_be_listed(client: FlaskClient, table: Seating) -> None:
    game = table(3)
    tree = ElementTree.fromstring(client.get("/sitemap.xml").data)
    addresses = [item.text or "" for item in tree.iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc")]
    assert addresses == [
        f"{BASE}/",
        *(f"{BASE}/rules/{rules.slug}" for rules in games.latest()),
        f"{BASE}/about",
    ]
    for address in addresses:
        assert is_listed(client, address.removeprefix(BASE)), address
    for path in (
        url(game, 0),
        f"/g/{game.id}",
        f"/g/{game.id}/history",
        "/new",
        "/sign-in",
        "/verify",
        "/nothing",
    ):
        assert not is_listed(client, path), path
    assert not is_listed(client, "/robots.txt")


def test_programs_are_kept_out_of_what_takes_long(client: FlaskClient) -> None:
    found = lines_by_title(client, "/robots.txt")
    assert found == {
        "User-agent": ["*"],
        "Disallow": ["/api/", "/g/*/history", "/g/*/verify"],
        "Sitemap": [f"{BASE}/sitemap.xml"],
    }


def test_the_front_page_names_nobody_to_strangers(client: FlaskClient, table: Seating) -> None:
    """It may be listed by search engines."""
    game = table(3, "g1", listed=True)
    game_id, _ = invited(engine.utc_now(), listed=True, free=1)
    shown = look(client, "/")
    assert f"/g/{game.id}" in shown.html
    assert f"/join/{game_id}" in shown.html
    assert not re.search("Alice|Bob|Charlie", shown.text)
    log_in(client, game.people[1])
    assert re.search("Alice.*Charlie", look(client, "/").text)


@pytest.mark.parametrize("path", ["/", "/rules/empire"])
def test_messengers_and_search_engines_show_what_a_link_is(client: FlaskClient, path: str) -> None:
    page = look(client, path)
    told = {
        item.get("property") or item.get("name"): item.get("content", "") for item in page.root.iter("meta")
    }
    assert told["og:url"] == BASE + path
    assert told["og:title"]
    assert told["og:description"] == told["description"] != ""
    with client.get(told["og:image"].removeprefix(BASE)) as picture:
        assert picture.mimetype == "image/png"
    canonical = [item.get("href") for item in page.root.iter("link") if item.get("rel") == "canonical"]
    assert canonical == [BASE + path]


# ---- whom to tell ----


@pytest.mark.parametrize(
    ("contact", "link"),
    [
        ("", "mailto:games@byzanz.test"),
        ("ann@example.org", "mailto:ann@example.org"),
        ("https://example.org/contact?a=b", "https://example.org/contact?a=b"),
    ],
)
def test_the_operator_can_be_reached(app: Flask, client: FlaskClient, contact: str, link: str) -> None:
    app.config["BYZANZ"] = settings(app.config["SQLALCHEMY_DATABASE_URI"], contact=contact)
    found = lines_by_title(client, "/.well-known/security.txt")
    assert found["Contact"] == [link]
    assert found["Canonical"] == [f"{BASE}/.well-known/security.txt"]
    left = datetime.fromisoformat(found["Expires"][0]) - datetime.now(UTC)
    assert timedelta(days=30) < left < timedelta(days=365)
    links = [item.get("href") for item in look(client, "/about").root.iter("a")]
    assert links.count(link) == 2


def test_without_an_address_nobody_is_sent_to_this_machine(app: Flask, client: FlaskClient) -> None:
    app.config["BYZANZ"] = settings(
        app.config["SQLALCHEMY_DATABASE_URI"], mail_from="Byzanz <byzanz@localhost>"
    )
    assert client.get("/.well-known/security.txt").status_code == 404
    assert "localhost" not in look(client, "/about").html


@pytest.mark.parametrize(
    "contact", ["nobody", "a b@example.org", "http://example.org", "javascript:alert(1)", "https://"]
)
@pytest.mark.usefixtures("database_url")
def test_a_contact_that_cannot_be_is_refused(monkeypatch: pytest.MonkeyPatch, contact: str) -> None:
    monkeypatch.setenv("BYZANZ_CONTACT", contact)
    with pytest.raises(ConfigError, match="BYZANZ_CONTACT: must be an address"):
        load()


# ---- the page ----


def test_the_page_tells_how_long_what_is_kept(app: Flask, client: FlaskClient) -> None:
    page = look(client, "/about")
    for text in ("30 days after the game has ended", "Deleted after 90 days", "after 90 days without use"):
        assert text in page.text
    assert [item.get("id") for item in page.root.iter("h2")] == ["privacy", "accessibility"]
    assert "by replying to emails" not in page.text
    app.config["BYZANZ"] = settings(app.config["SQLALCHEMY_DATABASE_URI"], mail_domain="play.example.org")
    assert "by replying to emails" in look(client, "/about").text
    assert "/about" in {item.get("href") for item in look(client, "/sign-in").root.iter("a")}
