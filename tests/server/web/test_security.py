"""Protection against forged hosts, forged forms, guessing and flooding, on every page at once."""

from __future__ import annotations

import io
import logging
import re
import shutil
import sys
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import event, select
from sqlalchemy.exc import OperationalError
from waitress import wasyncore
from waitress.server import create_server
from werkzeug.test import create_environ, run_wsgi_app

from server import create_app
from server.accounts import login
from server.mail.outgoing.deliver import deliver
from server.mail.outgoing.smtp import PermanentFailure, TemporaryFailure
from server.ops import logs, serve
from server.play import positions
from server.store import engine, links
from server.store.models import Entry, Game, Mail
from server.web import setup
from tests.conftest import settings
from tests.support.folders import STATIC
from tests.support.lobby import everything
from tests.support.log_secrets import secrets_in, tokens
from tests.support.mail_servers import FakeMailer
from tests.support.pages import without_ids
from tests.support.routes import BODIES, VISITORS, address, routes, visitors
from tests.support.visitors import BASE, UNKNOWN, Visitors, make_visitors


@pytest.fixture
def database_url(migrated_file: Path, tmp_path: Path) -> str:
    """Use one kind of database; the checks do not depend on it."""
    shutil.copy(migrated_file, tmp_path / "byzanz.db")
    return f"sqlite:///{tmp_path / 'byzanz.db'}"


@pytest.fixture
def there(app: Flask) -> Visitors:
    """Return games with every kind of visitor; links to sign in are still valid."""
    return make_visitors(app, engine.utc_now())


def limited(database_url: str, **more: object) -> Iterator[FlaskClient]:
    """Return a browser of a server with rate limits per address."""
    app = create_app(settings(database_url, rate_limits=True, **more))
    with app.app_context():
        yield app.test_client()
        engine.db.session.remove()
        engine.db.engine.dispose()


# ---- links begin with BYZANZ_BASE_URL, whatever a request claims ----

HOSTS = (
    "mallory.test",
    "mallory.test:8080",
    "byzanz.test.mallory.test",
    "byzanz.test@mallory.test",
    "mallory.test/byzanz.test",
    "byzanz.test, mallory.test",
    "MALLORY.test.",
    "[::1]:1",
    "mallory.test#",
    'mallory.test"><script>',
    "xn--bcher-kva.mallory.test",
    "127.0.0.1 mallory.test",
)
CLAIMS = (
    "Host",
    "X-Forwarded-Host",
    "X-Forwarded-Server",
    "X-Original-Host",
    "X-Host",
    "Forwarded",
    "X-Original-URL",
    "X-Rewrite-URL",
    "X-Forwarded-Prefix",
)


def claims() -> list[dict[str, str]]:
    """Return more than a hundred headers that claim another host."""
    made = [{name: f"host={host}" if name == "Forwarded" else host} for name, host in product(CLAIMS, HOSTS)]
    return made + [{"Host": host, "X-Forwarded-Host": host, "X-Forwarded-Proto": "http"} for host in HOSTS]


@pytest.mark.parametrize("hops", [pytest.param(0, marks=pytest.mark.nightly), 1])
def test_links_do_not_follow_the_host_that_a_request_claims(database_url: str, hops: int) -> None:
    app = create_app(settings(database_url, proxy_hops=hops))
    with app.app_context():
        there = make_visitors(app, engine.utc_now())
        alice, mia = _cookie(there, "Alice"), _cookie(there, "Mia")
        bare = app.test_client(use_cookies=False)  # a browser would keep the cookie from the forged host
        token = there.tokens["here", "Alice"]["seat"]
        asked = [
            (alice, "/", 200),
            (alice, f"/t/{token}", 200),
            (mia, "/m", 200),
            (mia, "/m/", 200),
            (mia, "/m/here", 200),
            (mia, "//m//here/", 404),
            (alice, "/account", 200),
        ]
        assert len(claims()) >= 100
        for number, forged in enumerate(claims()):
            cookie, path, status = asked[number % len(asked)]
            answer = there.ask(bare, "GET", path, headers={"Cookie": cookie, **forged})
            assert answer.status_code in (status, 400), (path, forged)
            _not_fooled(answer)
        for number, forged in enumerate(claims()[:: len(HOSTS)]):
            wish = {
                "name": "Ann",
                "address": f"ann{number}@example.org",
                "title": "A table",
                "bots": "3",
            }
            _not_fooled(there.ask(bare, "POST", "/new", {**wish, "plays": "yes"}, headers=forged))
            _not_fooled(there.ask(bare, "POST", "/sign-in", {"address": "bob@example.org"}, headers=forged))
        _not_fooled(there.ask(bare, "POST", "/link", {"token": token}, headers={"Host": "mallory.test"}))
        daphne = f"/t/{there.tokens['here', 'Daphne']['seat']}"
        fields = {"move": "pass", "seen": "5", "request_id": "r"}
        _not_fooled(there.ask(bare, "POST", daphne, fields, headers={"Host": "mallory.test"}))
        fake_mailer = FakeMailer()
        while deliver(engine.utc_now(), fake_mailer):
            pass
        assert len(fake_mailer.sent) > 10
        for message in fake_mailer.sent:
            raw = message.as_bytes().decode()
            assert "mallory" not in raw
            assert set(re.findall(r"https?://[^/\s\"<>]+", raw.replace("=\r\n", ""))) <= {BASE}
        engine.db.session.remove()
        engine.db.engine.dispose()


