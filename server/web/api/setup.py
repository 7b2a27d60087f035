"""Registering the API, and the document that describes all of it."""

from __future__ import annotations

from typing import Any

import flask
from flask import Flask

from server.web import http
from server.web.api import again, openapi, people, tables, words
from server.web.api.views import blueprint, no_such_call

PATHS = words.PATHS | again.PATHS | tables.PATHS | people.PATHS
MODELS = (*words.MODELS, again.NextGame, *tables.MODELS, people.PersonState)


@blueprint.get("/openapi.json")
@http.limiter.limit(openapi.READS)
def description() -> dict[str, Any]:
    """Return the OpenAPI document of this API."""
    return openapi.document(flask.request.script_root, PATHS, MODELS)


def init_app(app: Flask) -> None:
    """Register the API; every error under /api/ is reported as JSON."""
    http.csrf.exempt(blueprint)  # authorised by the token in the URL, not by a cookie
    app.register_blueprint(blueprint)
    app.before_request(no_such_call)
