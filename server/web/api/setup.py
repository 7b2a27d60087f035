"""Registering the API."""

from __future__ import annotations

from flask import Flask

from server.web import http
from server.web.api.views import no_such_call
from server.web.api.words import blueprint  # with the calls of every module below


def init_app(app: Flask) -> None:
    """Register the API; every error under /api/ is reported as JSON."""
    http.csrf.exempt(blueprint)  # authorised by the token in the URL, not by a cookie
    app.register_blueprint(blueprint)
    app.before_request(no_such_call)
