"""A link opens only its seat (promise 11), and no link scanner or prefetcher can play (promise 12)."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from flask import Flask
from sqlalchemy import select

from server import play
from server.accounts import addresses, login
from server.lobby import create
from server.mail.outgoing.deliver import deliver
from server.store import engine, log, outbox
from server.store.models import Game, Mail, Person
from tests.support.lobby import ALICE, everything, wish
from tests.support.mail_servers import FakeMailer
from tests.support.routes import ANSWERS, BODIES, MOVE, VISITORS, address, routes, visitors
from tests.support.visitors import BASE, PURPOSES, UNKNOWN, Visitors, make_visitors

OPENS = {
    "POST /s/<token>",
    "POST /sign-out",
    "POST /t/<token>/games",
    "POST /m/alarms/<int:alert_id>",
    "POST /m/<game_id>/look",
}
"""Form data that changes something for permitted visitors."""
FETCHES = 100
"""How often an emailed link of each kind is fetched by GET and by HEAD at night; on each commit, a twentieth of it."""


LINKS = 1
"""Of so many links of each kind it is tried on each commit what else they open; at night, of all."""


@pytest.fixture
def there(app: Flask) -> Visitors:
    """Return games with every kind of visitor; links to sign in are still valid."""
    return make_visitors(app, engine.utc_now())


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_every_route_is_classified(app: Flask) -> None:
    assert {name for name, _ in routes(app)} == set(ANSWERS)
    assert {len(statuses.split()) for statuses in ANSWERS.values()} == {len(VISITORS)}


def test_each_route_answers_each_visitor_as_it_should(there: Visitors) -> None:
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
                there.browser(visitor.name)  # signs in again
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


def test_a_link_shows_its_own_seat(there: Visitors) -> None:
    for game_id, name, seat in LIVE:
        token = there.tokens[game_id, name]["seat"]
        told = there.ask(there.browser(), "GET", f"/api/v1/seats/{token}").json
        assert told is not None
        assert (told["id"], told["seat"], told["view"]["viewer"]) == (game_id, seat, seat)
        assert [number for number, hand in enumerate(told["view"]["hands"]) if hand is not None] == [seat]
        page = there.ask(there.browser(), "GET", f"/t/{token}").text
        cards = re.findall(r'name="card" value="([a-z0-9]+)#', page) or told["view"]["hands"][seat]
        assert cards == told["view"]["hands"][seat]


def test_a_link_moves_its_own_seat(there: Visitors) -> None:
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
def test_a_link_of_one_kind_opens_nothing_of_another(there: Visitors, pytestconfig: pytest.Config) -> None:
    before, mia, nobody = everything(), there.browser("Mia"), there.browser()
    paths = {
        "seat": "/t/",
        "invite": "/i/",
        "organise": "/o/",
        "stop": "/u/",
        "signin": "/s/",
        "feed": "/feed/",
        "noinvite": "/n/",
        "noplayers": "/z/",
        "keep": "/k/",
        "wish": "/w/",
        "move": "/c/",
        "object": "/x/",
    }
    assert set(paths) == set(PURPOSES)
    tried = Counter[str]()
    for tokens in there.tokens.values():
        for purpose, token in tokens.items():
            tried[purpose] += 1
            if tried[purpose] > LINKS and not pytestconfig.getoption("nightly"):
                continue
            for other in set(PURPOSES) - {purpose}:
                for method, body in (("GET", None), ("POST", {"answer": "decline", "do": "cancel"} | MOVE)):
                    path = paths[other] + token + (".ics" if other == "feed" else "")
                    status = there.ask(mia, method, path, body).status_code
                    assert status == (405 if (other, method) == ("feed", "POST") else 404), (purpose, other)
            if purpose != "seat":
                assert there.ask(nobody, "GET", f"/api/v1/seats/{token}").status_code == 404
    assert everything() == before


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_dead_link_is_like_one_that_never_was(there: Visitors) -> None:
    dead = [there.tokens["here", name]["seat"] for name in ("Bob", "Charlie")]
    pages = set()
    for token in (*dead, UNKNOWN):
        answer = there.ask(there.browser(), "GET", f"/t/{token}")
        pages.add((answer.status, str(answer.headers), answer.text.replace(token, "TOKEN")))
    assert len(pages) == 1


# ---- what fetches links ----


def mailed(there: Visitors) -> set[str]:
    """Return every URL in the emails of all kinds of links."""
    now = engine.utc_now()
    made = create.create_game(wish(), now)
    login.mail_sign_in(ALICE.address, now)
    addresses.move(there.person("Gina"), "gina.new@example.org", now, reason="lost mailbox")
    with engine.transaction() as session:
        ida, hugo = there.person("Ida"), there.person("Hugo")
        outbox.enqueue(session, key="i", kind="invite", person_id=ida, now=now, game_id="open", seat=1)
        outbox.enqueue(session, key="n", kind="nudge", person_id=ida, now=now, game_id="open", seat=1)
        session.get_one(Person, there.person("Frank")).cadence = "digest"
        outbox.enqueue(session, key="d", kind="digest", person_id=there.person("Frank"), now=now)
        outbox.enqueue(session, key="m", kind="games", person_id=there.person("Daphne"), now=now)
        outbox.enqueue(session, key="w", kind="wish", person_id=hugo, now=now, details={"games": ["open"]})
        outbox.enqueue(session, key="f", kind="fresh", person_id=hugo, now=now, game_id="open", seat=0)
    fake_mailer = FakeMailer()
    while deliver(now, fake_mailer):
        pass
    found: set[str] = set()
    for message in fake_mailer.sent:
        body = message.get_body(("plain",))
        assert body is not None
        found |= set(re.findall(rf"{BASE}(/\S+)", body.get_content()))
        found |= set(re.findall(rf"<{BASE}(/[^>]+)>", message["List-Unsubscribe"] or ""))
    assert {path.split("/")[1] for path in found} == {*"tinousgwcx", "join", "rules", "tables", "verify"}, (
        made
    )
    assert any("?move=" in path for path in found)
    assert {mail.kind for mail in everyone_mailed()} >= {"turn", "digest", "games"}
    return found


def everyone_mailed() -> list[Mail]:
    """Return the emails that were sent."""
    with engine.reading() as session:
        return list(session.scalars(select(Mail).where(Mail.status == "sent")))


def test_fetching_links_and_pages_does_nothing(there: Visitors, pytestconfig: pytest.Config) -> None:
    links = mailed(there)
    of_each_kind = {path.split("/")[1] + path.partition("?")[1]: path for path in links}
    shown = [rule for _, rule in routes(there.app) if "GET" in (rule.methods or ())]
    pages = {address(there, rule, visitor) for rule in shown for visitor in visitors(there)}
    patience = FETCHES if pytestconfig.getoption("nightly") else FETCHES // 20
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
def test_no_older_link_leads_to_the_seat_after_a_moderator_revoked_it(there: Visitors, purpose: str) -> None:
    """Someone who reads a player's old emails must not be able to press a button and be led to the new link."""
    mia = there.person("Mia")
    play.moderate("here", "!link 0", reason="her mails were read", person_id=mia, now=engine.utc_now())
    while deliver(engine.utc_now(), FakeMailer()):
        pass  # and with the mails, there is a new link
    path = f"/{purpose[0]}/{there.tokens['here', 'Alice'][purpose]}"
    for body in ({"answer": "accept", "name": "Alice", "cut": ""}, {"do": "confirm"}, {"do": "start"}):
        answer = there.ask(there.browser(), "POST", path, body)
        assert "/t/" not in answer.headers.get("Location", ""), body
    assert "/t/" not in there.ask(there.browser(), "GET", path).text
