"""The outbox: no duplicates, one mailer at a time, growing delays, and marks that report whether they applied."""

from __future__ import annotations

import json
import threading
from datetime import datetime, timedelta

import pytest
from flask import Flask
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from server.mail.text import quoted
from server.store import engine, outbox, people
from server.store.facts import Fact
from server.store.models import Mail
from tests.conftest import NOW

MINUTE = timedelta(minutes=1)


@pytest.fixture
def person(app: Flask) -> int:  # noqa: ARG001 - requested for its context
    with engine.transaction() as session:
        return people.get_or_create(session, "ann@example.org", "Ann", NOW).id


def queue(person: int, *keys: str, at: datetime = NOW, delay: float = 0) -> None:
    with engine.transaction() as session:
        for key in keys:
            outbox.enqueue(session, key=key, kind="signin", person_id=person, now=at, delay=delay)


def mails_to(person: int) -> list[Mail]:
    with engine.reading() as session:
        return list(session.scalars(select(Mail).where(Mail.person_id == person).order_by(Mail.id)))


def test_the_same_news_is_queued_once(person: int) -> None:
    queue(person, "turn:g1:0:5")
    queue(person, "turn:g1:0:5", "turn:g1:0:9")
    assert [mail.key for mail in mails_to(person)] == ["turn:g1:0:5", "turn:g1:0:9"]


def test_it_is_queued_once_even_after_it_was_sent(person: int) -> None:
    queue(person, "turn:g1:0:5")
    (mail,) = outbox.lease(NOW, 5)
    with engine.transaction() as session:
        assert outbox.mark_sent(session, mail, NOW)
    queue(person, "turn:g1:0:5")
    assert outbox.lease(NOW + MINUTE, 5) == []


def test_nothing_is_queued_by_a_transaction_that_fails(person: int) -> None:
    def fail() -> None:
        with engine.transaction() as session:
            outbox.enqueue(session, key="k", kind="signin", person_id=person, now=NOW)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert mails_to(person) == []


def test_details_come_back_as_they_went_in(person: int) -> None:
    with engine.transaction() as session:
        outbox.enqueue(
            session, key="k", kind="refused", person_id=person, now=NOW, details={"name": "Änne", "n": 3}
        )
    assert json.loads(mails_to(person)[0].details) == {"name": "Änne", "n": 3}


def test_a_delay_is_waited_for(person: int) -> None:
    queue(person, "late", delay=120)
    assert outbox.lease(NOW + 2 * MINUTE - timedelta(seconds=1), 5) == []
    assert len(outbox.lease(NOW + 2 * MINUTE, 5)) == 1


def test_the_longest_waiting_come_first_and_no_more_than_asked_for(person: int) -> None:
    queue(person, "c", at=NOW + 3 * MINUTE)
    queue(person, "a", "b", at=NOW)
    leased = outbox.lease(NOW + 5 * MINUTE, 2)
    assert [mail.key for mail in leased] == ["a", "b"]


def test_a_leased_mail_is_nobody_elses_until_the_lease_ends(person: int) -> None:
    queue(person, "a")
    assert len(outbox.lease(NOW, 5)) == 1
    assert outbox.lease(NOW + outbox.LEASE - timedelta(seconds=1), 5) == []
    assert len(outbox.lease(NOW + outbox.LEASE, 5)) == 1


@pytest.mark.parametrize(("freed", "due"), [("east", ["e"]), ("west", ["w"]), ("north", [])])
def test_the_leases_of_a_mailer_that_died_are_freed(
    app: Flask, person: int, freed: str, due: list[str]
) -> None:
    usual = app.config["BYZANZ"]
    for name, key in (("east", "e"), ("west", "w")):
        queue(person, key)
        app.config["BYZANZ"] = usual.model_copy(update={"mailer": name})
        assert [mail.key for mail in outbox.lease(NOW, 1)] == [key]
    outbox.free_leases(freed)
    assert sorted(mail.key for mail in outbox.lease(NOW, 9)) == due


def test_a_released_mail_is_due_as_before(person: int) -> None:
    queue(person, "a")
    outbox.release(outbox.lease(NOW, 5))
    (again,) = outbox.lease(NOW, 5)
    assert again.attempts == 0


def test_a_mailer_whose_lease_ran_out_cannot_put_off_or_drop_but_says_truly_that_it_sent(person: int) -> None:
    queue(person, "a")
    (slow,) = outbox.lease(NOW, 1)
    later = NOW + outbox.LEASE
    (quick,) = outbox.lease(later, 1)
    with engine.transaction() as session:
        assert not outbox.retry_later(session, slow, later, quoted("451"), 0.5)
        assert not outbox.mark_dropped(session, slow, later, quoted("old"))
        assert not outbox.mark_failed(session, slow, later, quoted("550"))
        assert outbox.mark_sent(session, slow, later)
        assert not outbox.mark_sent(session, quick, later)
    assert mails_to(person)[0].status == "sent"


