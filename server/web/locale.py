"""The language of a page, the buttons in its footer that change it, and how long something waits in words."""

from __future__ import annotations

import flask
import flask_babel
from flask import Blueprint, Flask
from flask.typing import ResponseReturnValue
from sqlalchemy import update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session
from werkzeug.exceptions import HTTPException

from server import i18n
from server.accounts import login
from server.i18n import DEFAULT, NAMES
from server.store import facts, links
from server.store.engine import reading, transaction, utc_now
from server.store.models import LinkPurpose, Person


def init_waiting(app: Flask) -> None:
    """Make the number available to templates."""
    app.jinja_env.globals["games_waiting"] = games_waiting


def games_waiting() -> int | None:
    """Return in how many games the signed-in person is to move; None if nobody is, or the database does not answer."""
    signed_in = flask.has_request_context() and login.COOKIE_KEY in flask.session
    if not signed_in or is_kept_from_database():
        return None
    try:
        with reading(join=True) as session:
            return login.games_waiting(session)
    except SQLAlchemyError:  # the page that reports the error has a header, too
        return None


# ---- the language ----

blueprint = Blueprint("locale", __name__)
COOKIE = "language"
"""The cookie that stores a browser's language; it identifies nobody."""
COOKIE_MAX_AGE = 365 * 86400
READER = "byzanz.reader"
"""Where a request keeps the person whose link opened it and the link's purpose, once it has looked them up."""
_NO_DATABASE = "byzanz.no-database"
OWN_LINKS = (LinkPurpose.SEAT, LinkPurpose.ORGANISE)
"""The kinds of links whose pages change their owner's language; a feed's link may be shared."""


def init_app(app: Flask) -> None:
    """Set up translations for an app."""
    babel = flask_babel.Babel(default_locale=DEFAULT)
    babel.init_app(app, default_locale=DEFAULT, locale_selector=select_locale)
    babel.domain_instance = i18n.DOMAIN
    # Forget the locale of the previous request: an app context may outlive a request.
    app.before_request(flask_babel.refresh)
    app.jinja_env.filters |= {"note": facts.translated, "sentence": facts.sentence}
    app.jinja_env.globals |= {"languages": NAMES, "spoken": i18n.current_language, **i18n.TEMPLATES}


def select_locale() -> str:
    """Return the language of a response: the reader's, else the browser's, else English."""
    if not flask.has_request_context():
        return DEFAULT
    chosen = next((code for code in _preferences() if code in NAMES), None)
    return chosen or i18n.best_match(flask.request.accept_languages) or DEFAULT


def _preferences() -> tuple[str | None, ...]:
    """Return the languages chosen so far, the one that this page's buttons change first."""
    cookie = flask.request.cookies.get(COOKIE)
    token = (flask.request.view_args or {}).get("token")
    if token is None and login.COOKIE_KEY not in flask.session:
        return (cookie,)
    known = flask.request.environ.get(READER)
    if known is not None:  # the page has looked its link up
        return (known[0].language, cookie) if known[1] in OWN_LINKS else (cookie, known[0].language)
    if is_kept_from_database():
        return (cookie,)
    try:
        with reading(join=True) as session:
            person, chooses = _reader(session, token)
    except SQLAlchemyError:  # the page that reports the error is translated, too
        return (cookie,)
    own = person.language if person else None
    return (own, cookie) if chooses else (cookie, own)


def keep_from_database() -> None:
    """Choose the language of this response without the database, which has failed to answer."""
    flask.request.environ[_NO_DATABASE] = True


def is_kept_from_database() -> bool:
    """Whether the database has failed to answer this request."""
    return _NO_DATABASE in flask.request.environ


def _reader(session: Session, token: str | None) -> tuple[Person | None, bool]:
    """Return the link's owner, else the signed-in person; and whether this page changes their language."""
    found = links.owner(session, token, utc_now()) if token else None
    if found is None:
        return login.signed_in(session), True
    person, purpose = found
    return person, purpose in OWN_LINKS


def save_language() -> None:
    """Store the current language for the signed-in person if they have none yet."""
    language = i18n.current_language()
    with transaction() as session:
        person = login.signed_in(session)
        if person is not None and person.language is None:
            person.language = language


@blueprint.post("/language")
def choose() -> ResponseReturnValue:
    """Change the language of this browser, and of the person who opened their own link or is signed in.

    A guest's choice is stored in the browser only, so no CSRF token is needed: a forged POST would gain nothing.
    """
    if login.COOKIE_KEY in flask.session:
        flask.current_app.extensions["csrf"].protect()
    chosen = flask.request.form.get("language")
    if chosen not in NAMES:
        flask.abort(400)
    back, token = _return_page(flask.request.form.get("back", "/"))
    with transaction() as session:
        person, chooses = _reader(session, token)
        if person is not None and chooses:
            session.execute(update(Person).where(Person.id == person.id).values(language=chosen))
    answer = flask.redirect(flask.request.script_root + back, 303)
    secure = bool(flask.current_app.config["SESSION_COOKIE_SECURE"])
    path = str(flask.current_app.config["SESSION_COOKIE_PATH"])
    answer.set_cookie(
        COOKIE, chosen, max_age=COOKIE_MAX_AGE, path=path, secure=secure, httponly=True, samesite="Lax"
    )
    return answer


def _return_page(back: str) -> tuple[str, str | None]:
    """Return the page to go back to and the token in its URL; the home page if it is not one of ours."""
    # A line break would end the Location header, and two slashes would lead to another host.
    if not back.startswith("/") or back.startswith("//") or not back.isprintable():
        return "/", None
    adapter = flask.current_app.create_url_adapter(flask.request)
    assert adapter is not None
    try:
        _endpoint, values = adapter.match(back.partition("?")[0], method="GET")
    except HTTPException:
        return "/", None
    return back, values.get("token")
