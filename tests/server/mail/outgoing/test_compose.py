"""Emails: recipients, headers, text and HTML, whether they are still relevant, and what sending one starts."""

from __future__ import annotations

import email
import json
import logging
import re
from datetime import UTC, datetime, timedelta
from email.header import decode_header, make_header
from email.message import EmailMessage
from email.policy import default
from html import unescape
from typing import Any

import html5lib
import pytest
from flask import Flask
from sqlalchemy import select
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from byzanz.games.byzanz.rules import Byzanz
from byzanz.moves import placed
from server import play
from server.accounts import login
from server.mail import deliverability
from server.mail.outgoing import compose, deliver
from server.mail.outgoing.smtp import LONGEST_LINE, Message, PermanentFailure, TemporaryFailure
from server.mail.text import one_line, quoted
from server.play import positions, turns
from server.store import engine, facts, links, models, outbox, people
from server.store.models import Alert, Game, Link, LinkPurpose, Mail, Person, Seat, Turn
from server.store.statements import MailRow
from tests.conftest import NAMES, NOW, Table
from tests.support.games import change, loaded, outsider, row, submit
from tests.support.mail_servers import FakeMailer, FaultyServer, received
from tests.support.mails import (
    MINUTE,
    Begin,
    assert_same,
    awaited,
    body_of,
    bold_move,
    html_of,
    message_id,
    one_database,
    queue,
    send_waiting,
    statuses,
    text_of,
    the_mail,
    words_of,
)
from tests.support.neighbour_game import elsewhere
from tests.support.sample_mails import with_replies

# The turn mail


def test_a_turn_mail_says_everything_in_its_order(table: Begin) -> None:
    game = table(4)
    (message,) = send_waiting()
    text = text_of(message)
    parts = [
        "Bid for the lot, or pass.\nMove by Tue 3 Mar, 10:00 (UTC).\n",
        f"\nhttps://byzanz.test/t/{game.tokens[0]}\n",
        "Your hand",
        "The table",
        "Up for auction, the lot of 5:",
        "You can",
        "\n- Pass\n",
        "If you miss the deadline, the server passes for you.",
        "Since your last move",
        "The cards are shuffled and dealt.",
        "Stop emails about this game:\nhttps://byzanz.test/u/",
        "Keep this email. With these lines",
        "\nPaste them on this page:\nhttps://byzanz.test/verify\n",
    ]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    with engine.reading() as session:
        head = session.get_one(Game, game.id).head_hash
    assert head in text
    assert "repl" not in text.lower()  # moves by reply are not offered before there are any
    assert re.fullmatch(r".+/u/[a-z2-7]{26}\n\n.+/verify\n", text, re.DOTALL)


@one_database
def test_its_headers_thread_and_let_people_leave_with_one_click(table: Begin) -> None:
    game = table(4)
    (message,) = send_waiting()
    assert message["Subject"] == "Byzanz: The Golden Horn"
    assert message["From"] == "Byzanz <games@byzanz.test>"
    assert message["To"] == "Alice <alice@example.org>"
    assert message["In-Reply-To"] == message["References"] == f"<{game.id}.table@byzanz.test>"
    assert re.fullmatch(r"<https://byzanz\.test/u/[a-z2-7]{26}>", message["List-Unsubscribe"])
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert message["List-Id"] == "<byzanz.byzanz.test>"
    assert message["Auto-Submitted"] == "auto-generated"
    assert message["X-Auto-Response-Suppress"] == "OOF, AutoReply"
    assert message["Date"] == "Mon, 02 Mar 2026 10:00:00 +0000"


def test_the_link_to_leave_switches_the_mails_of_that_game_off(table: Begin, client) -> None:
    table(4)
    (message,) = send_waiting()
    address = message["List-Unsubscribe"].strip("<>").removeprefix("https://byzanz.test")
    assert client.get(address).status_code == 200
    assert not row(Seat, ("g1", 0)).silent
    assert client.post(address, data={"List-Unsubscribe": "One-Click"}).status_code == 200
    assert row(Seat, ("g1", 0)).silent


@one_database
@pytest.mark.parametrize(
    "base", ["https://byzanz.test", "https://games." + "long-" * 40 + "name.example.org/byzanz"]
)
def test_ids_and_links_stand_on_one_line_and_are_not_encoded(table: Begin, app: Flask, base: str) -> None:
    app.config["BYZANZ"] = app.config["BYZANZ"].model_copy(update={"base_url": base})
    table(4)
    (message,) = send_waiting()
    raw = message.as_bytes().decode("ascii")
    for name in ("In-Reply-To", "References", "Message-ID", "List-Unsubscribe"):
        assert f"\r\n{name}: {message[name]}\r\n" in raw
    assert f"<{base}/u/" in raw


@pytest.mark.usefixtures("app")
def test_every_copy_of_a_mail_has_the_same_id_and_no_two_mails_share_one() -> None:
    assert compose.message_id("turn:g1:0:1") == compose.message_id("turn:g1:0:1")
    assert compose.message_id("turn:g1:0:1") != compose.message_id("turn:g1:0:2")
    assert "g1" not in compose.message_id("turn:g1:0:1")


def test_the_moment_printed_is_the_moment_it_is_due(table: Begin) -> None:
    table(4)
    later = NOW + timedelta(hours=2, seconds=12)
    (message,) = send_waiting(later)
    turn = row(Turn, ("g1", 0))
    assert turn.started_at == later
    assert turn.due_at == datetime(2026, 3, 3, 12, 1, tzinfo=UTC)
    assert "Move by Tue 3 Mar, 12:01 (UTC)" in text_of(message)
    assert "Move by Tue 3 Mar, 12:01 (UTC)" in words_of(html_of(message))


