"""User input appears in pages and emails as text: scripts in every field, in a parser and in a real browser."""

from __future__ import annotations

import json
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import html5lib
import pytest
from flask import Flask
from sqlalchemy import delete, update
from werkzeug.test import TestResponse

from server import play
from server.community import reports, talk
from server.store import engine, facts
from server.store.facts import Fact, FactColumn
from server.store.models import Alert, Game, Mail, Notes, Person, Seat, Turn, Word
from tests.support.browser.chromium import CHROMIUM, browser
from tests.support.folders import STATIC
from tests.support.mails import Shown, every_mail, queue_every_mail
from tests.support.routes import ANSWERS, address, routes, visitors
from tests.support.visitors import BASE, Visitors, make_visitors

SHAPES = (
    '"><script>pwned({n})</script>',
    "'><img src=x onerror=pwned({n})>",
    "</title><svg onload=pwned({n})>",
    '" autofocus onfocus="pwned({n})',
    "javascript:pwned({n})",
    "</textarea><script>pwned({n})//",
    "{{{{ [].__class__ }}}}<b>pwned({n})",
)
NUMBER = re.compile(r"pwned\((\d+)\)")
WORDS = (
    *(
        (Person, "name"),
        (Seat, "stored_name"),
        (Seat, "cut"),
        (Game, "name"),
        (Game, "message"),
        (Alert, "text"),
    ),
    *((Word, "text"), (Word, "hidden_why"), (Notes, "text"), (Person, "silenced_why")),
)
"""Texts written by people."""
FAULTS = ((Person, "unreachable"), (Mail, "error"), (Turn, "refused"))
"""Texts from mail servers."""


@dataclass
class Payloads:
    """Creates texts that would run if they were not escaped, and remembers them."""

    made: int = 0

    def __call__(self) -> str:
        self.made += 1
        return SHAPES[self.made % len(SHAPES)].format(n=self.made)


@pytest.fixture
def database_url(migrated_file: Path, tmp_path: Path) -> str:
    """Use one kind of database; the checks do not depend on it."""
    shutil.copy(migrated_file, tmp_path / "byzanz.db")
    return f"sqlite:///{tmp_path / 'byzanz.db'}"


@pytest.fixture
def payloads() -> Payloads:
    """Return a fresh maker of payloads."""
    return Payloads()


@pytest.fixture
def there(app: Flask, payloads: Payloads) -> Visitors:
    """Return games in which every text is a payload."""
    made = make_visitors(app, engine.utc_now())
    mia = made.person("Mia")
    for game_id in ("here", "there"):
        play.moderate(game_id, "!note", reason=payloads(), person_id=mia, now=engine.utc_now())
    play.moderate("there", "!abandon", reason=payloads(), person_id=mia, now=engine.utc_now())
    _talk(made)
    with engine.transaction() as session:
        queue_every_mail(session, made)
    return made


def _talk(there: Visitors) -> None:
    """Let three people talk at one table, of whom one word is hidden and one player is silenced; one keeps notes."""
    now = engine.utc_now()
    for name in ("Alice", "Daphne", "Daphne"):
        talk.say("here", there.person(name), "Hello", request_id=secrets.token_hex(), now=now)
    talk.write_notes("here", there.person("Alice"), "The wine is with Zoe", now)
    reports.hide("here", 2, "rude", there.person("Mia"), now)
    play.moderate("here", "!look public", reason="reported", person_id=there.person("Mia"), now=now)
    with engine.transaction() as session:
        session.get_one(Person, there.person("Zoe")).silenced_until = now + timedelta(days=1)


def fill(payloads: Payloads, columns: Iterable[tuple[Any, str]]) -> None:
    """Put a payload into each row of these columns."""
    with engine.transaction() as session:
        for table, column in columns:
            keys = table.__mapper__.primary_key
            is_fact = isinstance(getattr(table, column).type, FactColumn)
            for row in session.query(*keys):
                here = [key == value for key, value in zip(keys, row, strict=True)]
                said = payloads()
                value = Fact("text", {"text": said}) if is_fact else said
                session.execute(update(table).where(*here).values({column: value}))


