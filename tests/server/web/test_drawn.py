"""Old pages save only what was changed on them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flask import Flask
from flask.testing import FlaskClient

from server.store import engine
from server.store.models import Game, Notes, Person
from server.validation import Guest
from tests.conftest import NOW, Table
from tests.support.games import url
from tests.support.lobby import invited, token
from tests.support.mails import one_database
from tests.support.pages import form, look, read, sign_in

pytestmark = one_database
ALICE = "alice@example.org"


def me() -> Person:
    """Return Alice."""
    with engine.reading() as session:
        return session.query(Person).filter_by(email=ALICE).one()


@pytest.fixture
def two(client: FlaskClient, app: Flask) -> tuple[FlaskClient, FlaskClient]:
    """Return two browsers of Alice."""
    invited(NOW, players=(), bots=("greedy", "greedy"))
    phone = app.test_client()
    for browser in (client, phone):
        sign_in(browser, ALICE)
    return client, phone


def test_an_old_page_changes_only_what_was_changed_on_it(two: tuple[FlaskClient, FlaskClient]) -> None:
    desktop, phone = two
    old = form(look(desktop, "/account"), do="save")[1]
    new = form(look(phone, "/account"), do="save")[1]
    assert (
        phone.post("/account", data=new | {"cadence": "digest", "time_zone": "Europe/Amsterdam"}).status_code
        == 303
    )
    assert desktop.post("/account", data=old | {"name": "Alicia"}).status_code == 303
    assert (me().name, me().cadence, me().time_zone) == ("Alicia", "digest", "Europe/Amsterdam")


def test_what_both_have_changed_is_shown_and_a_second_press_replaces_it(
    two: tuple[FlaskClient, FlaskClient],
) -> None:
    desktop, phone = two
    old = form(look(desktop, "/account"), do="save")[1]
    other = form(look(phone, "/account"), do="save")[1]
    phone.post("/account", data=other | {"name": "Alba", "cadence": "digest"})
    page = read(desktop.post("/account", data=old | {"name": "Alicia", "cadence": "once"}))
    assert page.status == 409
    assert "Your name: Alba" in page.text
    assert "One email a day" in page.text
    assert (me().name, me().cadence) == ("Alba", "digest")
    again = form(page, do="save")[1]
    assert (again["name"], again["cadence"]) == ("Alicia", "once")
    assert desktop.post("/account", data=again).status_code == 303
    assert (me().name, me().cadence) == ("Alicia", "once")


def test_a_mistake_does_not_forget_what_the_page_was_drawn_with(two: tuple[FlaskClient, FlaskClient]) -> None:
    desktop, phone = two
    old = form(look(desktop, "/account"), do="save")[1]
    other = form(look(phone, "/account"), do="save")[1]
    phone.post("/account", data=other | {"cadence": "digest"})
    refused = read(desktop.post("/account", data=old | {"name": "evil.com"}))
    assert refused.status == 422
    desktop.post("/account", data=form(refused, do="save")[1] | {"name": "Alicia"})
    assert (me().name, me().cadence) == ("Alicia", "digest")


def test_a_name_of_former_days_stays_when_something_else_is_saved(
    two: tuple[FlaskClient, FlaskClient],
) -> None:
    with engine.transaction() as session:
        session.query(Person).filter_by(email=ALICE).one().name = "Moderator"
    fields = form(look(two[0], "/account"), do="save")[1]
    assert two[0].post("/account", data=fields | {"cadence": "once"}).status_code == 303
    assert (me().name, me().cadence) == ("Moderator", "once")


def test_email_settings_by_link_are_of_the_kind(client: FlaskClient, table: Callable[..., Table]) -> None:
    game = table(3)
    path = f"/u/{token('stop', Guest('Alice', ALICE), game.id, NOW)}"
    old = form(look(client, path), do="cadence")[1]
    client.post(path, data=old | {"cadence": "digest"})
    client.post(path, data=old | {"talk": "never"})
    assert (me().cadence, me().talk) == ("digest", "never")
    page = read(client.post(path, data=old | {"cadence": "once"}))
    assert page.status == 409
    assert "One email a day" in page.text
    client.post(path, data=form(page, do="cadence")[1])
    assert me().cadence == "once"


def test_the_organisers_time_control_is_of_the_kind(client: FlaskClient) -> None:
    game_id, host = invited(NOW)
    old = form(look(client, f"/o/{host}"), do="pace")[1]
    client.post(f"/o/{host}", data=old | {"allowance": "172800"})
    client.post(f"/o/{host}", data=old | {"bank": "345600"})
    with engine.reading() as session:
        game = session.get_one(Game, game_id)
    assert (game.allowance, game.bank) == (172800, 345600)
    page = read(client.post(f"/o/{host}", data=old | {"allowance": "259200"}))
    assert page.status == 409
    assert "Time per move: 2 days" in page.text


def test_notes_are_of_the_kind(client: FlaskClient, table: Callable[..., Table]) -> None:
    game = table(3)
    path = url(game, 0)

    def notes() -> str:
        with engine.reading() as session:
            found = session.get(Notes, (game.id, game.people[0]))
            return found.text if found else ""

    old = form(look(client, path), notes="")[1]
    client.post(f"{path}/notes", data=old | {"notes": "Bob bluffs"})
    client.post(f"{path}/notes", data=old)
    assert notes() == "Bob bluffs"
    page = read(client.post(f"{path}/notes", data=old | {"notes": "Carl sleeps"}))
    assert page.status == 409
    assert "Bob bluffs" in page.text
    assert notes() == "Bob bluffs"
    client.post(f"{path}/notes", data=form(page, notes="Carl sleeps")[1])
    assert notes() == "Carl sleeps"
