"""Moderators and table talk: nothing is read without a look that the log records."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flask.testing import FlaskClient

from server.community import reports, talk
from server.store import engine, log, people
from server.store.engine import utc_now
from server.store.models import Game, Person
from tests.conftest import NOW, Table
from tests.support.games import appoint, change, loaded, outsider, row
from tests.support.pages import form, look, send, sign_in
from tests.support.talk import word_id

Begin = Callable[..., Table]
pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.fixture
def game(table: Begin) -> Table:
    found = table(3)
    talk.say(found.id, found.people[0], "First <words>", request_id="a", now=NOW)
    talk.say(found.id, found.people[1], "Rude words", request_id="b", now=NOW)
    reports.report(found.id, found.people[0], word_id(found.id, 2), utc_now())
    return found


@pytest.fixture
def mia(client: FlaskClient) -> FlaskClient:
    """Return the browser of a signed-in moderator who has no seat."""
    with engine.transaction() as session:
        people.get_or_create(session, "mia@example.org", "Mia", NOW).moderator = True
    sign_in(client, "mia@example.org")
    return client


def acts(game: Table) -> list[tuple[str, str | None]]:
    with engine.reading() as session:
        entries = log.entries(session, game.id)
    return [(entry.move, entry.note) for entry in entries if entry.by == "moderator"]


def read_words(browser: FlaskClient, game: Table) -> str:
    """Look with a reason, and return the path of the page it leads to."""
    answer = send(browser, f"/m/{game.id}", {"reason": "reported"}, viewer="public")
    assert answer.status_code == 303
    return str(answer.headers["Location"])


def test_the_desk_names_the_report_and_not_the_words(mia: FlaskClient, game: Table) -> None:
    desk = look(mia, "/m/").text
    assert "A player reported what was said at a table (number 2)." in desk
    page = look(mia, f"/m/{game.id}").text
    assert "Table talk 2" in page
    for text in (desk, page):
        assert "words" not in text
    assert acts(game) == []


def test_words_are_read_after_a_recorded_look_and_up_to_it(mia: FlaskClient, game: Table) -> None:
    path = read_words(mia, game)
    assert acts(game) == [("!look public", "reported")]
    talk.say(game.id, game.people[2], "Said later", request_id="c", now=utc_now())
    page = look(mia, path)
    assert "First <words>" in page.text
    assert "Rude words" in page.text
    assert "Said later" not in page.text
    assert "Said later" in look(mia, read_words(mia, game)).text


@pytest.mark.parametrize(("viewer", "shown"), [("all", True), ("0", False), ("1", False)])
def test_a_look_at_one_hand_shows_no_words(mia: FlaskClient, game: Table, viewer: str, shown: bool) -> None:
    answer = send(mia, f"/m/{game.id}", {"viewer": viewer, "reason": "x"}, viewer="0")
    assert ("Rude words" in look(mia, answer.headers["Location"]).text) == shown


def test_the_players_see_that_their_talk_was_read(mia: FlaskClient, game: Table) -> None:
    read_words(mia, game)
    page = look(mia, f"/t/{game.tokens[2]}").text
    assert "A moderator views what everyone can see, and reads the table talk." in page
    assert "reported" in page


def test_another_moderators_look_shows_nothing(mia: FlaskClient, game: Table) -> None:
    path = read_words(mia, game)
    with engine.transaction() as session:
        people.get_or_create(session, "noa@example.org", "Noa", NOW).moderator = True
    sign_in(mia, "noa@example.org")
    assert mia.get(path).status_code == 404


def test_words_of_a_finished_game_need_a_look_too(mia: FlaskClient, game: Table) -> None:
    change(
        Game,
        game.id,
        status="over",
        ended_at=NOW,
        result='{"scores":[0,0,0],"winners":[],"reason":"abandoned"}',
    )
    assert "Rude words" not in look(mia, f"/m/{game.id}").text
    assert "Rude words" in look(mia, read_words(mia, game)).text


def test_a_word_is_hidden_from_the_page_of_the_look(mia: FlaskClient, game: Table) -> None:
    path = read_words(mia, game)
    assert (
        send(mia, path, {"reason": "be kind"}, do="hide", number="2").headers["Location"] == f"{path}#heard"
    )
    page = look(mia, path)
    assert "Rude words" in page.text
    assert "Hidden: be kind" in page.text
    with engine.reading() as session:
        assert [said.text for said in talk.words(session, loaded(session, game.id).game, game.people[0])] == [
            "First <words>",
            "",
        ]


def test_talk_is_closed_and_opened(mia: FlaskClient, game: Table) -> None:
    assert send(mia, f"/m/{game.id}", {"reason": "too much"}, do="close").status_code == 303
    assert row(Game, game.id).talk is False
    assert "Table talk is closed in this game." in look(mia, f"/m/{game.id}").text
    assert send(mia, f"/m/{game.id}", {"reason": "calm"}, do="open").status_code == 303
    assert row(Game, game.id).talk is True
    assert acts(game) == [("!note", "too much"), ("!note", "calm")]


def test_talk_is_taken_from_a_player(mia: FlaskClient, game: Table) -> None:
    typed = {"seat": "1", "days": "3", "reason": "be kind"}
    assert send(mia, f"/m/{game.id}", typed, do="silence").status_code == 303
    assert row(Person, game.people[1]).silenced_why == "be kind"
    assert row(Person, game.people[0]).silenced_until is None
    assert "Bob cannot talk until" in look(mia, f"/m/{game.id}").text
    assert acts(game) == []  # nobody else is told


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"do": "hide", "number": "2", "reason": ""}, 422),
        ({"do": "hide", "number": "9", "reason": "x"}, 422),
        ({"do": "hide", "number": "x", "reason": "x"}, 400),
        ({"do": "close", "reason": ""}, 422),
        ({"do": "silence", "seat": "1", "days": "366", "reason": "x"}, 422),
        ({"do": "silence", "seat": "7", "days": "1", "reason": "x"}, 409),
        ({"do": "sing", "reason": "x"}, 400),
        ({}, 400),
    ],
)
def test_malformed_forms_change_nothing(
    mia: FlaskClient, game: Table, fields: dict[str, str], status: int
) -> None:
    _action, filled = form(look(mia, f"/m/{game.id}"), do="close")
    answer = mia.post(f"/m/{game.id}/talk", data={"csrf_token": filled["csrf_token"]} | fields)
    assert answer.status_code == status
    assert row(Game, game.id).talk is True
    assert acts(game) == []
    assert row(Person, game.people[1]).silenced_until is None


def test_a_moderator_at_the_table_has_no_forms(client: FlaskClient, game: Table) -> None:
    appoint(game.people[0], outsider())
    sign_in(client, "alice@example.org")
    page = look(client, f"/m/{game.id}")
    assert "You play or played at this table. Another moderator must decide." in page.text
    assert 'name="do" value="close"' not in page.html
    csrf = page.html.partition('name="csrf_token" value="')[2].partition('"')[0]
    fields = {"csrf_token": csrf, "do": "hide", "number": "2", "reason": "x"}
    assert client.post(f"/m/{game.id}/talk", data=fields).status_code == 409


def test_for_everybody_else_the_form_does_not_exist(client: FlaskClient, game: Table) -> None:
    sign_in(client, "bob@example.org")
    csrf = look(client, "/account").html.partition('name="csrf_token" value="')[2].partition('"')[0]
    fields = {"csrf_token": csrf, "do": "close", "reason": "x"}
    assert client.post(f"/m/{game.id}/talk", data=fields).status_code == 404
    assert row(Game, game.id).talk is True
