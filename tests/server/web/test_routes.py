"""A link opens only its seat (promise 11), and no link scanner or prefetcher can play (promise 12)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import flask
import pytest
from flask import Flask
from sqlalchemy import select
from werkzeug.routing import Rule

from server import play
from server.accounts import login
from server.lobby import create
from server.mail.outgoing.deliver import deliver
from server.store import engine, log, outbox
from server.store.models import Game, Mail, Person
from tests.support.invitations import ALICE, everything, wish
from tests.support.mail_servers import Pigeons
from tests.support.scene import BASE, PURPOSES, UNKNOWN, Scene, Visitor, scene

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
    "GET /static/style-<digest>.css": "200 200 200 200 200 200 200 200",
    "GET /new": "200 200 200 200 200 200 200 200",
    "POST /language": "400 400 400 400 400 400 400 400",  # no language of ours
    "POST /new": "422 422 422 422 422 422 422 422",
    "GET /asked": "200 200 200 200 200 200 200 200",
    "POST /link": "200 200 200 200 200 200 200 200",
    "GET /i/<token>": "404 200 200 404 404 200 404 404",
    "POST /i/<token>": "404 409 409 404 404 409 404 404",
    "GET /o/<token>": "404 200 200 404 404 404 404 404",
    "POST /o/<token>": "404 409 409 404 404 404 404 404",
    "GET /join/<game_id>": "200 200 200 200 200 200 200 200",
    "POST /join/<game_id>": "200 200 200 422 422 422 422 200",
    "GET /sign-in": "200 200 200 200 200 200 200 200",
    "POST /sign-in": "422 422 422 422 422 422 422 422",
    "GET /s/<token>": "404 200 200 404 404 200 404 404",
    "POST /s/<token>": "404 303 303 404 404 303 404 404",
    "POST /sign-out": "303 303 303 303 303 303 303 303",
    "GET /account": "303 303 303 200 200 200 200 303",
    "POST /account": "303 303 303 400 400 400 400 303",
    "GET /u/<token>": "404 200 200 200 404 200 404 200",  # who left may still stop mails,
    "POST /u/<token>": "404 400 400 400 404 400 404 400",
    "GET /t/<token>": "404 200 200 404 404 200 404 404",
    "POST /t/<token>": "404 409 409 404 404 422 404 404",
    "POST /t/<token>/mail": "404 303 303 404 404 303 404 404",
    "POST /t/<token>/games": "404 200 200 404 404 200 404 404",
    "GET /feed/<token>.ics": "404 200 200 200 404 200 404 404",  # whoever left a table still has his other games
    "GET /feed/<token>.atom": "404 200 200 200 404 200 404 404",
    "POST /t/<token>/orders": "404 422 422 404 404 422 404 404",
    "GET /t/<token>/receipt/<int(max=999999999):seq>": "404 200 200 404 404 404 404 404",
    "GET /t/<token>/head": "404 200 200 404 404 200 404 404",
    "GET /t/<token>/leave": "404 200 200 404 404 200 404 404",
    "POST /t/<token>/leave": "404 400 400 404 404 400 404 404",
    "GET /t/<token>/history": "404 200 200 404 404 200 404 404",
    "GET /g/<game_id>": "200 200 200 200 200 200 200 200",
    "GET /g/<game_id>/history": "200 200 200 200 200 200 200 200",
    "GET /g/<game_id>/verify": "409 409 409 409 409 409 409 409",  # not before the game is over
    "GET /verify": "200 200 200 200 200 200 200 200",
    "POST /verify": "422 422 422 422 422 422 422 422",
    "GET /rules/<slug>": "200 200 200 200 200 200 200 200",
    "GET /m/": "404 404 404 404 404 200 200 404",
    "GET /m/games": "404 404 404 404 404 200 200 404",
    "GET /m/deeds": "404 404 404 404 404 200 200 404",
    "POST /m/alarms/<int:alert_id>": "404 404 404 404 404 303 303 404",
    "GET /m/<game_id>": "404 404 404 404 404 200 200 404",
    "POST /m/<game_id>/look": "404 404 404 404 404 409 303 404",
    "GET /m/<game_id>/look/<int:seq>": "404 404 404 404 404 404 200 404",
    "POST /m/<game_id>/preview": "404 404 404 404 404 200 200 404",
    "POST /m/<game_id>/act": "404 404 404 404 404 409 409 404",
    "GET /healthz": "200 200 200 200 200 200 200 200",
    "GET /readyz": "503 503 503 503 503 503 503 503",  # no scheduler beats in a test
    "GET /metrics": "404 404 404 404 404 404 404 404",  # asked under its public name, it does not exist
    "GET /api/v1/openapi.json": "200 200 200 200 200 200 200 200",
    "GET /api/v1/games/<game_id>/record": "200 200 200 200 200 200 200 200",
    "GET /api/v1/seats/<token>": "404 200 200 404 404 200 404 404",
    "GET /api/v1/seats/<token>/record": "404 200 200 404 404 200 404 404",
    "GET /api/v1/seats/<token>/orders": "404 200 200 404 404 200 404 404",
    "POST /api/v1/seats/<token>/orders": "404 422 422 404 404 422 404 404",
    "DELETE /api/v1/seats/<token>/orders/<order_id>": "404 404 404 404 404 404 404 404",
    "POST /api/v1/seats/<token>/moves": "404 409 409 404 404 422 404 404",
}
"""The status of each route for each of the visitors, in order."""
MOVE = {"move": "take wood", "seen": 5, "request_id": "r"}
BODIES: dict[str, dict[str, Any]] = {
    "POST /i/<token>": {"answer": "decline"},
    "POST /o/<token>": {"do": "cancel"},
    "POST /join/<game_id>": {"name": ""},
    "POST /u/<token>": {"do": "nonsense"},
    "POST /t/<token>": MOVE,
    "POST /t/<token>/leave": {"do": "nonsense"},
    "POST /t/<token>/orders": {"do": "leave", "order": "sing"},
    "POST /api/v1/seats/<token>/moves": MOVE,
    "POST /api/v1/seats/<token>/orders": {"order": "sing"},
    "POST /sign-in": {"address": "nobody"},
    "POST /language": {"language": "xx"},
    "POST /link": {"token": "nothing"},
    "POST /m/<game_id>/look": {"viewer": "1", "reason": "x"},
    "POST /m/<game_id>/preview": {"act": "pause", "reason": "x"},
    "POST /m/<game_id>/act": {"act": "pause", "reason": "x", "seen": "0"},
}
"""Well-formed form data that is refused or has no effect for every permitted visitor."""
OPENS = {
    "POST /s/<token>",
    "POST /t/<token>/games",
    "POST /m/alarms/<int:alert_id>",
    "POST /m/<game_id>/look",
}
"""Form data that changes something for permitted visitors."""
DOORS = {
    "feed": "feed",
    "t": "seat",
    "i": "invite",
    "o": "organise",
    "u": "stop",
    "s": "signin",
    "api": "seat",
}
FETCHES = 100
"""How often an emailed link of each kind is fetched by GET and by HEAD; at night; a tenth as often on each commit."""


@pytest.fixture
def there(app: Flask) -> Scene:
    """Return games with every kind of visitor; links to sign in are still valid."""
    return scene(app, engine.utc_now())


def visitors(there: Scene) -> tuple[Visitor, ...]:
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


def address(there: Scene, rule: Rule, visitor: Visitor) -> str:
    """Return the route's path with this visitor's tokens."""
    values = {
        "token": visitor.token(DOORS.get(rule.rule.split("/")[1], "")),
        "game_id": "open" if rule.rule.startswith("/join") else "here",
        "seq": there.look if rule.rule.startswith("/m") else 2,
        "alert_id": there.alarm,
        "order_id": 999,
        "slug": "byzanz",
        "filename": "style.css",
        "digest": "0123456789ab",
    }
    with there.app.test_request_context(base_url=BASE):
        wanted: dict[str, Any] = {name: values[name] for name in rule.arguments}
        return flask.url_for(rule.endpoint, **wanted)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_every_route_is_classified(app: Flask) -> None:
    assert {name for name, _ in routes(app)} == set(ANSWERS)
    assert {len(statuses.split()) for statuses in ANSWERS.values()} == {len(VISITORS)}


def test_each_route_answers_each_visitor_as_it_should(there: Scene) -> None:
    wrong = []
    before = everything()
    for name, rule in routes(there.app):
        method = name.split()[0]
        body = BODIES.get(name, {}) if method == "POST" else None
        for who, visitor, expected in zip(VISITORS, visitors(there), ANSWERS[name].split(), strict=True):
            path = address(there, rule, visitor)
            answer = there.ask(there.browser(visitor.name), method, path, body)
            if str(answer.status_code) != expected:
                wrong.append(f"{name}: {who} got {answer.status_code}, not {expected}")
            if name in OPENS and expected in ("200", "303"):
                before = everything()
            elif everything() != before:
                wrong.append(f"{name}: {who} changed something")
                before = everything()
    assert not wrong, "\n".join(wrong)


LIVE = (
    ("here", "Alice", 0),
    ("here", "Zoe", 1),
    ("here", "Daphne", 3),
    ("there", "Eve", 0),
    ("there", "Frank", 1),
    ("there", "Gina", 2),
)
"""The seats that a link opens: game, person, seat. Nobody has emailed Charlie his new link."""


def test_a_link_shows_its_own_seat(there: Scene) -> None:
    for game_id, name, seat in LIVE:
        token = there.tokens[game_id, name]["seat"]
        told = there.ask(there.browser(), "GET", f"/api/v1/seats/{token}").json
        assert told is not None
        assert (told["id"], told["seat"], told["view"]["viewer"]) == (game_id, seat, seat)
        assert [number for number, hand in enumerate(told["view"]["hands"]) if hand is not None] == [seat]
        page = there.ask(there.browser(), "GET", f"/t/{token}").text
        cards = re.findall(r'name="card" value="([a-z0-9]+)#', page) or told["view"]["hands"][seat]
        assert cards == told["view"]["hands"][seat]


def test_a_link_moves_its_own_seat(there: Scene) -> None:
    for game_id, name, seat in LIVE:
        with engine.reading() as session:
            heads = {game.id: game.head for game in session.scalars(select(Game))}
        fields = {"move": "pass", "seen": heads[game_id], "request_id": f"{name}.passes"}
        path = f"/t/{there.tokens[game_id, name]['seat']}"
        status = there.ask(there.browser(), "POST", path, fields).status_code
        with engine.reading() as session:
            made = [
                (row.id, entry.seat, entry.by)
                for row in session.scalars(select(Game))
                for entry in log.entries(session, row.id, after=heads[row.id])
                if entry.by == "player"
            ]
        assert made == ([(game_id, seat, "player")] if status == 303 else [])
        assert status == (303 if name in ("Daphne", "Frank", "Gina") else 409)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_link_of_one_kind_opens_nothing_of_another(there: Scene) -> None:
    before = everything()
    paths = {
        "seat": "/t/",
        "invite": "/i/",
        "organise": "/o/",
        "stop": "/u/",
        "signin": "/s/",
        "feed": "/feed/",
    }
    assert set(paths) == set(PURPOSES)
    for tokens in there.tokens.values():
        for purpose, token in tokens.items():
            for other in set(PURPOSES) - {purpose}:
                for method, body in (("GET", None), ("POST", {"answer": "decline", "do": "cancel"} | MOVE)):
                    path = paths[other] + token + (".ics" if other == "feed" else "")
                    status = there.ask(there.browser("Mia"), method, path, body).status_code
                    assert status == (405 if (other, method) == ("feed", "POST") else 404), (purpose, other)
            if purpose != "seat":
                assert there.ask(there.browser(), "GET", f"/api/v1/seats/{token}").status_code == 404
    assert everything() == before


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_dead_link_is_like_one_that_never_was(there: Scene) -> None:
    dead = [there.tokens["here", name]["seat"] for name in ("Bob", "Charlie")]
    pages = set()
    for token in (*dead, UNKNOWN):
        answer = there.ask(there.browser(), "GET", f"/t/{token}")
        pages.add((answer.status, str(answer.headers), answer.text.replace(token, "TOKEN")))
    assert len(pages) == 1


# ---- what fetches links ----


def mailed(there: Scene) -> set[str]:
    """Return every URL in the emails of all kinds of links."""
    now = engine.utc_now()
    made = create.create_game(wish(), now)
    login.mail_sign_in(ALICE.address, now)
    with engine.transaction() as session:
        ida, hugo = there.person("Ida"), there.person("Hugo")
        outbox.enqueue(session, key="i", kind="invite", person_id=ida, now=now, game_id="open", seat=1)
        outbox.enqueue(session, key="n", kind="nudge", person_id=ida, now=now, game_id="open", seat=1)
        session.get_one(Person, there.person("Frank")).cadence = "digest"
        outbox.enqueue(session, key="d", kind="digest", person_id=there.person("Frank"), now=now)
        outbox.enqueue(session, key="m", kind="games", person_id=there.person("Daphne"), now=now)
        outbox.enqueue(session, key="f", kind="fresh", person_id=hugo, now=now, game_id="open", seat=0)
    birds = Pigeons()
    while deliver(now, birds):
        pass
    found: set[str] = set()
    for message in birds.sent:
        body = message.get_body(("plain",))
        assert body is not None
        found |= set(re.findall(rf"{BASE}(/\S+)", body.get_content()))
        found |= set(re.findall(rf"<{BASE}(/[^>]+)>", message["List-Unsubscribe"] or ""))
    assert {path.split("/")[1] for path in found} == {*"tiousg", "rules"}, made
    assert any("?move=" in path for path in found)
    assert {mail.kind for mail in everyone_mailed()} >= {"turn", "digest", "games"}
    return found


def everyone_mailed() -> list[Mail]:
    """Return the emails that were sent."""
    with engine.reading() as session:
        return list(session.scalars(select(Mail).where(Mail.status == "sent")))


def test_fetching_links_and_pages_does_nothing(there: Scene, pytestconfig: pytest.Config) -> None:
    links = mailed(there)
    of_each_kind = {path.split("/")[1] + path.partition("?")[1]: path for path in links}
    shown = [rule for _, rule in routes(there.app) if "GET" in (rule.methods or ())]
    pages = {address(there, rule, visitor) for rule in shown for visitor in visitors(there)}
    patience = FETCHES if pytestconfig.getoption("nightly") else FETCHES // 10
    before = everything()
    browser = there.browser("Alice")
    for path in (*sorted(pages | links), *[*of_each_kind.values()] * patience):
        for method in ("GET", "HEAD"):
            assert there.ask(browser, method, path).status_code < 500 or path == "/readyz", path
    assert everything() == before
    print(
        f"{len(of_each_kind)} kinds of links fetched {2 * patience} times each, and {len(pages | links)} pages"
    )


@pytest.mark.parametrize("purpose", ["invite", "organise"])
def test_no_older_link_leads_to_the_seat_after_a_moderator_revoked_it(there: Scene, purpose: str) -> None:
    """Someone who reads a player's old emails must not be able to press a button and be led to the new link."""
    mia = there.person("Mia")
    play.moderate("here", "!link 0", reason="her mails were read", person_id=mia, now=engine.utc_now())
    while deliver(engine.utc_now(), Pigeons()):
        pass  # and with the mails, there is a new link
    path = f"/{purpose[0]}/{there.tokens['here', 'Alice'][purpose]}"
    for body in ({"answer": "accept", "name": "Alice", "cut": ""}, {"do": "confirm"}, {"do": "start"}):
        answer = there.ask(there.browser(), "POST", path, body)
        assert "/t/" not in answer.headers.get("Location", ""), body
    assert "/t/" not in there.ask(there.browser(), "GET", path).text
