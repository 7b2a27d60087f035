"""What a browser needs to put the site on a home screen."""

from __future__ import annotations

import json
from struct import unpack
from urllib.parse import urljoin

from flask.testing import FlaskClient

from tests.support.pages import look


def fetched(client: FlaskClient, path: str) -> tuple[str, bytes]:
    """Return the type and the content of a file."""
    with client.get(path) as answer:
        assert answer.status_code == 200
        return str(answer.mimetype), answer.data


def test_the_site_can_be_put_on_a_home_screen(client: FlaskClient) -> None:
    page = look(client, "/")
    links = {item.get("rel"): item.get("href", "") for item in page.root.iter("link")}
    kind, text = fetched(client, links["manifest"])
    assert kind == "application/manifest+json"
    manifest = json.loads(text)
    assert urljoin(links["manifest"], manifest["start_url"]) == "/"
    for icon in manifest["icons"]:
        kind, picture = fetched(client, urljoin(links["manifest"], icon["src"]))
        assert kind == icon["type"]
        if kind == "image/png":
            width, height = unpack(">II", picture[16:24])
            assert icon["sizes"] == f"{width}x{height}"
    assert {"192x192", "512x512"} <= {icon["sizes"] for icon in manifest["icons"]}
    assert fetched(client, links["apple-touch-icon"])[0] == "image/png"
    assert "manifest-src 'self'" in client.get("/").headers["Content-Security-Policy"]


def test_the_bars_of_the_browser_are_in_the_colours_of_the_page(client: FlaskClient) -> None:
    colours = [
        item.get("media") for item in look(client, "/").root.iter("meta") if item.get("name") == "theme-color"
    ]
    assert colours == ["(prefers-color-scheme: light)", "(prefers-color-scheme: dark)"]
