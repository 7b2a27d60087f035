"""Everything a viewer can request from a running game or is emailed, each answer as text or byte for byte."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from email.message import EmailMessage
from functools import partial
from typing import Any
from urllib.parse import urlencode

import time_machine
from flask.testing import FlaskClient

from byzanz.record import Cause
from server.community.talk import public_id
from server.mail.outgoing import relevance
from server.store import engine, log
from server.store.models import Game, Mail, Person
from tests.support import game_data
from tests.support.leaks.worlds import BASE, LATER, World, written
from tests.support.mail_servers import received
from tests.support.mails import compose_again
from tests.support.pages import log_in

NOBODY = "a" * 26
"""A token that opens nothing."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request.

    Args:
        who: the address of the person signed in, if any.
    """

    method: str
    path: str
    who: str | None = None
    body: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.method} {self.path} {self.body or ''} as {self.who or 'nobody'}"


Ask = tuple[str, Callable[[World], str]]
"""Describe the request."""


def every_request(world: World) -> Iterator[Ask]:
    """Return all requests that the viewer of this pair can make; the same list for both of its worlds."""
    for number in range(len(world.answers)):
        yield f"the answer to the own move {number}", partial(own_answer, number)
    calls = _of_seat(world, world.seat) if world.seat is not None else _of_public(world)
    for call in calls:
        yield str(call), partial(answer_to, call)
    with world.app.app_context(), engine.reading() as session:
        count = len(world.mails(session))
    yield "how many mails", lambda world: str(_count_mails(world))
    for number in range(count):
        yield f"mail {number}", partial(mailed, number)


def own_answer(number: int, world: World) -> str:
    """Return the answer to a viewer's own move."""
    return world.answers[number]


def answer_to(call: Call, world: World) -> str:
    """Return the answer to a request in this world."""
    browser = world.app.test_client()
    if call.who is not None:
        _sign_in(world, browser, call.who)
    world.dice.relabel(str(call))
    body: dict[str, Any] = {"json": call.body} if "/api/" in call.path else {"data": call.body}
    with time_machine.travel(LATER, tick=False):
        # A form posted over HTTPS with a cookie must send a Referer.
        headers = {"Referer": f"{BASE}/"} if call.who else {}
        answer = browser.open(
            call.path, method=call.method, base_url=BASE, headers=headers, **body if call.body else {}
        )
    return written(answer)


def _sign_in(world: World, browser: FlaskClient, name: str) -> None:
    with world.app.app_context(), engine.reading() as session:
        person = session.query(Person).filter_by(name=name).one()
    with world.app.app_context(), time_machine.travel(LATER, tick=False):
        log_in(browser, person.id, BASE)
    with time_machine.travel(LATER, tick=False), browser.session_transaction(base_url=BASE) as cookie:
        cookie["csrf_token"] = "c" * 40


def _count_mails(world: World) -> int:
    with world.app.app_context(), engine.reading() as session:
        return len(world.mails(session))


def mailed(number: int, world: World) -> str:
    """Compose an email to the viewer again, or say why there is none."""
    world.dice.relabel(f"mail {number}")
    with world.app.app_context(), time_machine.travel(LATER, tick=False):
        with engine.reading() as session:
            mail: Mail = world.mails(session)[number]
        try:
            with engine.transaction() as session:
                return f"{mail.kind}\n{_letter(received(compose_again(session, mail, LATER).message))}"
        except relevance.Outdated as old:
            return f"{mail.kind}: {old}"


def _letter(message: EmailMessage) -> str:
    """Return the headers as sent, the decoded contents, and the length in bytes, independent of masked hashes."""
    head = message.as_bytes().split(b"\r\n\r\n")[0].decode()
    parts = [part.get_content() for part in message.iter_parts() if isinstance(part, EmailMessage)]
    return "\n".join([head, *parts, str(len(message.as_bytes()))])


def _of_seat(world: World, seat: int) -> Iterator[Call]:
    with world.app.app_context(), engine.reading() as session:
        token = world.token(session, "seat", seat)
        stop = world.token(session, "stop", seat)
        feed = world.token(session, "feed", seat)
        organise = world.token(session, "organise", 0) if seat == 0 else None
        head = session.get_one(Game, world.game_id).head
        own = log.last_move(session, world.game_id, seat, (Cause.PLAYER, Cause.BOT))
        me = world.person(session, seat).name
    page, api, game = f"/t/{token}", f"/api/v1/seats/{token}", f"/g/{world.game_id}"
    yield Call("GET", page)
    if world.pair.seed % 4 == 0:
        yield Call("HEAD", page)
    if world.pair.seed % 4 == 1:
        yield Call("GET", page, me)
    yield Call("GET", f"{page}/offer")
    yield Call("GET", api)
    yield Call("GET", f"{api}/record")
    for query in _moments(world, head, seat):
        yield Call("GET", f"{page}/history{query}")
    for seq in sorted({own, head, head + 1}):
        yield Call("GET", f"{page}?played={seq}")
    yield Call("GET", f"{page}/leave")
    yield Call("GET", f"{page}/again")
    yield Call("POST", f"{api}/again")
    yield Call("GET", f"{page}/orders")
    yield Call("GET", f"{page}/head")
    yield Call("GET", f"{page}/group")
    yield Call("GET", f"{api}/orders")
    yield Call("GET", f"{api}/words")
    for word_id in _unheard(world, seat):
        yield Call("GET", f"{api}/words?after={word_id}")
        for do in ("mute", "report", "delete"):
            yield Call("POST", f"{page}/words", body={do: word_id})
    yield Call("POST", f"{page}/say", body={"text": "", "request_id": "silent"})
    yield from _refused(world, page, api, head)
    own_pages = ("/account", "/account/answers", "/account/results.json", "/account/data.zip")
    for path in ("/", *own_pages, f"/join/{world.game_id}", game, f"{game}/group"):
        yield Call("GET", path, me)
    yield Call("GET", "/account/habits", me)
    yield Call("GET", f"/u/{stop}")
    for path in (f"/feed/{feed}.ics", f"/feed/{feed}.atom"):
        yield Call("GET", path)
    if organise is not None:
        yield Call("GET", f"/o/{organise}")
        yield Call("GET", f"/m/{world.game_id}?at={head}", me)
        yield Call("GET", f"/m/{world.game_id}/look/1", me)


