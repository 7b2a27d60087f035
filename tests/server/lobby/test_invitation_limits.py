"""Invitations are no weapon: few reach an address that never accepted one; the others wait, and nobody sees which."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from email.message import EmailMessage
from functools import partial

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select, update

from server.lobby import create, invitations, notify
from server.mail.outgoing.deliver import deliver
from server.store import engine, people
from server.store.models import Alert, Mail, Person
from server.validation import Guest
from tests.conftest import NOW
from tests.support.at_once import at_once
from tests.support.lobby import ALICE, BOB, game_of, invited, mails, person, seats_of, token, wish
from tests.support.mail_servers import FakeMailer
from tests.support.pages import look, without_ids

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
SENDERS = [Guest(f"Sender {number}", f"sender{number}@spam.example") for number in range(6)]
STRANGERS = tuple(Guest(f"Stranger {number}", f"s{number}@stranger.example") for number in range(5))
TITLE = "Buy cheap watches now"
pytestmark = [pytest.mark.usefixtures("app"), pytest.mark.empty_database]


def delivered(now: datetime) -> list[EmailMessage]:
    """Send all mails that are due, and return them."""
    fake_mailer = FakeMailer()
    while deliver(now, fake_mailer):
        pass
    return fake_mailer.sent


def to_strangers(sent: list[EmailMessage]) -> dict[str, list[EmailMessage]]:
    """Return the mails to each of the strangers."""
    found: dict[str, list[EmailMessage]] = {guest.address: [] for guest in STRANGERS}
    for message in sent:
        address = message["To"].addresses[0].addr_spec
        if address in found:
            found[address].append(message)
    return found


def attack(now: datetime, rounds: int = 4) -> list[str]:
    """One person with six addresses invites five strangers to four games each; return the ids of the games."""
    return [
        invited(now, organiser=sender, players=STRANGERS, name=TITLE)[0]
        for sender in SENDERS
        for _ in range(rounds)
    ]


def plain_text(message: EmailMessage) -> str:
    body = message.get_body(("plain",))
    assert body is not None
    return str(body.get_content())


def test_three_invitations_a_day_reach_a_stranger_and_the_rest_come_in_one_mail() -> None:
    games = attack(NOW)
    reached = to_strangers(delivered(NOW + timedelta(minutes=1)))
    assert {len(found) for found in reached.values()} == {notify.REACH_A_STRANGER}
    assert not any(to_strangers(delivered(NOW + DAY - HOUR)).values())
    later = to_strangers(delivered(NOW + DAY + HOUR))
    for address, messages in later.items():
        [one] = messages
        linked = set(re.findall(r"/i/[a-z2-7]{26}", plain_text(one)))
        assert len(linked) == len(games) - notify.REACH_A_STRANGER, address
    assert not any(to_strangers(delivered(NOW + DAY + 2 * HOUR)).values())


def test_the_held_mail_counts_among_those_of_its_day() -> None:
    attack(NOW)
    delivered(NOW)
    delivered(NOW + DAY)
    attack(NOW + DAY + HOUR)
    reached = to_strangers(delivered(NOW + DAY + 2 * HOUR))
    assert {len(found) for found in reached.values()} == {notify.REACH_A_STRANGER - 1}


def test_no_words_of_a_stranger_stand_in_a_subject() -> None:
    game_id = create.create_game(wish(name=TITLE, organiser=SENDERS[0], players=STRANGERS), NOW)
    host = token("organise", SENDERS[0], game_id, NOW)
    sent = delivered(NOW)
    create.confirm_game(host, NOW)
    attack(NOW, 3)
    sent += delivered(NOW)
    invitations.remind(host, 1, NOW + DAY)
    sent += delivered(NOW + 2 * DAY)
    invitations.cancel(host, NOW + 2 * DAY)
    sent += delivered(NOW + 2 * DAY)
    assert {mail.kind for mail in mails_sent()} == {"confirm", "seated", "invite", "held", "cancelled"}
    confirm, *_ = sent
    for message in (confirm, *(message for found in to_strangers(sent).values() for message in found)):
        assert not re.search("watches|Sender|Stranger", message["Subject"])


def mails_sent() -> list[Mail]:
    with engine.reading() as session:
        return list(session.scalars(select(Mail).where(Mail.status == "sent")))


def test_calling_off_what_was_held_sends_nothing() -> None:
    hosts = [
        token("organise", sender, game_id, NOW)
        for sender, game_id in zip(SENDERS, attack(NOW, 1), strict=True)
    ]
    first = to_strangers(delivered(NOW))
    for host in hosts:
        invitations.cancel(host, NOW)
    again = to_strangers(delivered(NOW))
    assert {len(found) for found in first.values()} == {len(found) for found in again.values()} == {3}
    assert not any(to_strangers(delivered(NOW + 2 * DAY)).values())


def test_inviting_one_address_again_and_again_reaches_it_no_more_often() -> None:
    game_id, host = invited(NOW, organiser=SENDERS[0], players=STRANGERS[:2])
    for second in range(1, 8):
        invitations.drop(host, 1, NOW + timedelta(seconds=2 * second))
        invitations.reinvite(host, 1, STRANGERS[0], NOW + timedelta(seconds=2 * second + 1))
    assert game_of(game_id).status == "inviting"
    found = to_strangers(delivered(NOW + HOUR))[STRANGERS[0].address]
    kinds = [mail.kind for mail in mails_sent() if mail.person_id == person(STRANGERS[0], NOW)]
    assert kinds.count("invite") == notify.REACH_A_STRANGER
    assert len(found) <= 2 * notify.REACH_A_STRANGER


def test_who_accepted_once_gets_every_invitation_at_once() -> None:
    first, _ = invited(NOW, players=STRANGERS[:2])
    invitations.accept(token("invite", STRANGERS[0], first, NOW), "Ann", "", NOW)
    attack(NOW)
    reached = to_strangers(delivered(NOW))
    assert len(reached[STRANGERS[0].address]) == 25, "24 invitations, and one mail confirms the seat"
    assert len(reached[STRANGERS[1].address]) == 3


@pytest.mark.concurrency
def test_invitations_sent_at_once_are_counted_one_after_another(app: Flask) -> None:
    hosts = []
    for sender in SENDERS:
        for players in (STRANGERS[:2], STRANGERS[1::-1]):
            game_id = create.create_game(wish(organiser=sender, players=players), NOW)
            hosts.append(token("organise", sender, game_id, NOW))
    at_once(app, *(partial(create.confirm_game, host, NOW) for host in hosts))
    assert len(mails("invite")) == 2 * notify.REACH_A_STRANGER
    assert len(mails("held")) == 2 * (len(hosts) - notify.REACH_A_STRANGER)


@pytest.mark.concurrency
def test_people_who_invite_each_other_at_once_do_not_wait_for_each_other_for_ever(app: Flask) -> None:
    for _ in range(6):
        hosts = []
        for host, guest in (STRANGERS[:2], STRANGERS[1::-1]):
            game_id = create.create_game(wish(organiser=host, players=(guest, ALICE, BOB), plays=False), NOW)
            hosts.append(token("organise", host, game_id, NOW))
        confirmed = at_once(app, *(partial(create.confirm_game, host, NOW, language="de") for host in hosts))
        assert all(isinstance(game_id, str) for game_id in confirmed)


@pytest.mark.parametrize("case", ["held", "never"])
def test_the_inviter_sees_the_same_in_every_case(client: FlaskClient, case: str) -> None:
    def seen(guest: Guest) -> list[str]:
        game_id, host = invited(NOW, organiser=SENDERS[0], players=(guest, BOB))
        pages = []
        for at in (NOW, NOW + HOUR, NOW + 49 * HOUR):
            delivered(at)
            invitations.send_invitation_reminders(at)
            page = without_ids(look(client, f"/o/{host}").html)
            page = re.sub(r"value=\"[a-z ]+\"|[a-z2-7]{26}|[0-9a-f]{64}", "", page)
            pages.append(page.replace(game_id, "GAME").replace(guest.name, "X"))
        return [*pages, str([mail.kind for mail in mails("answered", SENDERS[0]) if mail.game_id == game_id])]

    plain = seen(STRANGERS[1])
    if case == "held":
        for sender in SENDERS[1:4]:
            invited(NOW, organiser=sender, players=(STRANGERS[2], BOB))
    else:
        with engine.transaction() as session:
            people.get_or_create(session, STRANGERS[2].address, "S", NOW).no_invitations = True
    assert seen(STRANGERS[2]) == plain


def test_one_click_in_an_invitation_ends_them_for_ever(client: FlaskClient) -> None:
    game_id, _ = invited(NOW, organiser=SENDERS[0], players=STRANGERS[:2])
    [message] = to_strangers(delivered(NOW))[STRANGERS[0].address]
    path = message["List-Unsubscribe"].strip("<>").removeprefix("https://byzanz.test")
    assert path.startswith("/n/")
    assert path in plain_text(message)
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    before = seats_of(game_id)[1].status
    assert client.post(path, data={"List-Unsubscribe": "One-Click"}).status_code == 200
    assert seats_of(game_id)[1].status == before == "invited"
    attack(NOW + HOUR, 3)
    for days in (0, 2, 5):
        found = to_strangers(delivered(NOW + HOUR + days * DAY))
        assert not found[STRANGERS[0].address]
        assert found[STRANGERS[1].address] or days == 5
    assert "no more invitations" in look(client, path).text
    assert client.post(path, data={"do": "undo"}).status_code == 200
    with engine.reading() as session:
        assert (
            not session.scalars(select(Person).where(Person.email == STRANGERS[0].address))
            .one()
            .no_invitations
        )


def test_refusing_invitations_leaves_the_mails_of_a_game_alone(client: FlaskClient) -> None:
    game_id, _ = invited(NOW, players=(BOB,), bots=("greedy",))
    path = f"/n/{token('noinvite', BOB, None, NOW)}"  # type: ignore[arg-type]
    invitations.accept(token("invite", BOB, game_id, NOW), "Bob", "", NOW)
    client.post(path)
    turns = [message for message in delivered(NOW) if message["To"].addresses[0].addr_spec == BOB.address]
    assert game_of(game_id).status == "running"
    assert turns or mails("turn", ALICE)


def test_an_hour_with_too_many_invitations_holds_the_rest_and_alerts_the_moderators(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    attack(NOW - 2 * HOUR, 1)
    monkeypatch.setattr(notify, "INVITATIONS_AN_HOUR", 10)
    with engine.transaction() as session:
        session.execute(update(Mail).values(status="sent"))
        assert session.scalars(select(Alert)).all() == []
    more = tuple(Guest(f"M {number}", f"m{number}@more.example") for number in range(5))
    for sender in SENDERS[:3]:
        invited(NOW, organiser=sender, players=more)
    invite_kinds = [mail.kind for mail in mails("invite") if mail.created_at == NOW]
    assert len(invite_kinds) == 10
    assert len([mail for mail in mails("held") if mail.created_at == NOW]) == 5
    with engine.reading() as session:
        assert [alert.text.code for alert in session.scalars(select(Alert))] == ["many_invitations"]