def pages(there: Visitors, payloads: Payloads) -> Iterator[Shown]:
    """Yield every page for every visitor, then forms and queries that are payloads."""
    people = {who: there.browser(visitor.name) for who, visitor in enumerate(visitors(there))}
    people[8] = there.browser("Alice")
    alice, mia = people[8], people[6]
    for name, rule in routes(there.app):
        if name.startswith("GET") and "static" not in rule.rule and not rule.rule.endswith(".zip"):
            for who, visitor in enumerate(visitors(there)):
                path = address(there, rule, visitor)
                yield _shown(f"{name} {who}", there.ask(people[who], "GET", path))
    mine, daphne = there.tokens["here", "Alice"], there.tokens["here", "Daphne"]
    host, ida = there.tokens["open", "Hugo"], there.tokens["open", "Ida"]
    for path in (
        f"/t/{mine['seat']}/history?at={{}}",
        f"/t/{mine['seat']}/history?at=3&seat={{}}&cause={{}}",
        "/g/there",
        "/g/there/history?at=1",
        "/g/{}",
        "/t/{}",
        "/rules/{}",
        "/{}",
        "/m/games?q={}&status={}",
        "/tables?game={}&size={}&pace={}&language={}&free={}&page={}",
    ):
        asked = re.sub(r"\{\}", lambda _: payloads().replace("#", ""), path)
        yield _shown(path, there.ask(mia, "GET", asked))
    for browser_, path, fields in (
        (alice, "/sign-in", ("address",)),
        (alice, "/new", ("title", "name", "address", "players", "time_zone", "allowance", "game")),
        (alice, "/account", ("name", "time_zone")),
        (mia, "/m/erase", ("address",)),
        (alice, "/join/open", ("name", "cut")),
        (alice, "/take/there/1", ("name",)),
        (alice, "/tables/wishes", ("game", "size", "pace")),
        (alice, f"/i/{ida['invite']}", ("name", "cut")),
        (alice, f"/o/{host['organise']}", ("guest",)),
        (alice, f"/t/{daphne['seat']}", ("move", "say")),
        (alice, f"/t/{daphne['seat']}/say", ("text", "request_id")),
        (alice, f"/t/{daphne['seat']}/notes", ("notes",)),
        (mia, "/m/here/talk", ("reason", "days", "number")),
        (mia, "/m/here/preview", ("reason", "who", "entry", "hours")),
        (mia, "/m/here/preview", ("reason", "who")),
        (mia, "/m/here/look", ("reason", "viewer")),
    ):
        sent = {"do": "save", "answer": "accept", "act": "note", "seen": "1", "request_id": "r", "seat": "1"}
        if path.startswith("/o/"):
            sent["do"] = "invite"
        if fields == ("reason", "who"):
            sent["act"] = "replace"
        filled = sent | {field: payloads() for field in fields}
        yield _shown(f"POST {path}", there.ask(browser_, "POST", path, filled))
    with engine.transaction() as session:
        session.get_one(Game, "here").quarantine = Fact("text", {"text": payloads()})
    for browser_, path in ((alice, "/g/here"), (mia, "/m/here"), (mia, "/m/")):
        yield _shown(f"{path} set aside", there.ask(browser_, "GET", path))


def drawn(there: Visitors, payloads: Payloads) -> Iterator[Shown]:
    """Return every email and every page, when every text not written by the server is a payload."""
    fill(payloads, WORDS)
    why = facts.stored(Fact("text", {"text": payloads()}))
    details = {"name": payloads(), "error": why, "answer": "accepted", "why": "withdrawn", "last": 9}
    details |= {"until": there.until, "games": ["open"], "done": True}
    with engine.transaction() as session:
        every = update(Mail).where(
            Mail.key.like("every:%"), Mail.kind.not_in(("move", "moving"))
        )  # they have links
        session.execute(every.values(details=json.dumps(details)))
    yield from every_mail()
    with engine.transaction() as session:
        session.execute(delete(Mail).where(Mail.game_id.is_distinct_from("here")))  # no page shows them
    fill(payloads, FAULTS)
    with engine.transaction() as session:
        session.execute(
            update(Mail).values(status="failed")
        )  # of one that left no page says what went wrong before
    yield from pages(there, payloads)


_once: list[tuple[Payloads, list[Shown]]] = []


@pytest.fixture
def all_drawn(request: pytest.FixtureRequest) -> tuple[Payloads, list[Shown]]:
    """Return what was typed, and all pages and emails with it: drawn once, and only looked at by each test."""
    if not _once:
        payloads, there = request.getfixturevalue("payloads"), request.getfixturevalue("there")
        _once.append((payloads, [*drawn(there, payloads)]))
    return _once[0]


def _shown(what: str, answer: TestResponse) -> Shown:
    return Shown(what, answer.status_code, dict(answer.headers), answer.text)


def texts(shown: Shown) -> tuple[Element, str]:
    """Return the tree of a page, with its text and the values that people typed."""
    parser = html5lib.HTMLParser(strict=not shown.is_mail, namespaceHTMLElements=False)
    root = parser.parse(shown.html)
    typed = [item.get(key, "") for item in root.iter() for key in ("value", "aria-label", "content")]
    return root, " ".join([*root.itertext(), *typed])


