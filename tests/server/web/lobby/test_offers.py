"""The page of a seat that needs a player, and the buttons that offer one."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from email.message import EmailMessage

import pytest
import time_machine
from flask.testing import FlaskClient
from sqlalchemy import select

from server import play
from server.community import talk
from server.lobby import open_tables
from server.store import engine, links
from server.store.models import Block, Person, Seat
from server.validation import Guest
from tests.conftest import NOW, Table
from tests.support.games import asked, make, start_clock, url
from tests.support.lobby import everything, known, mails, token
from tests.support.mails import bold_move, send_waiting, text_of
from tests.support.pages import Page, form, look, read, send, sign_in, sign_in_token

Seating = Callable[..., Table]
ALICE = Guest("Alice", "alice@example.org")
ZOE = Guest("Zoe", "zoe@example.org")
TAKE = "/take/g1/1"


@pytest.fixture
def offered(table: Seating) -> Table:
    """Return a game in which Bob's seat is offered."""
    game = table(3)
    play.leave("g1", 1, now=NOW)
    open_tables.offer_as_organiser(token("organise", ALICE, "g1", NOW), 1, NOW)
    return game


def texts_to(sent: list[EmailMessage], address: str) -> list[str]:
    """Return the texts of the emails to a person."""
    return [text_of(each) for each in sent if address in str(each["To"])]


def line_of(page: Page, seq: str) -> str:
    """Return the line of an entry in a log."""
    return "".join(next(item for item in page.root.iter("li") if item.get("id") == f"e{seq}").itertext())


def holder() -> int | None:
    """Return who holds the seat."""
    with engine.reading() as session:
        return session.get_one(Seat, ("g1", 1)).person_id


def test_the_seat_is_listed_and_its_page_shows_the_public_table(client: FlaskClient, offered: Table) -> None:
    assert offered
    with time_machine.travel(NOW + timedelta(days=5), tick=False):
        listed = look(client, "/tables")
    assert TAKE in listed.html
    assert "running for 5 days; 1 day per move" in listed.text
    assert "Charlie" not in listed.text
    page = look(client, TAKE)
    assert "Take over this seat?" in page.text
    assert "2 of 3, now Bob’s" in page.text
    assert "Take the seat Your email address No password needed" in page.text
    assert 'name="card"' not in page.html
    assert client.get("/api/v1/tables").json["seats"][0]["seat"] == 1  # type: ignore[index]


def test_a_signed_in_stranger_takes_it_and_comes_to_the_table(client: FlaskClient, offered: Table) -> None:
    zoe = known(ZOE, NOW)
    sign_in(client, ZOE.address)
    assert read(send(client, TAKE, {"name": "Alice"})).status == 422
    assert holder() == offered.people[1]
    answer = send(client, TAKE, {"name": "Zoe"})
    assert answer.headers["Location"] == f"https://byzanz.test/t/{token('seat', ZOE, 'g1', NOW)}"
    assert holder() == zoe
    assert "This seat is no longer offered" in look(client, TAKE).text
    assert TAKE not in look(client, "/tables").html
    gone = read(client.get(f"/t/{offered.tokens[1]}"))
    assert gone.status == 404


def test_a_newcomer_signs_in_and_comes_back_to_the_seat(client: FlaskClient, offered: Table) -> None:
    assert offered
    before = everything()
    assert read(send(client, TAKE, {"address": "nobody"})).status == 422
    assert everything() == before
    read(send(client, TAKE, {"address": ZOE.address}))
    (mail,) = mails("signin", ZOE)
    assert send(client, f"/s/{sign_in_token(mail)}").headers["Location"] == TAKE
    send(client, TAKE, {"name": "Zoe"})
    with engine.reading() as session:
        assert session.get_one(Person, holder()).email == ZOE.address


def test_a_seat_is_not_taken_without_the_page_s_own_form(client: FlaskClient, offered: Table) -> None:
    known(ZOE, NOW)
    sign_in(client, ZOE.address)
    before = everything()
    assert client.post(TAKE, data={"name": "Zoe"}).status_code == 400
    assert client.get(TAKE).status_code == 200
    assert everything() == before
    assert holder() == offered.people[1]