def _unheard(world: World, seat: int) -> list[str]:
    """Return the ids of the words hidden from the viewer, which only one of the worlds has."""
    with world.app.app_context(), engine.reading() as session:
        other = world.person(session, world.unheard(seat)).id
        return [public_id(world.game_id, other, f"other {number}") for number in range(1, 5)]


def _moments(world: World, head: int, seat: int) -> Iterator[str]:
    """Return queries of a history: always the newest position, and one of the slow others in turn."""
    other = (seat + 1) % world.pair.seats
    yield f"?at={head}&as={other}"
    rest = (
        "?at=1",
        f"?cause=rules&at={head // 3 + 1}",
        "?cause=order",
        f"?seat={other}&cause=player&part=round+1",
    )
    yield rest[world.pair.seed // 4 % len(rest)]
    yield f"?at={head + 1}"


def _refused(world: World, page: str, api: str, head: int) -> Iterator[Call]:
    """Return moves that are refused: illegal, stale, out of turn, malformed."""
    legal: list[str] = json.loads(answer_to(Call("GET", api), world).partition("\n\n")[2])["moves"]
    read = world.pair.kind.rules.parse
    wrong = [text for text in game_data.of(world.pair.slug, "MISTAKES", ()) if str(read(text)) not in legal]
    for number, move in enumerate(wrong):
        fields = {"move": move, "seen": head, "request_id": f"wrong{number}"}
        yield Call("POST", api + "/moves", body=fields)
        if number == world.pair.seed % len(wrong):
            yield Call("POST", page, body=fields)
            yield Call("GET", f"{page}?{urlencode({'move': move})}")
    answers = [move for move in legal if not move.startswith("sell ")] or ["pass"]
    late = {"move": answers[-1], "seen": 0, "request_id": "late"}
    yield Call("POST", page, body=late)
    yield Call("GET", f"{page}?{urlencode({'move': answers[0]})}")
    yield Call("POST", api + "/moves", body=late)
    verb, card = game_data.of(world.pair.slug, "TICKED", ("pass", "no-such-card#0"))
    yield Call("POST", page, body={"verb": verb, "card": card, "seen": head, "request_id": "m"})
    yield Call("POST", page, body={"move": "pass"})
    yield Call("POST", api + "/moves", body={"move": 1})


def _of_public(world: World) -> Iterator[Call]:
    """Return what is open to anonymous visitors, to players of other games, and to moderators who have not looked."""
    game = f"/g/{world.game_id}"
    with world.app.app_context(), engine.reading() as session:
        head = session.get_one(Game, world.game_id).head
    record = f"/api/v1/games/{world.game_id}/record"
    for path in (
        "/",
        "/tables",
        "/api/v1/tables",
        f"/take/{world.game_id}/0",
        game,
        record,
        f"/join/{world.game_id}",
        "/asked",
        "/sign-in",
        "/new",
        f"/rules/{world.pair.slug}",
    ):
        yield Call("GET", path)
    yield Call("HEAD", game)
    for path in (
        "/healthz",
        "/readyz",
        "/metrics",
        "/api/v1/openapi.json",
        f"/t/{NOBODY}",
        f"/m/{world.game_id}",
    ):
        yield Call("GET", path)
    for query in _moments(world, head, 0):
        yield Call("GET", f"{game}/history{query}")
    yield Call("GET", f"/api/v1/seats/{NOBODY}")
    for path in (
        "/",
        "/tables",
        f"/take/{world.game_id}/0",
        game,
        f"/join/{world.game_id}",
        "/account",
        f"/m/{world.game_id}",
    ):
        yield Call("GET", path, "Sam")
    moderate = f"/m/{world.game_id}"
    for path in ("/m/games?q=bob", f"{moderate}?at={head}", f"{moderate}?cause=order", f"{moderate}/look/1"):
        yield Call("GET", path, "Mia")
    token = _csrf(world)
    for act, more in (
        ("void", {"entry": str(head)}),
        ("void", {"entry": "1"}),
        ("extend", {"seat": "1", "hours": "2"}),
    ):
        body = {"csrf_token": token, "act": act, "reason": "because"} | more
        yield Call("POST", f"{moderate}/preview", "Mia", body)


def _csrf(world: World) -> str:
    """Return the CSRF token of the forms that a moderator gets."""
    page = answer_to(Call("GET", "/m/" + world.game_id, "Mia"), world)
    return page.partition('name="csrf_token" value="')[2].partition('"')[0]
