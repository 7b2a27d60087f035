"""The server under the scheme, host and path of BYZANZ_BASE_URL, whatever a proxy says or leaves out."""

from __future__ import annotations

import html
import json
import logging
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin

import flask
import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from server import create_app
from server.accounts import login
from server.config import ConfigError
from server.lobby import create
from server.mail.outgoing.deliver import deliver
from server.store import engine
from tests.conftest import begun, settings
from tests.support.lobby import ALICE, wish
from tests.support.mail_servers import FakeMailer
from tests.support.pages import Browser, form, log_in, look, read
from tests.support.servers import below
from tests.support.visitors import Visitors, make_visitors

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
ORIGIN = "https://byzanz.test"
PATH = "/byzanz"
BASE = ORIGIN + PATH


def make_app(database_url: str, **more: object) -> Iterator[Flask]:
    """Return an app with settings of its own."""
    app = create_app(settings(database_url, **more))
    app.test_client_class = Browser
    with app.app_context():
        yield app
        engine.db.session.remove()
        engine.db.engine.dispose()


# ---- forms of another address ----


def account_of(client: FlaskClient) -> dict[str, str]:
    """Sign Alice in and return the fields of the first form on her account page."""
    log_in(client, begun(3).people[0])
    return form(look(client, "/account"), do="save")[1]


@pytest.mark.parametrize(
    ("referer", "said", "logged"),
    [
        ("https://www.byzanz.test/t/secret", "Forms work at https://byzanz.test only.", True),
        ("http://byzanz.test/account", "Forms work at https://byzanz.test only.", True),
        ("", "Let it send the referrer", False),
    ],
)
def test_a_form_of_another_address_says_which_one_works(
    client: FlaskClient, caplog: pytest.LogCaptureFixture, referer: str, said: str, logged: bool
) -> None:
    fields = account_of(client)
    answer = client.post("/account", data=fields, headers={"Referer": referer})
    assert answer.status_code == 400
    assert said in read(answer).text
    warned = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warned) == logged
    assert "secret" not in "".join(warned)
    assert all("BYZANZ_BASE_URL is https://byzanz.test" in line for line in warned)


def test_a_form_without_its_token_has_expired(client: FlaskClient) -> None:
    fields = account_of(client)
    answer = client.post("/account", data=fields | {"csrf_token": "old"})
    assert answer.status_code == 400
    assert "This form has expired." in read(answer).text


# ---- under a path ----


@pytest.mark.parametrize("path", ["/m", "/t/byzanz", "/static", "/api", "/healthz", "/../byzanz"])
def test_a_path_that_is_that_of_a_page_is_refused(database_url: str, path: str) -> None:
    with pytest.raises(
        ConfigError, match=f"BYZANZ_BASE_URL: the path {re.escape(path)} leads to another page"
    ):
        create_app(settings(database_url, base_url=f"https://byzanz.test{path}"))


def test_a_host_that_no_request_can_have_is_refused(database_url: str) -> None:
    with pytest.raises(ConfigError, match="BYZANZ_BASE_URL: my_server is not a valid host name"):
        create_app(settings(database_url, base_url="https://my_server"))


def forget() -> None:
    """Start a request with an empty `g`, though the context stays pushed."""
    for name in list(flask.g):
        flask.g.pop(name)


@pytest.fixture(params=["passed on", "stripped"])
def there(request: pytest.FixtureRequest, database_url: str) -> Iterator[Visitors]:
    """Return games under a path of a host, behind a proxy that passes the path on or strips it."""
    for app in make_app(database_url, base_url=BASE):
        app.before_request_funcs.setdefault(None, []).insert(0, forget)
        app.wsgi_app = proxy(app.wsgi_app, strips=request.param == "stripped")  # type: ignore[method-assign]
        yield make_visitors(app, engine.utc_now())


def proxy(app: Any, *, strips: bool) -> Any:
    """Return a proxy that tells neither host nor scheme, and passes on what lies under the path."""
    passes_on = below(app, PATH)

    def pass_on(environ: dict[str, Any], start: Any) -> Any:
        asked = environ | {"wsgi.url_scheme": "http", "HTTP_HOST": "127.0.0.1:8000"}
        if strips and asked["PATH_INFO"].startswith(PATH):
            return app(asked | {"PATH_INFO": asked["PATH_INFO"].removeprefix(PATH)}, start)
        return passes_on(asked, start)

    return pass_on


ADDRESSES = re.compile(
    r'\b(?:href|src|action|data-\w+)="([./][^" ]*|\?[^" ]*|https?:[^" ]*)|\bvalue="(https?:[^" ]*)'
)
TEXT_LINKS = re.compile(r"https?://[^\s<>\"]+")


def shape(address: str) -> str:
    """Return what all addresses of a kind have in common."""
    return re.sub(r"[a-z2-7]{26}|[0-9]+|[0-9a-f]{8,}|=[^&]*", "…", address.removeprefix(BASE))