@one_database
def test_a_reader_without_a_language_gets_the_organisers(table: Begin) -> None:
    game = table(4)
    change(Person, game.people[0], language="de")
    submit(game.id, 0, "pass")
    (bobs,) = send_waiting()
    assert '<html lang="de">' in html_of(bobs)


def test_the_table_has_a_time_zone_and_a_persons_own_goes_before_it(table: Begin) -> None:
    game = table(4)
    change(Game, game.id, time_zone="Europe/Berlin")
    assert "Tue 3 Mar, 11:00 (Berlin)" in text_of(send_waiting()[0])
    change(Person, game.people[1], time_zone="America/New_York")
    submit(game.id, 0, "pass")
    assert "Tue 3 Mar, 05:00 (New York)" in text_of(send_waiting()[0])


@one_database
def test_the_html_is_well_formed_loads_nothing_and_says_the_same(table: Begin) -> None:
    game = table(4)
    seen = set()
    for _ in range(60):
        for message in send_waiting():
            text, html = text_of(message), html_of(message)
            html5lib.HTMLParser(strict=True).parse(html)
            assert not re.search(r"<(img|link|script|iframe|object)|url\(|@import|src=", html, re.IGNORECASE)
            shown = words_of(html)
            assert_same(text, shown)
            for said in (text, shown):  # one can decide from the top of it
                heads = ("Make your move", "While you were away", "Your hand", "The table", "You can")
                places = [said.index(head) for head in (*heads, "Keep this email") if head in said]
                assert places == sorted(places)
            buttons = {re.sub(r"\?at=.*", "", unescape(link)) for link in re.findall(r'href="([^"]+)"', html)}
            assert set(re.findall(r"https://\S+", text)) == buttons
            seen.add(text.split(".")[0])
        seat = awaited(game.id)
        submit(game.id, seat, bold_move(game.id, seat))
    assert {"Bid for the lot, or pass", "The lot is yours: pay the tax", "Choose from the market"} <= seen


@one_database
def test_of_many_sales_the_best_are_listed(app: Flask) -> None:
    part = app.jinja_env.get_template("games/byzanz/mail.html").module
    moves = [
        f"sell olive1 olive{second} olive{third}" for third in range(1, 5) for second in range(1, third + 1)
    ]
    *listed, rest = part.sales(["discard olive1", *moves]).splitlines()  # type: ignore[attr-defined]
    assert [line.removesuffix(" profit")[-1:] for line in listed] == ["4", "4", "4", "4", "3", "3"]
    assert rest == "4 more possible sales."


@one_database
def test_the_hand_in_html_is_the_hand(table: Begin) -> None:
    table(4)
    (message,) = send_waiting()
    with engine.reading() as session:
        position = positions.current(loaded(session, "g1"))
    hand = position.rules.view(position.state, 0).hand
    (shown,) = [each for each in body_of(html_of(message)).iter("p") if each.get("class") == "hand"]
    for span, card in zip(shown.findall("span/span"), hand, strict=True):
        good = card.rstrip("1234")
        assert span.get("class") == f"card good-{good}"
        assert "".join(span.itertext()).split()[-1] == (card[-1] if good != "merchant" else "M")


@one_database
def test_nobody_elses_hand_is_in_a_mail(table: Begin) -> None:
    table(3)
    (message,) = send_waiting()
    with engine.reading() as session:
        position = positions.current(loaded(session, "g1"))
    view = position.rules.view(position.state, 0)
    known = {card.rstrip("1234") for card in (*view.hand, *view.lot)}
    chips = set(re.findall(r'class="card good-(\w+)"', html_of(message)))
    assert chips == known
    assert "shuffle" not in text_of(message).replace("are shuffled", "")


def test_only_what_came_after_ones_own_last_move_is_told(table: Begin) -> None:
    game = table(3)
    for seat in (0, 1, 2):
        submit(game.id, seat, bold_move(game.id, seat))
    (message,) = send_waiting()
    assert message["To"] == "Alice <alice@example.org>"
    text = text_of(message)
    assert "Since your last move" not in text  # the news say it all
    story = text.split("While you were away\n")[1].split("\n\n")[0]
    assert story == "- The lot of 6: Charlie bid 3, Bob bid 2, you bid 1."


# People's words in headers and bodies

NASTY = [
    "Ann\r\nBcc: all@example.org",
    "Ann\nSubject: hi",
    "Ann\x01\x1b[31m",
    "Ann\u2028Bcc: x",
    "Ann\x85x",
    'A "quoted" \\ name',
    "<script>alert(1)</script>",
    "a, b <c@d.org>, e@f.org",
    "\u202egnp.exe",
    "Αλέξανδρος Παπαδόπουλος ο Μέγας της Πόλης",
    "😀" * 40,
    "{{ 7*7 }} %(x)s %s",
    "",
]


@one_database
@pytest.mark.parametrize("name", NASTY)
def test_a_name_cannot_add_a_header_or_a_tag(table: Begin, name: str) -> None:
    game = table(4)
    change(Person, game.people[0], name=name[:40])
    change(Seat, (game.id, 1), stored_name=name[:40])
    change(Game, game.id, name=name[:60])
    (message,) = send_waiting()
    check_headers(message, name[:40], "alice@example.org")
    html5lib.HTMLParser(strict=True).parse(html_of(message))
    assert "<script>" not in html_of(message)


