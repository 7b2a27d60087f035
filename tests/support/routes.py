"""Every route of the server, and every kind of visitor who may ask for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import flask
from flask import Flask
from werkzeug.routing import Rule

from tests.support.visitors import BASE, Visitor, Visitors

VISITORS = (
    "nobody",
    "a player of another game, by his link",
    "another player of this game, by his link",
    "a former player, signed in, with his old links",
    "a spectator, signed in",
    "a moderator who sits here, signed in, by his link",
    "a moderator who sits nowhere, signed in",
    "a player by his revoked links",
)


ANSWERS = {
    "GET /": "200 200 200 200 200 200 200 200",
    "GET /static/<path:filename>": "200 200 200 200 200 200 200 200",
    "GET /static/style-<slug>-<digest>.css": "200 200 200 200 200 200 200 200",
    "GET /static/<slug>-<language>-<digest>.svg": "200 200 200 200 200 200 200 200",
    "GET /static/games/<slug>/<digest>/<path:name>": "404 404 404 404 404 404 404 404",  # of a package
    "GET /new": "200 200 200 200 200 200 200 200",
    "POST /language": "400 400 400 400 400 400 400 400",  # no language of ours
    "POST /new": "422 422 422 422 422 422 422 422",
    "POST /play": "422 422 422 422 422 422 422 422",  # no game of ours
    "POST /t/<token>/keep": "404 409 409 404 404 409 404 404",  # no visitor's game
    "POST /t/<token>/guide": "404 303 303 404 404 303 404 404",
    "GET /k/<token>": "404 200 200 404 404 200 404 404",
    "POST /k/<token>": "404 422 422 404 404 422 404 404",
    "GET /asked": "200 200 200 200 200 200 200 200",
    "POST /link": "200 200 200 200 200 200 200 200",
    "GET /i/<token>": "404 200 200 404 404 200 404 404",
    "POST /i/<token>": "404 409 409 404 404 409 404 404",
    "GET /n/<token>": "404 200 200 200 404 200 404 200",  # it is about an address, not about a game
    "POST /n/<token>": "404 400 400 400 404 400 404 400",
    "GET /z/<token>": "404 200 200 200 404 200 404 200",  # it is about a person, not about a game
    "POST /z/<token>": "404 400 400 400 404 400 404 400",
    "GET /o/<token>": "404 200 200 404 404 404 404 404",
    "POST /o/<token>": "404 409 409 404 404 404 404 404",
    "GET /join/<game_id>": "200 200 200 200 200 200 200 200",
    "POST /join/<game_id>": "200 200 200 422 422 422 422 200",
    "POST /join/<game_id>/sign-in": "422 422 422 422 422 422 422 422",
    "GET /tables": "200 200 200 200 200 200 200 200",
    "POST /tables/wishes": "303 303 303 400 400 400 400 303",
    "GET /w/<token>": "404 200 200 200 404 200 404 200",  # it is about an address, not about a game
    "POST /w/<token>": "404 200 200 200 404 200 404 200",
    "GET /take/<game_id>/<int(max=99):number>": "200 200 200 200 200 200 200 200",
    "POST /take/<game_id>/<int(max=99):number>": "200 200 200 422 422 422 422 200",
    "POST /take/<game_id>/<int(max=99):number>/sign-in": "422 422 422 422 422 422 422 422",
    "GET /t/<token>/offer": "404 200 200 404 404 200 404 404",
    "POST /t/<token>/offer": "404 409 409 404 404 409 404 404",
    "GET /sign-in": "200 200 200 200 200 200 200 200",
    "POST /sign-in": "422 422 422 422 422 422 422 422",
    "GET /s/<token>": "404 200 200 200 404 200 404 404",  # used before: it says that he is signed in
    "POST /s/<token>": "404 303 303 303 404 303 404 404",
    "POST /sign-out": "303 303 303 303 303 303 303 303",
    "GET /account": "303 303 303 200 200 200 200 303",
    "POST /account": "303 303 303 400 400 400 400 303",
    "POST /account/sessions": "303 303 303 400 400 400 400 303",
    "POST /account/invitations": "303 303 303 400 400 400 400 303",
    "POST /account/mutes": "303 303 303 400 400 400 400 303",
    "GET /account/data.zip": "303 303 303 200 200 200 200 303",
    "GET /account/answers": "303 303 303 200 200 200 200 303",
    "GET /account/delete": "303 303 303 200 200 200 200 303",
    "GET /account/deleted": "200 200 200 200 200 200 200 200",
    "POST /account/delete": "303 303 303 422 422 422 422 303",
    "GET /account/address": "303 303 303 200 200 200 200 303",
    "POST /account/address": "303 303 303 400 400 400 400 303",
    "GET /c/<token>": "404 200 200 200 404 200 404 200",  # it is about an address, not about a game
    "POST /c/<token>": "404 400 400 400 404 400 404 400",
    "GET /x/<token>": "404 200 200 200 404 200 404 200",
    "POST /x/<token>": "404 400 400 400 404 400 404 400",
    "POST /account/profile": "303 303 303 400 400 400 400 303",
    "GET /account/habits": "303 303 303 200 200 200 200 303",
    "GET /account/results.<kind>": "303 303 303 200 200 200 200 303",
    "GET /account/records.zip": "303 303 303 200 200 200 200 303",
    "GET /p/<handle>": "200 200 200 200 200 200 200 200",  # also to Bob, whom Hugo blocks
    "POST /p/<handle>/block": "303 303 303 400 400 400 400 303",
    "POST /g/<game_id>/block": "303 303 303 404 404 404 404 303",  # not before the game is over
    "GET /g/<game_id>/group": "303 303 303 404 404 404 404 303",
    "GET /g/<game_id>/group.<kind>": "303 303 303 404 404 404 404 303",
    "GET /t/<token>/group": "404 404 404 404 404 404 404 404",
    "GET /t/<token>/group.<kind>": "404 404 404 404 404 404 404 404",
    "GET /u/<token>": "404 200 200 200 404 200 404 200",  # who left may still stop mails,
    "POST /u/<token>": "404 400 400 400 404 400 404 400",
    "GET /t/<token>": "404 200 200 404 404 200 404 404",
    "POST /t/<token>": "404 409 409 404 404 422 404 404",
    "POST /t/<token>/mail": "404 303 303 404 404 303 404 404",
    "POST /t/<token>/games": "404 200 200 404 404 200 404 404",
    "GET /feed/<token>.ics": "404 200 200 200 404 200 404 404",  # whoever left a table still has his other games
    "GET /feed/<token>.atom": "404 200 200 200 404 200 404 404",
    "GET /t/<token>/orders": "404 200 200 404 404 200 404 404",
    "POST /t/<token>/orders": "404 422 422 404 404 422 404 404",
    "GET /t/<token>/receipt/<int(max=999999999):seq>": "303 303 303 303 303 303 303 303",
    "GET /t/<token>/head": "404 200 200 404 404 200 404 404",
    "POST /t/<token>/say": "404 422 422 404 404 422 404 404",
    "POST /t/<token>/words": "404 400 400 404 404 400 404 404",
    "POST /t/<token>/notes": "404 422 422 404 404 422 404 404",
    "GET /t/<token>/leave": "404 200 200 404 404 200 404 404",
    "POST /t/<token>/leave": "404 400 400 404 404 400 404 404",
    "GET /t/<token>/again": "404 409 409 404 404 409 404 404",  # not before the game is over
    "POST /t/<token>/again": "404 409 409 404 404 409 404 404",
    "GET /t/<token>/history": "404 200 200 404 404 200 404 404",
    "GET /g/<game_id>": "200 200 200 200 200 200 200 200",
    "GET /g/<game_id>/history": "200 200 200 200 200 200 200 200",
    "GET /g/<game_id>/verify": "409 409 409 409 409 409 409 409",  # not before the game is over
    "GET /verify": "200 200 200 200 200 200 200 200",
    "POST /verify": "422 422 422 422 422 422 422 422",
    "GET /about": "200 200 200 200 200 200 200 200",
    "GET /robots.txt": "200 200 200 200 200 200 200 200",
    "GET /sitemap.xml": "200 200 200 200 200 200 200 200",
    "GET /.well-known/security.txt": "200 200 200 200 200 200 200 200",
    "GET /rules/<slug>": "200 200 200 200 200 200 200 200",
    "GET /m/": "404 404 404 404 404 200 200 404",
    "GET /m/games": "404 404 404 404 404 200 200 404",
    "GET /m/deeds": "404 404 404 404 404 200 200 404",
    "GET /m/erase": "404 404 404 404 404 200 200 404",
    "POST /m/erase": "404 404 404 404 404 422 422 404",
    "POST /m/alarms/<int:alert_id>": "404 404 404 404 404 303 303 404",
    "POST /m/reachable": "404 404 404 404 404 422 422 404",
    "GET /m/<game_id>": "404 404 404 404 404 200 200 404",
    "POST /m/<game_id>/look": "404 404 404 404 404 409 303 404",
    "GET /m/<game_id>/look/<int:seq>": "404 404 404 404 404 404 200 404",
    "POST /m/<game_id>/preview": "404 404 404 404 404 409 200 404",
    "POST /m/<game_id>/offer": "404 404 404 404 404 409 409 404",
    "POST /m/<game_id>/talk": "404 404 404 404 404 409 422 404",
    "POST /m/<game_id>/act": "404 404 404 404 404 409 409 404",
    "GET /healthz": "200 200 200 200 200 200 200 200",
    "GET /readyz": "503 503 503 503 503 503 503 503",  # no scheduler beats in a test
    "GET /metrics": "404 404 404 404 404 404 404 404",  # asked under its public name, it does not exist
    "GET /api/v1/openapi.json": "200 200 200 200 200 200 200 200",
    "GET /api/v1/tables": "200 200 200 200 200 200 200 200",
    "GET /api/v1/games/<game_id>/record": "200 200 200 200 200 200 200 200",
    "GET /api/v1/people/<handle>": "200 200 200 200 200 200 200 200",
    "GET /api/v1/seats/<token>": "404 200 200 404 404 200 404 404",
    "GET /api/v1/seats/<token>/record": "404 200 200 404 404 200 404 404",
    "GET /api/v1/seats/<token>/orders": "404 200 200 404 404 200 404 404",
    "POST /api/v1/seats/<token>/orders": "404 422 422 404 404 422 404 404",
    "DELETE /api/v1/seats/<token>/orders/<order_id>": "404 404 404 404 404 404 404 404",
    "POST /api/v1/seats/<token>/again": "404 409 409 404 404 409 404 404",
    "GET /api/v1/seats/<token>/words": "404 200 200 404 404 200 404 404",
    "POST /api/v1/seats/<token>/words": "404 422 422 404 404 422 404 404",
    "POST /api/v1/seats/<token>/moves": "404 409 409 404 404 422 404 404",
}
"""The status of each route for each of the visitors, in order."""


MOVE = {"move": "take wood", "seen": 5, "request_id": "r"}


BODIES: dict[str, dict[str, Any]] = {
    "POST /i/<token>": {"answer": "decline"},
    "POST /o/<token>": {"do": "cancel"},
    "POST /join/<game_id>": {"name": ""},
    "POST /join/<game_id>/sign-in": {"address": "nobody"},
    "POST /u/<token>": {"do": "nonsense"},
    "POST /tables/wishes": {"do": "nonsense"},
    "POST /take/<game_id>/<int(max=99):number>": {"name": ""},
    "POST /take/<game_id>/<int(max=99):number>/sign-in": {"address": "nobody"},
    "POST /t/<token>/offer": {"seat": "1"},
    "POST /m/<game_id>/offer": {"seat": "1", "do": "offer", "reason": "x"},
    "POST /n/<token>": {"do": "nonsense"},
    "POST /z/<token>": {"do": "nonsense"},
    "POST /c/<token>": {"do": "nonsense"},
    "POST /x/<token>": {"do": "nonsense"},
    "POST /account/address": {"do": "nonsense"},
    "POST /t/<token>": MOVE,
    "POST /t/<token>/leave": {"do": "nonsense"},
    "POST /t/<token>/say": {"text": "", "request_id": "r"},
    "POST /t/<token>/words": {"sing": "1"},
    "POST /t/<token>/notes": {"notes": "x" * 5001},
    "POST /m/<game_id>/talk": {"do": "close", "reason": ""},
    "POST /t/<token>/keep": {"address": "ann@example.org"},
    "POST /t/<token>/guide": {"explained": "byzanz-bid"},
    "POST /t/<token>/orders": {"do": "leave", "order": "sing"},
    "POST /api/v1/seats/<token>/moves": MOVE,
    "POST /api/v1/seats/<token>/orders": {"order": "sing"},
    "POST /api/v1/seats/<token>/words": {"text": " ", "request_id": "r"},
    "POST /sign-in": {"address": "nobody"},
    "POST /account/delete": {"do": "delete"},
    "POST /m/erase": {"address": "nobody"},
    "POST /language": {"language": "xx"},
    "POST /link": {"token": "nothing"},
    "POST /m/<game_id>/look": {"viewer": "1", "reason": "x"},
    "POST /m/<game_id>/preview": {"act": "pause", "reason": "x"},
    "POST /m/<game_id>/act": {"act": "pause", "reason": "x", "seen": "0"},
}
"""Well-formed form data that is refused or has no effect for every permitted visitor."""


DOORS = {
    "feed": "feed",
    "t": "seat",
    "i": "invite",
    "o": "organise",
    "u": "stop",
    "n": "noinvite",
    "z": "noplayers",
    "k": "keep",
    "w": "wish",
    "c": "move",
    "x": "object",
    "s": "signin",
    "api": "seat",
}


def visitors(there: Visitors) -> tuple[Visitor, ...]:
    """Return all VISITORS."""
    return (
        Visitor(),
        there.visitor("Eve", "there"),
        there.visitor("Alice"),
        there.visitor("Bob", cookie=True),
        Visitor("Sam"),
        there.visitor("Daphne", cookie=True),
        Visitor("Mia"),
        there.visitor("Charlie"),
    )


def routes(app: Flask) -> Iterator[tuple[str, Rule]]:
    """Return every method of every route."""
    for rule in app.url_map.iter_rules():
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
            yield f"{method} {rule.rule}", rule


def address(there: Visitors, rule: Rule, visitor: Visitor) -> str:
    """Return the route's path with this visitor's tokens."""
    values = {
        "token": visitor.token(DOORS.get(rule.rule.split("/")[1], "")),
        "game_id": "open" if rule.rule.startswith("/join") else "here",
        "seq": there.look if rule.rule.startswith("/m") else 2,
        "alert_id": there.alarm,
        "order_id": 999,
        "number": 1,
        "handle": "Hugo",
        "kind": "csv",
        "slug": "byzanz",
        "filename": "style.css",
        "name": "style.css",
        "digest": "0123456789ab",
        "language": "en",
    }
    with there.app.test_request_context(base_url=BASE):
        wanted: dict[str, Any] = {name: values[name] for name in rule.arguments}
        return flask.url_for(rule.endpoint, **wanted)
