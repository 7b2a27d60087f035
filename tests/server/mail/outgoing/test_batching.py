"""Emails that wait: for the end of quiet hours, or for an email that carries the same news."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from email.message import EmailMessage

import pytest
from sqlalchemy import select

from server import play
from server.lobby import notify
from server.mail.outgoing import deliver
from server.mail.outgoing.smtp import Message, TemporaryFailure
from server.mail.text import quoted
from server.store import engine, facts, outbox
from server.store.models import Game, Mail, Person, Seat, Turn
from tests.conftest import NOW, Table
from tests.support.games import change, outsider, row, submit
from tests.support.mail_servers import FakeMailer
from tests.support.mails import (
    assert_same,
    awaited,
    bold_move,
    html_of,
    message_id,
    one_database,
    queue,
    send_waiting,
    statuses,
    text_of,
    words_of,
)
from tests.support.neighbour_game import elsewhere

Begin = Callable[..., Table]
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
EVENING = NOW.replace(hour=23)
MORNING = NOW.replace(hour=7) + timedelta(days=1)
NIGHT = {"quiet_from": 23 * 60, "quiet_to": 7 * 60}


def to(messages: list[EmailMessage], name: str) -> list[str]:
    """Return the texts of the emails to one person."""
    return [text_of(message) for message in messages if str(message["To"]).startswith(name)]


def moderate_as_outsider(game: Table, act: str, now=NOW, reason: str = "a reason") -> None:
    play.moderate(game.id, act, reason=reason, person_id=outsider(), now=now)


# Quiet hours


@pytest.mark.parametrize("kind", ["act", "timeout", "remind", "replaced", "answered", "refused"])
def test_news_waits_for_the_end_of_quiet_hours(table: Begin, kind: str) -> None:
    game = table(4)
    send_waiting(NOW)
    change(Game, game.id, allowance=3 * 86400)
    change(Turn, (game.id, 0), due_at=NOW + timedelta(days=3))
    change(Person, game.people[0], **NIGHT)
    why = facts.stored(quoted("550"))
    details = {"name": "Bob", "answer": "accepted", "begun": False, "error": why, "stopped": True}
    queue(kind, game.people[0], game_id=game.id, seat=0, seq=1, details=details)
    assert send_waiting(EVENING) == []
    with engine.reading() as session:
        mail = session.scalars(select(Mail).where(Mail.kind == kind, Mail.game_id == game.id)).one()
    assert (mail.not_before, mail.attempts, mail.status, mail.leased_until) == (MORNING, 0, "waiting", None)
    assert send_waiting(MORNING - MINUTE) == []
    assert len(send_waiting(MORNING)) == 1


def test_turns_and_what_was_asked_for_do_not_wait(table: Begin) -> None:
    game = table(4)
    change(Person, game.people[0], **NIGHT)
    queue("fresh", game.people[0], game_id=game.id, details={"purpose": "seat"})
    assert len(send_waiting(EVENING)) == 2


@one_database
def test_quiet_hours_are_those_of_the_persons_zone_else_of_the_tables(table: Begin) -> None:
    game = table(4)
    send_waiting(NOW)
    change(Game, game.id, time_zone="America/New_York")
    change(Person, game.people[0], **NIGHT)
    queue("act", game.people[0], game_id=game.id, seat=0, seq=1)
    assert send_waiting(NOW + 2 * HOUR - timedelta(seconds=1)) == []  # seven in the morning in New York
    assert len(send_waiting(NOW + 2 * HOUR)) == 1
    change(Person, game.people[0], time_zone="Asia/Tokyo")
    queue("act", game.people[0], key="again", game_id=game.id, seat=0, seq=1)
    assert send_waiting(EVENING - 8 * HOUR) == []  # midnight in Tokyo


def test_a_mail_that_could_not_be_handed_over_in_the_evening_is_not_tried_at_night(table: Begin) -> None:
    game = table(4)
    send_waiting(NOW)
    change(Person, game.people[0], **NIGHT)
    queue("act", game.people[0], game_id=game.id, seat=0, seq=1)
    deliver.deliver(EVENING - timedelta(seconds=5), FakeMailer(TemporaryFailure("451 busy")))
    assert send_waiting(EVENING + HOUR) == []
    assert len(send_waiting(MORNING)) == 1


def test_a_reminder_of_a_turn_that_was_answered_at_night_never_comes(table: Begin) -> None:
    game = table(4)
    send_waiting(NOW)
    change(Turn, (game.id, 0), due_at=MORNING + HOUR)
    change(Person, game.people[0], **NIGHT)
    queue("remind", game.people[0], game_id=game.id, seat=0, seq=1)
    assert send_waiting(EVENING) == []
    submit(game.id, 0, "pass", EVENING + HOUR)
    assert to(send_waiting(MORNING), "Alice") == []


# One mail for several news


def test_acts_in_a_row_become_one_mail(table: Begin) -> None:
    game = table(4)
    send_waiting(NOW)
    for number in range(3):
        moderate_as_outsider(game, "!note", reason=f"word {number}")
    with engine.reading() as session:
        acts = session.scalars(select(Mail).where(Mail.kind == "act", Mail.seq == 4, elsewhere(Mail)))
        newest = {message_id(mail) for mail in acts}
    messages = send_waiting(NOW + MINUTE)
    assert len(messages) == 4
    for message in messages:
        text = text_of(message)
        assert text.index("“word 0”") < text.index("“word 1”") < text.index("“word 2”")
        assert "entries 2, 3, 4 in the game’s log, visible to everyone" in text
        assert_same(text, words_of(html_of(message)))
        assert message["Message-ID"] in newest
    told = [status for key, status in statuses().items() if key.startswith("act:")]
    assert sorted(told) == ["dropped"] * 8 + ["sent"] * 4
    assert send_waiting(NOW + HOUR) == []


def test_an_act_and_the_turn_that_it_opens_are_one_mail(table: Begin) -> None:
    game = table(4)
    send_waiting(NOW)
    moderate_as_outsider(game, "!pause")
    send_waiting(NOW)
    moderate_as_outsider(game, "!resume", reason="on we go")
    messages = send_waiting(NOW + MINUTE)
    (text,) = to(messages, "Alice")
    assert text.startswith("Bid for the lot, or pass.")
    assert "A moderator resumes the game. “on we go”" in text
    assert len(messages) == 4
    assert statuses()[f"act:{game.id}:3:{game.people[0]}"] == "dropped"


def test_the_news_of_a_time_out_and_the_next_turn_are_one_mail(table: Begin) -> None:
    game = table(3)
    send_waiting(NOW)
    for seat in (1, 2):
        change(Seat, (game.id, seat), silent=True)
    due = row(Turn, (game.id, 0)).due_at
    play.time_out(game.id, 0, row(Turn, (game.id, 0)).question, due)
    while row(Turn, (game.id, 0)) is None:
        seat = awaited(game.id)
        submit(game.id, seat, bold_move(game.id, seat), due)
    (text,) = to(send_waiting(due + timedelta(days=3)), "Alice")
    assert "You ran out of time earlier, so this was played for you:\n- You pass." in text
    assert "You missed your last deadline, too: if you miss this one, your seat goes on autopilot." in text
    assert statuses()[f"timeout:{game.id}:0:2"] == "dropped"


def test_news_goes_by_itself_when_the_turn_is_answered_before_its_mail_left(table: Begin) -> None:
    game = table(4)
    send_waiting(NOW)
    moderate_as_outsider(game, "!pause")
    send_waiting(NOW)
    moderate_as_outsider(game, "!resume", reason="on we go")
    submit(game.id, 0, "pass")
    (text,) = to(send_waiting(NOW + MINUTE), "Alice")
    assert text.startswith("A moderator resumes the game. “on we go”")


def test_news_waits_for_a_turn_mail_that_the_mail_server_did_not_take(table: Begin) -> None:
    game = table(4)
    send_waiting(NOW)
    moderate_as_outsider(game, "!pause")
    send_waiting(NOW)
    moderate_as_outsider(game, "!resume", reason="on we go")
    fake_mailer = FakeMailer(TemporaryFailure("451 busy"))
    deliver.deliver(NOW, fake_mailer)
    assert to(fake_mailer.sent, "Alice") == []
    deliver.deliver(NOW + MINUTE, fake_mailer)
    (text,) = to(fake_mailer.sent, "Alice")
    assert "“on we go”" in text
    assert send_waiting(NOW + HOUR) == []


@one_database
def test_what_came_before_the_own_last_move_the_turn_mail_does_not_tell_and_does_not_drop(
    table: Begin,
) -> None:
    game = table(3)
    send_waiting(NOW)
    change(Person, game.people[0], **NIGHT)
    play.moderate(game.id, "!note", reason="a word", person_id=outsider(), now=EVENING)
    for seat, now in ((0, EVENING + MINUTE), (1, EVENING + 2 * MINUTE), (2, EVENING + 3 * MINUTE)):
        submit(game.id, seat, bold_move(game.id, seat), now)
    night = to(send_waiting(EVENING + 10 * MINUTE), "Alice")
    assert [text.partition(",")[0] for text in night] == ["Bid for the lot"]
    assert "a word" not in night[0]
    (text,) = to(send_waiting(MORNING), "Alice")
    assert "“a word”" in text


def test_the_end_tells_the_act_that_ended_it(table: Begin) -> None:
    game = table(4)
    send_waiting(NOW)
    moderate_as_outsider(game, "!abandon", reason="nobody plays")
    messages = send_waiting(NOW + MINUTE)
    assert len(messages) == 4
    for message in messages:
        assert "A moderator has ended" in text_of(message)
        assert "“nobody plays”" in text_of(message)
        assert_same(text_of(message), words_of(html_of(message)))


def test_answers_of_friends_that_came_at_night_are_one_mail_in_the_morning(table: Begin) -> None:
    game = table(4)
    send_waiting(NOW)
    change(Person, game.people[0], **NIGHT)
    with engine.transaction() as session:
        found = session.get_one(Game, game.id)
        for seat, answer in ((1, "accepted"), (2, "declined")):
            notify.notify_organiser(session, found, session.get_one(Seat, (game.id, seat)), answer, EVENING)
    change(Game, game.id, organiser_id=game.people[0])
    assert send_waiting(EVENING) == []
    (text,) = to(send_waiting(MORNING), "Alice")
    assert "Bob has accepted and joins your table.\nCharlie has declined; the seat is free." in text


def test_news_of_another_game_or_for_another_reader_stays_apart(table: Begin) -> None:
    games = [table(4, game_id=name) for name in ("one", "two")]
    send_waiting(NOW)
    for game in games:
        moderate_as_outsider(game, "!note")
    assert len(send_waiting(NOW + MINUTE)) == 8


def test_a_mailer_that_dies_before_the_mark_loses_no_news(table: Begin) -> None:
    game = table(4)
    send_waiting(NOW)
    moderate_as_outsider(game, "!note", reason="first")
    moderate_as_outsider(game, "!note", reason="second")

    class Dies(BaseException):
        """Simulate kill -9 as far as the database can tell."""

    class Doomed(FakeMailer):
        def send(self, message: Message) -> None:
            super().send(message)
            raise Dies

    doomed = Doomed()
    with pytest.raises(Dies):
        deliver.deliver(NOW, doomed)
    assert "dropped" not in {status for key, status in statuses().items() if key.startswith("act:")}
    again = send_waiting(NOW + HOUR)
    assert len(again) == 4
    assert doomed.sent[0]["Message-ID"] in {message["Message-ID"] for message in again}


def test_news_waits_as_long_as_the_delayed_mail_that_will_tell_it(table: Begin) -> None:
    game = table(4)
    send_waiting(NOW)
    moderate_as_outsider(game, "!pause")
    send_waiting(NOW)
    moderate_as_outsider(game, "!resume", reason="on we go")
    with engine.transaction() as session:
        turn = session.query(Mail).filter_by(kind="turn", game_id=game.id, status="waiting").one()
        turn.not_before = NOW + 2 * MINUTE
    news = {"kind": "act", "game_id": game.id, "seq": 3, "person_id": game.people[0]}
    assert to(send_waiting(NOW), "Alice") == []
    with engine.reading() as session:
        waiting = session.query(Mail).filter_by(**news).one()
    assert (waiting.not_before, waiting.attempts, waiting.status) == (NOW + 2 * MINUTE, 0, "waiting")
    assert to(send_waiting(NOW + 2 * MINUTE - timedelta(seconds=1)), "Alice") == []
    (text,) = to(send_waiting(NOW + 2 * MINUTE), "Alice")
    assert "“on we go”" in text


def test_news_waits_a_moment_for_a_mail_that_is_due_or_being_sent(table: Begin) -> None:
    game = table(4)
    send_waiting(NOW)
    queue("act", game.people[0], "older", game_id=game.id, seat=0, seq=1)
    queue("act", game.people[0], "younger", game_id=game.id, seat=0, seq=1)
    with engine.transaction() as session:  # another mailer is at it
        session.query(Mail).filter_by(key="younger").one().leased_until = NOW + HOUR
    assert send_waiting(NOW) == []
    with engine.reading() as session:
        older = session.query(Mail).filter_by(key="older").one()
    assert older.not_before == NOW + timedelta(seconds=outbox.FIRST_RETRY)


def test_a_mail_that_another_told_while_it_was_leased_is_not_sent(
    table: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = table(4)
    send_waiting(NOW)
    queue("act", game.people[0], "told", game_id=game.id, seat=0, seq=1)
    (mail,) = outbox.lease(NOW, 1)
    with engine.transaction() as session:
        outbox.mark_merged(session, [mail.id], NOW)
    monkeypatch.setattr(outbox, "lease", lambda *_: [mail])
    fake_mailer = FakeMailer()
    assert deliver.deliver(NOW, fake_mailer) == 1
    assert fake_mailer.sent == []
