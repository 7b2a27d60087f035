"""Links with something more at their end lead to the clean address, whatever they open."""

from __future__ import annotations

import logging
from urllib.parse import urlsplit

import pytest
from flask import Flask
from sqlalchemy import select

from server.store import engine, links
from server.store.links import PATHS
from server.store.models import LinkPurpose, Mail
from tests.support.visitors import BASE, PURPOSES, Visitors, make_visitors

pytestmark = [
    pytest.mark.empty_database,
    pytest.mark.parametrize("database_url", ["sqlite"], indirect=True),
]
TAILS = (
    *(
        ".",
        ")",
        ">",
        ",",
        ";",
        ":",
        "!",
        "*",
        "**",
        "]",
        "}",
        "'",
        '"',
        "%22",
        "%20",
        "%0A",
        "%0D%0A",
        "%3E",
        "%3C",
        "…",
        "”",
        "’",
        "»",
    ),
    *(
        "%E2%80%8B",
        "%EF%BB%BF",
        "%C2%A0",
        "&fbclid=IwAR0x-y_z",
        ";x=1",
        "%3Futm_source=x",
        "%26x=1",
        "=",
        "=3D",
        "|Table",
        ").",
        "/",
        "/)",
        "\\",
    ),
    *(
        "&url=//evil.example/",
        "%0D%0ALocation:%20//evil.example",
        "%FF",
        ".%2F..%2F..",
        "%00",
        "<br>",
        "-",
        "_",
        "~",
    ),
)


@pytest.fixture
def there(app: Flask) -> Visitors:
    return make_visitors(app, engine.utc_now())


def tokens(there: Visitors) -> dict[str, str]:
    """Return a live token of each kind."""
    assert set(PATHS) == set(PURPOSES) == {*LinkPurpose} - {*links.ADDRESSES.values()}
    now = engine.utc_now()
    found: dict[str, str] = {}
    with there.app.app_context(), engine.transaction() as session:
        for purpose in PURPOSES:
            game = "open" if purpose in ("invite", "organise") else "here"
            link = links.issue(
                session,
                LinkPurpose(purpose),
                there.person("Ida" if purpose == "invite" else "Alice"),
                now,
                game,
            )
            found[purpose] = links.token(link)
    return found


def test_each_kind_of_link_leads_to_its_page_in_spite_of_a_tail(
    there: Visitors, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    browser, wrong = there.browser(), []
    for purpose, token in tokens(there).items():
        clean = f"/{PATHS[purpose]}/{token}{'.ics' if purpose == 'feed' else ''}"
        for tail in TAILS:
            for method in ("GET", "HEAD"):
                answer = there.ask(browser, method, f"{clean}{tail}")
                if (answer.status_code, answer.location) != (302, clean):
                    wrong.append(f"{method} {purpose} {tail!r}: {answer.status_code} {answer.location}")
        for query in ("?utm_source=x", "?fbclid=1", "?move=pass&at=x.1.2"):
            if there.ask(browser, "GET", f"{clean}{query}").status_code == 302:
                wrong.append(f"{purpose} {query}")
        assert token not in caplog.text
    assert not wrong, "\n".join(wrong)


def test_pages_behind_a_link_and_questions_lose_their_tails_too(there: Visitors) -> None:
    token = tokens(there)["seat"]
    for asked, wanted in {
        f"/t/{token}/orders)": f"/t/{token}/orders",
        f"/t/{token}/history.": f"/t/{token}/history",
        f"/t/{token}?move=pass).": f"/t/{token}?move=pass",
        f"/t/{token}?move=pass%3E": f"/t/{token}?move=pass",
        f"/t/{token}.?move=bid+wood1": f"/t/{token}?move=bid+wood1",
        f"/t/%20{token}": f"/t/{token}",
        f"/t/<{token}>": f"/t/{token}",
    }.items():
        assert there.ask(there.browser(), "GET", asked).location == wanted


def test_nothing_else_is_redirected(there: Visitors) -> None:
    token = tokens(there)["seat"]
    for path in (
        f"/t/{token}",
        f"/t/{token}x",
        f"/t/{token[:-1]}.",
        "/t/",
        "/t",
        f"/y/{token}.",
        f"/feed/{token}.atom",
    ):
        assert there.ask(there.browser(), "GET", path).status_code != 302
    assert there.ask(there.browser(), "POST", f"/t/{token}.", {"move": "pass"}).status_code == 404


def test_the_base_urls_path_stays(there: Visitors) -> None:
    token = tokens(there)["seat"]
    answer = there.app.test_client().get(
        f"/t/{token})", base_url=BASE, environ_overrides={"HTTP_HOST": "evil.example"}
    )
    assert not urlsplit(answer.location).netloc


def test_a_new_link_is_sent_for_a_token_with_a_tail(there: Visitors) -> None:
    token = tokens(there)["seat"]
    for text in (f"{token}.", f" {token} ", f"<https://byzanz.test/t/{token}>", token):
        assert links.token_in(text) == token
    assert links.token_in(f"{token}a") == links.token_in("x") == ""


@pytest.mark.parametrize("tail", [".", ")", ">", " ", ","])
def test_the_form_of_a_dead_link_sends_a_new_one_in_spite_of_a_tail(there: Visitors, tail: str) -> None:
    token = tokens(there)["seat"]
    with there.app.app_context(), engine.transaction() as session:
        links.revoke(session, there.person("Alice"), "here", engine.utc_now())
    assert there.ask(there.browser(), "POST", "/link", {"token": f"{token}{tail}"}).status_code == 200
    with there.app.app_context(), engine.reading() as session:
        alices = (Mail.kind == "fresh", Mail.person_id == there.person("Alice"))
        assert len(session.scalars(select(Mail).where(*alices)).all()) == 1