def mailed_links() -> set[str]:
    """Return every address in the emails that wait, as text and as HTML, and in their headers."""
    create.create_game(wish(), engine.utc_now())
    login.mail_sign_in(ALICE.address, engine.utc_now())
    fake_mailer = FakeMailer()
    while deliver(engine.utc_now(), fake_mailer):
        pass
    raw = [
        part.get_content()
        for mail in fake_mailer.sent
        for part in mail.walk()
        if part.get_content_maintype() == "text"
    ]
    raw += [mail["List-Unsubscribe"] or "" for mail in fake_mailer.sent]
    assert len(fake_mailer.sent) > 5
    return {html.unescape(link) for text in raw for link in TEXT_LINKS.findall(text)}


def press(browser: FlaskClient, path: str, do: str, **typed: str) -> TestResponse:
    """Open a page as a browser would, and submit one of its forms."""
    page = read(browser.get(PATH + path, base_url=ORIGIN))
    action, filled = form(page, do=do) if do else form(page)
    headers = {"Referer": BASE + path}
    return browser.post(action or PATH + path, data=filled | typed, headers=headers, base_url=ORIGIN)


def signed_in(there: Visitors) -> FlaskClient:
    """Return a browser in which Daphne, who moderates, has opened her emailed link."""
    browser = there.app.test_client()
    answer = press(browser, f"/s/{there.tokens['here', 'Daphne']['signin']}", "")
    assert answer.location == "/byzanz/"
    return browser


@pytest.mark.parametrize("there", ["passed on"], indirect=True)
def test_under_a_path_every_address_has_that_path(there: Visitors) -> None:
    browser = signed_in(there)
    tokens = there.tokens["here", "Daphne"]
    feeds = [f"/feed/{tokens['feed']}{kind}" for kind in (".ics", ".atom")]
    pages = ["", "/", f"/t/{tokens['seat']}", "/m/", "/account", "/api/v1/openapi.json", "/nothing", *feeds]
    waiting = [*(BASE + page for page in pages), *mailed_links()]
    seen: dict[str, str] = {}
    while waiting:
        address = waiting.pop()
        assert f"{address.split('?')[0]}/".startswith(f"{BASE}/"), address
        if shape(address) in seen:
            continue
        answer = there.ask(browser, "GET", address.removeprefix(ORIGIN))
        seen[shape(address)] = answer.get_data().decode(errors="replace")
        assert answer.status_code in (200, 302, 303, 405, 409) or shape(address).startswith(
            ("/nothing", "/g/")
        ), address
        found = (
            TEXT_LINKS.findall(seen[shape(address)])
            if "/feed/" in address
            else map("".join, ADDRESSES.findall(seen[shape(address)]))
        )
        waiting += [
            urljoin(address, html.unescape(link).partition("#")[0])
            for link in [*found, *answer.headers.getlist("Location")]
            if not re.match(r"/language$|\.$|https?://www\.w3\.org", link)
        ]
    kinds = {kind.split("/")[1] for kind in seen if kind}
    assert kinds > {*"tosugm", "static", "rules", "account", "feed", "new", "verify", "api"}, kinds
    assert json.loads(seen["/api/v…/openapi.json"])["servers"] == [{"url": "/byzanz/"}]


def test_under_a_path_forms_work_though_the_proxy_tells_neither_host_nor_scheme(there: Visitors) -> None:
    tokens = there.tokens["here", "Daphne"]
    browser = signed_in(there)
    cookie = browser.get_cookie("byzanz", domain="byzanz.test", path=PATH)
    assert cookie is not None
    saved = press(browser, "/account", "save", name="Ann")
    assert saved.location == "/byzanz/account?done=saved"
    assert 'value="Ann"' in there.ask(browser, "GET", saved.location).text
    german = {"language": "de", "back": f"/t/{tokens['seat']}?x=1"}
    guest = there.app.test_client()
    spoken = there.ask(guest, "POST", f"{PATH}/language", german)
    there.ask(guest, "POST", f"{PATH}/t/{tokens['seat']}/guide", {"explained": "byzanz-bid"})
    for name in ("language", "guide"):
        assert guest.get_cookie(name, domain="byzanz.test", path=PATH) is not None
    assert spoken.location == f"/byzanz/t/{tokens['seat']}?x=1"
    assert 'lang="de"' in there.ask(browser, "GET", spoken.location).text
    played = there.ask(
        browser, "POST", f"{PATH}/t/{tokens['seat']}", {"move": "pass", "seen": 7, "request_id": "r"}
    )
    assert played.location.startswith(f"/byzanz/t/{tokens['seat']}?played=")
    live = there.ask(browser, "GET", f"{PATH}/t/{tokens['seat']}/head")
    assert live.status_code == 200
    api = there.ask(browser, "GET", f"{PATH}/api/v1/seats/{tokens['seat']}")
    assert api.json is not None
    assert api.json["id"] == "here"
    assert there.ask(browser, "GET", "/account").status_code == 404
