"""One reader of names: only `play.names` reads what the players at a table are called, or their cuts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import update

from byzanz.rules import PUBLIC
from server.config import TEMPLATES
from server.mail.outgoing import relevance
from server.mail.outgoing.deliver import deliver
from server.play import names
from server.store import engine, links
from server.store.models import LinkPurpose, Seat
from server.store.statements import GameRow, PersonRow, SeatRow
from tests.conftest import begun
from tests.support import mails
from tests.support.folders import SERVER
from tests.support.games import url
from tests.support.lobby import ended
from tests.support.mail_servers import FakeMailer
from tests.support.routes import address, routes, visitors
from tests.support.visitors import Visitors, make_visitors

READER = "play/names.py"
STORED = {"stored_name", "cut"}
"""The attributes of a seat that say who sits there: a cut is often a name, and a bot's always is."""
ROWS = {
    "play/running.py": {"cut"},
    "lobby/notify.py": {"cut"},
}
"""Modules that read a cut without showing it: they deal the cards from it, or tell its owner the fingerprint."""
ACCOUNTS = {
    "accounts": "people's own settings, and what is deleted of them",
    "lobby/create.py": "the organiser of a new game, who types the names",
    "lobby/invitations.py": "the organiser, who seats themself before the game begins",
    "lobby/notify.py": "emails about accounts",
    "lobby/rematch.py": "those who are invited to another game by the name that they are known by",
    "lobby/open_tables.py": "a person's own name for a new seat",
    "lobby/visitors.py": "a person's own name",
    "store/people.py": "accounts",
    "play/moderation.py": "the name that is typed for a newcomer",
    "play/names.py": "who organises a game without a seat",
    "play/powers.py": "a reason must not name the person whom it is about",
    "community/reports.py": "moderators read who has said something, also after they left",
    "mail/deliverability.py": "the organiser reads whose email fails, also after they left",
    "mail/incoming/receive.py": "a person's own name, which is cut off a reply as a signature",
    "mail/outgoing/compose.py": "the name of the recipient",
    "mail/outgoing/view.py": "the name of the recipient",
    "web/account": "people's own pages",
    "web/lobby": "a person's own name, as a form proposes it",
    "web/moderation": "moderators read whose account it is",
    "web/game/mail_log.py": "moderators read to whom an email went",
}
"""Where names of accounts are read, and why it is not a name at a table that somebody else reads."""


def modules() -> Iterator[tuple[str, ast.AST]]:
    """The modules of the server above the tables, by their paths."""
    for path in SERVER.rglob("*.py"):
        name = str(path.relative_to(SERVER))
        if not name.startswith("store/") and name != READER:
            yield name, ast.parse(path.read_text())


def readings(tree: ast.AST, path: str) -> Iterator[str]:
    """Where a module reads the name or the cut of a seat itself; to write them is no reading."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=attr, ctx=ast.Load()) if attr in STORED - ROWS.get(path, set()):
                if not (attr == "cut" and isinstance(node.value, ast.Name) and node.value.id in NOT_SEATS):
                    yield f"{node.lineno}: .{attr}"
            case ast.Attribute(value=ast.Name(id="names"), attr="column") if path not in COLUMN:
                yield f"{node.lineno}: names.column"
            case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(attr)), *_]):
                if attr in STORED:
                    yield f"{node.lineno}: getattr {attr}"


COLUMN = {
    "community/results.py": "games that are over",
    "community/talk.py": "what is given to `names.of`",
    "web/moderation/desk.py": "a moderator's search",
}
"""Modules whose queries read stored names by `names.column`, and what for."""
NOT_SEATS = {"self", "done", "message", "args"}
"""Objects with a `cut` that are no seats: what became of a reply by email, and the arguments of a command."""


def accounts(tree: ast.AST) -> Iterator[str]:
    """Where a module reads the name of an account."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(
                value=ast.Name(id="Person" | "person" | "me" | "host" | "owner" | "reader" | "organiser"),
                attr="name",
                ctx=ast.Load(),
            ):
                yield f"{node.lineno}: the name of an account"
            case ast.Attribute(value=ast.Attribute(attr="person"), attr="name", ctx=ast.Load()):
                yield f"{node.lineno}: the name of an account"


