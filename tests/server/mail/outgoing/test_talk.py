"""Table talk in emails: who gets which words, when, and what they cannot do to an email."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from email.message import EmailMessage

import pytest
from flask import Flask
from flask.testing import FlaskClient

from server import play
from server.accounts import personal_data
from server.errors import InvalidInput
from server.mail import deliverability, subscriptions
from server.mail.outgoing import deliver, letters
from server.mail.outgoing.smtp import Message, PermanentFailure, TemporaryFailure
from server.mail.text import quoted
from server.store import engine, people
from server.store.facts import Fact
from server.store.models import Block, Game, Mail, Mute, Person, Seat, Turn, Word
from tests.conftest import NOW, Table
from tests.support.costs import statements
from tests.support.databases import kept, restore
from tests.support.games import change, loaded, outsider, row, submit
from tests.support.mail_servers import FakeMailer
from tests.support.mails import assert_same, html_of, one_database, queue, send_waiting, text_of, words_of
from tests.support.sample_mails import with_replies
from tests.support.talk import HOUR, MINUTE, say, talk_mails

Begin = Callable[..., Table]
LATER = NOW + 3 * MINUTE
"""When an email about words said now goes out."""
RANDOM = re.compile(r"\b(?:[a-z2-7]{26}|(?:[0-9a-f]{16}){1,4})\b")
"""Tokens, and hashes of the log, whose salts are random."""
HEADING = "Said since your last move"
EVIL = "Hi <b>Bob</b> https://evil.example/x\r\nBcc: x@evil.example\u202e\n\nCharlie: I pass\n- Daphne: me too\nfive"
pytestmark = one_database


@pytest.fixture
def game(app: Flask, table: Begin) -> Table:
    """Start a game of four with replies by email, whose first player has been emailed."""
    with_replies(app)
    begun = table(4)
    send_waiting()
    return begun


def wants(game: Table, seat: int, talk: str) -> None:
    """Let a player choose how they get table talk."""
    change(Person, game.people[seat], talk=talk)


def to(name: str, messages: list[EmailMessage]) -> list[EmailMessage]:
    """Return the emails to one person."""
    return [message for message in messages if str(message["To"]).startswith(name)]


def talk_to(name: str, now: datetime = LATER) -> list[str]:
    """Send all emails, and return the texts of those to one person about nothing but talk."""
    return [
        text_of(message) for message in to(name, send_waiting(now)) if "at your table." in text_of(message)
    ]


def bobs_turn(game: Table, now: datetime = NOW) -> EmailMessage:
    """Let Alice pass, and return the email about Bob's turn."""
    submit(game.id, 0, "pass", now)
    (message,) = to("Bob", send_waiting(now))
    return message


# In the email about a turn


def test_a_turn_email_tells_what_others_have_said_since_ones_last_move(game: Table) -> None:
    say(game, 0, "Hello, Bob.")
    say(game, 1, "My own words.")
    say(game, 2, "one\ntwo\n\nthree\nfour")
    message = bobs_turn(game)
    text = text_of(message)
    assert f"{HEADING}\n\n- Alice: Hello, Bob.\n- Charlie: one\n    two\n    three\n    …\n" in text
    assert "To answer, begin a line of your reply with “say”." in text
    assert "My own words." not in text + html_of(message)
    assert_same(text, words_of(html_of(message)))


def test_only_what_was_said_since_ones_own_move_is_told(game: Table) -> None:
    say(game, 3, "Before.")
    bobs_turn(game)
    say(game, 2, "During.")
    submit(game.id, 1, "bid olive3")
    say(game, 3, "After.")
    with engine.reading() as session:
        hand = loaded(session, game.id)
        bob = hand.seats[1].person
        assert bob is not None
        told = letters.talk_since(session, hand.game, bob, hand.game.head)
    assert told.words == (("Daphne", ("After.",)),)


def test_a_reminder_tells_it_as_well(game: Table) -> None:
    bobs_turn(game)
    say(game, 0, "Hurry up.")
    turn = row(Turn, (game.id, 1))
    queue("remind", game.people[1], game_id=game.id, seat=1, seq=turn.opened_seq)
    (message,) = to("Bob", send_waiting(LATER))
    assert "- Alice: Hurry up." in text_of(message)


