"""The log of a running server: on standard error, as text or JSON, with request ids, without tokens and addresses."""

from __future__ import annotations

import json
import logging
import re
import secrets
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from flask import Flask
from sqlalchemy.exc import SQLAlchemyError

from server.config import Settings
from server.store import engine, links, migrate

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


# ---- the log ----

_SECRET = re.compile(rf"{links.TOKEN.pattern}|[^\s<>@\"'/\\]{{1,64}}@[^\s<>@\"'/\\]+")
"""Link tokens, and whatever looks like an email address or the password of a URL."""


class TextFormatter(logging.Formatter):
    """Formats a record as a line of text: time, level, logger, the ID of the request if there is one, message."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s%(request)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """Format the record and its traceback, if any."""
        record.request = f" [{current()}]" if current() else ""
        return str(_masked(super().format(record)))


class JsonFormatter(logging.Formatter):
    """Formats a record as a JSON object on one line; the values of a message are keys of their own."""

    def format(self, record: logging.LogRecord) -> str:
        """Format the record; its traceback, if any, is the value of `error`."""
        line = dict(record.args) if isinstance(record.args, Mapping) else {}
        line |= {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if current():
            line["request_id"] = current()
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps({name: _masked(value) for name, value in line.items()})


def _masked(value: object) -> object:
    return value if value is None or isinstance(value, int) else _SECRET.sub("…", str(value))


def formatter(settings: Settings | None) -> logging.Formatter:
    """Return the formatter that the settings ask for; text if there are none."""
    return JsonFormatter() if settings and settings.log_format == "json" else TextFormatter()


def log_to_stderr(settings: Settings | None = None) -> None:
    """Log to standard error: warnings and errors of all libraries, and of the server what the settings ask for."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter(settings))
    handler.addFilter(OutageFilter())
    logging.basicConfig(handlers=[handler], level=logging.WARNING)
    if settings:
        logging.getLogger("server").setLevel(settings.log_level.upper())
        logging.getLogger().setLevel(max(logging.WARNING, logging.getLogger("server").level))
    # Not what a lost connection makes of its clean-up, nor requests that wait a moment.
    for name in ("psycopg", "waitress.queue"):
        logging.getLogger(name).setLevel(logging.ERROR)


# ---- errors of an outage ----

SECONDS = 60.0
"""How long further records of a kind are only counted."""


def _is_outage(error: BaseException | None) -> bool:
    kinds: tuple[type[Exception], ...] = (*engine.UNAVAILABLE, sqlite3.OperationalError)
    if psycopg := sys.modules.get("psycopg"):  # without PostgreSQL it is not loaded, and raises nothing
        kinds = (*kinds, psycopg.OperationalError, psycopg.InterfaceError)
    return isinstance(error, kinds)


class OutageFilter(logging.Filter):
    """Lets the first record of each kind pass in a minute if the database has failed, as a line without a traceback.

    A kind is a message before its values are filled in, with the type of the error. The same holds for records that are
    marked with `extra={"outage": True}`. Others pass as they are.
    """

    def __init__(self) -> None:
        super().__init__()
        self._passed: dict[object, float] = {}
        self._left_out: dict[object, int] = {}
        self._lock = threading.Lock()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to log a record; one of an outage is shortened."""
        error = record.exc_info[1] if record.exc_info else None
        if not _is_outage(error) and not hasattr(record, "outage"):
            return True
        kind, now = (record.name, record.msg, type(error)), time.monotonic()
        with self._lock:
            if now < self._passed.get(kind, -SECONDS) + SECONDS:
                self._left_out[kind] = self._left_out.get(kind, 0) + 1
                return False
            self._passed[kind] = now
            more = self._left_out.pop(kind, 0)
        line = migrate.error_line(error) if isinstance(error, SQLAlchemyError) else error
        counted = f" ({more} more like it before)" if more else ""
        record.msg, record.args = record.getMessage() + (f": {line}" if error else "") + counted, ()
        record.exc_info = record.exc_text = None
        return True
