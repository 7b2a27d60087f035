"""Setting up the pages: blueprints, error pages, and headers of every response."""

from __future__ import annotations

import logging
from typing import Any
from urllib.parse import urlsplit

import flask
from flask import Flask, Response
from flask_babel import get_locale, gettext
from flask_wtf.csrf import CSRFError, same_origin
from werkzeug.exceptions import BadHost, HTTPException

from server.config import settings
from server.errors import Refused
from server.i18n import N_
from server.play.positions import Broken, on_hold
from server.store import engine, networks, operations
from server.web import assets, http, locale, plain_games, profiles, submissions, templating
from server.web.account import account, feeds, unsubscribe
from server.web.api import games as api
from server.web.api import quick
from server.web.game import pages, verify
from server.web.http import (
    RETRY_AFTER,
    WRONG_CLOCK,
    csrf,
    error_page,
    format_moment,
    hidden_outage,
    init_limits,
    refusal_text,
    retry_after,
    sentence_if_unsure,
    zone_name,
)
from server.web.lobby import home, new_game, open_tables
from server.web.lobby import invitations as lobby_invitations
from server.web.moderation import game
from server.web.seat import leave, orders, turn

LOGGER = logging.getLogger(__name__)
BLUEPRINTS = (
    new_game.blueprint,
    lobby_invitations.blueprint,
    open_tables.blueprint,
    home.blueprint,
    locale.blueprint,
    account.blueprint,
    unsubscribe.blueprint,
    turn.blueprint,
    feeds.blueprint,
    orders.blueprint,
    leave.blueprint,
    pages.blueprint,
    assets.blueprint,
    verify.blueprint,
    game.blueprint,
    profiles.blueprint,
    api.blueprint,
)
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; connect-src 'self'; "
    "manifest-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
PERMISSIONS_POLICY = "camera=(), geolocation=(), microphone=(), payment=(), usb=()"
"""What no page uses, and so no text that slips into one could."""

TITLES = {
    400: N_("The request was incomplete"),
    404: N_("Page not found"),
    405: N_("Method not allowed"),
    413: N_("Request too large"),
    429: N_("Too many requests"),
}
"""What an error page is called, by its status."""
SENTENCES = {
    400: N_("Nothing has changed. Go back, reload the page and try again."),
    404: N_("Use the link in your latest email, or start from the home page."),
    405: N_("Nothing has changed. Start from the home page."),
    413: N_("Nothing has changed. Send less at a time."),
    429: N_("Too many requests came from your address. Wait a minute and try again."),
}
"""What it says to do."""

WITHOUT_CLOCK = {"static", "health.alive", "health.ready", "metrics.metrics"}
"""What is answered although the clock of this machine is wrong: nothing in it depends on the time."""


def init_app(app: Flask) -> None:
    """Register pages, error pages and security headers."""
    # No redirects to canonical URLs: they would lead to whatever host a request claims.
    app.url_map.strict_slashes = app.url_map.merge_slashes = False
    http.init_link_tails(app)
    app.before_request(_check_clock)
    app.before_request(_begin)
    app.before_request(lambda: networks.begin(http.networks()))
    app.teardown_request(lambda _error: networks.end())
    csrf.init_app(app)
    init_limits(app)
    submissions.init_app(app)
    locale.init_app(app)
    templating.init_app(app)
    plain_games.init_app(app)
    app.jinja_env.globals["said"] = refusal_text
    app.jinja_env.globals["get_locale"] = get_locale
    app.jinja_env.filters["moment"] = format_moment
    app.jinja_env.filters["zone_name"] = zone_name
    templating.init_filters(app)
    pages.init_app(app)
    templating.init_once(app)
    submissions.init_drawn(app)
    assets.init_app(app)
    locale.init_waiting(app)
    for blueprint in BLUEPRINTS:
        app.register_blueprint(blueprint)
    app.before_request(api.no_such_call)
    csrf.exempt(api.blueprint)  # authorised by the token in the URL, not by a cookie
    csrf.exempt(locale.choose)  # it checks the token itself for signed-in people; guests have none
    app.after_request(_security_headers)
    app.register_error_handler(HTTPException, _http_error)
    app.register_error_handler(Refused, _refused)
    app.register_error_handler(Broken, _broken)
    for kind in engine.UNAVAILABLE:
        app.register_error_handler(kind, _unavailable)
    app.register_error_handler(operations.WrongClock, _wrong_clock)
    app.register_error_handler(Exception, _internal_error)
    app.log_exception = _log_exception  # type: ignore[method-assign]
    with app.app_context():
        secure = settings().base_url.startswith("https:")
    quick.init_app(app, [*_HEADERS.items(), _UNLISTED, _NOT_KEPT, *([_HTTPS_ONLY] if secure else [])])


