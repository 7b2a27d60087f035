"""The pages people meet: blueprints, error pages, and what every answer carries."""

from __future__ import annotations

import importlib
import logging
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import flask
from flask import Flask, Response, render_template
from flask_babel import format_datetime, get_locale, gettext
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address
from flask_wtf.csrf import CSRFError, CSRFProtect
from werkzeug.exceptions import BadHost, HTTPException

from byzanz.rules import RulesError
from server import languages
from server.pages import hours, language, style
from server.positions import Broken
from server.table import Refused

LOGGER = logging.getLogger(__name__)
csrf = CSRFProtect()
"""Guards every POST that a cookie vouches for; pages opened by a token in the address are exempt."""
limiter = Limiter(get_remote_address, storage_uri="memory://", default_limits=["600/minute"])
ROOMS = (
    "lobby",
    "invitations",
    "language",
    "account",
    "turn",
    "live",
    "feeds",
    "orders",
    "leave",
    "history",
    "rules",
    "style",
    "verify",
    "moderate",
    "health",
    "inbox",
)
"""The modules of this package; each has a `blueprint`."""
POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def init_app(app: Flask) -> None:
    """Give an app its pages, its error pages and its guards."""
    # No redirects to a better spelling: they would lead to whatever host a request claims.
    app.url_map.strict_slashes = app.url_map.merge_slashes = False
    csrf.init_app(app)
    limiter.init_app(app)
    language.init_app(app)
    app.jinja_env.globals["said"] = said
    app.jinja_env.globals["get_locale"] = get_locale
    app.jinja_env.filters["moment"] = moment
    hours.init_app(app)
    style.init_app(app)
    for room in ROOMS:
        if room == "inbox" and not app.config.get("DEMO_INBOX"):
            continue
        app.register_blueprint(importlib.import_module(f"{__name__}.{room}").blueprint)
    csrf.exempt(language.choose)  # who is signed in is asked for the token there; a guest has none
    app.after_request(_guard)
    app.register_error_handler(HTTPException, _http_error)
    app.register_error_handler(Refused, _refused)
    app.register_error_handler(Broken, _broken)
    app.register_error_handler(Exception, _fault)
    app.log_exception = _log_fault  # type: ignore[method-assign]


def said(error: Refused | RulesError) -> str:
    """What a refusal says, in the reader's language."""
    sentence: str = gettext(error.message)
    return sentence % error.places if error.places else sentence


def moment(at: datetime, zone: str = "UTC") -> str:
    """A moment in words, in this time zone, with the zone named.

    In the hour that comes twice in autumn the offset from UTC is named, too: without it nobody knew which one is meant.
    """
    local = at.astimezone(ZoneInfo(zone))
    twice = local.replace(fold=0).utcoffset() != local.replace(fold=1).utcoffset()
    offset = f" UTC{local.isoformat()[-6:]}" if twice else ""
    return f"{format_datetime(local, f'EEE {languages.day()}, HH:mm', rebase=False)}{offset} ({zone.replace('_', ' ')})"


def error_page(status: int, title: str, sentence: str, **more: object) -> tuple[str, int]:
    """A page that says what is wrong and what would do."""
    return render_template("pages/error.html", title=title, sentence=sentence, **more), status


def _guard(response: Response) -> Response:
    response.headers.setdefault("Content-Security-Policy", POLICY)
    # Not no-referrer: over HTTPS the check against forged forms wants to see where a form came from.
    response.headers.setdefault("Referrer-Policy", "same-origin")
    response.headers.setdefault("X-Content-Type-Options", "nosniff")
    response.headers.setdefault("X-Robots-Tag", "noindex")
    if flask.request.endpoint != "static":
        response.headers.setdefault("Cache-Control", "no-store")
    if flask.request.is_secure:
        response.headers.setdefault("Strict-Transport-Security", "max-age=31536000")
    return response


def _http_error(error: HTTPException) -> HTTPException | Response | tuple[str, int]:
    if error.response is not None:  # a redirect, or an answer made elsewhere
        return error
    if isinstance(error, BadHost):  # no page can be drawn: none of its links could be made
        return Response(gettext("The Host header is malformed.") + "\n", 400, mimetype="text/plain")
    status = error.code or 500
    titles = {
        400: gettext("The request was incomplete"),
        404: gettext("Page not found"),
        405: gettext("Method not allowed"),
        413: gettext("Request too large"),
        429: gettext("Too many requests"),
    }
    sentences = {
        400: gettext("Nothing has changed. Go back, reload the page and try again."),
        404: gettext("Use the link in your latest email, or start from the home page."),
        405: gettext("Nothing has changed. Start from the home page."),
        413: gettext("Nothing has changed. Send less at a time."),
        429: gettext("Too many requests came from your address. Wait a minute and try again."),
    }
    sentence = sentences.get(status, gettext("Nothing has changed."))
    if isinstance(error, CSRFError):
        sentence = gettext("This form has expired or is not from this site. Reload the page and try again.")
    return error_page(status, titles.get(status, gettext("This is not possible")), sentence)


def _refused(error: Refused) -> tuple[str, int]:
    return error_page(error.status, gettext("This is not possible"), said(error))


def _broken(_error: Broken) -> tuple[str, int]:
    return error_page(
        409,
        gettext("This game is on hold"),
        gettext("We are looking into an error. Nothing has been lost."),
    )


def _log_fault(exc_info: BaseException | tuple[Any, ...]) -> None:
    """Say where something failed, be it an error page: the route, for an address may hold a link's token."""
    LOGGER.error("fault at %s", flask.request.endpoint, exc_info=exc_info)


def _fault(error: Exception) -> tuple[str, int]:
    _log_fault(error)
    return error_page(
        500,
        gettext("Something went wrong on our side"),
        gettext(
            "Nothing has changed. Try again in a minute; if the problem persists, contact the administrator."
        ),
    )