def check_headers(message: EmailMessage, name: str, address: str) -> None:
    raw = message.as_bytes()
    read = email.message_from_bytes(raw, _class=EmailMessage, policy=default)
    assert read.keys() == message.keys()
    assert not read.defects
    assert [found.addr_spec for found in read["To"].addresses] == [address]
    head = raw.split(b"\r\n\r\n")[0]
    assert all(len(line) <= LONGEST_LINE for line in head.split(b"\r\n"))
    assert all(len(word) <= 75 for word in head.split() if word.startswith(b"=?"))
    assert head.isascii()
    shown = str(make_header(decode_header(email.message_from_bytes(raw)["To"])))
    assert one_line(name).replace("\\", "").replace('"', "") in shown.replace("\\", "").replace('"', "")


# All kinds


def details(kind: str) -> dict[str, Any]:
    known: dict[str, dict[str, Any]] = {
        "answered": {"name": "Bob", "answer": "accepted", "begun": True},
        "cancelled": {"why": "cancelled"},
        "vacant": {"name": "Bob", "why": "lost"},
        "refused": {"name": "Bob", "error": facts.stored(quoted("550 no such user")), "stopped": True},
        "fresh": {"purpose": "seat"},
    }
    return known.get(kind, {})


@one_database
@pytest.mark.parametrize(
    "kind",
    [
        "timeout",
        "autopilot",
        "left",
        "vacant",
        "over",
        "act",
        "replaced",
        "answered",
        "fresh",
        "refused",
        "cancelled",
    ],
)
def test_each_kind_of_mail_about_a_running_game_can_be_written(table: Begin, kind: str) -> None:
    game = table(4)
    send_waiting()
    submit(game.id, 0, "pass")
    play.moderate(game.id, "!pause", reason="a look into it", person_id=outsider(), now=NOW)
    if kind == "over":
        play.moderate(game.id, "!abandon", reason="enough", person_id=outsider(), now=NOW)
    with engine.transaction() as session:  # only the mail under test is to go out
        for mail in session.scalars(select(Mail).where(elsewhere(Mail))):
            mail.status = "dropped"
    seq = 3 if kind == "act" else 2
    queue(kind, game.people[0], game_id=game.id, seat=0, seq=seq, details=details(kind))
    (message,) = send_waiting()
    assert message["Subject"] == "Byzanz: The Golden Horn"
    assert message["References"] == f"<{game.id}.table@byzanz.test>"
    html5lib.HTMLParser(strict=True).parse(html_of(message))
    assert_same(text_of(message), words_of(html_of(message)))
    assert "None" not in text_of(message)
    expected = {
        "timeout": ("Alice, you ran out of time", "- You pass.", f"/t/{game.tokens[0]}\n"),
        "autopilot": ("two deadlines in a row", "- You pass.", f"/t/{game.tokens[0]}\n"),
        "left": ("you have left “The Golden Horn”", f"/t/{game.tokens[0]}\n"),
        "vacant": ("Email to Bob has failed for 72 hours", "/o/"),
        "over": (
            "A moderator has ended “The Golden Horn” early",
            "- You: 0",
            f"/t/{game.tokens[0]}\n",
        ),
        "act": ("A moderator pauses the game. “a look into it”", "entry 3", f"/t/{game.tokens[0]}\n"),
        "replaced": ("a moderator has given you a seat", "Bob", f"/t/{game.tokens[0]}\n"),
        "answered": ("Bob has accepted", "has started", "/o/"),
        "fresh": ("here is your link", f"/t/{game.tokens[0]}\n"),
        "refused": ("Email to Bob is permanently rejected", "550 no such user", "clock is stopped", "/o/"),
        "cancelled": ("Alice has called off “The Golden Horn”",),
    }[kind]
    for words in expected:
        assert words in text_of(message)


@one_database
@pytest.mark.parametrize(
    ("kind", "status", "seat_status", "words", "path"),
    [
        ("invite", "inviting", "invited", "Alice invites you to a game of Byzanz: “The Golden Horn”.", "/i/"),
        ("nudge", "inviting", "invited", "Alice is waiting for your answer", "/i/"),
        ("confirm", "asked", "invited", "Nobody has been invited yet", "/o/"),
    ],
)
def test_mails_before_the_beginning(
    table: Begin, kind: str, status: str, seat_status: str, words: str, path: str
) -> None:
    game = table(4)
    change(Mail, the_mail(game).id, status="dropped")
    change(Game, game.id, status=status, started_at=None)
    change(Seat, (game.id, 1), status=seat_status)
    queue(kind, game.people[1], game_id=game.id, seat=1)
    (message,) = send_waiting()
    assert words in text_of(message)
    assert f"\nhttps://byzanz.test{path}" in text_of(message)
    assert_same(text_of(message), words_of(html_of(message)))
    assert ("List-Unsubscribe" in message) is True


@pytest.mark.usefixtures("app")
def test_a_sign_in_mail_has_its_link_and_nothing_to_unsubscribe() -> None:
    with engine.transaction() as session:
        people.get_or_create(session, "ann@example.org", "Ann", NOW).moderator = True
    login.mail_sign_in("Ann@Example.org", NOW)
    (message,) = send_waiting()
    (address,) = re.findall(r"https://byzanz\.test/s/[a-z2-7]{26}", text_of(message))
    assert login.redeem(address[-26:], NOW) is not None
    assert "List-Unsubscribe" not in message
    assert "List-Id" not in message
    assert "References" not in message
    assert_same(text_of(message), words_of(html_of(message)))


