"""How often one address of the network may ask for each page, form and call."""

from __future__ import annotations

import pytest
from flask import Flask

from server.web.http import limiter

USUAL = "600 per 1 minute"
LIMITS = {
    "POST /new": "10 per 1 minute",
    "POST /link": "10 per 1 minute",
    "POST /sign-in": "10 per 1 minute",
    "POST /s/<token>": "10 per 1 minute",
    "POST /t/<token>/games": "10 per 1 minute",
    "POST /verify": "10 per 1 minute",
    "POST /i/<token>": "30 per 1 minute",
    "POST /o/<token>": "30 per 1 minute",
    "POST /join/<game_id>": "30 per 1 minute",
    "POST /account": "30 per 1 minute",
    "POST /u/<token>": "30 per 1 minute",
    "GET /g/<game_id>/verify": "30 per 1 minute",
    "POST /t/<token>/orders": "120 per 1 minute",
    "GET /api/v1/seats/<token>": "300 per 1 minute",
    "POST /api/v1/seats/<token>/moves": "120 per 1 minute",
    "GET /api/v1/seats/<token>/orders": "300 per 1 minute",
    "POST /api/v1/seats/<token>/orders": "120 per 1 minute",
    "DELETE /api/v1/seats/<token>/orders/<order_id>": "120 per 1 minute",
    "GET /api/v1/seats/<token>/record": "300 per 1 minute",
    "GET /api/v1/games/<game_id>/record": "300 per 1 minute",
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
            found[f"{method} {rule.rule}"] = ", ".join(limits)
    assert {route: limit for route, limit in found.items() if limit != USUAL} == LIMITS
