"""Signing in on a slow line: a second press, a late email, and what another browser may not do."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from functools import partial

import pytest
import time_machine
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select

from server.accounts import login
from server.store import engine, links
from server.store.models import Link, Person
from server.validation import Guest
from tests.conftest import NOW
from tests.support.at_once import at_once
from tests.support.lobby import ALICE, BOB, invited, known, mails, seats_of
from tests.support.mails import send_waiting, text_of
from tests.support.pages import form, log_in, look, read, sign_in, sign_in_token

HOUR, MINUTE, DAY = timedelta(hours=1), timedelta(minutes=1), timedelta(days=1)
here = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.fixture(autouse=True)
def still() -> Iterator[time_machine.Traveller]:
    """Stop the clock."""
    with time_machine.travel(NOW, tick=False) as clock:
        yield clock


@pytest.fixture
def link(app: Flask) -> str:  # noqa: ARG001 - requested for its context
    """Return the path of a sign-in link of Alice's, whose email was sent."""
    invited(NOW, players=(), bots=("greedy", "greedy"))
    login.mail_sign_in(ALICE.address, NOW)
    token = sign_in_token(mails("signin", ALICE)[-1])
    send_waiting(NOW)
    return f"/s/{token}"


def copy_of(client: FlaskClient) -> FlaskClient:
    """Return the same browser as it is before it gets the answer to its next request."""
    other = client.application.test_client()
    for cookie in (client._cookies or {}).values():
        other.set_cookie(cookie.key, cookie.value, domain=cookie.domain)
    return other


def is_signed_in(client: FlaskClient) -> bool:
    return client.get("/account").status_code == 200


@here
def test_a_second_press_signs_in_although_the_first_answer_was_lost(client: FlaskClient, link: str) -> None:
    _action, fields = form(look(client, link))
    again = copy_of(client)
    assert client.post(link, data=fields).status_code == 303  # the browser drops this answer
    assert again.post(link, data=fields).status_code == 303
    assert is_signed_in(again)


@here
def test_presses_whose_answers_were_lost_leave_no_session_behind(
    client: FlaskClient, link: str, still: time_machine.Traveller
) -> None:
    _action, fields = form(look(client, link))
    presses = [copy_of(client) for _ in range(3)]
    for browser in presses:
        assert browser.post(link, data=fields).status_code == 303
        still.shift(MINUTE)
    with engine.reading() as session:
        person_id = session.scalars(select(Person.id).where(Person.email == ALICE.address)).one()
        assert len(login.sessions_of(session, person_id)) == 1
    assert is_signed_in(presses[-1])
    token = form(look(presses[-1], "/account"), do="save")[1]["csrf_token"]
    presses[-1].post("/sign-out", data={"csrf_token": token})
    assert not any(map(is_signed_in, presses))


@here
def test_the_page_can_be_opened_again_in_that_browser_alone(
    app: Flask, client: FlaskClient, link: str
) -> None:
    _action, fields = form(look(client, link))
    again, other = copy_of(client), app.test_client()
    other_fields = form(look(other, link))[1]
    client.post(link, data=fields)
    _action, fields = form(look(again, link))
    assert other.get(link).status_code == 404
    assert other.post(link, data=other_fields).status_code == 404
    assert app.test_client().get(link).status_code == 404
    assert not is_signed_in(other)
    assert again.post(link, data=fields).status_code == 303
    assert is_signed_in(again)


@here
@pytest.mark.parametrize(("after", "works"), [(login.PRESS_AGAIN - MINUTE, True), (login.PRESS_AGAIN, False)])
def test_it_works_again_for_some_minutes(
    client: FlaskClient, link: str, still: time_machine.Traveller, after: timedelta, works: bool
) -> None:
    still.shift(55 * MINUTE)  # also beyond the hour of the link
    _action, fields = form(look(client, link))
    again = copy_of(client)
    client.post(link, data=fields)
    still.shift(after)
    assert again.get(link).status_code == (200 if works else 404)
    assert again.post(link, data=fields).status_code == (303 if works else 404)
    assert is_signed_in(again) is works


@here
def test_somebody_who_is_signed_in_is_told_so(app: Flask, client: FlaskClient, link: str) -> None:
    _action, fields = form(look(client, link))
    client.post(link, data=fields)
    page = look(client, link)
    assert "You are signed in on this browser already." in page.text
    assert client.post(link, data=fields).status_code == 303  # the button of an older page
    assert is_signed_in(client)
    somebody = app.test_client()
    log_in(somebody, known(BOB, NOW))
    assert somebody.get(link).status_code == 404
    assert somebody.post(link, data=fields).status_code in (400, 404)
    client.post("/sign-out", data=form(look(client, "/account"), do="end-all")[1])
    assert client.get(link).status_code == 404


