"""The next game of the same people, from a seat of a finished one: a button, and a form if somebody is missing."""

from __future__ import annotations

import flask
from flask import Blueprint, url_for
from flask.typing import ResponseReturnValue

from server.errors import NotEverybody
from server.lobby import rematch
from server.store import links
from server.store.engine import reading, utc_now
from server.web.http import csrf, limiter, seat_access
from server.web.lobby import again, lobby

blueprint = Blueprint("again", __name__)
csrf.exempt(blueprint)  # authorised by the token in the URL; browsers inside mail apps keep no cookies


@blueprint.post("/t/<token>/again")
@limiter.limit("30/minute")
def press(token: str) -> ResponseReturnValue:
    """Make the next game, or find the one there is, and go to one's place in it."""
    with reading() as session:
        access = seat_access(session, token)
    try:
        found = rematch.again(access.game.id, access.link.person_id, utc_now())
    except NotEverybody:
        return flask.redirect(url_for(".without", token=token), 303)
    place = links.url(found.link) if found.link else url_for("game.show", game_id=found.game_id)
    return flask.redirect(place, 303)


@blueprint.get("/t/<token>/again")
def without(token: str) -> ResponseReturnValue:
    """Show the form for a new game with those who can be invited again, if somebody is missing."""
    with reading() as session:
        access = seat_access(session, token)
        group = again.group_of(session, access)
        if group.complete or rematch.next_game(session, access.game.id) is not None:
            return flask.redirect(url_for("turn.show", token=token), 303)
    return lobby.new_form(group.fields, None, group)