def bobs_email(game: Table) -> tuple[str, int]:
    """Let Alice pass; return the email about Bob's turn without what is random, and its statements."""
    submit(game.id, 0, "pass")
    fake_mailer = FakeMailer()
    with statements(engine.db.engine) as sent:
        assert deliver.deliver(NOW, fake_mailer, n=1) == 1
    (message,) = fake_mailer.sent
    random = ("Content-Type", "Return-Path")
    headers = [f"{name}: {value}" for name, value in message.items() if name not in random]
    return RANDOM.sub("·", "\n".join((*headers, text_of(message), html_of(message)))), len(sent)


@pytest.mark.parametrize("why", ["never", "muted", "blocks", "hidden"])
def test_an_email_without_words_for_its_reader_is_as_if_none_were_said(
    app: Flask, game: Table, why: str
) -> None:
    wants(game, 1, "once")
    copy = kept(app)
    silent, cost = bobs_email(game)
    assert HEADING not in silent
    restore(copy)
    bob, alice = game.people[1], game.people[0]
    with engine.transaction() as session:
        if why == "never":
            session.get_one(Person, bob).talk = "never"
        if why == "muted":
            session.add(Mute(person_id=bob, other_id=alice))
        if why == "blocks":
            session.add(Block(person_id=bob, other_id=alice, at=NOW))
    word = say(game, 0, "Hello.")
    if why == "hidden":
        change(Word, word.id, hidden_at=NOW)
        send_waiting(LATER)
    assert bobs_email(game) == (silent, cost + (why != "never"))
    assert [mail.status for mail in talk_mails(game)] == ["dropped"] * (why == "hidden")


def test_words_cost_one_statement(game: Table) -> None:
    costs = []
    for talks in (False, True):
        if talks:
            say(game, 3, "Hello.")
        submit(game.id, 1 if talks else 0, "pass")
        with statements(engine.db.engine) as sent:
            assert deliver.deliver(NOW, FakeMailer(), n=1) == 1
        costs.append(len(sent))
    assert costs[1] <= costs[0] + 1


