"""Table talk in the API: what was said, for a seat's player alone, and saying something."""

from __future__ import annotations

import dataclasses
from typing import Any

import flask

from server.community import talk
from server.errors import BadRequest
from server.store import engine, presence
from server.validation import excerpt, whole_number
from server.web import http
from server.web.api.bodies import WordRequest
from server.web.api.views import READS, WRITES, blueprint, body_of, opened_seat

__all__ = ["blueprint", "say", "words"]
LAST = 999_999_999
"""The highest number of a word."""


@blueprint.get("/seats/<token>/words")
@http.limiter.limit(READS)
def words(token: str) -> dict[str, Any]:
    """Return what the player of the seat may read; `?after=` gives only what is newer."""
    text = flask.request.args.get("after", "0")
    after = whole_number(text, LAST)
    if after is None:
        raise BadRequest("“%(text)s” must be a whole number.", text=excerpt(text))
    with engine.reading() as session:
        access = opened_seat(session, token)
        said = talk.words(session, access.game.id, access.link.person_id, after)
    rows = [dataclasses.asdict(each) | {"at": engine.stamp(each.at)} for each in said]
    return {"words": [{name: value for name, value in row.items() if name != "why"} for row in rows]}


@blueprint.post("/seats/<token>/words")
@http.limiter.limit(WRITES)
def say(token: str) -> tuple[dict[str, Any], int]:
    """Say something to the table."""
    with engine.reading() as session:
        access = opened_seat(session, token)
    now = engine.utc_now()
    presence.note(access.link.person_id, now)
    body = body_of(WordRequest)
    said = talk.say(
        access.game.id,
        access.link.person_id,
        body.text,
        request_id=body.request_id,
        now=now,
        link_id=access.link.id,
    )
    return {"number": said.number}, 201 if said.at == now else 200