@pytest.mark.parametrize("mark", [outbox.mark_dropped, outbox.mark_failed])
def test_a_mail_that_is_done_with_is_not_leased_again(person: int, mark) -> None:
    queue(person, "a")
    (mail,) = outbox.lease(NOW, 1)
    with engine.transaction() as session:
        assert mark(session, mail, NOW, quoted("why"))
    assert outbox.lease(NOW + timedelta(days=9), 1) == []
    assert mails_to(person)[0].error == quoted("why")


def test_a_mail_put_off_comes_back_after_its_wait_with_one_try_more(person: int) -> None:
    queue(person, "a")
    (mail,) = outbox.lease(NOW, 1)
    with engine.transaction() as session:
        assert outbox.retry_later(session, mail, NOW, quoted("451 busy"), 0.5)
    wait = timedelta(seconds=outbox.backoff(0, 0.5))
    assert outbox.lease(NOW + wait - timedelta(milliseconds=1), 1) == []
    (again,) = outbox.lease(NOW + wait, 1)
    assert (again.attempts, mails_to(person)[0].error) == (1, quoted("451 busy"))


@given(st.integers(0, 10_000), st.floats(0, 1))
def test_waits_grow_and_are_never_longer_than_the_longest(attempts: int, draw: float) -> None:
    wait = outbox.backoff(attempts, draw)
    assert 0.7 * outbox.FIRST_RETRY < wait <= outbox.LONGEST_RETRY
    assert outbox.backoff(attempts + 1, draw) >= wait