@one_database
@pytest.mark.parametrize(
    ("why", "says"),
    [
        ("left", "You can offer the seat to others."),
        (
            "lost",
            "After three days on autopilot you can offer the seat to others.",
        ),
    ],
)
def test_the_organiser_learns_how_to_find_a_substitute(table: Begin, why: str, says: str) -> None:
    game = table(4)
    send_waiting()
    queue("vacant", game.people[0], game_id=game.id, details={"name": "Bob", "why": why})
    (message,) = send_waiting()
    text = text_of(message)
    assert f"{says}\n\nYour page for this game:\nhttps://byzanz.test/o/" in text
    assert ">Your page for this game</a>" in html_of(message)
    assert "until they return or someone else takes the seat." in text
    assert "moderator" not in text
    assert_same(text_of(message), words_of(html_of(message)))


@one_database
@pytest.mark.parametrize("kind", ["vacant", "refused"])
def test_only_the_organiser_gets_the_organisers_link(table: Begin, kind: str) -> None:
    game = table(4)
    send_waiting()
    for seat in (0, 2):  # the table is Alice's
        queue(kind, game.people[seat], key=f"{kind}:{seat}", game_id=game.id, details=details(kind))
    assert {str(message["To"]): "/o/" in text_of(message) for message in send_waiting()} == {
        "Alice <alice@example.org>": True,
        "Charlie <charlie@example.org>": False,
    }


@one_database
@pytest.mark.parametrize(("seat", "revoked"), [(0, False), (1, False), (1, True)])
def test_an_answer_goes_out_from_the_address_of_the_open_turn_or_of_its_question(
    table: Begin, app: Flask, seat: int, revoked: bool
) -> None:
    with_replies(app)
    game = table(4)
    (turn,) = send_waiting()
    with engine.transaction() as session:
        used = links.issue(session, LinkPurpose.REPLY, game.people[seat], NOW, game.id, seq=7)
        session.get_one(Link, used.id).revoked_at = NOW if revoked else None
        address = links.reply_address(used)
    given = {"lines": [], "reply": used.id}
    queue("answer", game.people[seat], game_id=game.id, seat=seat, details=given)
    (message,) = send_waiting()
    expected = turn["Reply-To"] if seat == 0 else None if revoked else address
    assert message["Reply-To"] == expected


# What is no longer news


def test_a_turn_that_was_answered_meanwhile_is_not_mailed(table: Begin) -> None:
    game = table(4)
    submit(game.id, 0, "pass")
    assert [str(message["To"]) for message in send_waiting()] == ["Bob <bob@example.org>"]
    assert statuses()[f"turn:{game.id}:0:1"] == "dropped"


def test_a_person_who_moved_before_hand_is_not_told_of_it_at_the_last_moment(table: Begin) -> None:
    game = table(4)

    class Quick(FakeMailer):
        """A player moves while the email is being sent."""

        def send(self, message: Message) -> None:
            super().send(message)
            if len(self.sent) == 1:
                submit(game.id, 0, "pass")

    deliver.deliver(NOW, Quick())
    assert statuses()[f"turn:{game.id}:0:1"] == "sent"
    assert row(Turn, (game.id, 0)) is None
    assert row(Turn, (game.id, 1)).started_at is None


@pytest.mark.parametrize("whole", [True, False])
def test_silence_is_kept_and_the_clock_runs_without_a_mail(table: Begin, whole: bool) -> None:
    game = table(4)
    change(Person, game.people[0], silent=True) if whole else change(Seat, (game.id, 0), silent=True)
    assert send_waiting() == []
    turn = row(Turn, (game.id, 0))
    assert turn.started_at == NOW
    assert turn.due_at == NOW + timedelta(days=1)


def test_silence_does_not_stop_what_was_asked_for(table: Begin) -> None:
    game = table(4)
    change(Person, game.people[0], silent=True)
    queue("fresh", game.people[0], game_id=game.id, details={"purpose": "seat"})
    login.mail_sign_in("alice@example.org", NOW)
    assert len(send_waiting()) == 2


def test_a_paused_game_mails_no_turn(table: Begin) -> None:
    game = table(4)
    play.moderate(game.id, "!pause", reason="a break", person_id=outsider(), now=NOW)
    assert {text_of(message).split("\n")[0] for message in send_waiting()} == {
        "A moderator pauses the game. “a break”"
    }


def test_a_reminder_says_the_same_moment_as_the_mail_before(table: Begin) -> None:
    game = table(4)
    send_waiting()
    queue("remind", game.people[0], game_id=game.id, seat=0, seq=1)
    (message,) = send_waiting(NOW + timedelta(hours=20))
    assert text_of(message).startswith(
        "Alice, the others are waiting for you: Bid for the lot, or pass.\nMove by Tue 3 Mar, 10:00 (UTC)."
    )
    assert row(Turn, (game.id, 0)).due_at == NOW + timedelta(days=1)


def test_a_reminder_after_the_time_is_dropped(table: Begin) -> None:
    game = table(4)
    send_waiting()
    queue("remind", game.people[0], game_id=game.id, seat=0, seq=1)
    assert send_waiting(NOW + timedelta(hours=24)) == []


@pytest.mark.usefixtures("app")
def test_a_used_sign_in_link_is_not_mailed() -> None:
    with engine.transaction() as session:
        people.get_or_create(session, "ann@example.org", "Ann", NOW).moderator = True
    login.mail_sign_in("ann@example.org", NOW)
    with engine.reading() as session:
        (signin,) = links.select_rows(session, Link.purpose == "signin")
        token = links.token(signin)
    assert login.redeem(token, NOW)
    assert send_waiting(NOW + MINUTE) == []


# What sending sets going


