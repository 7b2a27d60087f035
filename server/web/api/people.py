"""People in the API: what a profile shows to everybody."""

from __future__ import annotations

from typing import Any

from flask import Blueprint

from server.community import profiles
from server.community.profiles import Profile
from server.errors import Refused
from server.store.engine import reading, stamp
from server.web import http
from server.web.api import openapi
from server.web.api.bodies import Body
from server.web.api.openapi import READS

HANDLE = r"^[A-Za-z][A-Za-z0-9_-]{2,19}$"
blueprint = Blueprint("people", __name__)


class NoSuchPerson(Refused):
    """Nobody has this handle, or not everybody may see their profile."""

    status = 404
    code = "no_such_person"


class TallyState(Body):
    """What a person did in one game with one number of players."""

    game: str
    size: int
    played: int
    won: int
    """Shared wins included."""
    even: float
    """The wins to expect if each seat were as likely to win as any other."""
    chance: list[int]
    """The bounds within which 95 of 100 players stay whose wins are chance alone."""
    place: float
    """The average one, from 1."""


class EndedState(Body):
    """One finished game of a person."""

    id: str
    game: str
    name: str
    ended: str
    """RFC 3339, UTC."""
    size: int
    place: int
    score: int


class PersonState(Body):
    """A profile that everybody may see: listed games with other people, private ones never."""

    handle: str
    since: str
    """The month since which they are here: `2026-03`."""
    results: list[TallyState]
    """The most played first."""
    latest: list[EndedState]
    """The last 20, the latest first."""


PATHS: dict[str, Any] = {
    "/api/v1/people/{handle}": {
        "parameters": [openapi.parameter("handle", HANDLE, "The handle of a person.")],
        "get": {
            "operationId": "person",
            "summary": "A person's public results.",
            "responses": openapi.common()
            | {
                "200": openapi.answer("PersonState", "The profile as a visitor may see it."),
                "404": openapi.answer(
                    "ErrorBody", "Nobody with this handle has a profile that everybody may see."
                ),
            },
        },
    }
}


@blueprint.get("/people/<handle>")
@http.limiter.limit(READS)
@http.costly
def person(handle: str) -> dict[str, Any]:
    """Return a profile that everybody may see."""
    with reading() as session:
        found = profiles.visible(session, handle, None)
        if found is None:
            raise NoSuchPerson("Nobody with this handle has a public profile. Check the spelling.")
        return _state(profiles.profile(session, found)).model_dump()


def _state(profile: Profile) -> PersonState:
    tallies = [
        TallyState(
            game=tally.slug,
            size=tally.size,
            played=tally.played,
            won=tally.won,
            even=round(tally.even, 2),
            chance=[tally.low, tally.high],
            place=round(tally.place, 2),
        )
        for tally in profile.tallies
    ]
    latest = []
    for game in profile.latest:
        own = game.of(profile.person.id)
        latest.append(
            EndedState(
                id=game.id,
                game=game.slug,
                name=game.name,
                ended=stamp(game.ended_at),
                size=game.size,
                place=own.place,
                score=own.score,
            )
        )
    since = f"{profile.person.created_at:%Y-%m}"
    return PersonState(handle=profile.person.handle or "", since=since, results=tallies, latest=latest)
