"""The call of the API that makes the next game of the same people; it joins the blueprint of `views`."""

from __future__ import annotations

from server.lobby import rematch
from server.store import engine
from server.web import http
from server.web.api.openapi import WRITES
from server.web.api.views import blueprint, seat_access


@blueprint.post("/seats/<token>/again")
@http.limiter.limit(WRITES)
def again(token: str) -> tuple[dict[str, str], int]:
    """Make the game that follows this finished one, organised by this seat's player, or return the one there is."""
    with engine.reading() as session:
        access = seat_access(session, token)
    following = rematch.again(access.game.id, access.link.person_id, engine.utc_now())
    return {"id": following.game_id}, 201 if following.created else 200
