"""The pages of a change of address, without scripts: asking, and the links in the new and the old mailbox."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select, update

from server.accounts import addresses, login
from server.community import profiles
from server.store import engine
from server.store.models import BrowserSession, Link, Person
from server.validation import Guest
from tests.support.address_changes import (
    ANN,
    DAY,
    MINUTE,
    NEW,
    change_of,
    id_at,
    mailed,
    row,
    send_waiting,
    tick,
    token,
    trust_the_clock,
)
from tests.support.lobby import everything, known, mails
from tests.support.pages import log_in, look, send, sign_in

OTHER = Guest("Zoe", "zoe@smyrna.example")


@pytest.fixture(autouse=True)
def up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the jobs trust the clock."""
    trust_the_clock(monkeypatch)


@pytest.fixture
def ann(app: Flask) -> int:  # noqa: ARG001 - for its context
    """Return the id of Ann, who plays."""
    return known(ANN, engine.utc_now() - DAY)


def path(kind: str) -> str:
    """Return the path of the link in the newest email of a kind: `move` or `moving`."""
    return f"/{'c' if kind == 'move' else 'x'}/{token(kind)}"


def ask_to_move(client: FlaskClient, address: str = NEW) -> None:
    """Sign Ann in and ask for another address on her account page."""
    sign_in(client, ANN.address)
    assert send(client, "/account/address", {"address": address}, do="ask").status_code == 303


def test_a_person_changes_their_address_page_by_page(app: Flask, client: FlaskClient, ann: int) -> None:
    sign_in(client, ANN.address)
    assert 'href="/account/address"' in look(client, "/account").html
    assert send(client, "/account/address", {"address": NEW}, do="ask").status_code == 303
    waits = look(client, "/account/address")
    assert f"Check the mailbox of {NEW}" in waits.text
    assert "Another address instead" in waits.text
    assert "New email address" not in waits.text
    other = app.test_client()  # the new mailbox is read on a phone, signed in to nothing
    before = everything()
    for _ in range(3):
        assert "Use this address?" in look(other, path("move")).text
    assert everything() == before
    assert send(other, path("move"), do="confirm").status_code == 303
    assert "The address is confirmed" in look(other, path("move")).text
    assert f"{NEW} has been confirmed" in look(client, "/account/address").text
    now = engine.utc_now()
    send_waiting(now)
    assert "Stop the change of your address?" in look(other, path("moving")).text
    assert tick(now + DAY + MINUTE) == 1
    assert row(ann).email == NEW
    assert client.get("/account").status_code == 303  # signed out
    for kind in ("move", "moving"):
        assert "This change has ended" in look(other, path(kind)).text
        assert other.post(path(kind), data={"do": "stop"}).status_code == 200
    assert row(ann).email == NEW
    sign_in(client, NEW)
    assert NEW in look(client, "/account").text


def test_the_victim_of_a_stolen_browser_presses_one_button(app: Flask, client: FlaskClient, ann: int) -> None:
    ask_to_move(client, "thief@evil.example")
    thief, victim = app.test_client(), app.test_client()
    assert send(thief, path("move"), do="confirm").status_code == 303
    now = engine.utc_now()
    send_waiting(now)
    assert "all browsers are signed out" in look(victim, path("moving")).text
    assert send(victim, path("moving"), do="stop").status_code == 303
    assert "This change has ended" in look(victim, path("moving")).text
    assert client.get("/account").status_code == 303
    assert tick(now + 5 * DAY) == 0
    assert (row(ann).email, id_at("thief@evil.example")) == (ANN.address, None)


def test_a_browser_that_signed_in_long_ago_gets_a_link_first(client: FlaskClient, ann: int) -> None:
    sign_in(client, ANN.address)
    with engine.transaction() as session:
        session.execute(update(BrowserSession).values(created_at=engine.utc_now() - timedelta(minutes=16)))
    page = look(client, "/account/address")
    assert 'name="address"' not in page.html.replace('id="address"', "")
    csrf = re.findall('name="csrf_token" value="([^"]+)"', page.html)[0]
    fields = {"csrf_token": csrf, "do": "ask", "address": NEW}
    assert client.post("/account/address", data=fields).status_code == 400
    assert change_of(ann) is None
    before = len(mails("signin", ANN))
    assert client.post("/account/address", data={**fields, "do": "mail"}).status_code == 200
    assert len(mails("signin", ANN)) == before + 1


def test_a_strange_page_cannot_ask_or_stop(client: FlaskClient, ann: int) -> None:
    ask_to_move(client)
    for do in ("ask", "stop"):
        fields = {"do": do, "address": "x@evil.example"}
        assert client.post("/account/address", data=fields).status_code == 400
    change = change_of(ann)
    assert change is not None
    assert change.email == NEW


def test_the_asker_stops_it_without_a_fresh_sign_in(client: FlaskClient, ann: int) -> None:
    ask_to_move(client)
    with engine.transaction() as session:
        session.execute(update(BrowserSession).values(created_at=engine.utc_now() - timedelta(minutes=16)))
    assert send(client, "/account/address", do="stop").status_code == 303
    assert change_of(ann) is None
    assert client.get("/account").status_code == 200


@pytest.mark.parametrize("typed", ["", "nobody", ANN.address])
def test_a_wrong_address_is_told_at_its_field(client: FlaskClient, ann: int, typed: str) -> None:  # noqa: ARG001
    sign_in(client, ANN.address)
    page = look(client, "/account/address")
    csrf = re.findall('name="csrf_token" value="([^"]+)"', page.html)[0]
    answer = client.post("/account/address", data={"csrf_token": csrf, "do": "ask", "address": typed})
    assert (answer.status_code, "Nothing has changed." in answer.text) == (422, True)
    assert 'id="address-wrong"' in answer.text


