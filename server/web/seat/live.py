"""The endpoint that open pages poll to learn whether the game has moved on.

It must be cheap, since every open page asks about three times a minute, and more often while only bots are to move; it
reveals nothing that the page does not. A page in use says so when it asks (`http.note_presence`).
"""

from __future__ import annotations

import flask
from flask import Blueprint
from werkzeug.wrappers import Response

from server.play import turns
from server.store.engine import reading
from server.web.http import seat_access

blueprint = Blueprint("live", __name__)


@blueprint.get("/t/<token>/head")
def head(token: str) -> Response | tuple[str, int]:
    """Return the newest entry and the seats to move as JSON; 304 if the browser has this response."""
    with reading() as session:
        access = seat_access(session, token)
        awaited = list(turns.to_move(session, access.game.id))
        answer = flask.jsonify(seq=access.game.head, awaited=awaited)
    answer.add_etag()
    return answer.make_conditional(flask.request)