def test_a_mail_put_off_starts_no_clock_and_goes_out_later_with_the_same_id(table: Begin) -> None:
    game = table(4)
    first = FaultyServer(DATA=["451 4.2.0 busy"])
    with first.running(), first.transport() as transport:
        deliver.deliver(NOW, transport)
        assert row(Turn, (game.id, 0)).started_at is None
        later = NOW + MINUTE
        deliver.deliver(later, transport)
    assert [mail["Message-ID"] for mail in first.mails] == [message_id(the_mail(game))] * 2
    assert row(Turn, (game.id, 0)).started_at == later


def test_while_no_mail_server_is_there_play_goes_on_and_all_mail_waits(table: Begin) -> None:
    game = table(4)
    down = FakeMailer(*[TemporaryFailure("no connection", connection_lost=True) for _ in range(50)])
    for hour in range(30):
        deliver.deliver(NOW + timedelta(hours=hour), down)
    submit(game.id, 0, "pass")
    assert down.sent == []
    assert statuses() == {f"turn:{game.id}:0:1": "waiting", f"turn:{game.id}:1:2": "waiting"}
    messages = send_waiting(NOW + timedelta(hours=31))
    assert [str(message["To"]) for message in messages] == ["Bob <bob@example.org>"]


def test_a_lost_connection_spares_the_rest_of_the_batch(table: Begin) -> None:
    game = table(4)
    for person in game.people:
        queue("cancelled", person, key=f"cancelled:{person}", game_id=game.id, details={"why": "cancelled"})
    fake_mailer = FakeMailer(TemporaryFailure("reset", connection_lost=True))
    deliver.deliver(NOW, fake_mailer)
    assert fake_mailer.sent == []
    deliver.deliver(NOW, fake_mailer)  # the others are due as before, the first one waits a little
    assert len(fake_mailer.sent) == 4


@pytest.mark.parametrize("lasts", [False, True])
def test_a_database_that_does_not_take_the_mark_spares_the_rest_of_the_batch(
    table: Begin, monkeypatch: pytest.MonkeyPatch, lasts: bool
) -> None:
    game = table(4)
    for person in game.people[1:]:
        queue("cancelled", person, key=f"cancelled:{person}", game_id=game.id, details={"why": "cancelled"})
    marks: list[int] = []

    def mark_sent(session: Session, mail: MailRow, now: datetime) -> bool:
        marks.append(mail.id)
        if lasts or len(marks) == 1:
            raise OperationalError("UPDATE outbox", {}, Exception("deadlock detected"))
        return marked(session, mail, now)

    marked = outbox.mark_sent
    monkeypatch.setattr(outbox, "mark_sent", mark_sent)
    fake_mailer = FakeMailer()
    if lasts:
        with pytest.raises(OperationalError):
            deliver.deliver(NOW, fake_mailer)
        assert len(marks) == 2
        monkeypatch.setattr(outbox, "mark_sent", marked)
    deliver.deliver(NOW, fake_mailer)
    assert len(fake_mailer.sent) == 4


def test_one_recipients_4xx_does_not_hold_up_the_others(table: Begin) -> None:
    game = table(4)
    for person in game.people:
        queue("cancelled", person, key=f"cancelled:{person}", game_id=game.id, details={"why": "cancelled"})
    fake_mailer = FakeMailer(TemporaryFailure("451 mailbox busy"))
    deliver.deliver(NOW, fake_mailer)
    assert len(fake_mailer.sent) == 4


def test_a_refusal_stops_the_clock_and_tells_organiser_and_moderators(table: Begin) -> None:
    game = table(4)
    submit(game.id, 0, "pass")
    with engine.transaction() as session:
        people.get_or_create(session, "mod@example.org", "Mo", NOW).moderator = True
    fake_mailer = FakeMailer(PermanentFailure("550 5.1.1 no such user"))
    deliver.deliver(NOW, fake_mailer)
    turn = row(Turn, (game.id, 1))
    assert turn.refused == quoted("550 5.1.1 no such user")
    assert turn.due_at is None
    assert row(Person, game.people[1]).unreachable == quoted("550 5.1.1 no such user")
    told = {str(message["To"]) for message in send_waiting(NOW + MINUTE)}
    assert told == {"Alice <alice@example.org>", "Mo <mod@example.org>"}
    assert statuses()[f"turn:{game.id}:1:2"] == "failed"
    with engine.reading() as session:
        assert len(turns.due_games(session, NOW + timedelta(days=99), 5)) == 0
        assert [alarm.game_id for alarm in session.scalars(select(Alert))] == [game.id]


def test_a_refused_reminder_stops_a_clock_that_runs(table: Begin) -> None:
    game = table(4)
    send_waiting()
    queue("remind", game.people[0], game_id=game.id, seat=0, seq=1)
    deliver.deliver(NOW + timedelta(hours=20), FakeMailer(PermanentFailure("550 gone")))
    assert row(Turn, (game.id, 0)).due_at is None


def test_a_mail_that_comes_back_before_it_is_marked_as_sent_starts_no_clock(table: Begin) -> None:
    game = table(4)
    mail = the_mail(game)
    fake_mailer = FakeMailer()

    def send_and_return(message: Message) -> None:
        fake_mailer.sent.append(received(message))
        assert deliverability.handle_bounce(mail.id, quoted("550 gone"), NOW) is not None

    fake_mailer.send = send_and_return  # type: ignore[method-assign]
    deliver.deliver(NOW, fake_mailer)
    turn = row(Turn, (game.id, 0))
    assert (turn.refused, turn.started_at, turn.due_at) == (quoted("550 gone"), None, None)
    returned = row(Mail, mail.id)
    assert (returned.status, returned.error, returned.finished_at) == ("failed", quoted("550 gone"), NOW)


