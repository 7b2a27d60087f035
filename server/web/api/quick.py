"""The short way of a move through the API, past routing, request and session of Flask, for what succeeds.

Whatever is not plain goes on to `games.move`, which answers as ever: a link that this process has not opened before, an
unusual header, a body that cannot be read, a limit that is reached. So does a move that was refused, with the refusal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from io import BytesIO
from wsgiref.types import StartResponse, WSGIEnvironment

import flask
import limits
from flask import Flask

from server import play
from server.errors import NoSuchGame, NoSuchLink
from server.store import engine, links, networks, operations, people
from server.web import http
from server.web.api import schema
from server.web.api.games import REFUSAL, MoveRequest

ENDPOINT, RULE = "api.move", "/api/v1/seats/<token>/moves"
_PATH = re.compile(rf"/api/v1/seats/({links.TOKEN.pattern})/moves")
_STATUS = {True: "200 OK", False: "201 CREATED"}
_OF_ALL, _OF_CHANGES = limits.parse(http.MOST_REQUESTS), limits.parse(http.MOST_CHANGES)
_OF_MOVES = limits.parse(schema.WRITES)


def init_app(app: Flask, headers: Iterable[tuple[str, str]]) -> None:
    """Let moves through the API take the short way.

    Args:
        headers: of each answer.
    """
    on, given = app.wsgi_app, [("Content-Type", "application/json"), *headers]

    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        receipt = _played(app, environ) if environ["REQUEST_METHOD"] == "POST" else None
        if receipt is None:
            return on(environ, start_response)
        environ[http.ROUTE] = RULE
        body = b'{"seq":%d}\n' % receipt.seq
        start_response(_STATUS[receipt.repeated], [*given, ("Content-Length", str(len(body)))])
        return [body]

    app.wsgi_app = answer  # type: ignore[method-assign]
    http.limiter.request_filter(lambda: REFUSAL in flask.request.environ)  # it has been counted


def _played(app: Flask, environ: WSGIEnvironment) -> play.Receipt | None:
    """Return the receipt of a move that was played, or None if the request has to go on."""
    found = _PATH.fullmatch(environ["PATH_INFO"])
    known = links.known_seat(found[1]) if found else None
    body = _body(environ) if known is not None else None
    if known is None or body is None:
        return None
    with app.app_context():
        operations.compare_if_due()
        if operations.clock_off() or not _is_within_limits(environ):
            return None
        engine.begin_request()
        networks.begin(http.networks_of(environ))
        try:
            now = engine.utc_now()
            receipt = play.submit(
                known.game_id,
                known.seat,
                body.move,
                seen=body.seen,
                request_id=body.request_id,
                now=now,
                link_id=known.link_id,
            )
            people.note(known.person_id, now, known.game_id)
            return receipt
        except (NoSuchGame, NoSuchLink):  # it may open another seat by now: the long way looks
            return None
        except Exception as error:
            environ[REFUSAL] = error
            return None
        finally:
            networks.end()


def _body(environ: WSGIEnvironment) -> MoveRequest | None:
    """Read a body of the usual kind; another, or one that cannot be read, is left as it is."""
    length = environ.get("CONTENT_LENGTH", "")
    if environ.get("CONTENT_TYPE") != "application/json" or not length.isdecimal():
        return None
    if int(length) > schema.LONGEST_BODY:
        return None
    data: bytes = environ["wsgi.input"].read(int(length))
    environ["wsgi.input"] = BytesIO(data)
    try:
        return MoveRequest.model_validate(json.loads(data))
    except (ValueError, RecursionError):  # pydantic's errors are ValueErrors
        return None


def _is_within_limits(environ: WSGIEnvironment) -> bool:
    """Count a request towards the limits of `games.move`, as Flask-Limiter does; refused ones are counted no more."""
    if not http.limiter.enabled:
        return True
    smallest, *_, largest = http.networks_of(environ)
    hit = http.limiter.limiter.hit
    return (
        hit(_OF_ALL, largest, http.ALL_REQUESTS)
        and hit(_OF_CHANGES, largest, http.ALL_CHANGES)
        and hit(_OF_MOVES, smallest, ENDPOINT)
    )