def test_there_is_no_page_of_seats_that_do_not_exist(client: FlaskClient, offered: Table) -> None:
    assert offered
    for path in (
        "/take/nothing/1",
        "/take/a%00b/1",
        "/take/g1/x",
        "/take/g1/100",
        "/take/g1/-1",
        "/take/é/1",
    ):
        assert client.get(path).status_code == 404, path
    assert "This seat is no longer offered" in look(client, "/take/g1/0").text
    assert "This seat is no longer offered" in look(client, "/take/g1/99").text


def test_a_blocked_reader_gets_the_page_of_a_seat_that_is_not_offered(
    client: FlaskClient, offered: Table
) -> None:
    zoe = known(ZOE, NOW)
    sign_in(client, ZOE.address)
    never = look(client, "/take/g1/2").text
    with engine.transaction() as session:
        session.add(Block(person_id=offered.people[2], other_id=zoe, at=NOW))
    page = look(client, TAKE)
    assert page.text == never
    assert re.findall(rf'[^"]*/{offered.id}\b[^"]*', page.html.replace(f'value="{TAKE}', "")) == []
    assert TAKE not in look(client, "/tables").html


def test_the_organiser_offers_a_seat_and_ends_the_offer(client: FlaskClient, table: Seating) -> None:
    table(3)
    host = token("organise", ALICE, "g1", NOW)
    assert "Players who are away" not in look(client, f"/o/{host}").text
    play.leave("g1", 1, now=NOW)
    page = look(client, f"/o/{host}")
    assert "Offer this seat" in page.text
    action, fields = form(page, seat="1")
    client.post(action or f"/o/{host}", data=fields | {"do": "offer"})
    assert "End the offer" in look(client, f"/o/{host}").text
    client.post(f"/o/{host}", data={"do": "withdraw", "seat": "1"})
    assert "Offer this seat" in look(client, f"/o/{host}").text
    refused = read(client.post(f"/o/{host}", data={"do": "offer", "seat": "2"}))
    assert (refused.status, "Only a seat whose player is away can be offered." in refused.text) == (409, True)


def test_a_player_offers_a_seat_after_seven_days(client: FlaskClient, table: Seating) -> None:
    game = table(3)
    path = f"/t/{game.tokens[2]}/offer"
    assert "Everyone is here." in look(client, path).text
    assert "/offer" not in look(client, f"/t/{game.tokens[2]}").html
    play.leave("g1", 1, now=NOW)
    assert path in look(client, f"/t/{game.tokens[2]}").html
    with time_machine.travel(NOW + timedelta(days=6), tick=False):
        page = look(client, path)
        assert "can be offered from Mon 9 Mar" in page.text
        assert "Offer this seat" not in page.text
        assert client.post(path, data={"seat": "1"}).status_code == 409
    with time_machine.travel(NOW + timedelta(days=7), tick=False):
        assert "Offer this seat" in look(client, path).text
        assert client.post(path, data={"seat": "x"}).status_code == 400
        assert client.post(path, data={"seat": "1"}).status_code == 303
        assert "offered to others" in look(client, path).text
        assert "End the offer" not in look(client, path).text, "only the organiser and moderators end it"


def test_a_moderator_offers_a_seat(client: FlaskClient, table: Seating) -> None:
    table(3)
    play.leave("g1", 1, now=NOW)
    mia = known(Guest("Mia", "mia@example.org"), NOW)
    with engine.transaction() as session:
        session.get_one(Person, mia).moderator = True
    sign_in(client, "mia@example.org")
    page = look(client, "/m/g1")
    assert "Offer a seat to other players" in page.text
    csrf = page.html.partition('name="csrf_token" value="')[2].partition('"')[0]
    for do, offered in (("offer", True), ("withdraw", False)):
        answer = client.post(
            "/m/g1/offer", data={"csrf_token": csrf, "seat": "1", "do": do, "reason": "gone"}
        )
        assert answer.status_code == 303
        with engine.reading() as session:
            assert (session.get_one(Seat, ("g1", 1)).offered_at is not None) == offered
    bad = {"csrf_token": csrf, "seat": "1", "do": "sing"}
    assert client.post("/m/g1/offer", data=bad).status_code == 400


