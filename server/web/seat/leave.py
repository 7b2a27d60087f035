"""Leaving a game from the seat's page: confirmed first, then done by a button."""

from __future__ import annotations

import flask
from flask import Blueprint, render_template, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext as _

from server import play
from server.play import positions
from server.store.engine import reading, utc_now
from server.web.http import csrf, error_page, seat_access

blueprint = Blueprint("leave", __name__)
csrf.exempt(blueprint)  # authorised by the token in the URL; browsers inside mail apps keep no cookies


@blueprint.get("/t/<token>/leave")
def ask(token: str) -> ResponseReturnValue:
    """Explain what leaving means, with a button to do it."""
    with reading() as session:
        access = seat_access(session, token)
        positions.check_running(access.game)
        positions.load(session, access.game)
        if access.seat.left:
            return flask.redirect(url_for("turn.show", token=token), 303)
        return render_template("seat/leave.html", token=token, game=access.game, seat=access.seat)


@blueprint.post("/t/<token>/leave")
def leave(token: str) -> ResponseReturnValue:
    """Leave the game and return to the table, which can still be watched."""
    with reading() as session:
        access = seat_access(session, token)
    if flask.request.form.get("do") != "leave":
        back = url_for("turn.show", token=token)
        return error_page(400, _("The form was incomplete"), _("Nothing has changed."), back=back)
    play.leave(access.game.id, access.seat.seat, now=utc_now(), link_id=access.link.id)
    return flask.redirect(url_for("turn.show", token=token), 303)
