"""The call of the API that makes the next game of the same people; it joins the blueprint of `views`."""

from __future__ import annotations

from typing import Any

from server.lobby import rematch
from server.store import engine
from server.web import http
from server.web.api import openapi
from server.web.api.bodies import Body
from server.web.api.openapi import WRITES
from server.web.api.views import blueprint, opened_seat


class NextGame(Body):
    """The game that follows a finished one."""

    id: str
    """Of the game, which begins once everybody has accepted."""


PATHS: dict[str, Any] = {
    "/api/v1/seats/{token}/again": {
        "parameters": [openapi.token()],
        "post": {
            "operationId": "again",
            "summary": "Play again with the same people, each moved on by one seat.",
            "responses": openapi.common()
            | {
                "200": openapi.answer("NextGame", "It had been made already; nothing has changed."),
                "201": openapi.answer(
                    "NextGame", "Made; this player organises it, and the others are invited."
                ),
                "409": openapi.answer(
                    "ErrorBody", "Not over, or the player had left it (`closed`); or `not_everybody`."
                ),
                "429": openapi.answer(
                    "ErrorBody", "Too many requests from this address, or invitations today (`too_many`)."
                ),
            },
        },
    }
}


@blueprint.post("/seats/<token>/again")
@http.limiter.limit(WRITES)
def again(token: str) -> tuple[dict[str, str], int]:
    """Make the game that follows this finished one, organised by this seat's player, or return the one there is."""
    with engine.reading() as session:
        access = opened_seat(session, token)
    following = rematch.again(access.game.id, access.link.person_id, engine.utc_now())
    return {"id": following.game_id}, 201 if following.created else 200