def test_the_page_answers_the_same_whether_the_address_is_known(client: FlaskClient, ann: int) -> None:
    known(OTHER, engine.utc_now())

    def pages(address: str) -> list[str]:
        sign_in(client, ANN.address)
        first = send(client, "/account/address", {"address": address}, do="ask")
        shown = look(client, "/account/address").html
        addresses.stop(ann, engine.utc_now())
        return [first.headers["Location"], re.sub(r'value="[^"]+"', "", shown).replace(address, "ADDRESS")]

    assert pages("abc@smyrna.example") == pages(OTHER.address)


def test_two_accounts_become_one_in_a_browser_that_is_signed_in_to_the_first(
    app: Flask, client: FlaskClient, ann: int
) -> None:
    other = known(OTHER, engine.utc_now())
    profiles.choose(ann, "Anna-K", "all", engine.utc_now())
    profiles.choose(other, "Zoe-K", "all", engine.utc_now())
    ask_to_move(client, OTHER.address)
    stranger, zoe = app.test_client(), app.test_client()
    log_in(zoe, other)
    for browser in (stranger, zoe):
        page = look(browser, path("move"))
        assert "Sign in to the other account in this browser" in page.text
        assert "Anna-K" not in page.text
        assert 'value="join"' not in page.html
        assert browser.post(path("move"), data={"do": "join"}).status_code == 409
    page = look(client, path("move"))
    assert "Join your two accounts?" in page.text
    assert send(client, path("move"), {"handle": "other", "do": "join"}, handle="own").status_code == 303
    now = engine.utc_now()
    send_waiting(now)
    tick(now + DAY + MINUTE)
    assert (row(ann).email, row(ann).handle, row(other).email) == (OTHER.address, "Zoe-K", None)


def test_players_of_one_game_are_told_that_they_stay_two(app: Flask, client: FlaskClient, ann: int) -> None:
    with engine.reading() as session:
        bob = session.scalars(select(Person).where(Person.email == "bob@example.org")).one().id
        alice = session.scalars(select(Person).where(Person.email == "alice@example.org")).one().id
    log_in(client, alice)
    addresses.ask(alice, "bob@example.org", engine.utc_now())
    page = look(client, path("move"))
    assert "cannot be joined" in page.text
    assert 'value="join"' not in page.html
    assert client.post(path("move"), data={"do": "join"}).status_code == 409
    assert "cannot be joined" not in look(client, "/account/address").text
    assert {row(alice).email, row(bob).email} == {"alice@example.org", "bob@example.org"}
    assert send(app.test_client(), path("move"), do="stop").status_code == 303
    assert change_of(alice) is None
    assert ann


def test_a_dead_or_foreign_link_is_like_one_that_never_was(client: FlaskClient, ann: int) -> None:
    ask_to_move(client)
    for letter in "cx":
        assert client.get(f"/{letter}/{'a' * 26}").status_code == 404
        assert client.post(f"/{letter}/{'a' * 26}", data={"do": "stop"}).status_code == 404
        assert client.post(f"/{letter}/{'a' * 26}", data={"do": "x"}).status_code == 404
    assert client.get(f"/x/{token('move')}").status_code == 404
    assert client.post(f"/x/{token('move')}", data={"do": "stop"}).status_code == 404
    assert change_of(ann) is not None


def test_the_reader_of_the_new_mailbox_does_not_learn_whose_account_it_is(
    app: Flask, client: FlaskClient, ann: int
) -> None:
    with engine.transaction() as session:
        person = session.get_one(Person, ann)
        person.name, person.time_zone, person.handle = "Secret Name", "Asia/Tokyo", "Anna-K"
    ask_to_move(client)
    reader = app.test_client()
    send(reader, path("move"), do="confirm")
    send_waiting(engine.utc_now())
    told = " ".join(str(mail) for mail in mailed("move")) + look(reader, path("move")).html
    for secret in ("Secret", "Tokyo", "Anna", ANN.address):
        assert secret not in told


def test_no_cookie_is_needed_for_the_links(app: Flask, client: FlaskClient, ann: int) -> None:
    ask_to_move(client)
    reader = app.test_client(use_cookies=False)
    assert reader.post(path("move"), data={"do": "confirm"}).status_code == 303
    send_waiting(engine.utc_now())
    assert reader.post(path("moving"), data={"do": "stop"}).status_code == 303
    assert change_of(ann) is None


def test_a_new_link_for_a_dead_one_is_no_way_in(client: FlaskClient, ann: int) -> None:
    ask_to_move(client)
    dead = token("move")
    addresses.stop(ann, engine.utc_now())
    before = len(mailed("move")), len(mailed("fresh"))
    assert client.post("/link", data={"token": dead}).status_code == 200
    assert (len(mailed("move")), len(mailed("fresh"))) == before


def test_signing_in_with_the_new_address_waits_until_it_is_there(client: FlaskClient, ann: int) -> None:
    ask_to_move(client)
    send(client, path("move"), do="confirm")
    login.mail_sign_in(NEW, engine.utc_now())
    with engine.reading() as session:
        assert (
            session.scalars(select(Link).where(Link.purpose == "signin", Link.person_id != ann)).all() == []
        )