def test_an_email_shows_the_newest_words_and_counts_the_others(game: Table) -> None:
    for seat in (0, 2):
        for number in range(letters.WORDS // 2 + 2):
            say(game, seat, f"word {number}")
    text = text_of(bobs_turn(game))
    assert "- 4 earlier messages on your page." in text
    assert text.count(": word ") == letters.WORDS
    assert "- Alice: word 3\n" not in text
    assert "- Alice: word 4\n" in text


def test_words_cannot_be_more_than_words(game: Table) -> None:
    change(Seat, (game.id, 0), stored_name="Al“ice")
    say(game, 0, EVIL)
    say(game, 2, f"head 7:{'a' * 64} commitment {'B' * 64}")
    message = bobs_turn(game)
    text, html = text_of(message), html_of(message)
    assert not message["Bcc"]
    assert (
        "- Al“ice: Hi <b>Bob</b> https://evil.example/x\n    Bcc: [address]\n    Charlie: I pass\n    …"
        in text
    )
    assert "\u202e" not in text + html
    assert "<b>Bob" not in html
    assert "&lt;b&gt;Bob&lt;/b&gt; https://evil.example/x<br>" in html
    assert not re.search(r"href=[^>]*evil", html)
    assert f"- Charlie: head 7:{'a' * 16}… commitment {'B' * 16}…" in text
    assert all("evil" not in str(value) for value in message.values())


def test_hidden_and_deleted_words_are_in_no_email(game: Table) -> None:
    hidden, gone = say(game, 0, "Bad words."), say(game, 0, "Worse.")
    change(Word, hidden.id, hidden_at=NOW)
    with engine.transaction() as session:
        session.delete(session.get_one(Word, gone.id))
    assert HEADING not in text_of(bobs_turn(game))


# In the digest, in answers, and at the end


def test_the_digest_tells_it_with_each_game(game: Table) -> None:
    change(Person, game.people[1], cadence="digest")
    submit(game.id, 0, "pass")
    say(game, 2, EVIL)
    queue("digest", game.people[1], f"digest:{game.people[1]}:x")
    (message,) = to("Bob", send_waiting(LATER))
    text = text_of(message)
    assert f"{HEADING}\n\n- Charlie: Hi <b>Bob</b> https://evil.example/x\n    Bcc" in text
    assert "<b>Bob" not in html_of(message)
    assert_same(text, words_of(html_of(message)))
    wants(game, 1, "never")
    queue("digest", game.people[1], f"digest:{game.people[1]}:y")
    (message,) = to("Bob", send_waiting(LATER))
    assert HEADING not in text_of(message)


@pytest.mark.parametrize("talk", ["turns", "never"])
def test_the_email_about_the_end_tells_the_last_words(game: Table, talk: str) -> None:
    wants(game, 1, talk)
    say(game, 2, EVIL)
    play.moderate(game.id, "!abandon", reason="x", person_id=outsider(), now=NOW)
    (message,) = to("Bob", send_waiting(LATER))
    assert (f"{HEADING}\n\n- Charlie: Hi" in text_of(message)) == (talk == "turns")
    assert_same(text_of(message), words_of(html_of(message)))
    assert "Charlie: I pass" not in [
        item.strip() for item in re.findall(r"<li[^>]*>([^<]*)", html_of(message))
    ]


# In an email of its own


def test_who_wants_it_at_once_gets_an_email_and_nobody_else(game: Table) -> None:
    wants(game, 1, "once")
    wants(game, 2, "once")
    wants(game, 3, "never")
    say(game, 2, "Hello, all.")
    assert send_waiting() == []
    (message,) = send_waiting(LATER)
    assert str(message["To"]).startswith("Bob")
    assert message["Subject"] == "Byzanz: The Golden Horn"
    assert str(message["Reply-To"]).startswith("talk+")
    by_link, by_mail = str(message["List-Unsubscribe"]).split(", ")
    assert by_link.endswith("?do=talk>")
    assert by_mail.startswith("<mailto:stoptalk+")
    text = text_of(message)
    assert text.startswith("Bob, there is a new message at your table.\n\n##-")
    assert "\n- Charlie: Hello, all.\n" in text
    assert_same(text, words_of(html_of(message)))
    (mail,) = talk_mails(game)
    assert (mail.status, mail.seat) == ("sent", 1)


def test_nobody_is_told_their_own_words(game: Table) -> None:
    wants(game, 1, "once")
    say(game, 2, "Hello, Bob.")
    say(game, 1, "Hello, Charlie.")
    (text,) = talk_to("Bob")
    assert "- Charlie: Hello, Bob.\n" in text
    assert "Hello, Charlie." not in text


def test_an_email_stores_none_of_the_words(game: Table) -> None:
    wants(game, 1, "once")
    say(game, 2, "A secret.")
    (mail,) = talk_mails(game)
    assert mail.details == "{}"  # nor how many there are


def test_there_is_one_an_hour_at_most_and_it_tells_all(game: Table) -> None:
    wants(game, 1, "once")
    told = {}
    for minute in range(200):
        now = NOW + minute * MINUTE
        if minute % 10 == 0 and minute < 110:
            say(game, 2, f"word {minute}", now)
        for text in talk_to("Bob", now):
            told[minute] = re.findall(r"word (\d+)", text)
    assert told == {
        2: ["0"],
        62: ["10", "20", "30", "40", "50", "60"],
        122: ["70", "80", "90", "100"],
    }


def test_the_hour_is_each_games_own(game: Table, table: Begin) -> None:
    other = table(4, "g2")
    send_waiting()
    wants(game, 1, "once")
    say(game, 2, "here")
    say(other, 2, "there")
    assert len(talk_to("Bob")) == 2


def test_never_in_quiet_hours(game: Table) -> None:
    wants(game, 1, "once")
    change(Person, game.people[1], quiet_from=22 * 60, quiet_to=7 * 60)
    night = NOW.replace(hour=23)
    say(game, 2, "Are you asleep?", night)
    say(game, 3, "He is.", night + HOUR)
    assert to("Bob", send_waiting(night + 2 * HOUR)) == []
    morning = night.replace(hour=7) + timedelta(days=1)
    assert to("Bob", send_waiting(morning - MINUTE)) == []
    (text,) = talk_to("Bob", morning)
    assert "Charlie: Are you asleep?" in text
    assert "Daphne: He is." in text


def test_what_its_reader_has_read_is_not_sent(game: Table) -> None:
    wants(game, 1, "once")
    say(game, 2, "one")
    people.note(game.people[1], NOW + MINUTE, game.id)
    people.store()
    assert talk_to("Bob") == []
    (mail,) = talk_mails(game)
    assert (mail.status, str(mail.error)) == (
        "dropped",
        "the person has read the words, or may not read them any more",
    )
    say(game, 2, "two", NOW + 5 * MINUTE)
    (text,) = talk_to("Bob", NOW + 8 * MINUTE)  # none was sent, so no hour runs
    assert "one" not in text.partition("##-")[2].partition("Reply to")[0]


@pytest.mark.parametrize("touched", [True, False])
def test_only_a_page_in_use_is_read(game: Table, client: FlaskClient, touched: bool) -> None:
    wants(game, 1, "once")
    say(game, 2, "one", engine.utc_now())
    client.get(f"/t/{game.tokens[1]}")
    client.get(f"/t/{game.tokens[1]}/head", headers={"X-Touched": "yes"} if touched else {})
    people.store()
    assert len(talk_to("Bob", engine.utc_now() + 3 * MINUTE)) == (not touched)


def test_a_page_of_another_table_is_not_where_the_words_are_read(game: Table, table: Begin) -> None:
    other = table(4, "elsewhere")
    wants(game, 1, "once")
    say(game, 2, "Shall we pause over the holidays?")
    people.note(other.people[1], NOW + MINUTE, other.id)
    people.note(other.people[1], NOW + MINUTE)  # and she signs in
    people.store()
    (text,) = talk_to("Bob")
    assert "Shall we pause" in text


@pytest.mark.parametrize(
    "gone",
    [
        "muted",
        "blocks",
        pytest.param("erased", marks=pytest.mark.changes_busy_table),
        "hidden",
        "deleted",
        "turns",
        "silent",
        "left",
    ],
)
def test_what_its_reader_may_not_or_does_not_want_to_read_is_not_sent(game: Table, gone: str) -> None:
    wants(game, 1, "once")
    word, bob, charlie = say(game, 2, "one"), game.people[1], game.people[2]
    with engine.transaction() as session:
        match gone:
            case "muted":
                session.add(Mute(person_id=bob, other_id=charlie))
            case "blocks":
                session.add(Block(person_id=bob, other_id=charlie, at=NOW))
            case "hidden":
                session.get_one(Word, word.id).hidden_at = NOW
            case "deleted":
                session.delete(session.get_one(Word, word.id))
            case "turns":
                session.get_one(Person, bob).talk = "turns"
            case "silent":
                session.get_one(Person, bob).silent = True
            case "left":
                session.get_one(Seat, (game.id, 1)).left = True
    if gone == "erased":
        personal_data.erase(bob, NOW)
    assert talk_to("Bob") == []
    assert [mail.status for mail in talk_mails(game)] == ["dropped"]


@pytest.mark.parametrize("before", ["muted", "blocks", "silent here", "bot", "closed"])
def test_for_whom_no_email_is_queued(game: Table, before: str) -> None:
    wants(game, 1, "once")
    bob, charlie = game.people[1], game.people[2]
    with engine.transaction() as session:
        match before:
            case "muted":
                session.add(Mute(person_id=bob, other_id=charlie))
            case "blocks":
                session.add(Block(person_id=bob, other_id=charlie, at=NOW))
            case "silent here":
                session.get_one(Seat, (game.id, 1)).silent = True
            case "bot":
                session.get_one(Seat, (game.id, 1)).person_id = None
            case "closed":
                session.get_one(Person, bob).email = None
    say(game, 2, "one")
    assert talk_mails(game) == []
    if before == "bot":
        change(Seat, (game.id, 1), person_id=bob)


def test_an_email_about_a_turn_tells_it_instead(game: Table) -> None:
    wants(game, 1, "once")
    say(game, 2, "Hello.")
    submit(game.id, 0, "pass")
    (message,) = to("Bob", send_waiting(LATER))
    assert str(message["Reply-To"]).startswith("play+")
    assert "- Charlie: Hello." in text_of(message)
    (mail,) = talk_mails(game)
    assert (mail.status, str(mail.error)) == ("dropped", "another email already says this")


def test_words_from_before_ones_own_move_are_told_with_the_merged_email(game: Table) -> None:
    wants(game, 0, "once")
    say(game, 2, "Before your move.")
    for seat in range(4):  # Alice by a program, say: she has opened no page
        submit(game.id, seat, "bid " + {0: "olive1"}.get(seat, "") if seat == 0 else "pass")
    turn = row(Turn, (game.id, 0))
    assert turn is not None
    (message,) = to("Alice", send_waiting(LATER))
    assert "- Charlie: Before your move." in text_of(message)
    assert [mail.status for mail in talk_mails(game)] == ["dropped"]


def test_what_is_said_while_an_email_is_on_its_way_gets_another(game: Table) -> None:
    wants(game, 1, "once")
    say(game, 2, "one")

    class Slow(FakeMailer):
        def send(self, message: Message) -> None:
            super().send(message)
            say(game, 2, "two", LATER)

    fake_mailer = Slow()
    deliver.deliver(LATER, fake_mailer)
    assert [re.findall("Charlie: (one|two)", text_of(each)) for each in fake_mailer.sent] == [["one"]]
    assert talk_to("Bob", LATER + HOUR - MINUTE) == []
    (text,) = talk_to("Bob", LATER + HOUR)
    assert re.findall("Charlie: (one|two)", text) == ["two"]


def test_a_game_on_hold_waits_and_a_finished_one_does_not(game: Table) -> None:
    wants(game, 1, "once")
    say(game, 2, "one")
    change(Game, game.id, quarantine=Fact("game_over"))
    assert talk_to("Bob") == []
    change(Game, game.id, quarantine=None)
    play.moderate(game.id, "!abandon", reason="x", person_id=outsider(), now=LATER)
    assert talk_to("Bob", LATER) == []  # the email about the end tells it
    say(game, 2, "Good game.", LATER + MINUTE)
    (text,) = talk_to("Bob", LATER + 4 * MINUTE)
    assert "- Charlie: Good game." in text
    assert len(talk_mails(game)) == 2


def test_one_click_leaves_talk_to_the_turns(game: Table, client: FlaskClient) -> None:
    wants(game, 1, "once")
    say(game, 2, "one")
    (message,) = to("Bob", send_waiting(LATER))
    address = (
        str(message["List-Unsubscribe"]).partition(">")[0].strip("<").removeprefix("https://byzanz.test")
    )
    page = client.get(address)
    assert "You get table talk at once" in page.text
    assert row(Person, game.people[1]).talk == "once"
    page = client.post(address, data={"List-Unsubscribe": "One-Click"})
    assert "You no longer get emails about nothing but table talk." in page.text
    bob = row(Person, game.people[1])
    assert (bob.talk, bob.silent, row(Seat, (game.id, 1)).silent) == ("turns", False, False)
    for choice in subscriptions.TALK:
        assert client.post(address, data={"do": "talk", "talk": choice}).status_code == 200
        assert row(Person, game.people[1]).talk == choice
    assert client.post(address, data={"do": "talk", "talk": "loud"}).status_code == 400
    assert client.post(address, data={"do": "game"}).status_code == 200
    assert row(Seat, (game.id, 1)).silent


# Clocks


def turn_columns(game: Table, seat: int) -> dict[str, object]:
    """Return all of an open turn."""
    turn = row(Turn, (game.id, seat))
    return {column.key: getattr(turn, column.key) for column in Turn.__table__.columns}


@pytest.mark.parametrize("fault", ["refused", "later", "bounced", "expired", "complaint"])
def test_an_email_about_talk_that_fails_touches_no_turn(game: Table, fault: str) -> None:
    bobs_turn(game)
    wants(game, 1, "once")
    say(game, 2, "one", NOW + MINUTE)
    before = turn_columns(game, 1)
    head = row(Game, game.id).head
    (mail,) = talk_mails(game)
    why = quoted("550 5.1.1 no such user")
    faults: dict[str, list[Exception]] = {
        "refused": [PermanentFailure(why)],
        "later": [TemporaryFailure(why)],
    }
    fake_mailer = FakeMailer(*faults.get(fault, []))
    deliver.deliver(LATER, fake_mailer)
    if fault in ("bounced", "expired"):
        deliverability.handle_bounce(
            mail.id, why, LATER + MINUTE, cause="failed" if fault == "bounced" else "expired"
        )
    if fault == "complaint":
        deliverability.handle_complaint(mail.id, why, LATER + MINUTE)
    assert turn_columns(game, 1) == before
    assert row(Seat, (game.id, 1)).bounces == 0
    assert row(Game, game.id).head == head
    bob = row(Person, game.people[1])
    assert (bob.suppressed is not None) == (fault in ("bounced", "complaint"))
    assert (bob.unreachable is not None) == (fault in ("refused", "bounced", "expired"))


def test_neither_words_nor_their_emails_start_a_clock(game: Table) -> None:
    wants(game, 1, "once")
    submit(game.id, 0, "pass")
    with engine.transaction() as session:
        session.query(Mail).filter_by(game_id=game.id, kind="turn", seat=1).delete()
    before = turn_columns(game, 1)
    assert before["started_at"] is None
    say(game, 2, "one")
    assert len(talk_to("Bob")) == 1
    assert turn_columns(game, 1) == before


def test_the_setting_is_one_of_three(game: Table) -> None:
    for choice in subscriptions.TALK:
        subscriptions.set_talk(game.people[0], choice)
        assert row(Person, game.people[0]).talk == choice
    with pytest.raises(InvalidInput):
        subscriptions.set_talk(game.people[0], "loud")