@here
def test_a_stranger_s_page_still_signs_nobody_in(client: FlaskClient, link: str) -> None:
    client.get(link)
    assert client.post(link).status_code == 400
    assert not is_signed_in(client)


@here
def test_a_link_that_was_revoked_or_expired_is_dead_in_every_browser(
    client: FlaskClient, link: str, still: time_machine.Traveller
) -> None:
    _action, fields = form(look(client, link))
    still.shift(HOUR)
    assert client.post(link, data=fields).status_code == 404
    still.shift(-HOUR)
    with engine.transaction() as session:
        session.scalars(select(Link).where(Link.purpose == "signin")).one().revoked_at = NOW
    assert client.post(link, data=fields).status_code == 404


@pytest.mark.concurrency
def test_presses_of_one_browser_at_once_all_sign_in(app: Flask, link: str) -> None:
    token = link.removeprefix("/s/")
    found = at_once(app, *[partial(login.redeem, token, NOW, "this browser")] * 4)
    assert all(isinstance(each, Person) for each in found)


@pytest.mark.concurrency
def test_of_several_browsers_at_once_one_signs_in(app: Flask, link: str) -> None:
    token = link.removeprefix("/s/")
    found = at_once(app, *(partial(login.redeem, token, NOW, f"browser {n}") for n in range(4)))
    assert sum(isinstance(each, Person) for each in found) == 1


# ---- a late email ----


@here
@pytest.mark.parametrize("late", [MINUTE, 61 * MINUTE, DAY - MINUTE])
def test_the_hour_begins_when_the_email_goes_out(
    client: FlaskClient, still: time_machine.Traveller, late: timedelta
) -> None:
    invited(NOW, players=(), bots=("greedy", "greedy"))
    send_waiting(NOW)
    login.mail_sign_in(ALICE.address, NOW)
    with engine.reading() as session:
        (signin,) = links.select_rows(session, Link.purpose == "signin")
        token = links.token(signin)
    still.shift(late)
    assert [str(message["Subject"]) for message in send_waiting(NOW + late)] == ["Your Byzanz sign-in link"]
    still.shift(HOUR - MINUTE)
    assert client.get(f"/s/{token}").status_code == 200
    still.shift(MINUTE)
    assert client.get(f"/s/{token}").status_code == 404


@here
def test_after_a_day_the_email_says_so_and_brings_no_link(
    client: FlaskClient, still: time_machine.Traveller
) -> None:
    invited(NOW, players=(), bots=("greedy", "greedy"))
    send_waiting(NOW)
    login.mail_sign_in(ALICE.address, NOW)
    still.shift(DAY + MINUTE)
    [message] = send_waiting(engine.utc_now())
    text = text_of(message)
    assert "We could not send it in time" in text
    assert "/s/" not in text
    assert "https://byzanz.test/sign-in" in text
    assert client.get("/sign-in").status_code == 200


@here
def test_of_two_late_emails_only_the_newer_one_goes_out(still: time_machine.Traveller, app: Flask) -> None:  # noqa: ARG001
    invited(NOW, players=(), bots=("greedy", "greedy"))
    send_waiting(NOW)
    login.mail_sign_in(ALICE.address, NOW)
    login.mail_sign_in(ALICE.address, NOW + 2 * MINUTE)
    still.shift(DAY + 5 * MINUTE)
    assert len(send_waiting(engine.utc_now())) == 1


# ---- other buttons, pressed twice ----


@here
def test_a_second_press_on_a_free_seat_leads_to_the_seat(client: FlaskClient) -> None:
    game_id, _host = invited(NOW, players=(BOB,), bots=("greedy",), listed=True, free=1)
    sign_in(client, known_address("zoe@example.org"))
    _action, fields = form(look(client, f"/join/{game_id}"))
    answers = [client.post(f"/join/{game_id}", data=fields) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [303, 303]
    assert answers[0].headers["Location"] == answers[1].headers["Location"]
    assert sum(seat.status == "seated" and seat.bot is None for seat in seats_of(game_id)) == 2


def known_address(address: str) -> str:
    known(Guest("Zoe", address), NOW)
    return address


@here
def test_an_invitation_is_no_seat(client: FlaskClient) -> None:
    game_id, _host = invited(NOW, players=(BOB,), bots=("greedy",), listed=True, free=1)
    known(BOB, NOW)
    sign_in(client, BOB.address)
    _action, fields = form(look(client, "/account"), do="save")
    answer = client.post(f"/join/{game_id}", data=fields | {"name": "Bob", "cut": ""})
    assert answer.status_code == 409
    assert "You already have a seat or an invitation" in read(answer).text