@pytest.mark.parametrize("host", ["a" * 64 + ".test", "a..b", ".", "xn--mallory-9na.test", "[", "a b", "é"])
def test_a_host_that_cannot_be_is_no_fault(there: Visitors, host: str) -> None:
    for path in ("/", "/nothing", f"/t/{UNKNOWN}", "/metrics", "/static/style.css", "/api/v1/openapi.json"):
        environ = create_environ(path, BASE) | {"HTTP_HOST": host.encode().decode("latin-1")}
        body, status, headers = run_wsgi_app(there.app, environ, buffered=True)
        assert status[:3] in ("200", "400", "404"), path
        assert b"Traceback" not in b"".join(body)
        assert "Content-Security-Policy" in headers


def _cookie(there: Visitors, name: str) -> str:
    kept = there.browser(name).get_cookie("byzanz", domain="byzanz.test")
    assert kept is not None
    return f"byzanz={kept.value}"


def _not_fooled(answer: Any) -> None:
    """Check that neither the page nor a header contains the forged host, and that nothing failed."""
    assert answer.status_code < 500
    where = answer.headers.get("Location", "/")
    assert where.startswith(("/", f"{BASE}/")), where
    assert not where.startswith("//")
    assert "mallory" not in (answer.text + str(answer.headers)).lower()


# ---- forged forms ----

BY_ADDRESS = {
    "/new",  # no cookie vouches for these; what they do waits for a button in a mail
    "/link",
    "/sign-in",
    "/play",  # it starts a game of a visitor who is nobody
    "/i/<token>",  # here the token in the address does
    "/n/<token>",
    "/z/<token>",
    "/o/<token>",
    "/u/<token>",
    "/w/<token>",
    "/k/<token>",
    "/t/<token>",
    "/t/<token>/again",
    "/t/<token>/games",
    "/t/<token>/guide",
    "/t/<token>/keep",
    "/t/<token>/mail",
    "/t/<token>/offer",
    "/t/<token>/notes",
    "/t/<token>/orders",
    "/t/<token>/say",
    "/t/<token>/words",
    "/api/v1/seats/<token>/again",
    "/api/v1/seats/<token>/moves",
    "/api/v1/seats/<token>/orders",
    "/api/v1/seats/<token>/words",
}
"""The only routes that accept a form without a CSRF token."""
FORGED: tuple[tuple[dict[str, str], dict[str, str]], ...] = (
    ({}, {"Referer": f"{BASE}/"}),
    ({"csrf_token": ""}, {"Referer": f"{BASE}/"}),
    ({"csrf_token": "forged"}, {"Referer": f"{BASE}/"}),
    ({"csrf_token": "GOOD"}, {"Referer": "https://mallory.test/"}),
    ({"csrf_token": "GOOD"}, {"Referer": "http://byzanz.test/"}),
    ({"csrf_token": "GOOD"}, {"Referer": ""}),
)


def test_every_form_that_a_cookie_vouches_for_must_be_from_our_page(there: Visitors) -> None:
    guarded = {rule.rule for name, rule in routes(there.app) if name.startswith("POST")} - BY_ADDRESS
    assert len(guarded) >= 8
    mia = there.browser("Mia")
    daphne = there.visitor("Daphne")
    before = everything()
    for name, rule in routes(there.app):
        if rule.rule not in guarded or not name.startswith("POST"):
            continue
        for fields, headers in FORGED:
            sent = BODIES.get(name, {}) | fields
            if fields.get("csrf_token") == "GOOD":
                sent["csrf_token"] = there.csrf()
            path = address(there, rule, daphne)
            answer = mia.post(path, data=sent, headers=headers, base_url=BASE)
            assert answer.status_code == 400, (name, fields, headers)
    assert everything() == before