@pytest.mark.parametrize("wanted", [True, False])
def test_no_mail_starts_a_clock_that_stands_for_another_that_came_back(table: Begin, wanted: bool) -> None:
    game = table(4)
    change(Turn, (game.id, 0), refused=quoted("550 gone"), refused_at=NOW)
    change(Seat, (game.id, 0), silent=not wanted)
    send_waiting()
    turn = row(Turn, (game.id, 0))
    assert (turn.refused, turn.started_at, turn.due_at) == (quoted("550 gone"), None, None)


def test_a_refused_word_about_a_refusal_goes_no_further(table: Begin) -> None:
    game = table(4)
    submit(game.id, 0, "pass")
    deliver.deliver(NOW, FakeMailer(PermanentFailure("550 no"), PermanentFailure("550 no")))
    deliver.deliver(NOW + MINUTE, FakeMailer(PermanentFailure("550 no")))
    assert send_waiting(NOW + timedelta(days=1)) == []


def test_a_link_that_a_moderator_sends_is_not_to_be_ignored(table: Begin) -> None:
    game = table(4)
    send_waiting()
    play.moderate(game.id, "!link 0", reason="it leaked", person_id=outsider(), now=NOW)
    (text,) = [text for text in map(text_of, send_waiting()) if "a moderator sends you your link" in text]
    assert "Use this one from now on" in text
    assert "ignore this email" not in text


def test_the_email_of_an_undo_names_the_move_and_says_what_comes_now(table: Begin) -> None:
    game = table(4)
    submit(game.id, 0, "pass")
    submit(game.id, 1, "pass")
    send_waiting()
    play.moderate(game.id, "!void 3", reason="by mistake", person_id=outsider(), now=NOW)
    found = {str(message["To"]): text_of(message) for message in send_waiting()}
    text = found["Alice <alice@example.org>"]
    assert (
        "Undone, with all that followed: Bob passes.\nThe game is paused until a moderator resumes it" in text
    )
    assert "Undone, with all that followed: You pass." in found["Bob <bob@example.org>"]


def test_a_mail_that_gets_through_ends_the_alarm(table: Begin) -> None:
    game = table(4)
    submit(game.id, 0, "pass")
    deliver.deliver(NOW, FakeMailer(PermanentFailure("550 no")))
    queue("act", game.people[1], game_id=game.id, seat=1, seq=2)
    send_waiting(NOW + MINUTE)
    assert row(Person, game.people[1]).unreachable is None
    with engine.reading() as session:
        assert session.scalar(select(Alert).where(Alert.cleared_at.is_(None))) is None


def test_our_own_bad_settings_blame_nobody(table: Begin) -> None:
    game = table(4)
    deliver.deliver(
        NOW, FakeMailer(TemporaryFailure("535 bad password", connection_lost=True, our_fault=True))
    )
    assert row(Person, game.people[0]).unreachable is None
    with engine.reading() as session:
        (alarm,) = session.scalars(select(Alert))
    assert (alarm.key, alarm.cleared_at) == ("mail-settings", None)
    send_waiting(NOW + MINUTE)
    assert row(Alert, alarm.id).cleared_at == NOW + MINUTE


def test_a_mail_that_waits_for_a_day_raises_an_alarm_and_goes_on_trying(table: Begin) -> None:
    mail = the_mail(table(4))
    deliver.deliver(NOW, FakeMailer(TemporaryFailure("451 busy")))
    with engine.reading() as session:
        assert session.scalar(select(Alert)) is None
    deliver.deliver(NOW + timedelta(hours=25), FakeMailer(TemporaryFailure("451 busy")))
    with engine.reading() as session:
        assert session.scalars(select(Alert)).one().key == f"mail-late:{mail.id}"
    assert len(send_waiting(NOW + timedelta(hours=26))) == 1


def test_a_mailer_that_dies_after_the_server_accepted_sends_one_more_copy_with_the_same_id(
    table: Begin,
) -> None:
    table(4)
    fake_mailer = FakeMailer()

    class Dies(BaseException):
        """Simulate kill -9 as far as the database can tell."""

    def send_and_die(message: Message) -> None:
        fake_mailer.sent.append(received(message))
        raise Dies

    doomed = FakeMailer()
    doomed.send = send_and_die  # type: ignore[method-assign]
    with pytest.raises(Dies):
        deliver.deliver(NOW, doomed)
    assert deliver.deliver(NOW + MINUTE, fake_mailer) == 0
    assert deliver.deliver(NOW + outbox.LEASE, fake_mailer) == 1
    first, second = fake_mailer.sent
    assert first["Message-ID"] == second["Message-ID"]
    assert deliver.deliver(NOW + 9 * outbox.LEASE, fake_mailer) == 0


def test_a_game_that_does_not_replay_holds_up_no_other(table: Begin) -> None:
    broken = table(4)
    good = table(4, game_id="g2")
    change(models.Game, broken.id, rules=99)
    assert [message["References"] for message in send_waiting()] == [f"<{good.id}.table@byzanz.test>"]
    assert statuses()[f"turn:{broken.id}:0:1"] == "waiting"
    with engine.reading() as session:
        assert session.scalars(select(Alert)).one().game_id == broken.id


def test_the_mails_of_a_game_that_is_set_aside_wait_until_it_is_mended(table: Begin) -> None:
    game = table(4)
    change(Game, game.id, quarantine=quoted("a fault"))
    assert send_waiting() == []
    change(Game, game.id, quarantine=None)
    assert len(send_waiting(NOW + MINUTE)) == 1


