"""Delivering the outbox: a mailer marks only what it still leases, and its alerts say what waits and why."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress
from datetime import datetime, timedelta
from threading import Timer

import pytest
from flask import Flask
from sqlalchemy import select

from server.mail.outgoing import deliver
from server.mail.outgoing.smtp import Message, PermanentFailure, TemporaryFailure
from server.mail.text import quoted
from server.store import engine, outbox
from server.store.models import Alert, Game, Mail, Person, Turn
from server.store.statements import MailRow
from tests.conftest import NOW, Table
from tests.support.database_faults import impatient, locked, locked_for
from tests.support.games import change, row
from tests.support.mail_servers import FakeMailer
from tests.support.mails import one_database, queue, send_waiting, statuses, the_mail

__all__ = ["impatient"]

Begin = Callable[..., Table]
pytestmark = one_database
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


class Slow(FakeMailer):
    """A sender that is still busy with its first email when another mailer takes it over."""

    def send(self, message: Message) -> None:
        """Let another mailer lease the email, then answer."""
        assert len(outbox.lease(NOW + outbox.LEASE, 1)) == 1
        super().send(message)


@pytest.mark.parametrize("answer", [PermanentFailure("550 gone"), TemporaryFailure("451 busy")])
def test_a_mailer_whose_lease_ran_out_leaves_the_outcome_to_the_next(table: Begin, answer: Exception) -> None:
    game = table(3)
    deliver.deliver(NOW, Slow(answer))
    mail = row(Mail, the_mail(game).id)
    assert (mail.status, mail.error, mail.attempts) == ("waiting", None, 0)
    assert mail.leased_until == NOW + 2 * outbox.LEASE
    assert row(Turn, (game.id, 0)).refused is None
    assert row(Person, game.people[0]).unreachable is None


def test_a_mail_that_was_marked_meanwhile_starts_no_clock_a_second_time(table: Begin) -> None:
    game = table(3)

    class Twice(FakeMailer):
        def send(self, message: Message) -> None:
            super().send(message)
            if len(self.sent) == 1:
                deliver.deliver(NOW + outbox.LEASE, self)

    twice = Twice()
    deliver.deliver(NOW, twice)
    assert len(twice.sent) == 2
    assert row(Turn, (game.id, 0)).started_at == NOW + outbox.LEASE


def test_no_more_mails_are_leased_than_a_batch_has(table: Begin) -> None:
    game = table(3)
    queue("fresh", game.people[0], game_id=game.id, details={"purpose": "seat"})
    fake_mailer = FakeMailer()
    assert deliver.deliver(NOW, fake_mailer, n=1) == 1
    assert len(fake_mailer.sent) == 1


def test_a_slow_batch_sends_up_to_half_of_its_lease(table: Begin) -> None:
    game = table(3)
    for number in range(3):
        queue("fresh", game.people[0], f"f{number}", game_id=game.id, details={"purpose": "seat"})
    seconds = iter([0.0, 0.0, 300.0, 300.9, 301.0])
    fake_mailer = FakeMailer()
    assert deliver.deliver(NOW, fake_mailer, steady=lambda: next(seconds)) == 4
    dates = [message["Date"].datetime - NOW for message in fake_mailer.sent]
    assert dates == [timedelta(0), timedelta(minutes=5), timedelta(minutes=5)]
    assert list(statuses().values()).count("waiting") == 1
    assert len(outbox.lease(NOW, 9)) == 1


def test_a_late_mail_is_alerted_after_a_day_and_cleared_when_it_goes_out(table: Begin) -> None:
    game = table(3)
    mail = the_mail(game)
    deliver.deliver(NOW + outbox.STUCK_AFTER, FakeMailer(TemporaryFailure("451 busy")))
    with engine.reading() as session:
        assert session.scalars(select(Alert)).all() == []
    later = NOW + outbox.STUCK_AFTER + MINUTE
    deliver.deliver(later, FakeMailer(TemporaryFailure("451 busy")))
    with engine.reading() as session:
        alert = session.scalars(select(Alert)).one()
    assert (alert.key, alert.game_id) == (f"mail-late:{mail.id}", game.id)
    assert str(alert.text) == "An email (turn) has been waiting since 2026-03-02 10:00 UTC: 451 busy"
    assert row(Mail, mail.id).error == quoted("451 busy")
    send_waiting(later + HOUR)
    assert row(Alert, alert.id).cleared_at == later + HOUR
    assert (row(Mail, mail.id).status, row(Mail, mail.id).error) == ("sent", None)


def test_a_mail_that_cannot_be_composed_is_alerted_at_once_with_its_fault(
    table: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = table(3)

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as broken:
        broken.setattr(deliver, "compose", fail)
        deliver.deliver(NOW, FakeMailer())
    with engine.reading() as session:
        alert = session.scalars(select(Alert)).one()
    assert (alert.key, str(alert.text).endswith(": ZeroDivisionError")) == (
        f"mail-late:{the_mail(game).id}",
        True,
    )
    assert row(Mail, the_mail(game).id).attempts == 1


def test_a_mail_accepted_by_a_suppressed_address_proves_nothing(table: Begin) -> None:
    game = table(3)
    send_waiting()
    gone = quoted("550 gone")
    change(Person, game.people[0], suppressed=gone, unreachable=gone)
    queue("fresh", game.people[0], game_id=game.id, details={"purpose": "seat"})
    assert len(send_waiting()) == 1
    assert row(Person, game.people[0]).unreachable == gone
    change(Person, game.people[0], suppressed=None)
    queue("fresh", game.people[0], "again", game_id=game.id, details={"purpose": "seat"})
    send_waiting()
    assert row(Person, game.people[0]).unreachable is None


def test_mails_of_a_game_on_hold_wait_without_an_alert(table: Begin) -> None:
    game = table(3)
    change(Game, game.id, quarantine=quoted("a fault"))
    assert send_waiting() == []
    mail = the_mail(game)
    assert (mail.status, mail.attempts, str(mail.error)) == ("waiting", 1, "the game is on hold")
    with engine.reading() as session:
        assert session.scalars(select(Alert)).all() == []


# A database that does not take the outcome


@pytest.mark.parametrize("seconds", [0.2, 1.0])
def test_an_email_that_was_sent_while_the_database_was_locked_is_not_sent_again(
    table: Begin, impatient: Flask, seconds: float
) -> None:
    game = table(3)
    ends: list[Timer] = []

    class Meanwhile(FakeMailer):
        def send(self, message: Message) -> None:
            super().send(message)
            ends.append(locked_for(impatient, seconds))

    fake_mailer = Meanwhile()
    with suppress(*engine.UNAVAILABLE):
        deliver.deliver(NOW, fake_mailer)
    for end in ends:
        end.join()
    for minutes in (1, 6, 20, 61):
        deliver.deliver(NOW + minutes * MINUTE, fake_mailer)
    assert len(fake_mailer.sent) == 1
    assert row(Turn, (game.id, 0)).started_at == NOW


@pytest.mark.parametrize("trouble", [MemoryError(), OSError(28, "No space left on device"), TimeoutError()])
@pytest.mark.parametrize("answer", [None, PermanentFailure("550 gone"), TemporaryFailure("451 busy")])
def test_an_outcome_that_is_not_stored_is_kept_for_longer_than_a_lease(
    table: Begin, monkeypatch: pytest.MonkeyPatch, trouble: Exception, answer: Exception | None
) -> None:
    """The lease is renewed, so that no other mailer sends it; only this one's death makes another copy."""
    game = table(3)
    fake_mailer = FakeMailer(*[answer] if answer else [])
    mark = {PermanentFailure: "mark_failed", TemporaryFailure: "retry_later"}.get(type(answer), "mark_sent")

    def fails(*_words: object) -> bool:
        raise trouble

    with monkeypatch.context() as patch:
        patch.setattr(outbox, mark, fails)
        with pytest.raises(type(trouble)):
            deliver.deliver(NOW, fake_mailer)
        for minutes in (5, 14, 23):
            deliver.deliver(NOW + minutes * MINUTE, fake_mailer)
            assert outbox.lease(NOW + minutes * MINUTE, 5) == [], "another mailer gets it"
    deliver.store_outcomes(NOW + 24 * MINUTE)
    assert len(fake_mailer.sent) == (0 if answer else 1)
    mail = row(Mail, the_mail(game).id)
    assert mail.status == {PermanentFailure: "failed", TemporaryFailure: "waiting"}.get(type(answer), "sent")
    assert mail.attempts == (1 if isinstance(answer, TemporaryFailure) else 0)