def test_two_mailers_share_the_work_and_never_a_mail(app: Flask, person: int) -> None:
    queue(person, *(f"k{n}" for n in range(40)))
    taken: list[int] = []

    def mailer() -> None:
        with app.app_context():
            while batch := outbox.lease(NOW, 3):
                taken.extend(mail.id for mail in batch)

    threads = [threading.Thread(target=mailer) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with app.app_context():
        assert sorted(taken + [mail.id for mail in outbox.lease(NOW, 99)]) == [
            mail.id for mail in mails_to(person)
        ]


@pytest.mark.changes_busy_table  # a lease that long looks like one of a wrong clock
def test_no_mail_waits_for_a_moment_of_a_clock_that_was_wrong(person: int) -> None:
    wrong = NOW + timedelta(days=3)
    queue(person, "leased", at=wrong)
    assert len(outbox.lease(wrong, 1)) == 1
    queue(person, "waiting", at=wrong)
    with engine.transaction() as session:
        outbox.reset_future_times(session, NOW)
    assert {mail.key for mail in outbox.lease(NOW, 5) if mail.person_id == person} == {"leased", "waiting"}


@pytest.mark.changes_busy_table  # a lease that long looks like one of a wrong clock
def test_a_lease_and_a_wait_that_a_right_clock_began_survive_its_mending(person: int) -> None:
    queue(person, "leased")
    (leased,) = outbox.lease(NOW, 1)
    soon = NOW + timedelta(seconds=outbox.LONGEST_RETRY)
    queue(person, "waiting", at=soon)
    with engine.transaction() as session:
        outbox.reset_future_times(session, NOW)
    assert [(mail.leased_until, mail.not_before) for mail in mails_to(person)] == [
        (NOW + outbox.LEASE, NOW),
        (None, soon),
    ]
    with engine.transaction() as session:
        assert outbox.postpone(session, leased, soon)


@pytest.mark.changes_busy_table  # a lease that long looks like one of a wrong clock
def test_the_mending_of_the_clock_leaves_finished_mails_as_they_are(person: int) -> None:
    wrong = NOW + timedelta(days=3)
    queue(person, "sent", at=wrong)
    (mail,) = outbox.lease(wrong, 1)
    with engine.transaction() as session:
        outbox.mark_sent(session, mail, wrong)
        outbox.reset_future_times(session, NOW)
    assert [mail.not_before for mail in mails_to(person)] == [wrong]


def test_a_mailer_whose_lease_ran_out_cannot_end_the_next_ones(person: int) -> None:
    queue(person, "a")
    slow = outbox.lease(NOW, 1)
    later = NOW + outbox.LEASE
    assert len(outbox.lease(later, 1)) == 1
    outbox.release(slow)
    with engine.transaction() as session:
        assert not outbox.postpone(session, slow[0], later)
    assert outbox.lease(later, 1) == []


def test_a_mail_leased_together_with_others_comes_in_their_order(person: int) -> None:
    for minutes in (3, 1, 2, 0):
        queue(person, f"{minutes}", at=NOW + minutes * MINUTE)
    assert [mail.key for mail in outbox.lease(NOW + 5 * MINUTE, 5)] == ["0", "1", "2", "3"]


def test_a_postponed_mail_waits_without_an_attempt(person: int) -> None:
    queue(person, "a")
    (mail,) = outbox.lease(NOW, 1)
    with engine.transaction() as session:
        assert outbox.postpone(session, mail, NOW + MINUTE)
    assert outbox.lease(NOW, 1) == []
    (again,) = outbox.lease(NOW + MINUTE, 1)
    assert again.attempts == 0


def marks(mail: Mail) -> tuple[str, datetime | None, str | None, datetime | None]:
    return (mail.status, mail.finished_at, str(mail.error) if mail.error else None, mail.leased_until)


def test_what_became_of_a_mail_is_written_down(person: int) -> None:
    queue(person, "sent", "dropped", "failed", "late")
    sent, dropped, failed, late = outbox.lease(NOW, 4)
    with engine.transaction() as session:
        outbox.retry_later(session, sent, NOW, quoted("451"), 0)
    (sent,) = outbox.lease(NOW + MINUTE, 4)
    with engine.transaction() as session:
        outbox.mark_sent(session, sent, NOW + MINUTE)
        outbox.mark_dropped(session, dropped, NOW, quoted("old"))
        outbox.mark_failed(session, failed, NOW, quoted("550"))
        outbox.retry_later(session, late, NOW, quoted("451"), 0)
    assert [marks(mail) for mail in mails_to(person)] == [
        ("sent", NOW + MINUTE, None, None),
        ("dropped", NOW, "old", None),
        ("failed", NOW, "550", None),
        ("waiting", None, "451", None),
    ]


def test_a_bounce_marks_a_sent_mail_as_failed_then_or_now_but_no_dropped_one(person: int) -> None:
    queue(person, "sent", "waiting", "dropped", "other")
    sent, waiting, dropped, _other = outbox.lease(NOW, 4)
    with engine.transaction() as session:
        outbox.mark_sent(session, sent, NOW)
        outbox.mark_dropped(session, dropped, NOW, quoted("old"))
        for mail in (sent, waiting, dropped):
            outbox.mark_bounced(session, mail, NOW + MINUTE, quoted("550"))
    assert [marks(mail) for mail in mails_to(person)] == [
        ("failed", NOW, "550", None),
        ("failed", NOW + MINUTE, "550", None),
        ("dropped", NOW, "old", None),
        ("waiting", None, None, NOW + outbox.LEASE),
    ]


def test_merged_mails_are_dropped_but_those_that_went_out_stay_sent(person: int) -> None:
    queue(person, "sent", "leased", "other")
    sent, leased, _other = outbox.lease(NOW, 3)
    with engine.transaction() as session:
        outbox.mark_sent(session, sent, NOW)
        outbox.mark_merged(session, [sent.id, leased.id], NOW + MINUTE)
    told = str(Fact("told_by_another"))
    assert [marks(mail) for mail in mails_to(person)] == [
        ("sent", NOW, None, None),
        ("dropped", NOW + MINUTE, told, None),
        ("waiting", None, None, NOW + outbox.LEASE),
    ]


def test_waits_double_up_to_a_quarter_of_an_hour() -> None:
    assert [outbox.backoff(attempts, 0.5) for attempts in (0, 1, 2, 9)] == [15, 30, 60, 720]
    assert [outbox.backoff(9, jitter) for jitter in (0, 1)] == [540, 900]


def test_queued_mails_are_counted_by_kind_person_and_time(person: int) -> None:
    with engine.transaction() as session:
        other = people.get_or_create(session, "ben@example.org", "Ben", NOW).id
        outbox.enqueue(session, key="games", kind="games", person_id=person, now=NOW)
    queue(person, "before")
    queue(person, "after", "later", at=NOW + MINUTE)
    queue(other, "other", at=NOW + MINUTE)
    with engine.reading() as session:
        assert outbox.count_queued(session, "signin", person, NOW) == 2
        assert outbox.count_queued(session, "signin", person, NOW - MINUTE) == 3
        assert outbox.count_queued(session, "games", person, NOW - MINUTE) == 1
        assert outbox.count_queued(session, "nudge", person, NOW) == 0
