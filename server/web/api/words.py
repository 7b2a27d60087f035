"""Table talk in the API: what was said, for a seat's player alone, and saying something."""

from __future__ import annotations

import dataclasses
from typing import Any

import flask

from server.community import talk
from server.community.talk import public_id
from server.errors import BadRequest
from server.store import engine
from server.validation import excerpt
from server.web import http
from server.web.api import openapi
from server.web.api.bodies import WordList, WordReceipt, WordRequest
from server.web.api.openapi import READS, WRITES
from server.web.api.views import blueprint, body_of, opened_seat

MODELS = (WordRequest, WordReceipt, WordList)
PATHS: dict[str, Any] = {
    "/api/v1/seats/{token}/words": {
        "parameters": [openapi.token()],
        "get": {
            "operationId": "words",
            "summary": "What was said at the table, as this seat may read it.",
            "parameters": [
                {
                    "name": "after",
                    "in": "query",
                    "description": "The `id` of a word: only those said later.",
                    "schema": {"type": "string", "maxLength": 16},
                }
            ],
            "responses": openapi.common()
            | {
                "200": openapi.answer("WordList", "What was said, oldest first."),
                "422": openapi.answer("ErrorBody", "No such word; it may have been deleted."),
            },
        },
        "post": {
            "operationId": "say",
            "summary": "Say something to everybody at the table.",
            "requestBody": openapi.sent("WordRequest"),
            "responses": openapi.common()
            | openapi.unread()
            | {
                "200": openapi.answer("WordReceipt", "A repeated request; nothing was said again."),
                "201": openapi.answer("WordReceipt", "Said."),
                "409": openapi.answer("ErrorBody", "Nobody, or not this seat, can talk now (`closed`)."),
                "422": openapi.answer(
                    "ErrorBody", "The text is empty or too long, or the request ID was used for another."
                ),
                "429": openapi.answer(
                    "ErrorBody", "Too many requests from this address, or enough said for a day (`too_many`)."
                ),
            },
        },
    }
}


@blueprint.get("/seats/<token>/words")
@http.limiter.limit(READS)
def words(token: str) -> dict[str, Any]:
    """Return what the player of the seat may read; `?after=` gives only what is newer."""
    after = flask.request.args.get("after")
    with engine.reading() as session:
        access = opened_seat(session, token)
        said = talk.words(session, access.game.id, access.link.person_id)
    if after is not None:
        known = [each.id for each in said]
        if after not in known:
            raise BadRequest("There is no message “%(text)s” here.", text=excerpt(after))
        said = said[known.index(after) + 1 :]
    rows = [dataclasses.asdict(each) | {"at": engine.stamp(each.at)} for each in said]
    return {"words": [{name: value for name, value in row.items() if name != "why"} for row in rows]}


@blueprint.post("/seats/<token>/words")
@http.limiter.limit(WRITES)
def say(token: str) -> tuple[dict[str, Any], int]:
    """Say something to the table."""
    with engine.reading() as session:
        access = opened_seat(session, token)
    now = engine.utc_now()
    body = body_of(WordRequest)
    said = talk.say(
        access.game.id,
        access.link.person_id,
        body.text,
        request_id=body.request_id,
        now=now,
        link_id=access.link.id,
    )
    shown = "" if said.hidden_at else said.text
    known_as = public_id(said.game_id, said.person_id, said.request_id)
    return {"id": known_as, "text": shown}, 201 if said.at == now else 200