_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Referrer-Policy": "same-origin",  # not no-referrer: over HTTPS the CSRF check needs the referrer
    "X-Content-Type-Options": "nosniff",
}
"""Of every response."""
_UNLISTED = ("X-Robots-Tag", "noindex")
_NOT_KEPT = ("Cache-Control", "no-store")
_HTTPS_ONLY = ("Strict-Transport-Security", "max-age=31536000")


def _security_headers(response: Response) -> Response:
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    if response.mimetype == "text/html":  # to others they mean nothing
        response.headers.setdefault("Permissions-Policy", PERMISSIONS_POLICY)
        response.headers.setdefault("Cross-Origin-Opener-Policy", "same-origin")
    if flask.request.endpoint not in home.INDEXED:
        response.headers.setdefault(*_UNLISTED)
    if response.status_code in RETRY_AFTER:
        response.headers.setdefault("Retry-After", str(retry_after(response.status_code)))
    if flask.request.endpoint != "static":
        response.headers.setdefault(*_NOT_KEPT)
    if flask.request.is_secure:
        response.headers.setdefault(*_HTTPS_ONLY)
    return response


def _http_error(error: HTTPException) -> HTTPException | Response | tuple[str, int]:
    hidden = hidden_outage(error)
    if hidden is not None:
        return _unavailable(hidden)
    if error.response is not None:  # a redirect, or a response made elsewhere
        return error
    if isinstance(error, BadHost):  # no page can be rendered: its links could not be built
        return Response(gettext("The Host header is malformed.") + "\n", 400, mimetype="text/plain")
    status, request = error.code or 500, flask.request
    if request.method in ("GET", "HEAD") and submissions.is_for_forms(status):
        return flask.redirect(submissions.page_of(request.path), 302)  # type: ignore[return-value]
    sentence = gettext(SENTENCES.get(status, N_("Nothing has changed.")))
    if isinstance(error, CSRFError):
        sentence = _csrf_sentence()
    return error_page(status, gettext(TITLES.get(status, N_("This is not possible"))), sentence)


def _csrf_sentence() -> str:
    """Return why a form was not taken and what to do; the log says if it came from another address than ours."""
    came, ours = flask.request.referrer or "", settings().base_url
    if not flask.request.is_secure or same_origin(came, ours):
        if not flask.request.cookies:
            return str(
                gettext(
                    "Your browser sent no cookies. Allow cookies for this site, then open the page again and retry."
                )
            )
        return str(gettext("This form has expired. Reload the page and try again."))
    if not came:
        return str(
            gettext(
                "Your browser does not say which page this form is from. "
                "Let it send the referrer to this site and try again."
            )
        )
    where = "{0.scheme}://{0.netloc}".format(urlsplit(came))[:80]  # the path may hold a link's token
    LOGGER.warning("a form came from %r, but BYZANZ_BASE_URL is %s", where, ours, extra={"outage": True})
    return str(gettext("Forms work at %(address)s only. Open the page there and try again.", address=ours))


def _refused(error: Refused) -> tuple[str, int]:
    return error_page(error.status, gettext("This is not possible"), refusal_text(error))


def _broken(error: Broken) -> tuple[str, int]:
    return error_page(409, gettext("This game is on hold"), refusal_text(on_hold(error)))


def _log_exception(exc_info: BaseException | tuple[Any, ...]) -> None:
    """Log where something failed by its route, since the URL may hold a link's token."""
    LOGGER.error("fault at %s", flask.request.endpoint, exc_info=exc_info)


def _internal_error(error: Exception) -> tuple[str, int]:
    _log_exception(error)
    sentence = sentence_if_unsure() or gettext(
        "Nothing has changed. Try again in a minute; if the problem persists, contact the administrator."
    )
    return error_page(500, gettext("Something went wrong on our side"), sentence, back=_back())


def _begin() -> None:
    if api.REFUSAL not in flask.request.environ:  # else a COMMIT of this request may have begun
        engine.begin_request()


def _check_clock() -> None:
    if flask.request.endpoint in WITHOUT_CLOCK:
        return
    operations.compare_if_due()
    if operations.clock_off():
        raise operations.WrongClock


def _wrong_clock(_error: operations.WrongClock) -> tuple[str, int]:
    return error_page(503, gettext("Not available right now"), gettext(WRONG_CLOCK))


def _unavailable(error: Exception) -> tuple[str, int]:
    _log_exception(error)
    locale.keep_from_database()
    sentence = sentence_if_unsure() or gettext(
        "The database did not answer in time. Nothing has changed. Try again in a minute."
    )
    return error_page(503, gettext("Not available right now"), sentence, back=_back())


def _back() -> str | None:
    """Return the table of a move that failed: its page says whether the move was played."""
    here = flask.request.script_root + flask.request.path
    return here if flask.request.endpoint == "turn.move" else None
