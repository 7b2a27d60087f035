"""Each form that makes something is carried out once, however often it is sent."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from datetime import timedelta

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import func, select

from server.scheduler import jobs
from server.store import engine
from server.store.models import Absence, Game, Mail, Person, Submission
from server.web.submissions import ASKS, OWN, SETS, is_once
from tests.conftest import NOW, Table
from tests.support.games import url
from tests.support.lobby import ended, invited, mails
from tests.support.mails import one_database
from tests.support.pages import form, look, sign_in


def count_rows(model: type) -> int:
    """Return how many rows there are."""
    with engine.reading() as session:
        return session.scalar(select(func.count()).select_from(model)) or 0


def new_game(client: FlaskClient, **more: str) -> dict[str, str]:
    """Return a filled form for a new game."""
    fields = {"name": "Zoe", "address": "zoe@example.org", "players": "a@example.org\nb@example.org"}
    return form(look(client, "/new"), plays="yes")[1] | fields | more


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_every_form_is_sent_once_or_says_why_not(app: Flask) -> None:
    posts = {rule.endpoint for rule in app.url_map.iter_rules() if "POST" in (rule.methods or ())}
    named = {name.partition(" ")[0] for name in (*OWN, *SETS, *ASKS)}
    assert named <= posts
    assert all(reason for reasons in (OWN, SETS, ASKS) for reason in reasons.values())
    assert {endpoint for endpoint in posts if is_once(endpoint)} == {
        *(
            "account.save",
            "invitations.act",
            "invitations.answer",
            "invitations.join",
            "new_game.new",
        ),
        *(
            "moderation.act_on_talk",
            "moderation.desk.erase",
            "moderation.look",
            "moderation.offer",
            "open_tables.take",
        ),
        *("account.change_address", "account.confirm"),
        *("orders.order", "open_tables.change_wishes", "turn.act_on_talk", "new_game.start"),
    }


@one_database
def test_two_presses_make_one_game(client: FlaskClient) -> None:
    filled = new_game(client)
    answers = [client.post("/new", data=filled) for _press in range(3)]
    assert {(answer.status_code, answer.location) for answer in answers} == {(303, "/asked")}
    with engine.reading() as session:
        games = session.scalar(select(func.count()).where(Game.name == filled["title"]))
    assert (games, len(mails("confirm"))) == (1, 1)


@one_database
def test_the_same_page_with_other_fields_makes_another(client: FlaskClient) -> None:
    filled = new_game(client)
    for title in ("One", "Two"):
        client.post("/new", data=filled | {"title": title})
    assert len(mails("confirm")) == 2


@one_database
def test_what_was_refused_can_be_sent_again(client: FlaskClient) -> None:
    invited(NOW, players=(), bots=("greedy", "greedy"))
    sign_in(client, "alice@example.org")
    _action, fields = form(look(client, "/account"), do="away")
    far = {"away_from": "2030-01-01", "away_to": "2031-12-31"}
    assert client.post("/account", data=fields | far).status_code == 422
    assert count_rows(Submission) == 0


@one_database
def test_a_second_absence_is_the_first(client: FlaskClient) -> None:
    invited(NOW, players=(), bots=("greedy", "greedy"))
    sign_in(client, "alice@example.org")
    with engine.transaction() as session:
        session.query(Person).filter_by(email="alice@example.org").one().time_zone = "Europe/Berlin"
    _action, fields = form(look(client, "/account"), do="away")
    first = (engine.utc_now() + timedelta(days=10)).date()
    fields |= {"away_from": str(first), "away_to": str(first + timedelta(days=2))}
    answers = [client.post("/account", data=fields) for _press in range(2)]
    assert [answer.status_code for answer in answers] == [303, 303]
    assert count_rows(Absence) == 1
    with engine.transaction() as session:
        session.query(Submission).update({"at": engine.utc_now() - timedelta(days=8)})
    jobs._forget_forms(engine.utc_now())
    assert count_rows(Submission) == 0


@one_database
def test_a_second_press_on_play_now_leads_to_the_same_table_and_no_token_is_stored(
    client: FlaskClient,
) -> None:
    request_id = re.search(r'action="/play".*?name="request_id" value="([^"]+)"', client.get("/").text)
    assert request_id is not None
    fields = {"game": "byzanz", "request_id": request_id[1]}
    first, second = (client.post("/play", data=fields) for _press in range(2))
    assert first.status_code == second.status_code == 303
    assert first.location == second.location
    token = first.location.split("/")[2].partition("?")[0]
    with engine.reading() as session:
        kept = session.scalars(select(Submission)).one()
    assert token not in (kept.answer or "")
    assert request_id[1] not in kept.key
    assert client.post("/play", data=fields | {"request_id": "another"}).location != first.location


@pytest.mark.concurrency
def test_two_presses_at_once_make_one(app: Flask) -> None:
    filled = new_game(app.test_client())
    before, found = len(mails("confirm")), []

    def press() -> None:
        with app.app_context():
            found.append(app.test_client().post("/new", data=filled).location)

    presses = [threading.Thread(target=press) for _press in range(4)]
    for each in presses:
        each.start()
    for each in presses:
        each.join()
    assert set(found) == {"/asked"}
    assert len(mails("confirm")) == before + 1


@one_database
def test_every_form_that_makes_something_has_a_fresh_id(
    client: FlaskClient, table: Callable[..., Table]
) -> None:
    game = table(3)
    for path in ("/", "/new", f"{url(game, 0)}/orders"):
        ids = [re.findall(r'name="request_id" value="([^"]+)"', client.get(path).text) for _look in range(2)]
        assert ids[0]
        assert not set(ids[0]) & set(ids[1]), path


@one_database
def test_an_invitation_is_sent_once(client: FlaskClient) -> None:
    _game, token = invited(NOW)
    fields = {"do": "invite", "seat": "1", "guest": "new@example.org", "request_id": "r1"}
    for _press in range(2):
        assert client.post(f"/o/{token}", data=fields).status_code == 303
    with engine.reading() as session:
        sent = session.scalars(select(Mail).where(Mail.kind == "invite")).all()
    assert len([mail for mail in sent if mail.seat == 1]) == 2  # the first guest's, and one more


@one_database
def test_two_presses_on_a_page_kept_in_memory_make_one_game_for_each_visit(
    client: FlaskClient, table: Callable[..., Table]
) -> None:
    over = ended(table, 3)
    led = []
    for _visit in range(2):
        _action, fields = form(look(client, f"/g/{over.id}"), game="byzanz")
        first, second = (client.post("/play", data=fields) for _press in range(2))
        assert first.location == second.location
        led.append(first.location)
    assert led[0] != led[1]
