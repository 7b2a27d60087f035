"""Open tables end three weeks after their last change, their organisers asked a week before; each once."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from flask import Flask

from server.lobby import create, invitations
from server.mail.outgoing.deliver import deliver
from server.scheduler import jobs
from server.store import engine, operations
from server.store.facts import Fact
from server.store.models import Game
from tests.support.at_once import at_once
from tests.support.lobby import (
    ALICE,
    BOB,
    CHARLIE,
    DAPHNE,
    game_of,
    invited,
    known,
    mails,
    seats_of,
    token,
    wish,
)
from tests.support.mail_servers import FakeMailer
from tests.support.mails import text_of

DAY = timedelta(days=1)
TICK = 5.0
pytestmark = pytest.mark.usefixtures("app")


def half_full_table(now: datetime) -> tuple[str, str]:
    """Open a table of Alice's with Bob seated, Charlie invited and a free seat; return its id and Alice's token."""
    game_id, host = invited(now, players=(BOB, CHARLIE), free=1, listed=True)
    invitations.accept(token("invite", BOB, game_id, now), "Bob", "cut", now)
    return game_id, host


def sent_by_person(now: datetime) -> dict[str, str]:
    """Send what waits; return the text of each email by its reader."""
    fake_mailer = FakeMailer()
    while deliver(now, fake_mailer):
        pass
    return {str(message["To"]): text_of(message) for message in fake_mailer.sent}


def test_the_organiser_is_asked_after_two_weeks_and_the_table_ends_after_three(now: datetime) -> None:
    game_id, host = half_full_table(now)
    deliver(now, FakeMailer())
    assert invitations.tend_open_tables(now + 14 * DAY - timedelta(seconds=1)) == 0
    assert invitations.tend_open_tables(now + 14 * DAY) == 1
    assert [mail.kind for mail in mails("open_table", ALICE)] == ["open_table"]
    told = sent_by_person(now + 14 * DAY)["Alice <alice@example.org>"]
    assert f"/o/{host}" in told
    assert "Mon 23 Mar" in told
    for day in (14, 17, 20.9):
        assert invitations.tend_open_tables(now + day * DAY) == 0
    assert game_of(game_id).status == "inviting"
    assert invitations.tend_open_tables(now + 21 * DAY) == 1
    assert (game_of(game_id).status, game_of(game_id).open_until) == ("cancelled", None)
    assert invitations.tend_open_tables(now + 22 * DAY) == 0
    assert len(mails("open_table")) == 1
    told_of_the_end = sent_by_person(now + 21 * DAY)
    names = ("Alice", "Bob", "Charlie")
    assert set(told_of_the_end) == {f"{name} <{name.lower()}@example.org>" for name in names}
    for text in told_of_the_end.values():
        assert "its free seats were not taken within three weeks" in text


def test_a_change_after_the_email_gives_three_weeks_and_another_email(now: datetime) -> None:
    game_id, host = half_full_table(now)
    deliver(now, FakeMailer())
    invitations.tend_open_tables(now + 14 * DAY)
    invitations.keep_open(host, now + 15 * DAY)
    assert "Alice <alice@example.org>" not in sent_by_person(now + 15 * DAY), "it is no longer true"
    assert invitations.tend_open_tables(now + 28 * DAY) == 0
    assert invitations.tend_open_tables(now + 29 * DAY) == 1
    assert len(mails("open_table", ALICE)) == 2
    assert game_of(game_id).status == "inviting"
    assert invitations.tend_open_tables(now + 36 * DAY) == 1
    assert game_of(game_id).status == "cancelled"


def test_a_hint_that_is_no_longer_true_ends_nothing(now: datetime) -> None:
    game_id, _host = half_full_table(now)
    assert invitations.tend_open_tables(now + 14 * DAY) == 1
    assert not invitations._tend(game_id, now + 14 * DAY), "another scheduler was faster"
    assert game_of(game_id).status == "inviting"


def test_nothing_ends_unannounced_after_a_long_outage(now: datetime) -> None:
    game_id, _host = half_full_table(now)
    later = now + 40 * DAY
    assert invitations.tend_open_tables(later) == 1
    assert (game_of(game_id).status, len(mails("open_table"))) == ("inviting", 1)
    assert invitations.tend_open_tables(later + 6.9 * DAY) == 0
    assert invitations.tend_open_tables(later + 7 * DAY) == 1
    assert game_of(game_id).status == "cancelled"


def test_other_games_stay_as_they_are(now: datetime) -> None:
    private, _ = invited(now, players=(BOB, CHARLIE))
    full, _ = invited(now, players=(BOB, CHARLIE), listed=True)
    unconfirmed = create.create_game(wish(listed=True, free=1), now)
    running, host = half_full_table(now)
    invitations.remove(host, 2, now)
    invitations.take_free_seat(running, known(DAPHNE, now), "Daphne", "cut", now)
    assert invitations.tend_open_tables(now + 60 * DAY) == 0
    found = {game_id: game_of(game_id).status for game_id in (private, full, unconfirmed, running)}
    assert [*found.values()] == ["inviting", "inviting", "asked", "running"]


@pytest.mark.concurrency
def test_two_schedulers_ask_once_and_end_it_once(app: Flask, now: datetime) -> None:
    game_id, _host = half_full_table(now)
    for day, status in ((14, "inviting"), (21, "cancelled")):
        at_once(app, *[lambda day=day: invitations.tend_open_tables(now + day * DAY)] * 4)
        invitations.tend_open_tables(now + day * DAY)  # a lock may have been in the way
        assert game_of(game_id).status == status
    assert len(mails("open_table")) == 1
    told = [mail.person_id for mail in mails("cancelled")]
    assert len(told) == len(set(told)) == 3
    assert {seat.status for seat in seats_of(game_id)} == {"seated", "invited", "free"}


def test_nothing_happens_while_the_clock_is_in_doubt(now: datetime) -> None:
    game_id, _host = half_full_table(now)
    assert jobs.tick_tables(now + 30 * DAY, TICK) == 0, "no part of the server is known to be up"
    later = now + 14 * DAY
    for part in operations.PARTS:
        operations.HeartbeatRecorder(part, TICK).record(later, 0.0)
    assert jobs.tick_tables(later, TICK) == 1
    assert len(mails("open_table")) == 1
    with engine.transaction() as session:
        operations.raise_alert(session, operations.CLOCK_JUMPED, Fact("clock_jumped"), later)
    assert jobs.tick_tables(later, TICK) == 0
    with engine.reading() as session:
        assert session.get_one(Game, game_id).status == "inviting"
