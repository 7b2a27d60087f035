"""How many games wait for the person who is signed in, for the header of every page."""

from __future__ import annotations

import flask
from flask import Flask
from sqlalchemy.exc import SQLAlchemyError

from server.accounts import login
from server.store.engine import reading
from server.web import locale


def init_app(app: Flask) -> None:
    """Make the number available to templates."""
    app.jinja_env.globals["games_waiting"] = games_waiting


def games_waiting() -> int | None:
    """Return in how many games the signed-in person is to move; None if nobody is, or the database does not answer."""
    signed_in = flask.has_request_context() and login.COOKIE_KEY in flask.session
    if not signed_in or locale.is_kept_from_database():
        return None
    try:
        with reading(join=True) as session:
            return login.games_waiting(session)
    except SQLAlchemyError:  # the page that reports the error has a header, too
        return None