def test_a_batch_that_meets_a_lock_is_due_as_soon_as_it_ends(table: Begin, impatient: Flask) -> None:
    game = table(3)
    queue("cancelled", game.people[1], key="c", game_id=game.id, details={"why": "cancelled"})
    held = ExitStack()

    class Meanwhile(FakeMailer):
        def send(self, message: Message) -> None:
            super().send(message)
            if len(self.sent) == 1:
                held.enter_context(locked(impatient))

    fake_mailer = Meanwhile()
    with pytest.raises(engine.UNAVAILABLE):
        deliver.deliver(NOW, fake_mailer)
    held.close()
    deliver.deliver(NOW, fake_mailer)
    assert len(fake_mailer.sent) == 2


def test_a_lock_met_while_an_email_is_written_is_no_failed_attempt(table: Begin, impatient: Flask) -> None:
    game = table(3)
    mails = outbox.lease(NOW, 5)
    outbox.release(mails)
    with locked(impatient) as give_back:
        real = outbox.lease

        def lease(now: datetime, n: int) -> list[MailRow]:
            give_back()
            found = real(now, n)
            stack.enter_context(locked(impatient))
            return found

        with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
            patch.setattr(outbox, "lease", lease)
            with pytest.raises(engine.UNAVAILABLE):
                deliver.deliver(NOW, FakeMailer())
    mail = row(Mail, the_mail(game).id)
    assert (mail.attempts, mail.error) == (0, None)
    with engine.reading() as session:
        assert session.scalars(select(Alert)).all() == []
    fake_mailer = FakeMailer()
    deliver.deliver(NOW, fake_mailer)
    assert len(fake_mailer.sent) == 1


def test_the_outcome_of_a_mail_of_another_database_is_no_outcome_here(
    table: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a restore, another mail may have the id."""
    game = table(3)

    def fails(*_words: object) -> bool:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(outbox, "mark_sent", fails)
        with pytest.raises(MemoryError):
            deliver.deliver(NOW, FakeMailer())
    with engine.transaction() as session:
        session.get_one(Mail, the_mail(game).id).key = "another"
    deliver.store_outcomes(NOW)
    assert row(Mail, the_mail(game).id).status == "waiting"