def test_forms_without_the_guard_look_at_no_cookie(there: Visitors) -> None:
    """These routes do the same for every signed-in person, so forging them gains nothing."""
    dead = there.visitor("Charlie")
    for name, rule in routes(there.app):
        if rule.rule in BY_ADDRESS and name.startswith("POST"):
            answers = [
                there.ask(there.browser(who), "POST", address(there, rule, dead), BODIES.get(name, {}))
                for who in (None, "Alice", "Charlie", "Mia")
            ]
            assert len({_page_of(answer) for answer in answers}) == 1, name


def _page_of(answer: Any) -> tuple[int, str]:
    """Return the status and the page without its header, which counts the games of who is signed in."""
    return answer.status_code, without_ids(re.sub(r"(?s)<nav.*?</nav>", "", answer.text, count=1))


def test_a_cookie_cannot_be_made_or_bent(there: Visitors) -> None:
    browser = there.app.test_client()
    good = there.browser("Mia").get_cookie("byzanz", domain="byzanz.test")
    assert good is not None
    for value in ("1", "eyJsb2dpbiI6IngifQ.x.y", good.value[:-1], good.value[::-1], good.value + "A", ""):
        browser.set_cookie("byzanz", value, domain="byzanz.test")
        assert there.ask(browser, "GET", "/m/").status_code == 404, value
    browser.set_cookie("byzanz", good.value, domain="byzanz.test")
    assert there.ask(browser, "GET", "/m/").status_code == 200


@pytest.mark.parametrize(("base", "secure"), [(BASE, True), ("http://127.0.0.1:8000", False)])
def test_cookies_stay_with_this_server(database_url: str, base: str, secure: bool) -> None:
    app = create_app(settings(database_url, base_url=base))
    with app.app_context():
        browser = app.test_client()
        with browser.session_transaction(base_url=base) as cookie:
            cookie["csrf_token"] = "c" * 40
            cookie.permanent = True
        made = browser.get_cookie("byzanz", domain=base.split("/")[2].split(":")[0])
        assert made is not None
        assert (made.secure, made.http_only, made.same_site, made.path) == (secure, True, "Lax", "/")
        assert made.expires is not None
        engine.db.engine.dispose()


# ---- who is known here ----


def test_asking_for_links_tells_nobody_who_is_known(there: Visitors) -> None:
    browser = there.browser()
    for field, path, values in (
        (
            "address",
            "/sign-in",
            ("alice@example.org", "nobody@example.org", " BOB@Example.ORG ", "mia@example.org"),
        ),
        (
            "token",
            "/link",
            (there.tokens["here", "Bob"]["seat"], UNKNOWN, "", there.tokens["here", "Zoe"]["stop"]),
        ),
    ):
        answers = [there.ask(browser, "POST", path, {field: value}) for value in values * 3]
        assert len({(answer.status, str(answer.headers), answer.data) for answer in answers}) == 1


# ---- how fast one may ask ----


def _statuses(browser: FlaskClient, path: str, count: int, **more: Any) -> list[int]:
    return [browser.post(path, **more).status_code for _ in range(count)]


@pytest.mark.parametrize(
    ("path", "body", "good", "most"),
    [
        ("/sign-in", {"address": "x@example.org"}, 200, 10),
        ("/link", {"token": "x"}, 200, 10),
        ("/new", {}, 422, 10),
        (f"/i/{UNKNOWN}", {"answer": "decline"}, 404, 30),
        (f"/o/{UNKNOWN}", {"do": "cancel"}, 404, 30),
        (f"/u/{UNKNOWN}", {}, 404, 30),
    ],
)
def test_forms_that_mail_or_guess_are_limited(
    database_url: str, path: str, body: dict[str, str], good: int, most: int
) -> None:
    for browser in limited(database_url):
        assert _statuses(browser, path, most + 2, data=body) == [good] * most + [429] * 2
        other = {"REMOTE_ADDR": "192.0.2.7"}
        assert browser.post(path, data=body, environ_overrides=other).status_code == good


def test_looking_is_limited_too(database_url: str) -> None:
    for browser in limited(database_url):
        statuses = [browser.get(f"/t/{UNKNOWN}").status_code for _ in range(602)]
        assert statuses == [404] * 600 + [429] * 2
        assert browser.get(f"/t/{UNKNOWN}", environ_overrides={"REMOTE_ADDR": "192.0.2.7"}).status_code == 404


