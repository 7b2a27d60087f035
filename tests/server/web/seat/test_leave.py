"""Leaving and returning on a seat's page, seats on autopilot on all pages, and the emails beside the log."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from flask.testing import FlaskClient

from server import play
from server.mail.outgoing import deliver
from server.mail.outgoing.smtp import PermanentFailure as MailRefused
from server.mail.text import quoted
from server.play.moderation import Newcomer
from server.store import engine, links, log, outbox, people
from server.store.engine import utc_now
from server.store.models import IncomingMail, LinkPurpose, Mail, Seat
from tests.conftest import NOW, Table
from tests.support.games import asked, make, outsider, url
from tests.support.lobby import everything
from tests.support.mail_servers import FakeMailer
from tests.support.pages import form, look, read, send, sign_in

Begin = Callable[..., Table]
MIA = "mia@example.org"


@pytest.fixture
def mia(client: FlaskClient) -> FlaskClient:
    """Return the browser of a signed-in moderator who has no seat."""
    with engine.transaction() as session:
        people.get_or_create(session, MIA, "Mia", NOW).moderator = True
    sign_in(client, MIA)
    return client


def moves(game_id: str) -> list[str]:
    with engine.reading() as session:
        return [entry.move for entry in log.entries(session, game_id)]


def switch(game: Table, *seats: int) -> None:
    """Switch autopilots on as a moderator."""
    for seat in seats:
        play.moderate(game.id, f"!autopilot {seat} on", reason="x", person_id=outsider(), now=NOW)


def test_leaving_is_asked_first_and_done_by_a_button(client: FlaskClient, table: Begin) -> None:
    game = table(4)
    assert f'href="{url(game, 2)}/leave"' in look(client, url(game, 2)).html
    before = everything()
    page = look(client, url(game, 2) + "/leave")
    assert "Leave this game?" in page.text
    assert everything() == before
    action, fields = form(page, do="leave")
    answer = client.post(action or "", data=fields)
    assert answer.status_code == 303
    assert moves(game.id)[-1] == "!leave 2"
    left = look(client, answer.headers["Location"])
    assert "You left this game." in left.text
    assert "/leave" not in left.html
    assert "We will email you." not in left.text
    assert "We will email you." in look(client, url(game, 1)).text
    assert client.get(url(game, 2) + "/leave").status_code == 303
    assert "The server is playing for Charlie." in look(client, url(game, 1)).text
    assert "The server is playing for Charlie." in look(client, f"/g/{game.id}").text
    send(client, url(game, 2), do="reclaim")
    assert moves(game.id)[-1] == "!autopilot 2 off"
    assert "You have left" not in look(client, url(game, 2)).text


def test_a_malformed_form_leaves_nothing(client: FlaskClient, table: Begin) -> None:
    game = table(3)
    before = everything()
    assert read(client.post(url(game, 1) + "/leave", data={"do": "x"})).status == 400
    assert everything() == before


def test_nobody_leaves_a_game_that_is_over(client: FlaskClient, table: Begin) -> None:
    game = table(3)
    play.moderate(game.id, "!abandon", reason="x", person_id=outsider(), now=NOW)
    for answer in (
        client.get(url(game, 1) + "/leave"),
        client.post(url(game, 1) + "/leave", data={"do": "leave"}),
    ):
        assert answer.status_code == 409
    assert "/leave" not in look(client, url(game, 1)).html


def test_a_game_that_rests_says_so_and_a_button_wakes_it(client: FlaskClient, table: Begin) -> None:
    game = table(3)
    switch(game, 0, 1, 2)
    page = look(client, url(game, 1))
    assert "Nobody is responding." in page.text
    assert "until a moderator resumes it" not in page.text
    assert "is paused until a player returns" in look(client, f"/g/{game.id}").text
    send(client, url(game, 1), do="reclaim")
    assert "Nobody is responding." not in look(client, url(game, 1)).text


def test_what_was_played_meanwhile_is_shown_to_who_is_back(client: FlaskClient, table: Begin) -> None:
    game = table(4)
    switch(game, 0)
    play.reclaim(game.id, 0, now=NOW)
    page = look(client, url(game, 0))
    assert "You pass." in page.text
    assert "autopilot" in page.text


# ---- moderators ----


def test_moderators_see_who_is_away_and_a_form_for_a_substitute(mia: FlaskClient, table: Begin) -> None:
    game = table(3)
    switch(game, 1)
    play.leave(game.id, 2, now=NOW)
    page = look(mia, f"/m/{game.id}")
    assert "on autopilot" in page.text
    assert "has left" in page.text
    assert page.text.count("Find a substitute (") == 4  # beside two seats, and at their lines of the log
    _action, fields = form(page, act="replace")
    assert fields["seat"] == "1"
    assert f'href="/m/{game.id}"' in look(mia, "/m/games?status=trouble").html
    assert "Bob on autopilot" in look(mia, "/m/games").text


def test_a_moderator_switches_and_fills_after_a_preview(mia: FlaskClient, table: Begin) -> None:
    game = table(3)
    for act, typed, told, entry in (
        ("autopilot", {"seat": "1", "switch": "on"}, "The server plays for Bob at once", "!autopilot 1 on"),
        ("autopilot", {"seat": "1", "switch": "off"}, "Bob plays and gets emails again", "!autopilot 1 off"),
        ("bank", {"seat": "2", "hours": "5"}, "Charlie gets 5 hours more in the time bank", "!bank 2 18000"),
    ):
        before = everything()
        page = read(send(mia, f"/m/{game.id}", {"reason": "because", **typed}, act=act))
        assert told in page.text
        assert everything() == before
        action, fields = form(page, act=act)
        assert mia.post(action or "", data=fields).status_code == 303
        assert moves(game.id)[-1] == entry
    with engine.reading() as session:
        assert session.get_one(Seat, (game.id, 2)).bank == 18000


@pytest.mark.parametrize("typed", [{"switch": "maybe"}, {"switch": ""}, {"seat": "9"}])
def test_a_malformed_switch_is_refused(mia: FlaskClient, table: Begin, typed: dict[str, str]) -> None:
    game = table(3)
    before = everything()
    page = read(send(mia, f"/m/{game.id}", {"reason": "x", **typed}, act="autopilot"))
    assert page.status == 422
    assert everything() == before


# ---- evidence ----


def evidence(client: FlaskClient, path: str) -> list[str]:
    """Return the lines of a page that are marked as evidence."""
    lines = [item for item in look(client, path).root.iter("li") if item.get("class") == "evidence"]
    return [" ".join(" ".join(line.itertext()).split()) for line in lines]


def test_a_player_sees_what_became_of_his_own_mails_and_of_no_others(
    client: FlaskClient, table: Begin
) -> None:
    game = table(4)
    deliver.deliver(NOW + timedelta(minutes=1), FakeMailer(), steady=lambda: 0.0)
    make(game, 0, "pass")
    deliver.deliver(
        NOW + timedelta(minutes=2), FakeMailer(MailRefused("550 no such user")), steady=lambda: 0.0
    )
    mine, organiser = evidence(client, url(game, 0) + "/history")
    assert "Delivery failure email: not sent yet." in organiser
    with engine.transaction() as session:
        session.query(Mail).filter_by(kind="refused").one().not_before = utc_now() + timedelta(hours=9)
    _, organiser = evidence(client, url(game, 0) + "/history")
    assert re.match(r"Delivery failure email: not sent before \d+ [A-Z][a-z]+, \d\d:\d\d\.", organiser)
    assert "Turn email: sent 2 Mar, 10:01" in mine
    (theirs,) = [line for line in evidence(client, url(game, 1) + "/history") if "Turn" in line]
    assert "delivery failed: 550 no such user" in theirs
    assert evidence(client, url(game, 2) + "/history") == []
    assert evidence(client, f"/g/{game.id}/history") == []


def test_evidence_stands_after_the_entry_that_caused_it(client: FlaskClient, table: Begin) -> None:
    game = table(3)
    make(game, 0, "pass")
    lines = look(client, url(game, 1) + "/history").root.iter("li")
    marks = [line.get("id") or line.get("class") for line in lines]
    assert marks[marks.index("e2") + 1] == "evidence"
    assert "e3" not in marks
    assert evidence(client, url(game, 1) + "/history?cause=player") == []
    assert evidence(client, url(game, 1) + "/history?seat=0") == []


def test_a_newcomer_sees_nothing_of_the_mails_to_who_sat_there(client: FlaskClient, table: Begin) -> None:
    game = table(3)
    play.moderate(
        game.id,
        "!replace 0",
        reason="x",
        person_id=outsider(),
        now=NOW,
        newcomer=Newcomer("Zoe", "zoe@example.org"),
    )
    with engine.transaction() as session:
        zoe = session.get_one(Seat, (game.id, 0)).person_id
        assert zoe is not None
        token = links.token(links.link_for(session, LinkPurpose.SEAT, zoe, game.id, NOW))
        outbox.enqueue(
            session, key="x", kind="timeout", person_id=game.people[0], now=NOW, game_id=game.id, seat=0
        )
    assert not any("Timeout email" in line for line in evidence(client, f"/t/{token}/history"))


def test_a_moderator_sees_everybodys_and_what_came_in(mia: FlaskClient, table: Begin) -> None:
    game = table(3)
    make(game, asked(game), "pass")
    with engine.transaction() as session:
        session.add(
            IncomingMail(
                digest="d",
                at=NOW + timedelta(hours=1),
                kind="bounce",
                outcome=quoted("failed: 550 <gone>"),
                person_id=game.people[1],
                game_id=game.id,
                seat=1,
            )
        )
    lines = evidence(mia, f"/m/{game.id}")
    assert any("Turn email (Alice)" in line for line in lines)
    assert any("Turn email (Bob)" in line for line in lines)
    assert any("Email bounced (Bob): failed: 550 <gone>" in line for line in lines)
    own = evidence(mia, url(game, 1) + "/history")
    assert any("Email bounced." in line for line in own)
    assert not any("gone" in line for line in own)


def test_emails_after_an_entry_are_folded_unless_one_failed(mia: FlaskClient, table: Begin) -> None:
    game = table(3)
    with engine.transaction() as session:
        for number in range(4):
            mail = {"kind": "act", "person_id": game.people[0], "game_id": game.id, "seat": 0}
            outbox.enqueue(session, key=f"x{number}", now=NOW, **mail)  # type: ignore[arg-type]
    (folded,) = folds(mia, game)
    assert folded.get("open") is None
    again = f'href="/m/{game.id}?do=remail&amp;of=0#do-remail"'
    assert look(mia, f"/m/{game.id}").html.count(again) == 1
    assert "".join(folded[0].itertext()).endswith("emails")
    with engine.transaction() as session:
        session.query(Mail).filter_by(key="x1").one().status = "failed"
    (folded,) = folds(mia, game)
    assert folded.get("open") is not None
    assert look(mia, f"/m/{game.id}").html.count(again) == 2  # beside the seat, and at the line of the log


def folds(client: FlaskClient, game: Table) -> list[Any]:
    """Return the folds of emails in the moderators' log of a game."""
    found = look(client, f"/m/{game.id}").root.iter("details")
    return [fold for fold in found if fold.get("class") == "mails"]
