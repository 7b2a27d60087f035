"""A database that is locked, full, lost or damaged: every route answers 503 and when to come back, never 500."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from server.store import engine
from tests.conftest import Table
from tests.support.database_faults import DRIVER, LOST, failing, impatient, locked
from tests.support.routes import BODIES, VISITORS, address, routes, visitors
from tests.support.visitors import Visitors, make_visitors

__all__ = ["impatient"]
Asked = Callable[[], Iterator[tuple[str, TestResponse]]]
ASKED = ("another player", "a moderator who sits nowhere")
"""The visitors who ask: among them, every route has one for whom it does its work."""
WORKS: dict[str, dict[str, object]] = {
    "POST /sign-in": {"address": "alice@example.org"},
    "POST /language": {"language": "de"},
    "POST /t/<token>/say": {"text": "Hello", "request_id": "r"},
    "POST /t/<token>/notes": {"notes": "mine"},
    "POST /api/v1/seats/<token>/words": {"text": "Hello", "request_id": "r"},
    "POST /api/v1/seats/<token>/orders": {"order": "pass this lot"},
    "POST /m/<game_id>/act": {"act": "pause", "reason": "A storm", "seen": "5"},
    "POST /n/<token>": {"do": "block"},
    "POST /z/<token>": {"do": "stop"},
    "POST /u/<token>": {"do": "game"},
}
"""Forms with which a route writes."""


@pytest.fixture
def asked(impatient: Flask) -> Iterator[Asked]:
    """Return a function that asks every route, for each of the visitors; all that needs a database is made before."""
    there: Visitors = make_visitors(impatient, engine.utc_now())
    who = [
        (visitor, there.browser(visitor.name))
        for name, visitor in zip(VISITORS, visitors(there), strict=True)
        if name.startswith(ASKED)
    ]
    calls = [
        (name, browser, address(there, rule, visitor))
        for name, rule in routes(impatient)
        for visitor, browser in who
    ]

    def ask() -> Iterator[tuple[str, TestResponse]]:
        for name, browser, path in calls:
            method = name.split()[0]
            body = WORKS.get(name, BODIES.get(name, {})) if method == "POST" else None
            yield name, there.ask(browser, method, path, body)

    yield ask
    engine.db.engine.dispose()


def judge(answers: Iterator[tuple[str, TestResponse]]) -> set[str]:
    """Check that nothing is an error of the server; return the routes that were not available."""
    away, wrong = set(), set()
    for name, answer in answers:
        if answer.status_code >= 500:
            away.add(name)
            if answer.status_code != 503 or not answer.headers.get("Retry-After"):
                wrong.add(f"{name}: {answer.status_code} {answer.headers.get('Retry-After')}")
            if "/api/" in name and '"unavailable"' not in answer.text:
                wrong.add(f"{name}: {answer.json}")
    assert not wrong, "\n".join(sorted(wrong))
    return away


def test_every_route_survives_a_lock_held_from_outside(asked: Asked, impatient: Flask) -> None:
    with locked(impatient):
        away = judge(asked())
    expected = {
        "POST /t/<token>/say",
        "POST /api/v1/seats/<token>/orders",
        "POST /sign-in",
        "POST /m/<game_id>/act",
    }
    assert expected <= away
    assert "GET /healthz" not in away


@pytest.mark.parametrize(
    "what",
    [
        pytest.param(what, marks=[pytest.mark.nightly] if what not in ("full", "damaged") else [])
        for what in DRIVER
    ],
)
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_every_route_survives_what_sqlite_raises(asked: Asked, what: str) -> None:
    with failing(DRIVER[what]):
        away = judge(asked())
    assert {"GET /t/<token>", "GET /api/v1/seats/<token>", "POST /t/<token>", "GET /readyz"} <= away


@pytest.mark.parametrize(
    "what",
    [
        pytest.param(what, marks=[pytest.mark.nightly] if what not in ("connection", "full") else [])
        for what in LOST
    ],
)
@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_every_route_survives_what_postgresql_raises(asked: Asked, what: str) -> None:
    with failing(LOST[what]):
        away = judge(asked())
    assert {"GET /t/<token>", "GET /api/v1/seats/<token>", "POST /t/<token>", "GET /readyz"} <= away


@pytest.mark.parametrize("path", ["/t/{}", "/api/v1/seats/{}"])
def test_an_error_after_the_view_has_answered_is_no_fault_either(
    client: FlaskClient, table: Callable[..., Table], path: str
) -> None:
    game = table(3)

    def fail(_response: object) -> object:
        raise engine.UNAVAILABLE[0]("SELECT 1", None, Exception("gone"))

    app = client.application
    app.after_request_funcs.setdefault(None, []).append(fail)
    try:
        answer = client.get(path.format(game.tokens[0]))
    finally:
        app.after_request_funcs[None].remove(fail)
    assert answer.status_code == 503
