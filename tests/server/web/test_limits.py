"""How often one address of the network may ask for each page, form and call."""

from __future__ import annotations

import time

import pytest
from flask import Flask
from flask.testing import FlaskClient

from server.web.http import limiter

USUAL = "600 per 1 minute"
COST = "6000 per 1 minute"
"""Milliseconds of processor time."""
LIMITS = {
    "POST /new": "10 per 1 minute",
    "POST /play": "120 per 1 minute",
    "POST /t/<token>/again": "30 per 1 minute",
    "POST /t/<token>/keep": "10 per 1 hour",
    "POST /k/<token>": "30 per 1 minute",
    "POST /link": "10 per 1 minute",
    "POST /sign-in": "10 per 1 minute",
    "POST /s/<token>": "10 per 1 minute",
    "POST /t/<token>/games": "10 per 1 minute",
    "POST /verify": f"10 per 1 minute, {COST}",
    "POST /i/<token>": "30 per 1 minute",
    "POST /n/<token>": "30 per 1 minute",
    "POST /z/<token>": "30 per 1 minute",
    "POST /o/<token>": "30 per 1 minute",
    "POST /join/<game_id>": "30 per 1 minute",
    "POST /join/<game_id>/sign-in": "10 per 1 hour",
    "GET /tables": f"{USUAL}, {COST}",
    "POST /tables/wishes": "30 per 1 minute",
    "POST /w/<token>": "30 per 1 minute",
    "GET /take/<game_id>/<int(max=99):number>": f"{USUAL}, {COST}",
    "POST /take/<game_id>/<int(max=99):number>": "30 per 1 minute",
    "POST /take/<game_id>/<int(max=99):number>/sign-in": "10 per 1 hour",
    "POST /account": "30 per 1 minute",
    "POST /account/sessions": "30 per 1 minute",
    "POST /account/invitations": "30 per 1 minute",
    "GET /account/data.zip": "5 per 1 hour",
    "POST /account/delete": "10 per 1 minute",
    "POST /account/address": "10 per 1 minute",
    "POST /c/<token>": "30 per 1 minute",
    "POST /x/<token>": "30 per 1 minute",
    "POST /account/profile": "30 per 1 minute",
    "GET /account/habits": "30 per 1 minute",
    "GET /account/results.<kind>": "10 per 1 minute",
    "GET /account/records.zip": "30 per 1 hour",
    "GET /p/<handle>": f"{USUAL}, {COST}",
    "POST /p/<handle>/block": "30 per 1 minute",
    "POST /g/<game_id>/block": "30 per 1 minute",
    "GET /g/<game_id>/group.<kind>": "30 per 1 minute",
    "GET /t/<token>/group.<kind>": "30 per 1 minute",
    "GET /api/v1/people/<handle>": f"300 per 1 minute, {COST}",
    "POST /u/<token>": "30 per 1 minute",
    "GET /g/<game_id>": f"{USUAL}, {COST}",
    "GET /g/<game_id>/history": f"{USUAL}, {COST}",
    "GET /g/<game_id>/verify": f"30 per 1 minute, {COST}",
    "POST /t/<token>/orders": "120 per 1 minute",
    "GET /api/v1/tables": "300 per 1 minute",
    "POST /account/mutes": "30 per 1 minute",
    "POST /t/<token>/say": "60 per 1 minute",
    "POST /t/<token>/words": "60 per 1 minute",
    "POST /t/<token>/notes": "60 per 1 minute",
    "GET /api/v1/seats/<token>/words": "300 per 1 minute",
    "POST /api/v1/seats/<token>/words": "120 per 1 minute",
    "GET /api/v1/seats/<token>": "300 per 1 minute",
    "POST /api/v1/seats/<token>/again": "120 per 1 minute",
    "POST /api/v1/seats/<token>/moves": "120 per 1 minute",
    "GET /api/v1/seats/<token>/orders": "300 per 1 minute",
    "POST /api/v1/seats/<token>/orders": "120 per 1 minute",
    "DELETE /api/v1/seats/<token>/orders/<order_id>": "120 per 1 minute",
    "GET /api/v1/seats/<token>/record": "300 per 1 minute",
    "GET /api/v1/games/<game_id>/record": f"300 per 1 minute, {COST}",
    "GET /api/v1/openapi.json": "300 per 1 minute",
}
"""The routes with a limit of their own: those that send email, guess, or take long to answer."""


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_each_route_has_its_limit(app: Flask) -> None:
    found = {}
    for rule in app.url_map.iter_rules():
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
            with app.test_request_context(method=method):
                blueprint = rule.endpoint.rpartition(".")[0]
                groups = limiter.limit_manager.resolve_limits(app, rule.endpoint, blueprint)
                limits = [str(each.limit) for group in groups for each in group if not each.method_exempt]
            found[f"{method} {rule.rule}"] = ", ".join(sorted(limits))
    assert {route: limit for route, limit in found.items() if limit != USUAL} == LIMITS


def statuses(browser: FlaskClient, path: str, *addresses: str) -> list[int]:
    return [browser.get(path, environ_overrides={"REMOTE_ADDR": each}).status_code for each in addresses]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("192.0.2.1", "192.0.2.2", False),
        ("192.0.2.1", "::ffff:192.0.2.1", True),
        ("fe80::1%eth0", "fe80::2%eth0", True),
        ("unix:", "unix:", True),
    ],
)
def test_visitors_of_one_network_are_counted_together(
    limited: FlaskClient, one: str, other: str, together: bool
) -> None:
    assert statuses(limited, "/g/g1/verify", *[one] * 30) == [409] * 30
    assert statuses(limited, "/g/g1/verify", one, other) == [429, 429 if together else 409]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    "path", ["/g/g1", "/g/g1?x=1", "/g/g1/history", "/g/g1/verify", "/api/v1/games/g1/record"]
)
def test_pages_of_games_are_limited_by_what_they_cost(
    limited: FlaskClient, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    spent = iter(range(1000))  # a second between two looks, of which an answered request takes three
    monkeypatch.setattr("time.thread_time", spent.__next__)
    here = "192.0.2.1"
    first = statuses(limited, path, here)
    assert first != [429]
    assert statuses(limited, path, *[here] * 4) == first * 2 + [429] * 2
    assert statuses(limited, path, "192.0.2.2") == first
    assert statuses(limited, "/", *[here] * 5) == [200] * 5


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_clock_set_back_does_not_prolong_a_limit(
    limited: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, path, here = time.time(), "/g/g1/verify", "192.0.2.1"
    monkeypatch.setattr("time.time", lambda: now + 86400)
    assert statuses(limited, path, *[here] * 31)[-1] == 429
    monkeypatch.setattr("time.time", lambda: now)
    assert statuses(limited, path, here) == [409]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_clock_set_back_harms_no_server_without_limits(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    monkeypatch.setattr("time.time", lambda: now + 86400)
    assert client.get("/healthz").status_code == 200


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_who_asks_too_often_is_told_when_to_ask_again(limited: FlaskClient) -> None:
    for path, least, most in (("/link", 1, 61), ("/t/x/keep", 62, 3601)):
        while (answer := limited.post(path)).status_code != 429:
            assert "Retry-After" not in answer.headers
        assert least <= int(answer.headers["Retry-After"]) <= most
    refused = limited.get("/readyz")
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")
