"""Browsers in which a person was signed in once, even if they are no longer.

What such a browser asks for is counted apart, so that no stranger uses up what the owner of an address may ask for. The
cookie names nobody to those who read it, and opens nothing.
"""

from __future__ import annotations

import hmac

import flask

from server.config import settings

COOKIE = "known"
MAX_AGE = 365 * 24 * 3600
MOST = 5
"""People whom one browser remembers, the latest."""
_DIGITS = 32


def _mark(person_id: int) -> str:
    key = settings().key("known browsers")
    return hmac.digest(key, str(person_id).encode(), "sha256").hex()[:_DIGITS]


def _marks() -> list[str]:
    return flask.request.cookies.get(COOKIE, "").split(".")[:MOST]


def knows(person_id: int) -> bool:
    """Whether the browser of this request was signed in as a person; False outside a request."""
    return flask.has_request_context() and _mark(person_id) in _marks()


def remember(person_id: int) -> None:
    """Let the browser of this request remember that a person signed in."""
    mark = _mark(person_id)
    _answer_with(".".join([mark, *(other for other in _marks() if other not in ("", mark))][:MOST]))


def forget(person_id: int) -> None:
    """Let the browser of this request forget a person."""
    _answer_with(".".join(other for other in _marks() if other not in ("", _mark(person_id))))


def _answer_with(value: str) -> None:
    config = flask.current_app.config
    path, secure = str(config["SESSION_COOKIE_PATH"]), bool(config["SESSION_COOKIE_SECURE"])

    @flask.after_this_request
    def answer(response: flask.Response) -> flask.Response:
        age = MAX_AGE if value else 0
        response.set_cookie(
            COOKIE, value, max_age=age, path=path, secure=secure, httponly=True, samesite="Lax"
        )
        return response
