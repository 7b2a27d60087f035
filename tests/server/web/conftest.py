"""Browsers for the page tests."""

from __future__ import annotations

from collections.abc import Callable

import flask
import flask_babel
import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.conftest import Table
from tests.support.markup import Marked


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    """Return a client without cookies; each of its requests starts with an empty `g`, as on a server.

    The app context that the tests keep open outlives requests, and so would data that a request stored in it.
    """
    app.before_request_funcs.setdefault(None, []).insert(0, _forget)
    return app.test_client()


def _forget() -> None:
    for name in list(flask.g):
        flask.g.pop(name)


@pytest.fixture
def marked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put brackets around every translated text of a page, so that an unmarked one shows."""
    monkeypatch.setattr(flask_babel.Domain, "get_translations", lambda _self: Marked())


@pytest.fixture
def cross(table: Callable[..., Table]) -> Callable[..., Table]:
    """Return a function that starts a game of Byzantium between friends."""
    return lambda n=3, game_id="g1": table(n, game_id, slug="byzantium")