def test_a_slow_batch_ends_before_its_lease_does(table: Begin) -> None:
    game = table(4)
    for person in game.people:
        queue("cancelled", person, key=f"cancelled:{person}", game_id=game.id, details={"why": "cancelled"})
    seconds = iter([0.0, 0.0, 200.0, 400.0, 600.0])
    fake_mailer = FakeMailer()
    deliver.deliver(NOW, fake_mailer, steady=lambda: next(seconds))
    assert [message["Date"].datetime for message in fake_mailer.sent] == [NOW, NOW + timedelta(seconds=200)]
    assert len(send_waiting(NOW + MINUTE)) == 3


def test_no_token_gets_into_a_log_or_the_database(table: Begin, caplog: pytest.LogCaptureFixture) -> None:
    game = table(4)
    caplog.set_level(logging.DEBUG)
    token = game.tokens[0]
    deliver.deliver(
        NOW, FakeMailer(TemporaryFailure(f"451 con\x00tent https://byzanz.test/t/{token} refused"))
    )
    deliver.deliver(NOW + MINUTE, FakeMailer(PermanentFailure(f"554 spam: https://byzanz.test/t/{token}")))
    send_waiting(NOW + 2 * MINUTE)
    assert token not in caplog.text
    with engine.reading() as session:
        rows = [json.dumps([str(mail.error), mail.details]) for mail in session.scalars(select(Mail))]
        rows += [str(alarm.text) for alarm in session.scalars(select(Alert))]
    assert token not in "".join(rows)


def test_a_mail_that_gets_through_mails_every_stopped_turn_again(table: Begin) -> None:
    games = [table(4, game_id="one"), table(4, game_id="two")]
    deliver.deliver(
        NOW, FakeMailer(PermanentFailure("550 no such user"), PermanentFailure("550 no such user"))
    )
    assert [row(Turn, (game.id, 0)).refused for game in games] == [quoted("550 no such user")] * 2
    queue("signin", games[0].people[0], key="signin:9", details=_sign_in(games[0].people[0]))
    assert len(send_waiting(NOW + MINUTE)) == 3
    for game in games:
        turn = row(Turn, (game.id, 0))
        assert turn.refused is None
        assert turn.due_at == NOW + MINUTE + timedelta(days=1)


class Dies(BaseException):
    """Simulate kill -9 as far as the database can tell."""


@pytest.mark.parametrize("mended", ["asked", "accepted"])
def test_a_server_that_dies_while_an_address_mends_mails_its_turns_later(
    table: Begin, monkeypatch: pytest.MonkeyPatch, mended: str
) -> None:
    game = table(4)
    deliver.deliver(NOW, FakeMailer(PermanentFailure("550 gone")))

    def mend(at: datetime) -> None:
        if mended == "asked":
            deliverability.mark_reachable(game.people[0], at)
        else:
            queue("cancelled", game.people[0], key=f"at {at}", game_id=game.id, details={"why": "cancelled"})
            send_waiting(at)

    with monkeypatch.context() as doomed:
        doomed.setattr("server.play.game.hand_over", lambda *_, **_more: (_ for _ in ()).throw(Dies))
        with pytest.raises(Dies):
            mend(NOW + MINUTE)
    assert row(Person, game.people[0]).unreachable is not None  # the page goes on to offer another try
    mend(NOW + 2 * MINUTE)
    send_waiting(NOW + 2 * MINUTE)
    turn = row(Turn, (game.id, 0))
    assert (turn.refused, turn.started_at) == (None, NOW + 2 * MINUTE)
    assert row(Person, game.people[0]).unreachable is None
    with engine.reading() as session:
        assert session.scalar(select(Alert).where(Alert.cleared_at.is_(None))) is None


def test_a_turn_that_stands_though_its_players_address_is_good_is_mailed_again(table: Begin) -> None:
    game = table(4)
    send_waiting()
    assert not deliverability.mark_reachable(game.people[0], NOW)
    change(Turn, (game.id, 0), refused=quoted("550 gone"), refused_at=NOW)
    assert deliverability.mark_reachable(game.people[0], NOW + MINUTE)
    assert row(Turn, (game.id, 0)).refused is None


def come_back(at: datetime) -> None:
    """Bounce the newest turn email, and request the emails again."""
    with engine.reading() as session:
        sent = select(Mail).where(Mail.kind == "turn", Mail.status == "sent").order_by(Mail.id.desc())
        mail = session.scalars(sent).first()
    assert mail is not None
    assert deliverability.handle_bounce(mail.id, quoted("550 gone"), at) is not None
    assert deliverability.mark_reachable(mail.person_id, at)


def test_a_clock_begins_anew_once_when_its_mail_came_back(table: Begin) -> None:
    game = table(4)
    change(Seat, (game.id, 0), bank=7200)
    change(Turn, (game.id, 0), bank=7200)
    send_waiting()
    come_back(NOW + timedelta(hours=20))
    (message,) = send_waiting(NOW + timedelta(hours=30))
    assert row(Turn, (game.id, 0)).due_at == NOW + timedelta(hours=56)
    assert "Wed 4 Mar, 16:00" in text_of(message)
    assert (row(Turn, (game.id, 0)).bank, row(Turn, (game.id, 0)).anew) == (7200, True)


def test_a_second_bounce_in_a_turn_stops_nothing(table: Begin) -> None:
    game = table(4)
    change(Turn, (game.id, 0), anew=True)
    send_waiting()
    come_back(NOW + timedelta(hours=20))
    assert send_waiting(NOW + timedelta(hours=30)) == []
    turn = row(Turn, (game.id, 0))
    assert (turn.refused, turn.due_at) == (None, NOW + timedelta(hours=24))
    assert row(Seat, (game.id, 0)).bounces == 0