def test_the_former_player_is_told_by_email(offered: Table) -> None:
    open_tables.take("g1", 1, known(ZOE, NOW), "Zoe", NOW)
    (mail,) = mails("former")
    assert mail.person_id == offered.people[1]
    with engine.reading() as session:
        assert links.seat_access(session, offered.tokens[1], NOW) is None
    sent = send_waiting(NOW + timedelta(hours=1))
    (told,) = (text for text in texts_to(sent, "bob@example.org") if "was offered to others" in text)
    assert "Zoe has taken it over. Your link no longer works." in told.replace("\n", " ")
    assert "a moderator" not in told
    (welcome,) = (text for text in texts_to(sent, ZOE.address) if "taken over a seat" in text)
    assert f"/t/{token('seat', ZOE, 'g1', NOW)}" in welcome


def taken_over(table: Seating) -> tuple[Table, int, str]:
    """Let Zoe take over the seat of a player who ran out of time and left; return the game, the seat and her link."""
    game, later = table(3), NOW + timedelta(days=9)
    seat = asked(game)
    question = start_clock("g1", seat, NOW).question
    play.time_out("g1", seat, question, later)
    play.leave("g1", seat, now=later)
    open_tables.offer_as_organiser(token("organise", ALICE, "g1", NOW), seat, later)
    open_tables.take("g1", seat, known(ZOE, NOW), "Zoe", later)
    return game, seat, f"/t/{token('seat', ZOE, 'g1', NOW)}"


def test_the_log_keeps_apart_who_left_and_who_took_over(client: FlaskClient, table: Seating) -> None:
    game, seat, hers = taken_over(table)
    theirs = url(game, (seat + 1) % 3)
    taker = {hers: "You take over this seat.", theirs: f"Zoe takes over seat {seat + 1}."}
    for path in (hers, theirs):
        page, log = look(client, path), look(client, f"{path}/history")
        for shown in (page, log):
            assert taker[path] in shown.text
            assert "Former player leaves the game." in shown.text
            assert "Former player passes." in shown.text
        assert not re.search(
            "You leave|You pass|Zoe leaves|Zoe passes|You ran out of time", page.text + log.text
        )
        left = next(int(seq) for seq in re.findall(r'id="e(\d+)"', log.html) if "leaves" in line_of(log, seq))
        assert (
            "Former player leaves the game."
            in look(client, f"{path}/history?at={left}").text.partition("All entries")[0]
        )
    assert "Former player leaves the game." in look(client, "/g/g1/history").text
    assert (
        "Früherer Spieler verlässt das Spiel."
        in look(client, "/g/g1/history", headers={"Accept-Language": "de"}).text
    )


@pytest.mark.parametrize(("language", "speaker"), [("de", "Früherer Spieler:"), ("nl", "Vorige speler:")])
def test_what_they_said_is_a_former_players_in_each_language(
    client: FlaskClient, table: Seating, language: str, speaker: str
) -> None:
    game = table(3)
    seat = asked(game)
    talk.say("g1", game.people[seat], "Goodbye", request_id="bye", now=NOW)
    play.leave("g1", seat, now=NOW)
    open_tables.offer_as_organiser(token("organise", ALICE, "g1", NOW), seat, NOW)
    open_tables.take("g1", seat, known(ZOE, NOW), "Zoe", NOW)
    with engine.transaction() as session:
        for person in session.scalars(select(Person)):
            person.language = language
    other = game.people[(seat + 1) % 3]
    page = look(client, url(game, (seat + 1) % 3), headers={"Accept-Language": language})
    assert page.html.count(f"{speaker}</strong>") == 2  # in the log, and in the news
    while asked(game) != (seat + 1) % 3:
        make(game, asked(game), bold_move("g1", asked(game)), at=NOW + timedelta(minutes=1))
    with engine.reading() as session:
        address = session.get_one(Person, other).email
    texts = texts_to(send_waiting(NOW + timedelta(hours=1)), address or "")
    assert any(f"- {speaker} Goodbye" in text for text in texts)


def test_emails_keep_them_apart_too(table: Seating) -> None:
    game, seat, _ = taken_over(table)
    after = NOW + timedelta(days=9, minutes=1)
    while asked(game) != seat:
        make(game, asked(game), bold_move("g1", asked(game)), at=after)
    sent = send_waiting(NOW + timedelta(days=10))
    turn = next(text for text in texts_to(sent, ZOE.address) if "You take over this seat" in text)
    assert "- Former player leaves the game." in turn
    assert "- You take over this seat." in turn
    assert not re.search("You leave|Zoe leaves|You ran out of time", turn)
