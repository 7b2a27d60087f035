"""How many statements a move, a page and an email take; a failure names them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flask import Flask
from flask.testing import FlaskClient

from server.community import talk
from server.mail.outgoing import deliver
from server.store import engine, links
from server.store.models import LinkPurpose
from tests.conftest import NOW, Table
from tests.support.costs import built, listing, statements
from tests.support.games import submit
from tests.support.mail_servers import FakeMailer
from tests.support.mails import send_waiting
from tests.support.sample_mails import with_replies

MOVE, PAGE, MAIL = 11, 6, 12
"""The most statements that each may take; a page with table talk or notes takes one more."""


@pytest.fixture(params=[False, True], ids=["", "with replies"])
def game(request: pytest.FixtureRequest, app: Flask, table: Callable[..., Table]) -> Table:
    """Start a game whose first players have moved, so that snapshot and links are there."""
    if request.param:
        with_replies(app)
    begun = table(4)
    submit(begun.id, 0, "pass")
    return begun


def test_a_move_through_the_api(game: Table, client: FlaskClient) -> None:
    seat = f"/api/v1/seats/{game.tokens[1]}"
    with statements(engine.db.engine) as sent:
        answer = client.post(f"{seat}/moves", json={"move": "pass", "seen": 2, "request_id": "a"})
    assert answer.status_code == 201
    assert len(sent) <= MOVE, listing(sent)


def test_a_move_through_the_page(game: Table, client: FlaskClient) -> None:
    with statements(engine.db.engine) as sent:
        form = {"move": "pass", "seen": "2", "request_id": "a"}
        answer = client.post(f"/t/{game.tokens[1]}", data=form)
    assert answer.status_code == 303
    assert len(sent) <= MOVE, listing(sent)


def test_a_move_without_words_asks_nothing_about_talk(game: Table, client: FlaskClient) -> None:
    talk.say(game.id, game.people[0], "Hello", request_id="k", now=NOW)
    with statements(engine.db.engine) as sent:
        form = {"move": "pass", "seen": "2", "request_id": "a", "say": " "}
        assert client.post(f"/t/{game.tokens[1]}", data=form).status_code == 303
    assert len(sent) <= MOVE, listing(sent)
    assert "word" not in listing(sent)


def test_the_page_of_a_turn_asks_once_for_all_words_and_notes(game: Table, client: FlaskClient) -> None:
    send_waiting(NOW)
    for number in range(8):
        talk.say(game.id, game.people[number % 4], "Hello", request_id=f"{number}", now=NOW)
    talk.write_notes(game.id, game.people[1], "Nothing", NOW)
    with statements(engine.db.engine) as sent:
        assert client.get(f"/t/{game.tokens[1]}").status_code == 200
    assert len(sent) <= PAGE + 1, listing(sent)
    assert sum("FROM word" in each for each in sent) == 1


@pytest.mark.parametrize("sent_before", [False, True], ids=["clock waits", "clock runs"])
def test_the_page_of_a_turn(game: Table, client: FlaskClient, sent_before: bool) -> None:
    if sent_before:
        send_waiting(NOW)
    for seat in (1, 2):
        with statements(engine.db.engine) as sent:
            assert client.get(f"/t/{game.tokens[seat]}").status_code == 200
        assert len(sent) <= PAGE, listing(sent)


def test_the_email_of_a_turn(game: Table) -> None:
    with engine.transaction() as session:  # as the lobby does when a game begins
        for person in game.people:
            links.link_for(session, LinkPurpose.STOP, person, game.id, NOW)
    send_waiting(NOW)
    submit(game.id, 1, "pass")
    with statements(engine.db.engine) as sent, built(engine.db.engine) as unprepared:
        fake_mailer = FakeMailer()
        assert deliver.deliver(NOW, fake_mailer, n=1) == 1
    assert len(fake_mailer.sent) == 1
    assert len(sent) <= MAIL, listing(sent)
    assert not unprepared
