"""Browsers for the page tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import flask
import pytest
from flask import Flask
from flask.testing import FlaskClient

from server import create_app
from server.store import engine
from server.web.http import limiter
from tests.conftest import Table, begun
from tests.support.databases import settings
from tests.support.pages import mark


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    """Return a client without cookies; each of its requests starts with an empty `g`, as on a server.

    The app context that the tests keep open outlives requests, and so would data that a request stored in it. All
    requests have one ID, so that equal answers are equal to the byte.
    """
    app.before_request_funcs.setdefault(None, []).insert(0, _forget)
    made = app.test_client()
    made.environ_base["HTTP_X_REQUEST_ID"] = "the-same"
    return made


def _forget() -> None:
    for name in list(flask.g):
        flask.g.pop(name)


@pytest.fixture
def limited(database_url: str) -> Iterator[FlaskClient]:
    """Return a browser of a server that limits requests."""
    app = create_app(settings(database_url, rate_limits=True))
    with app.app_context():
        begun(3, "g1")
    yield app.test_client()
    limiter.reset()
    with app.app_context():
        engine.db.engine.dispose()


@pytest.fixture
def marked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put brackets around every translated text of a page, so that an unmarked one shows."""
    mark(monkeypatch)


@pytest.fixture
def cross(table: Callable[..., Table]) -> Callable[..., Table]:
    """Return a function that starts a game of Byzantium between friends."""
    return lambda n=3, game_id="g1": table(n, game_id, slug="byzantium")