def faults(shown: Shown, root: Element) -> Iterator[str]:
    """Return everything in a page or an email that could run, load or carry inline styles."""
    for item in root.iter():
        tag = str(item.tag)
        if tag == "script" and (
            shown.is_mail or not item.get("src", "").startswith("/static/") or (item.text or "")
        ):
            yield f"a script: {item.attrib} {item.text}"
        if tag in ("iframe", "object", "embed", "base", "frame", "applet", "img", "audio", "video"):
            yield f"a <{tag}>"
        if tag == "style" and not shown.is_mail:
            yield "a style of its own"
        if tag == "meta" and item.get("http-equiv"):
            yield "a meta that acts"
        for name, value in item.attrib.items():
            if name.startswith("on") or "pwned" in name or (name == "style" and not shown.is_mail):
                yield f"{tag} {name}={value}"
            if name in ("href", "src", "action", "formaction", "data") and not _is_ours(value):
                yield f"{tag} {name}={value}"
            if shown.is_mail and name == "style" and re.search(r"url|@|expression", value):
                yield f"a style that loads: {value}"


def _is_ours(link: str) -> bool:
    return link.startswith((f"{BASE}/", "#", "?", "mailto:games@byzanz.test")) or (
        link.startswith("/") and not link.startswith("//")
    )


def test_what_people_type_is_text_wherever_it_stands(all_drawn: tuple[Payloads, list[Shown]]) -> None:
    payloads, pages_and_mails = all_drawn
    seen: set[int] = set()
    count = 0
    for shown in pages_and_mails:
        count += 1
        assert shown.status < 500 or "/readyz" in shown.what, shown.what
        if not shown.is_mail:
            _guarded(shown)
        if shown.is_mail or shown.headers["Content-Type"].startswith("text/html"):
            root, text = texts(shown)
            assert [*faults(shown, root)] == [], shown.what
            seen |= {int(number) for number in NUMBER.findall(text)}
    assert count > 7 * len(ANSWERS) / 2
    missing = set(range(1, payloads.made + 1)) - seen
    assert len(seen) > payloads.made * 0.7, f"{sorted(missing)} of {payloads.made} payloads stood nowhere"
    print(f"{count} pages and mails, {len(seen)} payloads stood in them as text")


def _guarded(shown: Shown) -> None:
    """Check the headers that prevent running, framing, sniffing and leaking."""
    policy = dict(part.split(" ", 1) for part in shown.headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["form-action"] == "'self'"
    assert policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert set(policy["img-src"].split()) <= {"'self'", "data:"}
    assert "unsafe" not in shown.headers["Content-Security-Policy"]
    assert shown.headers["X-Content-Type-Options"] == "nosniff"
    if shown.headers["Content-Type"].startswith("text/html"):
        assert "camera=()" in shown.headers["Permissions-Policy"]
        assert shown.headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert shown.headers["Referrer-Policy"] == "same-origin"
    kept = "private, max-age=300" if "/feed/" in shown.what and shown.status == 200 else "no-store"
    assert shown.headers["Cache-Control"] == kept
    assert shown.headers["Strict-Transport-Security"]


def test_in_a_real_browser_nothing_runs_and_nothing_is_sent(
    all_drawn: tuple[Payloads, list[Shown]],
) -> None:
    if not CHROMIUM.exists():
        pytest.skip(f"there is no {CHROMIUM}")
    one_of_each = {_kind(page): page for page in all_drawn[1] if _has_a_body(page)}
    shown = one_of_each.values()
    by_path = {f"/{number}": page for number, page in enumerate(shown)}
    ran: list[object] = []
    asked: list[str] = []
    said: list[str] = []

    def answer(route: Any) -> None:
        path = route.request.url.removeprefix(BASE)
        asked.append(f"{route.request.method} {path}")
        if path in by_path:
            page = by_path[path]
            headers = {"Content-Type": "text/html; charset=utf-8"} | page.headers
            route.fulfill(status=page.status, headers=headers, body=page.html)
        elif path.startswith("/static/style-"):
            route.fulfill(path=STATIC / "style.css")
        elif path.startswith("/static/") and (STATIC / path.removeprefix("/static/")).is_file():
            route.fulfill(path=STATIC / path.removeprefix("/static/"))
        else:
            route.abort()

    with browser(scripts=True) as tab:
        tab.expose_function("pwned", lambda number: ran.append(number))  # noqa: PLW0108 - it wants a function
        tab.on("console", lambda message: said.append(message.text))
        tab.on("pageerror", lambda error: said.append(str(error)))
        tab.on("dialog", lambda dialog: ran.append(dialog.message))
        tab.route("**/*", answer)
        for path in by_path:
            tab.goto(BASE + path)
    assert ran == []
    assert [line for line in said if "Failed to load resource" not in line] == []
    pages_asked = [call for call in asked if "/static/" not in call]
    assert pages_asked == [f"GET {path}" for path in by_path], "a page asked for something by itself"
    print(f"{len(by_path)} pages and mails in Chromium")


def _kind(page: Shown) -> object:
    """Pages of one kind have the same route and status; all emails are different."""
    return page.what if page.is_mail else (page.what.rstrip("0123456789"), page.status)


def _has_a_body(page: Shown) -> bool:
    return page.is_mail or (
        page.headers["Content-Type"].startswith("text/html") and "Location" not in page.headers
    )