OF_SEATS = re.compile(
    r"\b(?:seat|other|own|chair)s?\.(?:name|cut|person\.name)\b|stored_name|attribute=.(?:name|cut)\b"
)
RESULTS = {"community/group.html"}
"""Templates whose `seat` is the result of a finished game, with a name that `play.names` has given."""


def drawings(text: str) -> list[str]:
    """Where a template reads the name or the cut of a seat instead of `names`, `|called` or `|cut`."""
    return OF_SEATS.findall(text)


def templates() -> Iterator[Path]:
    for path in TEMPLATES.rglob("*.*"):
        if path.suffix in (".html", ".txt", ".xml", ".ics") and "new_game" not in path.parts:
            yield path


def test_only_one_module_reads_the_names_at_a_table() -> None:
    found = {path: list(readings(tree, path)) for path, tree in modules()}
    assert len(found) > 100
    assert set(ROWS) <= set(found)
    assert {path: faults for path, faults in found.items() if faults} == {}


def test_names_of_accounts_are_read_where_nobody_else_reads_them() -> None:
    found = {path: list(accounts(tree)) for path, tree in modules()}
    outside = {
        path: faults
        for path, faults in found.items()
        if faults and not any(path == each or path.startswith(f"{each}/") for each in ACCOUNTS)
    }
    assert outside == {}


def test_templates_ask_for_names() -> None:
    found = {str(path.relative_to(TEMPLATES)): drawings(path.read_text()) for path in templates()}
    assert len(found) > 100
    assert {path for path, faults in found.items() if faults} == RESULTS


@pytest.mark.parametrize(
    "fault",
    [
        "names = tuple(seat.stored_name for seat in seats)",
        "query = select(Seat.stored_name)",
        "return seat.cut",
        "print(table.seats[0].stored_name)",
        "getattr(seat, 'stored_name')",
        "select(names.column())",
        "key = attrgetter(row.stored_name)",
    ],
)
def test_a_name_read_elsewhere_is_found(fault: str) -> None:
    assert list(readings(ast.parse(fault), "web/game/pages.py"))


@pytest.mark.parametrize("fault", ["f(seat.person.name)", "select(Person.name)", "x = organiser.name"])
def test_a_name_of_an_account_read_elsewhere_is_found(fault: str) -> None:
    assert list(accounts(ast.parse(fault)))


@pytest.mark.parametrize(
    "fault",
    [
        "{{ seat.name }}",
        "{{ _('%(name)s plays', name=other.name) }}",
        "{{ seats|map(attribute='name')|listed }}",
        "{{ seat.cut }}",
        "{{ each.stored_name }}",
        "{{ seat.person.name }}",
    ],
)
def test_a_template_that_reads_a_name_is_found(fault: str) -> None:
    assert drawings(fault)


def test_writing_a_name_is_no_reading() -> None:
    assert not list(readings(ast.parse("seat.stored_name = name\nSeat(stored_name='')"), "lobby/create.py"))


def row(kind: Any, **values: object) -> Any:
    """Return a plain row with these values, and None in the rest."""
    return kind(*(values.get(name) for name in kind.__slots__))


def test_names_of_a_table() -> None:
    game = row(GameRow, id="g", organiser_id=3, status="running")
    seats = [
        row(SeatRow, game_id="g", seat=number, stored_name=name, status="seated", person_id=person, cut=name)
        for number, (name, person) in enumerate([("Ann", 1), ("Narses", None)])
    ]
    host = row(PersonRow, id=3, name="Zoe")
    assert names.at_table(game, seats, PUBLIC) == ("Ann", "Narses")
    assert names.of_person(game, seats, host, 0) == "Zoe"
    host.id = 1
    assert names.of_person(game, seats, host, 0) == "Ann"
    assert names.of_person(game, seats, None, 0) == ""
    assert (names.reader_of(seats, 1), names.reader_of(seats, 3), names.reader_of(seats, None)) == (
        0,
        PUBLIC,
        PUBLIC,
    )
    assert names.taken(seats, but=seats[0]) == ["Narses"]
    assert names.former(("Ann", "Narses"), {0}) == ("Former player", "Narses")
    assert names.former(("Ann", "Narses"), {0, 1}, {1: "Bob"}) == ("Former player", "Bob")


