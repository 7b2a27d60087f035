"""The ID of each request: in its log lines, in a header of its answer and on its error page."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from flask import Flask

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

HEADER = "X-Request-ID"
_ACCEPTED = re.compile(r"[A-Za-z0-9._-]{1,64}")
"""What a proxy or a client may choose; anything else is replaced."""
_current: ContextVar[str] = ContextVar("request_id", default="")


def current() -> str:
    """Return the ID of the request that this thread answers; empty outside of requests."""
    return _current.get()


def init_app(app: Flask) -> None:
    """Give each request of an app its ID, and show it to templates."""
    app.wsgi_app = _Middleware(app.wsgi_app)  # type: ignore[method-assign]
    app.jinja_env.globals["request_id"] = current


class _Middleware:
    """Sets the ID before anything else looks at the request, so that no answer is without one."""

    def __init__(self, app: Callable[[WSGIEnvironment, StartResponse], Iterable[bytes]]) -> None:
        self._app = app

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        given = environ.get("HTTP_X_REQUEST_ID", "")
        chosen = given if _ACCEPTED.fullmatch(given) else secrets.token_hex(8)

        def start(status: str, headers: list[tuple[str, str]], *more: Any) -> Callable[[bytes], object]:
            return start_response(status, [*headers, (HEADER, chosen)], *more)

        mark = _current.set(chosen)
        try:
            return self._app(environ, start)
        finally:
            _current.reset(mark)
