"""Setting up the pages: blueprints, error pages, and headers of every response."""

from __future__ import annotations

import logging
from typing import Any

import flask
from flask import Flask, Response
from flask_babel import get_locale, gettext
from flask_wtf.csrf import CSRFError
from werkzeug.exceptions import BadHost, HTTPException

from server.errors import Refused
from server.play.positions import Broken
from server.web import filters, locale, stylesheet
from server.web.account import account, feeds
from server.web.game import pages, verify
from server.web.http import csrf, error_page, format_moment, limiter, refusal_text, zone_name
from server.web.lobby import invitations as lobby_invitations
from server.web.lobby import lobby
from server.web.moderation import game as moderation_game
from server.web.seat import leave, live, orders, turn

LOGGER = logging.getLogger(__name__)
BLUEPRINTS = (
    lobby.blueprint,
    lobby_invitations.blueprint,
    locale.blueprint,
    account.blueprint,
    turn.blueprint,
    live.blueprint,
    feeds.blueprint,
    orders.blueprint,
    leave.blueprint,
    pages.blueprint,
    stylesheet.blueprint,
    verify.blueprint,
    moderation_game.blueprint,
)
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def init_app(app: Flask) -> None:
    """Register pages, error pages and security headers."""
    # No redirects to canonical URLs: they would lead to whatever host a request claims.
    app.url_map.strict_slashes = app.url_map.merge_slashes = False
    csrf.init_app(app)
    limiter.init_app(app)
    locale.init_app(app)
    app.jinja_env.globals["said"] = refusal_text
    app.jinja_env.globals["get_locale"] = get_locale
    app.jinja_env.filters["moment"] = format_moment
    app.jinja_env.filters["zone_name"] = zone_name
    filters.init_app(app)
    stylesheet.init_app(app)
    for blueprint in BLUEPRINTS:
        app.register_blueprint(blueprint)
    csrf.exempt(locale.choose)  # it checks the token itself for signed-in people; guests have none
    app.after_request(_security_headers)
    app.register_error_handler(HTTPException, _http_error)
    app.register_error_handler(Refused, _refused)
    app.register_error_handler(Broken, _broken)
    app.register_error_handler(Exception, _internal_error)
    app.log_exception = _log_exception  # type: ignore[method-assign]


def _security_headers(response: Response) -> Response:
    response.headers.setdefault("Content-Security-Policy", CONTENT_SECURITY_POLICY)
    # Not no-referrer: over HTTPS the CSRF check needs the referrer.
    response.headers.setdefault("Referrer-Policy", "same-origin")
    response.headers.setdefault("X-Content-Type-Options", "nosniff")
    response.headers.setdefault("X-Robots-Tag", "noindex")
    if flask.request.endpoint != "static":
        response.headers.setdefault("Cache-Control", "no-store")
    if flask.request.is_secure:
        response.headers.setdefault("Strict-Transport-Security", "max-age=31536000")
    return response


def _http_error(error: HTTPException) -> HTTPException | Response | tuple[str, int]:
    if error.response is not None:  # a redirect, or a response made elsewhere
        return error
    if isinstance(error, BadHost):  # no page can be rendered: its links could not be built
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
    return error_page(error.status, gettext("This is not possible"), refusal_text(error))


def _broken(_error: Broken) -> tuple[str, int]:
    return error_page(
        409,
        gettext("This game is on hold"),
        gettext("We are looking into an error. Nothing has been lost."),
    )


def _log_exception(exc_info: BaseException | tuple[Any, ...]) -> None:
    """Log where something failed by its route, since the URL may hold a link's token."""
    LOGGER.error("fault at %s", flask.request.endpoint, exc_info=exc_info)


def _internal_error(error: Exception) -> tuple[str, int]:
    _log_exception(error)
    return error_page(
        500,
        gettext("Something went wrong on our side"),
        gettext(
            "Nothing has changed. Try again in a minute; if the problem persists, contact the administrator."
        ),
    )
