"""Browsers for the page tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import flask
import flask_babel
import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.conftest import Table, copied
from tests.pages.looks import Marked


@pytest.fixture(params=["sqlite"])
def database_url(migrated_file: Path) -> Iterator[str]:
    """A fresh SQLite database: how a page looks is the same on each, and `test_routes` asks for each page on both."""
    with copied(migrated_file) as url:
        yield url


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    """A browser without cookies yet; each of its requests begins with an empty `g`, as a server's does.

    The app context that the tests keep open outlives requests, and with it what one request kept for itself.
    """
    app.before_request_funcs.setdefault(None, []).insert(0, _forget)
    return app.test_client()


def _forget() -> None:
    for name in list(flask.g):
        flask.g.pop(name)


@pytest.fixture
def marked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every translated text of a page stands between brackets, so that one that was forgotten shows."""
    monkeypatch.setattr(flask_babel.Domain, "get_translations", lambda _self: Marked())


@pytest.fixture
def cross(table: Callable[..., Table]) -> Callable[..., Table]:
    """Seats friends at a game of Byzantium."""
    return lambda n=3, game_id="g1": table(n, game_id, slug="byzantium")