def test_behind_a_proxy_each_visitor_is_counted_apart_and_cannot_forge_who_he_is(database_url: str) -> None:
    for browser in limited(database_url, proxy_hops=1):
        for number in range(10):
            forged = {"X-Forwarded-For": f"203.0.113.{number}, 192.0.2.1"}
            assert browser.post("/link", headers=forged).status_code == 200
        assert browser.post("/link", headers={"X-Forwarded-For": "192.0.2.1"}).status_code == 429
        assert browser.post("/link", headers={"X-Forwarded-For": "8.8.8.8, 192.0.2.1"}).status_code == 429
        assert browser.post("/link", headers={"X-Forwarded-For": "192.0.2.2"}).status_code == 200


def test_without_a_proxy_nobody_can_claim_another_address(database_url: str) -> None:
    for browser in limited(database_url):
        claimed = [{"X-Forwarded-For": f"192.0.2.{number}", "X-Real-IP": "192.0.2.9"} for number in range(12)]
        statuses = [browser.post("/link", headers=headers).status_code for headers in claimed]
        assert statuses == [200] * 10 + [429] * 2


def test_limits_can_be_switched_off_for_benches(client: FlaskClient) -> None:
    assert set(_statuses(client, "/link", 40)) == {200}


# ---- tokens, addresses and cards stay out of logs ----


def test_a_secret_in_a_log_is_found(there: Visitors, caplog: pytest.LogCaptureFixture) -> None:
    with engine.reading() as session:
        shuffle = session.scalars(select(Entry.move).where(Entry.by == "chance")).first()
    assert shuffle is not None
    cards = " ".join(shuffle.split()[7:10])
    for secret in (there.tokens["here", "Alice"]["seat"], "alice@example.org", cards):
        logging.getLogger("server").warning("%s", f"something about {secret} and more")
        assert secrets_in(caplog.text) == [secret]
        caplog.clear()


