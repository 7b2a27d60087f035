"""The endpoint that open pages poll to learn whether the game has moved on.

It must be cheap, since every open page asks about three times a minute; it reveals nothing that the page does not.
"""

from __future__ import annotations

import flask
from flask import Blueprint
from werkzeug.wrappers import Response

from server.play import turns
from server.store import links
from server.store.engine import reading, utc_now
from server.web.http import unknown_link

blueprint = Blueprint("live", __name__)


@blueprint.get("/t/<token>/head")
def head(token: str) -> Response | tuple[str, int]:
    """Return the newest entry and the seats to move as JSON; 304 if the browser has this response."""
    with reading() as session:
        access = links.seat_access(session, token, utc_now()) or unknown_link(token)
        awaited = [turn.seat for turn in turns.open_turns(session, access.game.id)]
        answer = flask.jsonify(seq=access.game.head, awaited=awaited)
    answer.add_etag()
    return answer.make_conditional(flask.request)
