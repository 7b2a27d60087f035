"""What `byzanz game show`, `mail show` and `person show` say, and what they never say."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select, text

from server.mail.outgoing import deliver
from server.mail.outgoing.smtp import PermanentFailure, TemporaryFailure
from server.ops import explain
from server.play import moderate
from server.scheduler import loop
from server.store import engine, operations
from server.store.facts import Fact
from server.store.models import Entry, Game, Mail, Person, Turn
from tests.conftest import NOW, Table
from tests.support.games import outsider, submit
from tests.support.lobby import invited
from tests.support.mail_servers import FakeMailer
from tests.support.mails import send_waiting
from tests.support.sample_mails import mailbox, with_replies

Begin = Callable[..., Table]
pytestmark = pytest.mark.empty_database
LATER = NOW + timedelta(minutes=5)


@pytest.fixture(autouse=True)
def healthy(app: Flask) -> None:  # noqa: ARG001 - requested for its context
    for part in operations.PARTS:
        loop.record_heartbeat(operations.HeartbeatRecorder(part, 5.0), LATER, 1.0)


def told(kind: type[Any], key: Any) -> list[str]:
    """Return the lines about a game, an email or a person."""
    how: dict[type[Any], Callable[..., Iterable[str]]] = {
        Game: explain.game,
        Mail: explain.mail,
        Person: explain.person,
    }
    with engine.reading() as session:
        return list(how[kind](session, session.get_one(kind, key), LATER))


def about(lines: list[str], word: str) -> str:
    """Return the only line that begins with a word."""
    (line,) = (line for line in lines if line.startswith(word))
    return line


def test_a_game_tells_who_is_to_move_since_when_and_until_when(table: Begin) -> None:
    game = table(3, bank=7200)
    assert about(told(Game, "g1"), "Seat 0 is").endswith(": the clock starts when the email is sent.")
    send_waiting(LATER)
    lines = told(Game, "g1")
    assert lines[:3] == [
        "Game g1 “The Golden Horn”: Byzanz with 3 seats, running, began 2026-03-02 10:00 UTC.",
        "Its log has 1 entry.",
        "Time per move 24 h, time bank 2 h.",
    ]
    assert about(lines, "Seat 0 is") == (
        "Seat 0 is to move since 2026-03-02 10:00 UTC (entry 1): the clock has run since 2026-03-02 10:05 UTC; "
        "time until 2026-03-03 10:05 UTC, then the time bank until 2026-03-03 12:05 UTC."
    )
    assert f"  Email 1 (turn) to person {game.people[0]}: Sent 2026-03-02 10:05 UTC." in lines
    assert f"Seat 1: person {game.people[1]}, seated, time bank 2 h." in lines
    assert f"Email 1 (turn) to person {game.people[0]}: Sent 2026-03-02 10:05 UTC." in lines


def test_a_clock_that_stands_is_explained(table: Begin) -> None:
    table(3)
    deliver.deliver(NOW, FakeMailer(PermanentFailure("550 no such user")), n=1)
    assert about(told(Game, "g1"), "Seat 0 is").endswith(
        ": the clock has stood since 2026-03-02 10:00 UTC because no email arrives (550 no such user); "
        "the server plays for the seat from 2026-03-05 10:00 UTC."
    )
    assert "Rejected or returned 2026-03-02 10:00 UTC: 550 no such user." in told(Mail, 1)
    with engine.transaction() as session:
        operations.raise_alert(session, operations.CLOCK_JUMPED, Fact("clock_jumped"), NOW)
    assert about(told(Game, "g1"), "No deadline is enforced") == (
        "No deadline is enforced: the server's clock jumped (byzanz doctor --clock-is-right)."
    )


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            """UPDATE game SET quarantine = '{"code":"text","values":{"text":"a fault"}}'""",
            "It is on hold: a fault.",
        ),
        ("DELETE FROM beat", "No deadline is enforced: the web or the scheduler sends no heartbeat."),
        ("DELETE FROM turn", "Nobody is to move."),
        ("UPDATE turn SET bot = true", "Seat 0 is to move since 2026-03-02 10:00 UTC (entry 1): a bot moves"),
    ],
)
def test_what_a_game_waits_for_is_told(table: Begin, change: str, line: str) -> None:
    table(3)
    with engine.transaction() as session:
        session.execute(text(change))
    assert about(told(Game, "g1"), line)


def test_an_invitation_that_is_not_answered_is_told() -> None:
    game_id, _host = invited(NOW)
    lines = told(Game, game_id)
    assert " 2 seats" not in lines[0]
    assert about(lines, "Seat 1").endswith(", invited 2026-03-02 10:00 UTC.")


def test_a_visitor_has_no_clock(table: Begin) -> None:
    table(3, trial=True)
    assert about(told(Game, "g1"), "Seat 0 is").endswith(": no clock runs in a visitor's game.")


def test_a_pause_is_explained(table: Begin) -> None:
    game = table(3)
    with engine.transaction() as session:
        session.get_one(Person, game.people[2]).moderator = True
    moderate("g1", "!pause", reason="dinner", person_id=outsider(), now=NOW)
    assert about(told(Game, "g1"), "A moderator has paused it")


def test_a_mail_tells_what_it_waits_for(table: Begin) -> None:
    game = table(3)
    assert told(Mail, 1) == [
        f"Email 1 (turn) to person {game.people[0]}, about game g1, seat 0, entry 1.",
        "Queued 2026-03-02 10:00 UTC.",
        "It has been due since 2026-03-02 10:00 UTC and waits for the mailer.",
        "Its turn is open: the clock starts when the email is sent.",
    ]
    deliver.deliver(LATER - timedelta(seconds=1), FakeMailer(TemporaryFailure("busy")), n=1)
    lines = told(Mail, 1)
    assert lines[2] == "It waits until 2026-03-02 10:05 UTC: busy."
    assert lines[3] == "The first of 1 failed attempt was 2026-03-02 10:04 UTC."
    with engine.transaction() as session:
        session.get_one(Mail, 1).leased_until = LATER + timedelta(minutes=9)
    assert told(Mail, 1)[2] == "It is being sent."
    submit("g1", 0, "pass")
    assert told(Mail, 1)[-1] == "Its turn is over."


def test_a_person_tells_whether_mail_arrives_and_where_they_are_to_move(table: Begin) -> None:
    game = table(3)
    send_waiting(LATER)
    with engine.transaction() as session:
        person = session.get_one(Person, game.people[0])
        person.suppressed, person.silent, person.cadence = Fact("not_delivered"), True, "digest"
    lines = told(Person, game.people[0])
    assert lines[0] == f"Person {game.people[0]}, since 2026-03-02 10:00 UTC."
    assert "Only requested email goes to the address: the email was not delivered" in lines
    assert "They have turned off all emails." in lines
    assert "They get emails once a day." in lines
    assert about(lines, "To move in game g1, seat 0, since 2026-03-02 10:00 UTC: the clock has run")
    assert "Seat 0 in game g1 (running)." in lines
    assert about(lines, "Email 1 (turn)")


def test_nothing_hidden_and_no_token_or_address_is_shown(app: Flask, table: Begin) -> None:
    with_replies(app)
    game = table(3)
    mailbox().write("pass")
    shown = "\n".join(
        [
            *told(Game, "g1"),
            *(line for person in game.people for line in told(Person, person)),
            *(line for mail in range(1, 4) for line in told(Mail, mail)),
        ]
    )
    with engine.reading() as session:
        moves = list(session.scalars(select(Entry.move).where(Entry.move.like("% %"))))
        questions = list(session.scalars(select(Turn.question)))
    assert "1 of 1 lines carried out" in shown
    secrets = [*game.tokens, "@", *moves, *questions, *moves[0].split()[2:]]
    assert [secret for secret in secrets if f"{secret}" in shown] == []