def test_no_token_reaches_a_log(
    there: Visitors, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    _ask_everything(there, VISITORS[1:4])

    def faulty(*_args: object, **_more: object) -> None:
        raise RuntimeError("boom")

    for room, name in (
        (positions, "current"),
        (links, "seat_access"),
        (links, "find"),
        (login, "mail_sign_in"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(room, name, faulty)
            _ask_everything(there, VISITORS[2:3])
    assert "boom" in caplog.text
    assert "fault at turn.show" in caplog.text
    assert secrets_in(caplog.text) == []


def test_while_the_database_is_down_each_page_says_so_and_no_log_names_a_token(
    there: Visitors, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    tokens, signed_in = there.tokens["here", "Alice"], there.browser("Alice")
    gone = OperationalError("BEGIN", {}, Exception("the server has gone"))

    def down(_connection: object) -> None:
        raise gone

    event.listen(engine.db.engine, "begin", down)
    try:
        for path in (
            "/",
            "/account",
            f"/t/{tokens['seat']}",
            f"/t/{tokens['seat']}/history",
            f"/u/{tokens['stop']}",
            f"/api/v1/seats/{tokens['seat']}",
        ):
            answer = there.ask(signed_in, "GET", path, headers={"Accept-Language": "nl"})
            assert answer.status_code == 503, path
            assert "Er is niets veranderd" in answer.text, path
    finally:
        event.remove(engine.db.engine, "begin", down)
    assert "fault at turn.show" in caplog.text
    assert secrets_in(caplog.text) == []


def test_a_fault_in_the_error_page_itself_is_logged_without_its_address(
    there: Visitors, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def faulty(*_args: object, **_more: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(links, "seat_access", faulty)
    monkeypatch.setattr(setup, "error_page", faulty)
    token = there.tokens["here", "Alice"]["seat"]
    with pytest.raises(RuntimeError, match="boom"):
        there.ask(there.browser(), "GET", f"/t/{token}")
    assert caplog.text.count("fault at turn.show") == 2
    assert secrets_in(caplog.text) == []


def _ask_everything(there: Visitors, askers: tuple[str, ...]) -> None:
    asking = [visitor for who, visitor in zip(VISITORS, visitors(there), strict=True) if who in askers]
    for name, rule in routes(there.app):
        method = name.split()[0]
        for visitor in asking:
            body = BODIES.get(name, {}) if method == "POST" else None
            there.ask(there.browser(visitor.name), method, address(there, rule, visitor), body)


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """Collect everything that a running server would log at the lowest level."""
    written = io.StringIO()
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    root.handlers = []
    monkeypatch.setattr(sys, "stderr", written)
    logs.log_to_stderr()
    root.setLevel(logging.DEBUG)
    yield written
    root.handlers = handlers
    root.setLevel(level)


def test_no_token_reaches_a_log_through_the_mail(there: Visitors, log: io.StringIO) -> None:
    link = f"{BASE}/t/{there.tokens['here', 'Daphne']['seat']}"
    later = TemporaryFailure(f"451 come back to {link}", connection_lost=False, our_fault=False)
    faults = (
        PermanentFailure(f"550 we do not like {link}"),
        later,
        RuntimeError(f"boom {link}"),
        *[later] * 99,
    )
    deliver(engine.utc_now(), FakeMailer(*faults))
    with engine.reading() as session:
        kept = " ".join(str(mail.error) for mail in session.query(Mail))
    assert "550" in kept
    assert "451" in log.getvalue()
    assert "boom" in log.getvalue()
    assert secrets_in(log.getvalue()) == []
    stored = str(everything())
    assert [token for token in tokens() if token in stored] == []


def test_no_token_reaches_the_log_of_the_web_server(there: Visitors, log: io.StringIO) -> None:
    server: Any = create_server(there.app, host="127.0.0.1", port=0, threads=1, ident=None)
    thread = threading.Thread(target=server.run)
    thread.start()
    token = there.tokens["here", "Alice"]["seat"]
    try:
        for path in (
            f"/t/{token}",
            f"/t/{token}/receipt/99",
            f"/t/{token}%00",
            f"/t/{token}?x=" + "y" * 3000,
        ):
            connection = HTTPConnection("127.0.0.1", server.effective_port, timeout=30)
            connection.request("GET", path)
            assert connection.getresponse().status < 500
            connection.close()
    finally:
        server.trigger.pull_trigger(lambda: wasyncore.close_all(server._map))
        thread.join(timeout=30)
        server.task_dispatcher.shutdown()
    logging.getLogger("waitress").error("Exception while serving %s", f"/t/{token}/history?at=1")
    assert "Exception while serving /t/…/history?at=1" in log.getvalue()
    assert secrets_in(log.getvalue()) == []


def test_no_token_reaches_the_log_of_gunicorn(there: Visitors, log: io.StringIO) -> None:
    token = there.tokens["here", "Alice"]["seat"]
    web = serve.GunicornServer(there.app, serve.options("127.0.0.1", 1, 1))
    own = web.cfg.logger_class(web.cfg)
    assert web.cfg.accesslog is None
    assert web.cfg.worker_class is serve.Worker
    try:
        raise ValueError(f"GET /t/{token} HTTP/9")
    except ValueError:
        own.exception("Error handling request %s", f"/t/{token}")
    written = log.getvalue()
    assert "Error handling request /t/…" in written
    assert "GET /t/… HTTP/9" in written
    assert secrets_in(written) == []


# ---- a moderator's looks ----


def test_a_look_is_seen_by_the_players_and_ends_at_its_entry(there: Visitors) -> None:
    alice = there.tokens["here", "Alice"]["seat"]
    story = there.ask(there.browser(), "GET", f"/t/{alice}/history").text
    assert "A moderator views Alice’s hand." in story
    assert "a question" in story
    daphne = there.tokens["here", "Daphne"]["seat"]
    with engine.reading() as session:
        head = session.get_one(Game, "here").head
    there.ask(there.browser(), "POST", f"/t/{daphne}", {"move": "pass", "seen": head, "request_id": "late"})
    looked = there.ask(there.browser("Mia"), "GET", f"/m/here/look/{there.look}?at={head + 1}").text
    assert "Alice’s hand" in looked
    assert "Daphne’s hand" not in looked
    assert f'id="e{there.look}"' in looked
    assert f'id="e{head + 1}"' not in looked


def test_scripts_of_our_own_store_nothing_and_ask_nobody_but_this_server() -> None:
    for script in STATIC.glob("*.js"):
        text = script.read_text()
        # One place sends: forms as a browser would, and what this page names; others fetch moments and previews.
        # A foreign answer is no page to them.
        assert text.count("fetch(") == (script.name in ("live.js", "history.js", "draft.js")), script.name
        assert ("fetch(" in text) == ("answer.url).origin !== location.origin" in text), script.name
        assert "http:" not in text, script.name
        assert "https:" not in text, script.name
        for word in (
            "XMLHttpRequest",
            "sendBeacon",
            "localStorage",
            "cookie",
            "innerHTML",
            ".submit(",
            "eval",
        ):
            assert word not in text, (script.name, word)
