"""Names that are written from right to left are isolated from the text around them, in every page and email."""

from __future__ import annotations

import re
from collections.abc import Callable

import html5lib
import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import update

from server.i18n.characters import shown
from server.mail.outgoing import relevance
from server.mail.outgoing.deliver import deliver
from server.store import engine, links
from server.store.models import Game, LinkPurpose, Person, Seat
from tests.conftest import Table
from tests.support import mails
from tests.support.games import url
from tests.support.lobby import ended
from tests.support.mail_servers import FakeMailer
from tests.support.routes import address, routes, visitors
from tests.support.visitors import make_visitors

RENAMED = "דנה"
ISOLATED = re.compile("\u2068[^\u2068\u2069]*\u2069")


def rename() -> None:
    """Give everybody, every seat and every game a Hebrew name that ends in its number."""
    with engine.transaction() as session:
        for name, letter in ((Person.name, "א"), (Seat.stored_name, "ב"), (Game.name, "ג")):
            session.execute(update(name.class_).where(name != "").values({name: f"{RENAMED} {letter} 7"}))


def exposed(page: str) -> list[str]:
    """Return the texts and attributes of a page in which a name is not isolated, and what a picture does not draw."""
    found = []
    tree = html5lib.parse(page, treebuilder="etree", namespaceHTMLElements=False)

    def look(element, isolated: bool) -> None:
        isolated = isolated or element.tag in ("bdi", "script")
        if str(element.tag).endswith("svg}bdi"):
            found.append(f"<svg bdi> {element.text}")
        for text, safe in ((element.text, isolated), *((child.tail, isolated) for child in element)):
            if text and not safe and RENAMED in ISOLATED.sub("", text):
                found.append(f"<{element.tag}> {text.strip()[:120]}")
        for name, value in element.attrib.items():
            if "<bdi" in value or (
                RENAMED in ISOLATED.sub("", value) and (element.tag, name) != ("input", "value")
            ):
                found.append(f"<{element.tag} {name}={value[:120]}>")
        for child in element:
            look(child, isolated)

    look(tree, False)
    return found


@pytest.mark.empty_database
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_every_page_isolates_names(app: Flask) -> None:
    there = make_visitors(app, engine.utc_now())
    with app.app_context():
        rename()
    wrong, pages = set(), 0
    browsers = [(visitor, there.browser(visitor.name)) for visitor in visitors(there)]
    for name, rule in routes(app):
        if not name.startswith("GET ") or "static" in name:
            continue
        for visitor, browser in browsers:
            answer = there.ask(browser, "GET", address(there, rule, visitor))
            if answer.mimetype == "text/html" and (RENAMED in answer.text or "bdi" in answer.text):
                pages += RENAMED in answer.text
                wrong |= {f"{name}: {each}" for each in exposed(answer.text)}
    assert pages > 50
    assert not wrong, "\n".join(sorted(wrong))


@pytest.mark.empty_database
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(("slug", "players"), [("byzanz", 3), ("empire", 2), ("byzantium", 3)])
def test_the_pages_of_a_finished_game_isolate_names(
    client: FlaskClient, table: Callable[..., Table], slug: str, players: int
) -> None:
    over = ended(table, players, slug=slug)
    rename()
    paths = ["", "/history", "/log", "/story", "/charts", "/verify", "/record", "/again"]
    wrong = []
    for path in [f"/g/{over.id}{path}" for path in paths] + [f"{url(over, 0)}{path}" for path in paths]:
        answer = client.get(path)
        if answer.mimetype == "text/html":
            wrong += [f"{path}: {each}" for each in exposed(answer.text)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_texts_of_a_picture_isolate_names_by_characters(app: Flask) -> None:
    picture = app.jinja_env.from_string("<svg><desc>{{ name }}</desc><text x='1'>{{ name }} 12</text></svg>")
    with app.test_request_context():
        page = picture.render(name=shown(RENAMED))
    assert page.count(f"\u2068{RENAMED}\u2069") == 2
    assert "bdi" not in page


@pytest.mark.empty_database
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_feeds_isolate_names(client: FlaskClient, table: Callable[..., Table]) -> None:
    game = table(3)
    rename()
    with engine.transaction() as session:
        token = links.token(links.issue(session, LinkPurpose.FEED, game.people[0], engine.utc_now()))
    for kind in ("atom", "ics"):
        feed = client.get(f"/feed/{token}.{kind}").text
        assert RENAMED in feed or kind == "ics"
        assert RENAMED not in ISOLATED.sub("", feed)
        assert "bdi" not in feed


@pytest.mark.empty_database
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_every_email_isolates_names(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    there = make_visitors(app, engine.utc_now())
    monkeypatch.setattr(relevance, "MERGED_INTO", {})
    fake_mailer, wrong = FakeMailer(), []
    with app.app_context():
        with engine.transaction() as session:
            mails.queue_every_mail(session, there)
        rename()
        while deliver(engine.utc_now(), fake_mailer):
            pass
    for mail in fake_mailer.sent:
        text, html = (mail.get_body((kind,)) for kind in ("plain", "html"))
        assert text is not None
        assert html is not None
        plain = f"{mail['Subject']}\n{text.get_content()}"
        wrong += [line for line in plain.splitlines() if RENAMED in ISOLATED.sub("", line)]
        wrong += exposed(html.get_content())
        assert "\u2068" not in mail["To"]
    assert len(fake_mailer.sent) > 15
    assert not wrong, "\n".join(wrong)
