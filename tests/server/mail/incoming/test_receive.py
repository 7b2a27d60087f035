"""Incoming emails are processed once, strangers get nothing, and working addresses are emailed again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from importlib import resources
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select

from byzanz.games import rules_of
from server import play
from server.accounts import login
from server.mail import deliverability
from server.mail.incoming import bounces, commands, lmtp, mime, receive, reply
from server.mail.incoming.html_text import as_text
from server.mail.incoming.quoting import Known, own_text
from server.mail.outgoing import deliver
from server.mail.outgoing.letters import EXAMPLES, examples
from server.play import positions
from server.store import engine, links, log, outbox, people
from server.store.facts import Fact
from server.store.models import (
    Alert,
    Game,
    IncomingMail,
    LinkPurpose,
    Mail,
    Person,
    Presence,
    Seat,
    StandingOrder,
    Turn,
)
from tests.conftest import NOW, Table
from tests.support.games import change, loaded, outsider, row, submit
from tests.support.mail_servers import FaultyServer
from tests.support.mails import assert_same, awaited, bold_move, html_of, queue, text_of, the_mail, words_of
from tests.support.neighbour_game import elsewhere
from tests.support.sample_mails import (
    ALICE,
    DOMAIN,
    Mailbox,
    count_answers,
    mailbox,
    moves_of,
    remembered,
    sample_mails,
    send_and_return,
    with_replies,
    written,
)
from tests.support.talk import said

Begin = Callable[..., Table]
MINUTE = timedelta(minutes=1)
one_database = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
BOUNCED = next(letter for letter in sample_mails() if letter.name == "dsn-postfix")
COMPLAINT = next(letter for letter in sample_mails() if letter.name == "arf-abuse")


@pytest.fixture
def game(app: Flask, table: Begin) -> Table:
    """Start a game of four with replies by email enabled."""
    with_replies(app)
    return table(4)


@pytest.fixture
def box(game: Table) -> Mailbox:  # noqa: ARG001 - requested for its effect
    """Send the email about the first turn."""
    return mailbox()


def to_alice(now: datetime = NOW) -> list[str]:
    """Return the texts of the emails now sent to Alice."""
    return [text_of(message) for message in send_and_return(now) if "alice" in str(message["To"])]


# Turn mails


@one_database
def test_a_turn_mail_says_where_and_how_to_answer(game: Table) -> None:
    (message,) = send_and_return()
    text = text_of(message)
    parts = [
        "Move by",
        "\n\n##- ",
        "\n  or reply: pass\n",
        "\n  or reply: bid olive1\n",
        "\n  or reply: bid olive1 olive2\n",
        "Write your reply above",
    ]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert message["Reply-To"] in text
    assert_same(text, words_of(html_of(message)))
    mail = the_mail(game)
    assert deliverability.mail_id_in(message["Return-Path"]) == mail.id
    assert str(mail.id) not in message["Return-Path"].partition("-")[0]


@one_database
@pytest.mark.parametrize(("slug", "seats"), [("byzanz", 4), ("byzantium", 3), ("empire", 2)])
def test_a_line_above_our_html_is_found_though_no_sign_marks_the_quote(
    app: Flask, table: Begin, slug: str, seats: int
) -> None:
    with_replies(app)
    table(seats, slug=slug)
    html = html_of(send_and_return()[0])
    assert html.index("##- ") < html.index("<h1")
    assert own_text(as_text(f"<p>first line<br>second line</p>{html}"), Known()).lines == (
        "first line",
        "second line",
    )


@one_database
def test_a_reminder_has_the_same_address_and_the_next_turn_another(game: Table, box: Mailbox) -> None:
    queue("remind", game.people[0], game_id=game.id, seat=0, seq=1)
    (reminder,) = send_and_return(NOW + MINUTE)
    assert reminder["Reply-To"] == box.reply
    submit(game.id, 0, "pass")
    (bobs,) = send_and_return()
    assert bobs["Reply-To"] != box.reply


@one_database
def test_the_envelope_sender_is_a_mails_own_and_no_header(game: Table) -> None:
    with FaultyServer().running() as server, server.transport() as transport:
        deliver.deliver(NOW, transport)
    (mail,) = server.mails
    assert "Return-Path" not in mail
    (sender,) = server.senders
    assert deliverability.mail_id_in(sender) == the_mail(game).id


def test_examples_are_legal_moves_one_of_each_verb_first() -> None:
    moves = [f"{verb} {n}" for verb in ("bid", "take", "sell") for n in range(4)] + ["pass", "x" * 100]
    shown = examples(moves, "pass")
    assert len(shown) == EXAMPLES
    assert set(shown) <= set(moves)
    assert len({move.split()[0] for move in shown}) == EXAMPLES
    assert examples(["pass"], "pass") == ["pass"]
    melds = ["meld", *(f"meld {'card ' * 30}{n}" for n in range(99)), "meld tax"]
    assert examples(melds, melds[1]) == ["meld tax"], "of a long list the shortest that has an argument"


def test_no_move_is_picked_at_random_from_a_long_list() -> None:
    moves = [f"pass {number}" for number in range(286)]
    assert examples(moves, "pass 9") == ["pass 9"]
    assert examples([*moves, "stay"], "pass 9") == ["pass 9", "pass 0", "stay"]


# Replies


def test_a_reply_plays_and_is_answered_once(game: Table, box: Mailbox) -> None:
    box.write("bid olive1")
    box.write("bid olive1")
    assert moves_of(game.id, 0) == ["bid olive1"]
    (text,) = to_alice()
    assert text.startswith("Your line was carried out.")
    assert "- Line 1, “bid olive1”: played (entry 2)." in text
    assert "- You bid Olives 1 (+1)." in text


@one_database
def test_what_cannot_be_read_is_told_line_by_line_with_the_legal_moves(game: Table, box: Mailbox) -> None:
    box.write("pass", "sing")
    assert moves_of(game.id, 0) == []
    (text,) = to_alice()
    for words in (
        "nothing has changed",
        "Line 1, “pass”: not played",
        "Line 2, “sing”: There is no",
        "- bid olive2",
    ):
        assert words in text


@one_database
def test_an_answer_proves_that_its_writer_has_our_mail(game: Table, box: Mailbox) -> None:
    box.write("pass", sender="bob@example.org")
    assert row(Presence, (game.people[0], game.id)) is None
    box.write("pass", number=2)
    assert row(Presence, (game.people[0], game.id)).at == NOW


@one_database
def test_an_answer_to_an_old_turn_says_so(game: Table, box: Mailbox) -> None:
    for seat in range(4):
        submit(game.id, seat, "pass")
    box.write("bid olive1")
    assert "bid olive1" not in moves_of(game.id, 0)
    assert any("That turn is over. If it is your turn again" in text for text in to_alice())


@one_database
def test_lines_are_played_on_as_long_as_nobody_else_comes_in_between(game: Table, box: Mailbox) -> None:
    box.write("sell olive1 olive2 merchant", "bid olive2", "pass")
    assert moves_of(game.id, 0) == ["sell olive1 olive2 merchant", "bid olive2"]
    (text,) = to_alice()
    assert text.startswith("Only part of your email was played.")
    assert "Line 3, “pass”: Not played: the game moved on after the previous line." in text


@one_database
def test_a_line_is_not_played_on_what_its_writer_cannot_have_meant(
    game: Table, box: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    submitted = play.submit

    def interrupted(*args: Any, **more: Any) -> play.Receipt:
        receipt = submitted(*args, **more)
        for act in ("!pause", "!resume"):
            play.moderate(game.id, act, reason="x", person_id=outsider(), now=NOW)
        return receipt

    monkeypatch.setattr(play, "submit", interrupted)
    box.write("sell olive1 olive2 merchant", "bid olive2")
    assert moves_of(game.id, 0) == ["sell olive1 olive2 merchant"]


@one_database
def test_nobody_else_can_answer_and_only_the_player_hears_of_it(game: Table, box: Mailbox) -> None:
    for number, sender in enumerate(
        ("bob@example.org", "alice@example.org.evil.example", "mallory@evil.example")
    ):
        box.write("pass", number=number, sender=sender)
    assert moves_of(game.id, 0) == moves_of(game.id, 1) == []
    messages = send_and_return()
    assert {str(message["To"]) for message in messages} == {"Alice <alice@example.org>"}
    assert all("from a different address" in text_of(message) for message in messages)


@one_database
def test_what_stands_behind_a_plus_may_be_missing_in_an_answer(game: Table, box: Mailbox) -> None:
    change(Person, game.people[0], email="alice+byzanz@example.org")
    box.write("pass", sender="alice+other@example.org")
    assert moves_of(game.id, 0) == []
    box.write("pass", sender=ALICE, number=2)
    assert moves_of(game.id, 0) == ["pass"]


@one_database
def test_an_address_dies_with_the_seats_links(game: Table, box: Mailbox) -> None:
    play.moderate(game.id, "!link 0", reason="lost", person_id=outsider(), now=NOW)
    with pytest.raises(receive.NoSuchAddress):
        box.write("pass")
    assert remembered() == []


@one_database
def test_orders_come_by_mail_are_sealed_and_taken_back(game: Table, box: Mailbox) -> None:
    submit(game.id, 0, "pass")
    box.write("ORDER pass this lot", "order ladder olive1 upto 3 then pass")
    assert [order.status for order in orders()] == ["withdrawn", "standing"]
    assert any("your standing order is “ladder olive1 upto 3 then pass”" in text for text in to_alice())
    box.write("orders off", number=2)
    assert [order.status for order in orders()] == ["withdrawn", "withdrawn"]
    assert any("Line 1, “orders off”: one standing order withdrawn." in text for text in to_alice())


def orders() -> list[StandingOrder]:
    """Return all standing orders ever submitted."""
    with engine.reading() as session:
        return list(
            session.scalars(select(StandingOrder).where(elsewhere(StandingOrder)).order_by(StandingOrder.id))
        )


class Dies(BaseException):
    """Simulate kill -9 as far as the database can tell."""


@pytest.mark.parametrize("line", ["bid olive1", "order ladder olive1 olive2 upto 3 then pass"])
def test_a_server_that_dies_in_between_does_it_once_when_the_mail_comes_again(
    game: Table, box: Mailbox, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as doomed:
        doomed.setattr(receive, "_finish", lambda *_, **__: (_ for _ in ()).throw(Dies))
        with pytest.raises(Dies):
            box.write(line)
    assert count_answers(game.id) == 0
    before = moves_of(game.id, 0)
    box.write(line, now=NOW + MINUTE)
    assert moves_of(game.id, 0) == before
    assert len(orders()) == line.startswith("order")
    assert [str(row.outcome) for row in remembered()] == ["1 of 1 lines carried out"]
    assert count_answers(game.id) == 1


@one_database
def test_orders_are_left_once_however_often_the_server_dies(
    game: Table, box: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit(game.id, 0, "pass")
    said = ("order ladder olive1 upto 3 then pass", "order ladder olive2 upto 3 then pass")

    def dies(*_args: Any, **_more: Any) -> None:
        raise Dies

    def leaves_one(*args: Any, **more: Any) -> play.OrderResult:
        monkeypatch.setattr(play, "place_order", dies)
        return left(*args, **more)

    left = play.place_order
    monkeypatch.setattr(play, "place_order", leaves_one)
    with pytest.raises(Dies):
        box.write(*said)
    monkeypatch.setattr(play, "place_order", left)
    with monkeypatch.context() as doomed:
        doomed.setattr(receive, "_finish", dies)
        with pytest.raises(Dies):
            box.write(*said, now=NOW + MINUTE)
    box.write(*said, now=NOW + 2 * MINUTE)
    assert len(orders()) == 2


@one_database
def test_answers_have_an_end_on_a_day(game: Table, box: Mailbox) -> None:
    for number in range(45):
        box.write("tax olive1", number=number)
    assert count_answers(game.id) == receive.ANSWERS_A_DAY == 40
    assert ["This is the last answer today." in text for text in to_alice()] == [False] * 39 + [True]
    box.write("pass", number=99)
    assert moves_of(game.id, 0) == ["pass"]
    box.write("tax olive1", number=100, now=NOW + timedelta(days=1, minutes=1))
    assert count_answers(game.id) == receive.ANSWERS_A_DAY + 1


@one_database
def test_a_reply_takes_the_seat_back_from_the_autopilot(game: Table, box: Mailbox) -> None:
    change(Seat, (game.id, 0), autopilot=True)
    box.write("tax olive1")  # which is not asked for
    assert not row(Seat, (game.id, 0)).autopilot


@one_database
def test_a_paused_or_finished_game_says_so(game: Table, box: Mailbox) -> None:
    play.moderate(game.id, "!pause", reason="x", person_id=outsider(), now=NOW)
    box.write("pass")
    assert any("paused" in text for text in to_alice())
    play.moderate(game.id, "!abandon", reason="x", person_id=outsider(), now=NOW)
    box.write("pass", number=2)
    assert any("The game is over" in text for text in to_alice())


def test_a_line_that_a_mail_reader_broke_is_mended() -> None:
    rules = rules_of("empire")
    whole = "meld light-cavalry light-cavalry light-infantry stronghold reforms unique-art greek-orthodoxy"
    broken = tuple(whole.rsplit(" ", 1))
    assert [line.text for line in commands.read_lines(rules, broken)] == [whole]
    assert [
        line.fault is None for line in commands.read_lines(rules, ("meld reforms", "greek-orthodoxy"))
    ] == [
        True,
        False,
    ]


@pytest.mark.parametrize(("length", "lines"), [(60, 1), (59, 2)])
def test_a_line_is_mended_from_the_length_at_which_mail_readers_break_it(length: int, lines: int) -> None:
    broken = ("meld reforms".ljust(length), "greek-orthodoxy")
    assert len(commands.read_lines(rules_of("empire"), broken)) == lines


@one_database
def test_a_line_may_answer_the_question_that_the_line_before_it_opened(game: Table) -> None:
    for seat in (0, 1, 2):
        submit(game.id, seat, "pass")
    daphne = mailbox()
    bid = bold_move(game.id, 3)
    with engine.reading() as session:
        position = positions.current(loaded(session, game.id))
    rules = position.rules
    tax = str(rules.moves(rules.apply(position.state, 3, rules.parse(bid)), 3)[0])
    assert daphne.write(bid, tax, sender="daphne@example.org") == "2 of 2 lines carried out"
    assert moves_of(game.id, 3) == [bid, tax]


def test_an_email_is_marked_as_done_once(box: Mailbox, game: Table) -> None:
    box.write("pass")
    with engine.transaction() as session:
        row = session.scalars(select(IncomingMail)).one()
        before = (row.kind, row.outcome, row.game_id)
        assert not receive._mark_done(session, row, "other", Fact("no_report"), None)
        session.refresh(row)
        assert (row.kind, row.outcome, row.game_id) == before == ("reply", row.outcome, game.id)


@pytest.mark.usefixtures("game")
def test_why_a_mail_is_left_alone_is_kept_without_what_could_harm(box: Mailbox) -> None:
    raw = written("pass").replace(
        b"Subject:", b"Auto-Submitted: auto-replied\0b " + ALICE.encode() + b"\nSubject:"
    )
    receive.receive(raw, ALICE, box.reply, NOW)
    assert [str(row.outcome) for row in remembered()] == [
        "ignored: it was sent automatically: auto-replied b …"
    ]


# Absence notes, and mails that look like them


def absent(
    subject: str, text: str = "Je suis absent jusqu'au 9 mars.", number: int = 1, head: str = ""
) -> bytes:
    """Return an absence note without a header that tells of it."""
    top = f"From: {ALICE}\nMessage-ID: <absent{number}@example.org>\nSubject: {subject}\n{head}"
    return f"{top}Content-Type: text/plain; charset=utf-8\n\n{text}\n".encode()


@one_database
@pytest.mark.parametrize(
    ("subject", "kind"), [("Réponse automatique : Byzanz", "auto"), ("Re: Byzanz", "refused")]
)
def test_an_absence_note_ends_no_autopilot_and_proves_nothing(
    game: Table, box: Mailbox, subject: str, kind: str
) -> None:
    change(Seat, (game.id, 0), autopilot=True, missed=1)
    change(Person, game.people[0], unreachable=Fact("not_delivered"))
    receive.receive(absent(subject), ALICE, box.reply, NOW)
    seat, alice = row(Seat, (game.id, 0)), row(Person, game.people[0])
    assert (seat.autopilot, seat.missed) == (True, 1)
    assert alice.unreachable is not None
    people.store()
    with engine.reading() as session:
        assert people.last(session, game.people[0]) is None
    assert [row.kind for row in remembered()] == [kind]
    assert count_answers(game.id) == (kind == "refused")


@one_database
@pytest.mark.parametrize("line", ["pass", "tax olive1", "order pass", "orders off", "say I am back."])
def test_a_line_that_can_be_read_ends_the_autopilot_or_mends_the_address(
    game: Table, box: Mailbox, line: str
) -> None:
    change(Seat, (game.id, 0), autopilot=True, missed=1)
    change(Person, game.people[0], unreachable=Fact("not_delivered"))
    box.write(line)
    assert row(Person, game.people[0]).unreachable is None
    assert row(Seat, (game.id, 0)).autopilot is line.startswith("say")  # words end none


@one_database
def test_one_unreadable_mail_a_turn_is_answered(game: Table, box: Mailbox) -> None:
    for number in range(5):
        receive.receive(absent("Re: Byzanz", number=number), ALICE, box.reply, NOW + number * MINUTE)
    assert count_answers(game.id) == 1
    (message,) = (message for message in send_and_return(NOW) if message["To"] == "Alice <alice@example.org>")
    assert message["Auto-Submitted"] == "auto-replied"
    assert "We answer only one email like this until your next turn." in text_of(message)
    box.write("tax olive1", number=9)  # which can be read
    assert count_answers(game.id) == 2
    box.write("pass", number=10)
    while awaited(game.id) != 0:
        submit(game.id, awaited(game.id), bold_move(game.id, awaited(game.id)), NOW)
    again = next(message for message in send_and_return(NOW) if message["To"] == "Alice <alice@example.org>")
    before = count_answers(game.id)
    receive.receive(absent("Re: Byzanz", number=20), ALICE, str(again["Reply-To"]), NOW)
    assert count_answers(game.id) == before + 1


@one_database
def test_strangers_who_answer_each_answer_get_one_a_turn(game: Table, box: Mailbox) -> None:
    for number in range(5):
        box.write("I am away", number=number, sender="forwarded@example.net")
    assert count_answers(game.id) == 1


@one_database
@pytest.mark.parametrize(
    "head", ["Precedence: bulk\n", "List-Id: <all.example.org>\n", "X-MS-Exchange-Inbox-Rules-Loop: a\n"]
)
def test_what_a_gateway_adds_to_a_players_own_mail_stops_no_move(
    game: Table, box: Mailbox, head: str
) -> None:
    receive.receive(absent("Re: Byzanz", "hello there", 1, head), ALICE, box.reply, NOW)
    assert (moves_of(game.id, 0), count_answers(game.id)) == ([], 0)  # no answer to what may be a list's
    receive.receive(absent("Re: Byzanz", "pass", 2, head).replace(b"alice", b"bob"), ALICE, box.reply, NOW)
    assert (moves_of(game.id, 0), count_answers(game.id)) == ([], 0)
    receive.receive(absent("Re: Byzanz", "pass", 3, head), ALICE, box.reply, NOW)
    assert moves_of(game.id, 0) == ["pass"]


@one_database
def test_an_absence_note_says_nothing_at_the_table(game: Table, box: Mailbox) -> None:
    talk = box.address("talk")
    assert receive.receive(absent("Frånvarande", "Jag är borta."), ALICE, talk, NOW).startswith("ignored: ")
    receive.receive(absent("Re: Byzanz", "Hello, all.", 2, "Precedence: list\n"), ALICE, talk, NOW)
    assert [text for _seat, text in said(game)] == ["Hello, all."]


@one_database
@pytest.mark.parametrize("what", ["reply", "bounce", "complaint"])
def test_a_mail_is_parsed_once_at_the_door(box: Mailbox, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    whole: list[int] = []
    parse = mime.parse

    def counted(raw: bytes, depth: int = 0) -> mime.Part:
        whole.extend([len(raw)] * (depth == 0))
        return parse(raw, depth)

    monkeypatch.setattr(mime, "parse", counted)
    if what == "reply":
        assert box.write("pass").startswith("1 of 1")
    else:
        box.send(BOUNCED if what == "bounce" else COMPLAINT)
    assert whole.count(max(whole)) == 1  # a report also has a copy of our mail in it


@one_database
@pytest.mark.usefixtures("game")
def test_a_mail_is_claimed_before_it_is_read(box: Mailbox, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[bytes] = []

    def noted(parse: Callable[..., Any]) -> Callable[..., Any]:
        def parsed(raw: bytes, *args: object, **how: object) -> Any:
            read.append(raw)
            return parse(raw, *args, **how)

        return parsed

    monkeypatch.setattr(bounces, "parse_report", noted(bounces.parse_report))
    monkeypatch.setattr(reply, "parse_reply", noted(reply.parse_reply))
    monkeypatch.setattr(log, "report_missing", lambda text, _now: read.append(text.encode()))
    for _ in range(3):
        box.write("pass")
        box.send(BOUNCED)
    assert len(read) == 4  # the search for our marks, and the mail itself, once each


# Unsubscribing by email


@one_database
def test_a_mail_to_the_unsubscribe_address_stops_what_its_link_stops(game: Table) -> None:
    (turn, *_others) = send_and_return()
    by_mail = str(turn["List-Unsubscribe"]).partition("<mailto:")[2].partition("?")[0]
    assert by_mail.startswith("stop+")
    assert receive.is_ours(by_mail)
    raw = b"From: somebody@example.net\nMessage-ID: <u1@example.net>\nSubject: unsubscribe\n\n"
    assert receive.receive(raw, "", by_mail, NOW) == "emails stopped at their reader’s request"
    assert row(Seat, (game.id, 0)).silent
    assert not row(Person, game.people[0]).silent
    change(Seat, (game.id, 0), silent=False)
    assert receive.receive(raw, "", by_mail, NOW) == "seen before"
    assert not row(Seat, (game.id, 0)).silent
    assert count_answers(game.id) == 0
    for other in (
        by_mail.replace("stop+", "play+"),
        f"stop+{game.tokens[0]}@{DOMAIN}",
        f"stop+{'a' * 26}@{DOMAIN}",
    ):
        with pytest.raises(receive.NoSuchAddress):
            receive.receive(raw, "", other, NOW)


@one_database
@pytest.mark.parametrize(
    ("purpose", "way"), [("stop", "stop"), ("noinvite", "stop"), ("noplayers", "stop"), ("stop", "stoptalk")]
)
def test_each_unsubscribe_address_stops_its_own(game: Table, purpose: str, way: str) -> None:
    change(Person, game.people[0], talk="once")
    with engine.transaction() as session:
        token = links.token(links.issue(session, LinkPurpose(purpose), game.people[0], NOW))
    receive.receive(b"Subject: unsubscribe\n\n", ALICE, f"{way}+{token}@{DOMAIN}", NOW)
    alice = row(Person, game.people[0])
    assert alice.no_invitations is (purpose == "noinvite")
    assert alice.no_player_news is (purpose == "noplayers")
    assert alice.silent is (purpose == way == "stop")
    assert (alice.talk == "turns") is (way == "stoptalk")


# Bounces and complaints


def test_a_bounce_stops_the_clock_and_tells_organiser_and_moderators(game: Table) -> None:
    with engine.transaction() as session:
        people.get_or_create(session, "mod@example.org", "Mo", NOW).moderator = True
    send_and_return()
    submit(game.id, 0, "pass")
    (message,) = send_and_return()
    bobs = Mailbox(message["Reply-To"], message["Return-Path"].strip("<>"))
    bobs.send(BOUNCED, NOW + MINUTE)
    turn = row(Turn, (game.id, 1))
    assert turn.refused is not None
    assert turn.due_at is None
    assert "5.1.1" in str(turn.refused)
    assert "alice@example.org" not in str(turn.refused)
    told = {str(message["To"]) for message in send_and_return(NOW + MINUTE)}
    assert told == {"Alice <alice@example.org>", "Mo <mod@example.org>"}


@one_database
def test_nothing_but_mail_asked_for_goes_where_a_mail_bounced(game: Table, box: Mailbox) -> None:
    box.send(BOUNCED)
    queue("act", game.people[0], game_id=game.id, seat=0, seq=1)
    assert to_alice() == []
    login.mail_sign_in(ALICE, NOW)
    assert len(to_alice()) == 1
    assert row(Person, game.people[0]).suppressed is not None  # accepted is not arrived


def by_signing_in(game: Table, _box: Mailbox, _client: FlaskClient) -> None:
    with engine.transaction() as session:
        link = links.issue(
            session, LinkPurpose.SIGNIN, game.people[0], NOW, expires_at=NOW + timedelta(hours=1)
        )
    assert login.redeem(links.token(link), NOW) is not None


def by_answering(_game: Table, box: Mailbox, _client: FlaskClient) -> None:
    box.write("tax olive1")


def by_the_button(game: Table, _box: Mailbox, client: FlaskClient) -> None:
    page = client.get(f"/t/{game.tokens[0]}").text
    assert "We cannot reach you by email." in page
    assert client.post(f"/t/{game.tokens[0]}/mail").status_code == 303
    assert "We cannot reach you by email." not in client.get(f"/t/{game.tokens[0]}").text


@one_database
@pytest.mark.parametrize("mend", [by_signing_in, by_answering, by_the_button])
def test_an_address_is_mended_and_its_stopped_turns_are_mailed_again(
    game: Table, box: Mailbox, client: FlaskClient, mend: Callable[[Table, Mailbox, FlaskClient], None]
) -> None:
    box.send(BOUNCED)
    mend(game, box, client)
    later = engine.utc_now() + MINUTE  # the button knows no other time
    assert any(text.startswith("Bid for the lot, or pass.") for text in to_alice(later))
    assert row(Person, game.people[0]).suppressed is None
    assert row(Turn, (game.id, 0)).refused is None
    assert row(Turn, (game.id, 0)).due_at is not None
    with engine.reading() as session:
        assert session.scalar(select(Alert).where(Alert.cleared_at.is_(None))) is None


@one_database
@pytest.mark.parametrize("report", [BOUNCED, COMPLAINT])
def test_a_report_about_a_mail_that_was_deleted_is_recorded_and_changes_nothing(
    game: Table, box: Mailbox, report: Any
) -> None:
    change(Game, game.id, status="over", ended_at=NOW)
    queue("newest", game.people[0], delay=10**9)
    assert outbox.purge(NOW + outbox.RETENTION) > 0
    box.send(report, NOW + outbox.RETENTION)
    newest = remembered()[-1]
    assert newest.kind == ("bounce" if report is BOUNCED else "complaint")
    assert (newest.person_id, newest.game_id) == (None, None)
    assert row(Person, game.people[0]).suppressed is None
    with engine.reading() as session:
        assert session.scalars(select(Alert)).all() == []


@one_database
def test_after_a_complaint_turns_are_not_mailed_and_the_organiser_hears_of_it_once(game: Table) -> None:
    send_and_return()
    submit(game.id, 0, "pass")
    (message,) = send_and_return()
    Mailbox(message["Reply-To"], message["Return-Path"].strip("<>")).send(COMPLAINT)
    assert row(Turn, (game.id, 1)).refused is None  # this mail has arrived
    submit(game.id, 1, "pass")
    told = []
    while row(Turn, (game.id, 1)) is None:
        told += to_alice()
        submit(game.id, awaited(game.id), bold_move(game.id, awaited(game.id)))
    told += to_alice() + to_alice(NOW + MINUTE)
    turn = row(Turn, (game.id, 1))
    assert turn.refused is not None
    assert turn.started_at is None
    assert sum("Bob is to move" in text for text in told) == 1


@one_database
def test_a_delay_is_only_remembered(game: Table, box: Mailbox) -> None:
    box.send(next(letter for letter in sample_mails() if letter.name == "dsn-postfix-delayed"))
    assert row(Turn, (game.id, 0)).refused is None
    assert [row.kind for row in remembered()] == ["bounce"]


@one_database
@pytest.mark.usefixtures("game")
def test_a_complaint_about_no_mail_of_ours_leaves_no_trace(box: Mailbox) -> None:
    for bounce in ("nobody@byzanz.test", "bounce+1-aaaaaaaaaa@byzanz.test"):
        receive.receive(COMPLAINT.raw(box.reply, bounce), "", "complaints@byzanz.test", NOW)
    assert remembered() == []


@one_database
@pytest.mark.usefixtures("game")
def test_what_came_in_is_forgotten_after_a_time_but_for_the_newest(box: Mailbox) -> None:
    for number in range(3):
        box.write("sing", number=number, now=NOW + number * MINUTE)
    later = NOW + receive.RETENTION + MINUTE
    receive.purge(later)
    assert [row.at for row in remembered()] == [NOW + MINUTE, NOW + 2 * MINUTE]
    receive.purge(later + timedelta(days=9))
    assert [row.at for row in remembered()] == [NOW + 2 * MINUTE]


def test_much_that_came_in_is_forgotten_a_little_at_a_time(
    box: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receive, "PURGED_AT_ONCE", 2)
    for number in range(6):
        box.write("sing", number=number, now=NOW + number * MINUTE)
    receive.purge(NOW + receive.RETENTION + 5 * MINUTE)
    assert [row.at for row in remembered()] == [NOW + 5 * MINUTE]


@one_database
def test_nobody_can_have_somebody_elses_mail_stopped(game: Table, box: Mailbox) -> None:
    send_and_return()
    number, _dash, proof = box.bounce.removeprefix("bounce+").partition("@")[0].partition("-")
    for forged in (f"{number}a-{proof}", f"1-{proof}", f"{number}-{'a' * 10}", f"{number}-{proof[::-1]}"):
        with pytest.raises(receive.NoSuchAddress):
            receive.receive(BOUNCED.raw(box.reply, box.bounce), "", f"bounce+{forged}@byzanz.test", NOW)
    assert row(Person, game.people[0]).suppressed is None


def test_two_mails_have_two_envelope_senders_and_each_leads_back(app: Flask) -> None:
    with_replies(app)
    made = [deliverability.envelope_sender(number) for number in range(1, 500)]
    assert len(set(made)) == len(made)
    assert [deliverability.mail_id_in(str(address)) for address in made] == list(range(1, 500))


# What is remembered


def newest_mail() -> tuple[str, str, int | None, str | None, int | None]:
    """Return what is remembered of the newest email."""
    newest = remembered()[-1]
    return (newest.kind, str(newest.outcome), newest.person_id, newest.game_id, newest.seat)


@one_database
def test_what_became_of_a_reply_is_remembered_with_its_seat(game: Table, box: Mailbox) -> None:
    alice = (game.people[0], game.id, 0)
    assert box.write("pass", "order pass", number=1) == "2 of 2 lines carried out"
    assert newest_mail() == ("reply", "2 of 2 lines carried out", *alice)
    assert box.write("pass", number=1) == "seen before"
    assert box.write("sing", number=2) == "0 of 1 lines carried out"
    assert newest_mail() == ("refused", "0 of 1 lines carried out", *alice)
    again = "from a different address; not answered: one such email was answered before"
    assert box.write("pass", number=3, sender="bob@example.org") == again
    assert newest_mail() == ("refused", "from a different address", *alice)
    raw = written("pass", number=4).replace(b"Subject:", b"Precedence: auto_reply\nSubject:")
    assert receive.receive(raw, ALICE, box.reply, NOW) == "ignored: it is bulk email"
    assert newest_mail() == ("auto", "ignored: it is bulk email", *alice)
    ours = "Byzanz <games@byzanz.test>"
    assert box.write("pass", number=5, sender=ours) == "ignored: it is one of our own emails"
    assert box.write("pass", number=6, sender=box.reply) == "ignored: it is one of our own emails"


@one_database
def test_what_became_of_a_report_is_remembered_with_its_mail(game: Table, box: Mailbox) -> None:
    nobody = (None, None, None)
    head = b"From: mailer-daemon@mx.example\nMessage-ID: <%d@mx>\n\n%b"
    assert receive.receive(head % (1, b"Hello."), "", box.bounce, NOW).startswith("no action taken: ")
    assert newest_mail() == ("auto", "no action taken: ", *nobody)
    assert receive.receive(head % (2, b"It is delayed"), "", box.bounce, NOW) == "delayed: "
    assert newest_mail() == ("bounce", "delayed: ", *nobody)
    complaint = COMPLAINT.raw(box.reply, box.bounce)
    said = receive.receive(complaint, "", f"complaints@{DOMAIN}", NOW)
    assert newest_mail() == ("complaint", said, game.people[0], game.id, 0)
    assert receive.receive(complaint, "", f"complaints@{DOMAIN}", NOW) == "seen before"
    assert receive.receive(head % (3, b"550 gone"), "", box.bounce, NOW) == "failed: 550 gone"
    assert newest_mail() == ("bounce", "failed: 550 gone", game.people[0], game.id, 0)


@one_database
def test_an_old_report_counts_only_if_it_names_the_reader_of_our_mail(game: Table, box: Mailbox) -> None:
    sample = resources.files("flufl.bounce.tests.data").joinpath("llnl_01.txt").read_bytes()
    for named, outcome in (("carol", "no action taken: "), ("alice", "failed: ")):
        raw = sample.replace(b"user1@example.gov", f"{named}@example.org".encode())
        raw = re.sub(rb"(?i)^(message-id: <)", rb"\g<1>" + named.encode(), raw, flags=re.MULTILINE)
        assert receive.receive(raw, "", box.bounce, NOW).startswith(outcome), named
    assert newest_mail()[2] == game.people[0]


@one_database
def test_why_a_line_was_refused_is_stored_and_shown(game: Table, box: Mailbox) -> None:
    play.moderate(game.id, "!pause", reason="x", person_id=outsider(), now=NOW)
    box.write("order pass every lot", "pass", "pass")
    with engine.reading() as session:
        mail = session.scalars(select(Mail).where(Mail.kind == "answer", Mail.game_id == game.id)).one()
    details = json.loads(mail.details)
    paused = "The game is paused until a moderator resumes it."
    assert [(line["done"], line["message"]) for line in details["lines"]] == [
        ("ordered", ""),
        ("", paused),
        ("", ""),
    ]
    assert (details["message"], mail.seat, mail.seq) == ("", 0, None)
    (text,) = [text for text in to_alice() if "Line 1" in text]
    assert "Only part of your email was played." in text
    assert f"Line 2, “pass”: {paused}" in text
    assert "Line 3, “pass”: not played." in text


@one_database
def test_an_answer_begins_with_the_first_move_it_played(game: Table, box: Mailbox) -> None:
    box.write("order tax best", "pass")
    with engine.reading() as session:
        mail = session.scalars(select(Mail).where(Mail.kind == "answer", Mail.game_id == game.id)).one()
    assert mail.seq == 2


@one_database
@pytest.mark.usefixtures("game")
def test_an_address_is_ours_by_its_form_and_domain_alone(box: Mailbox) -> None:
    local = box.reply.partition("@")[0]
    for ours in (box.reply, box.bounce, f"<{box.reply.upper()}>", f"complaints@{DOMAIN}"):
        assert receive.is_ours(ours), ours
    for other in (f"{local}@elsewhere.example", f"{local}x@{DOMAIN}", f"x{local}@{DOMAIN}", local, ""):
        assert not receive.is_ours(other), other


@one_database
def test_a_day_of_answers_is_counted_from_the_moment(game: Table, box: Mailbox) -> None:
    with engine.transaction() as session:
        for number in range(receive.ANSWERS_A_DAY):
            at = NOW - timedelta(days=1) + (number > 0) * MINUTE
            about: dict[str, Any] = {"kind": "answer", "person_id": game.people[0], "game_id": game.id}
            outbox.enqueue(session, key=f"a{number}", now=at, **about, details={"lines": []})
    before = count_answers(game.id)
    assert box.write("tax olive1", number=1) == "0 of 1 lines carried out"
    assert (
        box.write("tax olive1", number=2) == "0 of 1 lines carried out; not answered: too many answers today"
    )
    assert count_answers(game.id) == before + 1


# When our side fails


@one_database
def test_a_database_that_is_away_makes_the_mail_server_try_again(
    app: Flask, game: Table, box: Mailbox
) -> None:
    raw = written("pass")
    with engine.db.engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE received RENAME TO away")
    assert lmtp.accept(app, raw, ALICE, box.reply) == lmtp.TRY_LATER
    with engine.db.engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE away RENAME TO received")
    assert moves_of(game.id, 0) == []
    assert lmtp.accept(app, raw, ALICE, box.reply) == lmtp.ACCEPTED
    assert moves_of(game.id, 0) == ["pass"]


@one_database
@pytest.mark.usefixtures("game")
def test_no_token_and_no_address_is_remembered(box: Mailbox) -> None:
    box.write(f"pass {box.reply}")
    box.send(BOUNCED)
    kept = " ".join(f"{row.outcome} {row.digest}" for row in remembered())
    assert box.reply.partition("+")[2].partition("@")[0] not in kept
    assert "@" not in kept
