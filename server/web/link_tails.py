"""Links with something more at their end, as mail programs and people pass them on: they lead to the clean address."""

from __future__ import annotations

import re

import flask
from flask import Flask
from werkzeug.wrappers import Response

from server.store import links

_TAIL = re.compile(
    r"(?:[.,;:!*)\]}>'\"]|%(?:0[AD]|2[0279AC]|3[BE]|5D|7D|C2%A0|E2%80%(?:8B|9[CD]|A6)))+", re.IGNORECASE
)


def init_app(app: Flask) -> None:
    """Redirect GET and HEAD of such a link, of every kind that there is."""
    app.before_request(_redirect)


def _redirect() -> Response | None:
    request = flask.request
    if request.method not in ("GET", "HEAD") or request.path.split("/", 2)[1] not in links.PATHS.values():
        return None
    path = links.clean_path(request.path)
    query = request.query_string.decode("ascii", "replace")
    paired = "%3C" in query.upper() or "<" in query
    kept = query if paired else re.sub(rf"(?:{_TAIL.pattern})$", "", query, flags=re.IGNORECASE)
    if path is None or (path == request.path and kept == query):
        return None
    return flask.redirect(f"{request.script_root}{path}{'?' if kept else ''}{kept}", 302)