def test_a_report_about_an_old_copy_or_an_old_mail_stops_nothing(table: Begin) -> None:
    game = table(4)
    change(Game, game.id, allowance=30 * 86400)
    send_waiting()
    come_back(NOW + timedelta(hours=1))
    send_waiting(NOW + timedelta(hours=2))
    first, second = statuses()
    assert (first, second.startswith(f"{first}:again")) == (f"turn:{game.id}:0:1", True)
    with engine.reading() as session:
        ids = {mail.key: mail.id for mail in session.scalars(select(Mail).where(elsewhere(Mail)))}
    change(Mail, ids[first], status="sent")
    deliverability.handle_bounce(ids[first], quoted("550 gone"), NOW + timedelta(hours=3))
    late = NOW + deliverability.REPORT_WINDOW + timedelta(hours=3)
    deliverability.handle_bounce(ids[second], quoted("550 gone"), late)
    deliverability.handle_complaint(ids[second], quoted("abuse"), late)
    assert row(Person, game.people[0]).suppressed is None
    assert row(Turn, (game.id, 0)).refused is None
    deliverability.handle_bounce(ids[second], quoted("550 gone"), late - timedelta(hours=2))
    assert row(Person, game.people[0]).suppressed == quoted("550 gone")


def _sign_in(person_id: int) -> dict[str, int]:
    with engine.transaction() as session:
        link = links.issue(session, LinkPurpose.SIGNIN, person_id, NOW, expires_at=NOW + timedelta(hours=1))
        return {"link": link.id}


@one_database
@pytest.mark.parametrize(
    ("winners", "scores", "first"),
    [
        ((3,), (12, 20, 20, 27), "You came 4th with 12; Daphne won “The Golden Horn” with 27."),
        ((3,), (23, 20, 12, 27), "You came 2nd with 23; Daphne won “The Golden Horn” with 27."),
        ((0,), (27, 20, 12, 23), "You won “The Golden Horn” with 27!"),
        ((0, 3), (27, 20, 12, 27), "You share the win in “The Golden Horn” with 27!"),
        ((1, 3), (12, 27, 12, 27), "You came 3rd with 12; the win in “The Golden Horn” is shared."),
    ],
)
def test_the_mail_about_the_end_tells_the_readers_place_and_ranks_everybody(
    table: Begin,
    monkeypatch: pytest.MonkeyPatch,
    winners: tuple[int, ...],
    scores: tuple[int, ...],
    first: str,
) -> None:
    game, places = table(4), placed(scores)
    monkeypatch.setattr(Byzanz, "places", lambda *_: places)
    send_waiting()
    with engine.transaction() as session:
        row = session.get_one(Game, game.id)
        row.status, row.ended_at = "over", NOW
        row.result = json.dumps({"scores": scores, "winners": winners, "reason": "finished"})
    queue("over", game.people[0], game_id=game.id, seat=0, seq=1)
    (message,) = send_waiting()
    text, html = text_of(message), html_of(message)
    assert text.startswith(first)
    assert_same(text, words_of(html))
    html5lib.HTMLParser(strict=True).parse(html)
    ranked = sorted((place, seat) for seat, place in enumerate(places))
    listed = [f"{place}. {'You' if seat == 0 else NAMES[seat]}: {scores[seat]}" for place, seat in ranked]
    assert [line for line in text.splitlines() if line[:2].rstrip(".").isdigit()] == listed
    assert re.findall(r'<div class="step place-(\d)"', html) == [str(place) for place, _seat in ranked[:3]]
    assert len(re.findall(r'<(?:span|tr) class="(?:who )?own"', html)) == 1  # the reader stands out
    shown = words_of(html)
    assert [shown.index(line) for line in listed] == sorted(shown.index(line) for line in listed)


@one_database
@pytest.mark.parametrize(
    ("scores", "winners", "first"),
    [
        ((13, 17), (1,), "You lost “The Golden Horn” to Bob, 13 to 17."),
        ((17, 13), (0,), "You won “The Golden Horn” with 17!"),
        ((15, 15), (0, 1), "You share the win in “The Golden Horn” with 15!"),
    ],
)
def test_a_duel_is_won_or_lost(
    table: Begin, scores: tuple[int, ...], winners: tuple[int, ...], first: str
) -> None:
    game = table(2, slug="empire")
    send_waiting()
    end(game, scores, winners)
    queue("over", game.people[0], game_id=game.id, seat=0, seq=1)
    assert text_of(send_waiting()[0]).split("\n")[0] == first


@one_database
@pytest.mark.parametrize("tie", [True, False])
def test_a_tie_that_was_broken_is_explained(table: Begin, monkeypatch: pytest.MonkeyPatch, tie: bool) -> None:
    game, scores = table(4), (23, 28, 23, 20) if tie else (24, 28, 23, 20)
    monkeypatch.setattr(Byzanz, "places", lambda *_: (3, 1, 2, 4) if tie else (2, 1, 3, 4))
    send_waiting()
    end(game, scores, (1,))
    queue("over", game.people[0], game_id=game.id, seat=0, seq=1)
    (message,) = send_waiting()
    why = r"If profits are equal, the player with more cards left is ahead: Charlie \d+, you \d+\."
    for said in (" ".join(text_of(message).split()), words_of(html_of(message))):
        assert bool(re.search(why, said)) == tie


def end(game: Table, scores: tuple[int, ...], winners: tuple[int, ...]) -> None:
    """End a game with this result."""
    with engine.transaction() as session:
        row = session.get_one(Game, game.id)
        row.status, row.ended_at = "over", NOW
        row.result = json.dumps({"scores": scores, "winners": winners, "reason": "finished"})