# ---- whatever shows a name has asked for it ----

HIDDEN = "Quillfeather"


@pytest.fixture
def anonymous(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Visitors:
    """Return the visitors of tables whose players all read as `Seat 1`, as an option of a game could have it."""
    there = make_visitors(app, engine.utc_now())
    with app.app_context(), engine.transaction() as session:
        session.execute(update(Seat).where(Seat.stored_name != "").values(stored_name=HIDDEN))
        session.execute(update(Seat).where(Seat.cut != "").values(cut=HIDDEN))
    monkeypatch.setattr(names, "of", lambda _game, seat, reader: called(seat.seat, reader))
    monkeypatch.setattr(names, "cut_of", lambda _game, seat, _reader: f"cut {seat.seat + 1}")
    return there


def called(seat: int, reader: names.Reader) -> str:
    """Return what a player is called: moderators alone read the name."""
    return HIDDEN if reader == names.MODERATOR else f"Seat {seat + 1}"


@pytest.mark.empty_database
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_no_page_shows_a_name_that_it_has_not_asked_for(app: Flask, anonymous: Visitors) -> None:
    shown, asked = set(), 0
    for name, rule in routes(app):
        if not name.startswith("GET ") or "static" in name:
            continue
        for visitor in visitors(anonymous):
            browser = anonymous.browser(visitor.name)
            answer = anonymous.ask(browser, "GET", address(anonymous, rule, visitor))
            page = answer.get_data().decode(errors="ignore")
            asked += "Seat 2" in page
            shown |= {name} if HIDDEN in page else set()
    assert asked > 40
    assert shown
    assert {name for name in shown if not name.startswith("GET /m/")} == set()


@pytest.mark.empty_database
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_no_email_shows_a_name_that_it_has_not_asked_for(
    app: Flask, anonymous: Visitors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relevance, "MERGED_INTO", {})
    fake_mailer = FakeMailer()
    with app.app_context():
        with engine.transaction() as session:
            mails.queue_every_mail(session, anonymous)
        while deliver(engine.utc_now(), fake_mailer):
            pass
    assert len(fake_mailer.sent) > 20
    assert sum("Seat 2" in mail.as_string() for mail in fake_mailer.sent) > 5
    for mail in fake_mailer.sent:
        text, html = (mail.get_body((kind,)) for kind in ("plain", "html"))
        assert text is not None
        assert html is not None
        written = "\n".join([*map(str, mail.values()), text.get_content(), html.get_content()])
        assert HIDDEN not in written, mail["Subject"]


@pytest.mark.empty_database
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_no_page_or_file_of_a_finished_game_shows_a_name_that_it_has_not_asked_for(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = ended(begun, 3)
    with engine.transaction() as session:
        token = links.token(links.issue(session, LinkPurpose.FEED, over.people[0], engine.utc_now()))
        session.execute(update(Seat).values(stored_name=HIDDEN, cut=HIDDEN))
    monkeypatch.setattr(names, "of", lambda _game, seat, _reader: f"Seat {seat.seat + 1}")
    monkeypatch.setattr(names, "cut_of", lambda _game, seat, _reader: f"cut {seat.seat + 1}")
    paths = ["", "/history", "/log", "/story", "/charts", "/verify", "/again", "/record", "/record.jsonl"]
    asked = 0
    for path in [f"/g/{over.id}{path}" for path in paths] + [f"{url(over, 0)}{path}" for path in paths]:
        page = client.get(path).get_data().decode(errors="ignore")
        asked += "Seat 2" in page
        assert HIDDEN not in page, path
    assert asked > 4
    for kind in ("atom", "ics"):
        assert HIDDEN not in client.get(f"/feed/{token}.{kind}").text
