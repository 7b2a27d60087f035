"""What happens to a game is told once, and others beside the outbox can hear of it without a change in `play`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from flask import Flask
from sqlalchemy import func, select

from byzanz.record import Cause
from server import play
from server.community import talk
from server.play import events, game
from server.play.events import Event
from server.store import engine
from server.store.models import Game, Mail, Person
from tests.conftest import NOW, Table
from tests.support.costs import more, statements
from tests.support.folders import SERVER
from tests.support.games import change, finish, mails_of, position, start_clock, submit, turn_of

Begin = Callable[..., Table]
HOUR = timedelta(hours=1)


@pytest.fixture
def heard(app: Flask, monkeypatch: pytest.MonkeyPatch) -> list[Event]:
    """Register a second consumer, which writes nothing, and return what it hears."""
    found: list[Event] = []

    def listen(table: game.Table, told: Sequence[Event]) -> None:
        assert table.game.id
        found.extend(told)

    monkeypatch.setitem(app.extensions, game.EXTENSION, app.extensions[game.EXTENSION])
    game.register(app, listen)
    return found


def kinds(heard: Sequence[Event]) -> list[type[Event]]:
    return [type(event) for event in heard]


def count_mails() -> int:
    with engine.reading() as session:
        return session.scalar(select(func.count()).select_from(Mail)) or 0


def test_a_consumer_beside_the_outbox_hears_of_a_whole_game(table: Begin, heard: list[Event]) -> None:
    begun = table(3)
    assert kinds(heard) == [events.GameBegun, events.TurnOpened, events.ClockWaits]
    heard.clear()
    head = position(begun.id).head
    submit(begun.id, 0, "pass")
    answered, opened, waits = heard
    assert answered == events.TurnAnswered(at=NOW, seat=0, opened_seq=head)
    assert opened == events.TurnOpened(at=NOW, seat=1, opened_seq=head + 1, bot=False)
    assert waits == events.ClockWaits(at=NOW, seat=1, opened_seq=head + 1)
    finish(begun.id, NOW)
    assert kinds(heard)[-2:] == [events.TurnAnswered, events.GameOver]
    asked = [each for each in heard if isinstance(each, events.TurnOpened)]
    answers = [each for each in heard if isinstance(each, events.TurnAnswered)]
    assert {(each.seat, each.opened_seq) for each in asked} < {
        (each.seat, each.opened_seq) for each in answers
    }


def test_a_turn_opens_for_everybody_whatever_emails_they_want(table: Begin, heard: list[Event]) -> None:
    begun = table(3)
    change(Person, begun.people[1], silent=True)
    change(Person, begun.people[2], cadence="digest")
    heard.clear()
    before = count_mails()
    for seat in (0, 1):
        submit(begun.id, seat, "pass", request_id=f"{seat}")
    assert [each.seat for each in heard if isinstance(each, events.TurnOpened)] == [1, 2]
    assert not [each for each in heard if isinstance(each, events.ClockWaits)]
    assert count_mails() == before


def test_an_event_without_a_subscriber_costs_no_statement(
    table: Begin, heard: list[Event], app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = table(4)
    submit(begun.id, 0, "pass")
    sent: dict[str, list[str]] = {}
    mails, listen = app.extensions[game.EXTENSION]
    for seat, (name, consumers) in enumerate({"both": (mails, listen), "one": (listen,), "none": ()}.items()):
        monkeypatch.setitem(app.extensions, game.EXTENSION, consumers)
        head = position(begun.id).head
        heard.clear()
        with statements(engine.db.engine) as sent[name]:
            play.submit(begun.id, (1 + seat) % 4, "pass", seen=head, request_id=name, now=NOW)
        assert bool(heard) == (name != "none")
    assert sent["one"] == sent["none"]
    assert more(sent["none"], sent["both"]).count("\n") == 0
    assert "INTO outbox" in more(sent["none"], sent["both"])


def test_nobody_hears_of_a_visitors_game(table: Begin, heard: list[Event]) -> None:
    begun = table(3)
    change(Game, begun.id, trial=True)
    heard.clear()
    submit(begun.id, 0, "pass")
    assert heard == []
    assert not play.end_trial("another", NOW)
    assert play.end_trial(begun.id, NOW)
    assert heard == []


def test_a_missed_deadline_is_told_with_what_was_played(table: Begin, heard: list[Event]) -> None:
    begun = table(3)
    turn = start_clock(begun.id, 0, NOW)
    heard.clear()
    late = NOW + timedelta(days=2)
    first = play.time_out(begun.id, 0, turn.question, late)
    (missed,) = [each for each in heard if isinstance(each, events.TurnMissed)]
    assert first is not None
    assert missed == events.TurnMissed(at=late, seat=0, first=first, last=first, autopilot=False)


def test_what_happens_to_seats_is_told(table: Begin, heard: list[Event]) -> None:
    begun = table(3)
    heard.clear()
    assert play.leave(begun.id, 1, now=NOW)
    (vacant,) = [each for each in heard if isinstance(each, events.SeatVacant)]
    assert vacant == events.SeatVacant(at=NOW, seat=1, person_id=begun.people[1], name="Bob", left=True)
    with engine.transaction() as session:
        session.add(Person(name="Mod", email="mod@example.org", moderator=True, created_at=NOW))
        session.flush()
        moderator = session.scalars(select(Person.id).where(Person.email == "mod@example.org")).one()
    heard.clear()
    newcomer = play.moderation.Newcomer("Zoe", "zoe@example.org")
    seq = play.moderate(
        begun.id, "!replace 1", reason="Bob left", person_id=moderator, now=NOW, newcomer=newcomer
    )
    taken = events.SeatTaken(
        at=NOW, seat=1, seq=seq, reason="Bob left", former_id=begun.people[1], by=Cause.MODERATOR
    )
    assert taken in heard
    assert heard[-1] == events.Acted(at=NOW, seq=seq)
    assert [mail.person_id for mail in mails_of("former")] == [begun.people[1]]
    told = {mail.seat for mail in mails_of("act") if mail.seq == seq}
    assert told == {0, 2}, "the newcomer gets an email of their own"


def test_what_is_said_is_told(table: Begin, heard: list[Event]) -> None:
    begun = table(3)
    heard.clear()
    for _ in range(2):  # repeating a request says nothing twice
        talk.say(begun.id, begun.people[1], "Hello", request_id="k", now=NOW)
    assert heard == [events.WordSaid(at=NOW, seat=1, person_id=begun.people[1])]


def test_a_consumer_that_fails_undoes_the_move(
    table: Begin, app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = table(3)
    head = position(begun.id).head

    def fail(*_: object) -> None:
        raise ValueError("no room")

    monkeypatch.setitem(app.extensions, game.EXTENSION, app.extensions[game.EXTENSION])
    game.register(app, fail)
    with pytest.raises(ValueError, match="no room"):
        submit(begun.id, 0, "pass")
    assert position(begun.id).head == head
    assert turn_of(begun.id, 1) is None


# ---- play names no mail ----

QUEUEING = {"server.store.outbox", "server.store.mail_kinds", "server.mail"}
NAMES = {"outbox", "mail_kinds", "Mail", "MailRow", "ADD_MAILS", "ADD_LINKS"}


def queueings(tree: ast.AST) -> Iterator[str]:
    """How a module could queue an email itself."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module), names=names):
                if any(f"{module}.".startswith(f"{each}.") for each in QUEUEING):
                    yield module
                yield from (f"{module}.{each.name}" for each in names if each.name in NAMES)
            case ast.Import(names=names):
                yield from (each.name for each in names if each.name in QUEUEING)
            case ast.Attribute(attr=attr) if attr in NAMES:
                yield attr


def test_play_queues_no_email() -> None:
    paths: list[Path] = [*(SERVER / "play").rglob("*.py")]
    assert len(paths) > 10
    assert {path.name: found for path in paths if (found := [*queueings(ast.parse(path.read_text()))])} == {}


@pytest.mark.parametrize(
    "fault",
    [
        "from server.store import outbox",
        "from server.store import links, outbox",
        "from server.store.outbox import enqueue",
        "import server.store.outbox",
        "from server.store.models import Game, Mail",
        "from server.store.mail_kinds import of",
        "statements.ADD_MAILS.run(run, rows)",
        "from server.mail.outgoing import queue",
    ],
)
def test_an_email_queued_by_play_is_found(fault: str) -> None:
    assert list(queueings(ast.parse(fault)))
