"""The scheduler: timeouts, reminders, bots, outages, clock jumps, and how jobs are called."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from hypothesis import HealthCheck, given
from hypothesis import settings as limits
from hypothesis import strategies as st
from sqlalchemy import delete, select

from byzanz import bots
from byzanz.games.byzanz import Byzanz
from server import create_app, play
from server import demo as server_demo
from server.demo import Inbox
from server.mail.outgoing import deliver
from server.mail.outgoing.smtp import MailServer, Message, Transport
from server.mail.text import quoted
from server.play import turns
from server.scheduler import jobs, loop
from server.store import engine, operations
from server.store.models import Alert, Entry, Game, Heartbeat, Mail, Outage, Person, Seat, Snapshot, Turn
from tests.conftest import NOW, Table
from tests.support.games import TICK, all_of, change, entries_by, give_to_bots, loaded, turn_of
from tests.support.mail_servers import FakeMailer
from tests.support.neighbour_game import NEIGHBOUR
from tests.support.scheduler import Machine

Begin = Callable[..., Table]
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def machine(app: Flask) -> Machine:  # noqa: ARG001 - requested for its context
    made = Machine()
    made.send_heartbeats()
    return made


def post(now: datetime = NOW) -> FakeMailer:
    fake_mailer = FakeMailer()
    while deliver.deliver(now, fake_mailer, steady=lambda: 0.0):
        pass
    return fake_mailer


def standing() -> set[str]:
    with engine.reading() as session:
        return set(session.scalars(select(Alert.key).where(Alert.cleared_at.is_(None))))


# Time-outs


def test_nobody_is_played_for_before_the_mail_was_accepted(table: Begin, machine: Machine) -> None:
    game = table(4)
    machine.wait(9 * DAY)
    machine.send_heartbeats()
    assert jobs.tick_turns(machine.now, TICK) == 0
    assert entries_by(game.id) == []


def test_time_runs_out_at_the_printed_moment_once_and_not_before(table: Begin, machine: Machine) -> None:
    game = table(4, allowance=3600)
    post()
    assert machine.run(HOUR - timedelta(seconds=30)) == 0
    assert machine.run(timedelta(seconds=30)) == 1
    assert entries_by(game.id) == [(0, "clock", "pass")]
    assert machine.run(HOUR * 3) == 0  # the next one's mail has not been accepted
    (message,) = post(machine.now).to("alice")
    assert "you ran out of time" in str(message.get_body(("plain",)))


def test_a_player_who_is_in_time_is_not_played_for(table: Begin, machine: Machine) -> None:
    game = table(4, allowance=3600)
    post()
    machine.run(HOUR - MINUTE)
    play.submit(game.id, 0, "pass", seen=1, request_id="r", now=machine.now)
    machine.run(HOUR)
    assert entries_by(game.id) == [(0, "player", "pass")]


def test_a_game_that_cannot_be_played_on_is_set_aside_and_the_others_go_on(
    table: Begin, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = table(3, game_id="bad", allowance=3600), table(4, game_id="good", allowance=3600)
    post()
    real = Byzanz.fallback

    def poisoned(rules: Byzanz, view: Any, moves: Any) -> Any:
        if view.seats == 3:
            raise ZeroDivisionError
        return real(rules, view, moves)

    monkeypatch.setattr(Byzanz, "fallback", poisoned)
    machine.run(HOUR)
    assert entries_by(good.id) == [(0, "clock", "pass")]
    with engine.reading() as session:
        assert session.get_one(Game, bad.id).quarantine
        assert turns.due_games(session, machine.now, 5) == []
    assert any(key.startswith("quarantine:bad") for key in standing())


def test_a_log_that_does_not_replay_sets_its_game_aside(table: Begin, machine: Machine) -> None:
    bad, good = table(4, game_id="bad", allowance=3600), table(4, game_id="good", allowance=3600)
    post()
    change(Game, bad.id, options='{"unknown": true}')
    with engine.transaction() as session:
        session.execute(delete(Snapshot).where(Snapshot.game_id == bad.id))
    machine.run(HOUR)
    assert entries_by(good.id) == [(0, "clock", "pass")]
    assert len(standing()) == 1


# Reminders


def test_one_reminder_goes_out_when_most_of_the_time_is_gone(table: Begin) -> None:
    table(4, allowance=3600)
    post()
    assert jobs.tick_reminders(NOW + 47 * MINUTE) == 0
    assert jobs.tick_reminders(NOW + 48 * MINUTE) == 1
    assert jobs.tick_reminders(NOW + 59 * MINUTE) == 0
    assert len(post(NOW + 50 * MINUTE).sent) == 1


def test_a_reminder_waits_for_as_long_as_the_server_was_away(table: Begin, machine: Machine) -> None:
    table(4, allowance=3600)
    post()
    machine.wait(10 * HOUR)
    machine.send_heartbeats()
    assert jobs.tick_reminders(machine.now) == 0
    assert jobs.tick_reminders(machine.now + HOUR) == 1


# Outages (promise 5)


@pytest.mark.empty_database
@limits(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=st.integers(1, 59), away=st.integers(11, 72 * 60))
def test_nobody_loses_time_to_an_outage(table: Begin, before: int, away: int) -> None:
    forget()
    game = table(3, game_id=secrets.token_hex(6), allowance=3600)
    machine = Machine()
    machine.send_heartbeats()
    post()
    assert machine.run(before * MINUTE) == 0
    machine.wait(away * MINUTE)
    machine.send_heartbeats()
    assert jobs.tick_turns(machine.now, TICK) == 0
    left = turns_due(game.id) - machine.now
    assert left >= HOUR  # whatever was left of the hour, an hour's notice
    assert machine.run(left - MINUTE) == 0
    assert machine.run(2 * MINUTE) == 1


def turns_due(game_id: str) -> datetime:
    with engine.reading() as session:
        hand = loaded(session, game_id)
        due = turns.deadline(session, hand.game, hand.turns[0])
    assert due is not None
    return due


def forget() -> None:
    """Empty every table except the log's, whose rows cannot be deleted; games get new ids instead."""
    with engine.transaction() as session:
        for kind in (Turn, Mail, Outage, Heartbeat, Alert):
            session.execute(delete(kind))


def test_only_a_turn_that_was_about_to_fall_due_is_told_of_the_credit(table: Begin, machine: Machine) -> None:
    short, long = table(3, game_id="short", allowance=3600), table(3, game_id="long", allowance=999_960)
    post()
    machine.run(10 * MINUTE)
    machine.wait(5 * HOUR)
    machine.send_heartbeats()
    assert jobs.tick_turns(machine.now, TICK) == 0
    assert entries_by(short.id) == [(0, "clock", "!credit 18600")]
    assert machine.run(3 * MINUTE) == 0
    assert len(entries_by(short.id)) == 1
    assert entries_by(long.id) == []
    assert machine.run(2 * HOUR) == 1


def test_a_gap_in_either_part_is_one_outage_and_nobody_is_played_for_meanwhile(
    table: Begin, machine: Machine
) -> None:
    table(4, allowance=3600)
    post()
    web, scheduler = machine.recorders
    for _ in range(10):  # the web is away, the scheduler goes on
        machine.wait(9 * MINUTE)
        loop.record_heartbeat(scheduler, machine.now, machine.steady)
        assert jobs.tick_turns(machine.now, TICK) == 0
    loop.record_heartbeat(web, machine.now, machine.steady)
    loop.record_heartbeat(web, machine.now + MINUTE, machine.steady + 60)
    (outage,) = all_of(Outage)
    assert (outage.part, outage.from_at, outage.to_at) == ("web", NOW, NOW + 90 * MINUTE)
    assert jobs.tick_turns(machine.now, TICK) == 0


@pytest.mark.parametrize("part", operations.PARTS)
def test_a_part_may_have_died_right_after_its_last_heartbeat(
    table: Begin, machine: Machine, part: str
) -> None:
    game = table(4, allowance=3600)
    post()
    assert machine.run(59 * MINUTE) == 0
    machine.wait(MINUTE)
    living = next(recorder for recorder in machine.recorders if recorder.part != part)
    loop.record_heartbeat(living, machine.now, machine.steady)
    assert jobs.tick_turns(machine.now, TICK) == 0  # due, but nobody has seen the other part since
    machine.send_heartbeats()
    assert jobs.tick_turns(machine.now, TICK) == 1
    assert len(entries_by(game.id)) == 1


def test_two_processes_of_a_part_beat_for_each_other(machine: Machine) -> None:
    other = operations.HeartbeatRecorder("web", TICK)
    for _ in range(10):
        machine.wait(9 * MINUTE)
        loop.record_heartbeat(other, machine.now, machine.steady)
    machine.send_heartbeats()
    assert [outage.part for outage in all_of(Outage)] == ["scheduler"]


@pytest.mark.parametrize(("tick", "longest"), [(0.5, 60), (5, 60), (10, 60), (100, 600)])
@pytest.mark.usefixtures("app")
def test_a_gap_is_an_outage_after_a_minute_or_six_ticks(tick: float, longest: int) -> None:
    recorder = operations.HeartbeatRecorder("web", tick)
    recorder.record(NOW, 0)
    then = NOW + timedelta(seconds=longest)
    recorder.record(then, longest)
    assert all_of(Outage) == []
    recorder.record(then + timedelta(seconds=longest + 1), longest * 2 + 1)
    assert len(all_of(Outage)) == 1


def test_a_gap_across_a_restart_is_an_outage(machine: Machine) -> None:
    machine.wait(3 * HOUR)
    machine.steady = 5.0  # the machine was started anew
    machine.start()
    machine.send_heartbeats()
    assert {(outage.part, outage.to_at - outage.from_at) for outage in all_of(Outage)} == {
        ("web", 3 * HOUR),
        ("scheduler", 3 * HOUR),
    }
    assert standing() == set()


def test_a_server_that_never_beat_plays_for_nobody(table: Begin) -> None:
    table(4, allowance=3600)
    post()
    assert jobs.tick_turns(NOW + DAY, TICK) == 0


# Jumps of the clock


@pytest.mark.changes_busy_table  # a lease that long looks like one of a wrong clock
@pytest.mark.parametrize("jump", [3 * DAY, -3 * DAY])
def test_a_jump_of_the_clock_freezes_auto_pass_until_it_is_taken_back(
    table: Begin, machine: Machine, jump: timedelta
) -> None:
    game = table(4, allowance=7200)
    post()
    machine.run(10 * MINUTE)
    machine.now += jump
    assert machine.run(HOUR) == 0
    assert standing() == {"clock-step"}
    machine.now -= jump
    assert machine.run(MINUTE) == 0
    assert standing() == set()
    assert entries_by(game.id) == []
    due = turns_due(game.id)
    assert due - machine.now >= HOUR
    assert machine.run(due - machine.now) == 1
    assert entries_by(game.id)[-1] == (0, "clock", "pass")


@pytest.mark.changes_busy_table  # a lease that long looks like one of a wrong clock
def test_a_turn_that_began_in_a_wrong_past_still_has_its_time(table: Begin, machine: Machine) -> None:
    machine.run(10 * MINUTE)
    machine.now -= 3 * DAY
    machine.run(10 * MINUTE)
    game = table(4, allowance=7200, now=machine.now)
    post(machine.now)
    machine.run(10 * MINUTE)
    machine.now += 3 * DAY
    assert machine.run(119 * MINUTE) == 0
    assert turn_of(game.id, 0) is not None


@pytest.mark.changes_busy_table  # a lease that long looks like one of a wrong clock
def test_a_moderator_may_say_that_the_new_time_is_right(table: Begin, machine: Machine) -> None:
    game = table(4, allowance=7200)
    post()
    machine.run(10 * MINUTE)
    machine.now += 3 * DAY
    assert machine.run(30 * MINUTE) == 0
    assert loop.confirm_clock(machine.now)
    assert not loop.confirm_clock(machine.now)
    assert machine.run(59 * MINUTE) == 0  # the three days count for nobody
    assert standing() == set()
    assert machine.run(2 * HOUR) == 1
    assert [move for _, _, move in entries_by(game.id)][-1] == "pass"


@pytest.mark.changes_busy_table  # a lease that long looks like one of a wrong clock
def test_a_second_jump_right_after_the_first_was_confirmed_is_noticed(machine: Machine) -> None:
    machine.now += 3 * DAY
    machine.run(30 * MINUTE)
    assert loop.confirm_clock(machine.now)
    machine.now -= 2 * DAY
    machine.wait(MINUTE)
    machine.send_heartbeats()
    assert standing() == {"clock-step"}


@pytest.mark.changes_busy_table  # a lease that long looks like one of a wrong clock
def test_a_clock_set_back_while_nothing_ran_freezes_until_it_is_right_again(machine: Machine) -> None:
    machine.start()
    machine.now -= DAY
    machine.send_heartbeats()
    assert standing() == {"clock-step"}
    machine.now += DAY + 10 * MINUTE
    machine.steady += 30
    machine.send_heartbeats()
    assert standing() == set()
    assert {outage.part for outage in all_of(Outage)} == {"clock"}
    with engine.reading() as session:
        assert operations.enforced_until(session, machine.now, TICK) is not None


@pytest.mark.changes_busy_table  # a lease that long looks like one of a wrong clock
def test_a_process_that_started_while_the_clock_was_wrong_does_not_believe_it_in_time(
    machine: Machine,
) -> None:
    machine.now -= 40 * MINUTE
    machine.send_heartbeats()
    machine.recorders[0] = operations.HeartbeatRecorder("web", TICK)
    machine.run(2 * HOUR)
    assert standing() == {"clock-step"}
    machine.now += 40 * MINUTE
    machine.run(HOUR)
    assert standing() == set()


def test_small_corrections_add_up_to_no_jump(machine: Machine) -> None:
    for _ in range(50):
        machine.wait(MINUTE)
        machine.now += timedelta(seconds=20)
        machine.send_heartbeats()
    assert standing() == set()


def test_a_machine_that_slept_was_away_and_its_clock_did_not_jump(machine: Machine) -> None:
    machine.wait(8 * HOUR)  # the steady clock runs on while it sleeps
    machine.send_heartbeats()
    assert standing() == set()
    assert len(all_of(Outage)) == 2


@pytest.mark.changes_busy_table  # a lease that long looks like one of a wrong clock
def test_mails_of_a_wrong_future_go_out_when_the_clock_is_right(table: Begin, machine: Machine) -> None:
    machine.now += 3 * DAY
    machine.send_heartbeats()
    table(4, now=machine.now)
    machine.now -= 3 * DAY
    machine.send_heartbeats()
    post(machine.now)
    assert [mail.status for mail in all_of(Mail) if mail.game_id != NEIGHBOUR] == ["sent"]


@pytest.mark.changes_busy_table  # a lease that long looks like one of a wrong clock
@pytest.mark.parametrize("confirmed", [False, True])
def test_a_turn_that_began_in_a_wrong_future_has_its_time_from_now_on(
    table: Begin, machine: Machine, confirmed: bool
) -> None:
    machine.now += 3 * DAY
    machine.send_heartbeats()
    game = table(4, allowance=7200, now=machine.now)
    post(machine.now)
    with engine.transaction() as session:
        fresh = session.get_one(Turn, (game.id, 0))
        fresh.refused_at = machine.now if confirmed else None  # it stays stopped, but not since tomorrow
    machine.now -= 3 * DAY
    if confirmed:
        machine.start()
        assert loop.confirm_clock(machine.now)
    machine.send_heartbeats()
    turn = turn_of(game.id, 0)
    assert turn is not None
    assert (turn.opened_at, turn.started_at) == (machine.now, machine.now)
    assert turn.refused_at == (machine.now if confirmed else None)
    assert turn.due_at == machine.now + 2 * HOUR
    assert turn.remind_at == machine.now + timedelta(seconds=7200 * 0.8)
    assert machine.run(2 * HOUR) == 1


@pytest.mark.changes_busy_table  # a lease that long looks like one of a wrong clock
def test_a_clock_in_doubt_sends_no_reminder_and_takes_nothing_from_a_bank(
    table: Begin, machine: Machine
) -> None:
    game = table(4, allowance=7200, bank=86400)
    post()
    machine.run(10 * MINUTE)
    machine.now += 3 * DAY
    machine.send_heartbeats()
    assert jobs.tick_reminders(machine.now) == 0
    play.submit(game.id, 0, "pass", seen=1, request_id="r", now=machine.now)
    with engine.reading() as session:
        assert session.get_one(Seat, (game.id, 0)).bank == 86400


@pytest.mark.changes_busy_table  # a lease that long looks like one of a wrong clock
def test_a_clock_set_back_while_nothing_ran_can_be_confirmed_before_the_start(machine: Machine) -> None:
    machine.start()
    machine.now -= DAY
    assert loop.confirm_clock(machine.now)
    assert not loop.confirm_clock(machine.now)
    machine.send_heartbeats()
    assert standing() == set()


@pytest.mark.usefixtures("app")
def test_an_alarm_is_one_row_however_often_it_is_raised() -> None:
    for at in (NOW, NOW + HOUR):
        with engine.transaction() as session:
            operations.raise_alert(session, "k", quoted(f"at {at:%H}"), at)
    (alarm,) = all_of(Alert)
    assert (alarm.text, alarm.at) == (quoted("at 10"), NOW)
    with engine.transaction() as session:
        operations.clear_alerts(session, "k", NOW + HOUR)
        operations.clear_alerts(session, "other", NOW + HOUR)
    with engine.transaction() as session:
        operations.raise_alert(session, "k", quoted("again"), NOW + DAY)
    (alarm,) = all_of(Alert)
    assert (alarm.text, alarm.at, alarm.cleared_at) == (quoted("again"), NOW + DAY, None)


# Bots


def let_bots_play(rounds: int = 5000) -> int:
    for made in range(rounds):
        if not jobs.tick_bots(NOW, lambda _n: 0):
            return made
    raise AssertionError("the bots never come to an end")


@pytest.mark.parametrize("bot", ["random", "greedy", "search"])
def test_bots_play_a_whole_game_by_themselves(
    table: Begin, bot: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "THINKING", 0.002)
    game = table(3)
    give_to_bots(game, range(3), bot)
    let_bots_play()
    with engine.reading() as session:
        assert session.get_one(Game, game.id).status == "over"
        own = select(Entry.by).where(Entry.game_id == game.id, Entry.seat.is_not(None))
        made = set(session.scalars(own))
    assert made <= {"bot", "rules"}
    mails = [mail for mail in all_of(Mail) if mail.game_id != NEIGHBOUR]
    assert mails == [mail for mail in mails if mail.kind == "turn"][:1]  # Alice's, before she left


def test_bots_wait_for_people(table: Begin) -> None:
    game = table(3)
    give_to_bots(game, range(1, 3))
    assert jobs.tick_bots(NOW) == 0
    play.submit(game.id, 0, "pass", seen=1, request_id="r", now=NOW)
    let_bots_play()
    with engine.reading() as session:
        assert [turn.seat for turn in list(loaded(session, game.id).turns.values())] == [0]


def test_a_bot_that_is_of_no_known_kind_sets_its_game_aside_alone(table: Begin) -> None:
    bad, good = table(3, game_id="bad"), table(3, game_id="good")
    give_to_bots(bad, range(3), "nobody")
    give_to_bots(good, range(3))
    jobs.tick_bots(NOW)
    assert len(entries_by(good.id)) == 1
    with engine.reading() as session:
        assert session.get_one(Game, bad.id).quarantine
        assert session.get_one(Game, good.id).quarantine is None


def test_a_bot_thinks_while_no_transaction_is_open(table: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    game = table(3)
    give_to_bots(game, range(3))
    real = bots.decide

    def slow(*words: Any) -> Any:
        change(Person, game.people[0], name="Somebody else")  # would wait for ever behind an open transaction
        return real(*words)

    monkeypatch.setattr(bots, "decide", slow)
    assert jobs.tick_bots(NOW) == 1


def test_the_more_bots_are_to_move_the_less_each_thinks(
    table: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    thought: list[float] = []

    def within(seconds: float, _clock: Any) -> Any:
        thought.append(seconds)
        return bots.no_budget

    monkeypatch.setattr(bots, "time_budget", within)
    for number in range(5):
        give_to_bots(table(3, game_id=f"game{number}"), range(3), "search")
        thought.clear()
        assert jobs.tick_bots(NOW) == number + 1
        assert thought == [min(jobs.THINKING, jobs.THINKING_AT_ONCE / (number + 1))] * (number + 1)


def test_two_schedulers_make_one_move(table: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    game = table(3)
    give_to_bots(game, range(1))
    real = jobs._decide

    def overtaken(*words: Any) -> Any:
        found = real(*words)
        monkeypatch.setattr(jobs, "_decide", real)
        assert jobs.tick_bots(NOW) == 1  # the other scheduler is quicker
        return found

    monkeypatch.setattr(jobs, "_decide", overtaken)
    assert jobs.tick_bots(NOW) == 0
    assert len(entries_by(game.id)) == 1


# The clockwork


def wait_for(what: Callable[[], object]) -> None:
    """Wait until a condition holds; give up after a time that is enough even on a busy machine."""
    for _ in range(600):
        if what():
            return
        time.sleep(0.05)
    raise AssertionError("it did not happen")


def test_the_clockwork_mails_moves_bots_and_stops(table: Begin, app: Flask) -> None:
    inbox = Inbox()
    inbox.start()
    settings = app.config["BYZANZ"].model_copy(update={"mail_url": inbox.url, "tick": 0.2})
    game = table(4, now=engine.utc_now())
    give_to_bots(game, range(1, 4))
    scheduler = loop.Scheduler(app, settings)
    scheduler.start()
    try:
        wait_for(inbox.mails)
        assert {row.part for row in all_of(Heartbeat)} == {"web", "scheduler"}
        play.submit(game.id, 0, "pass", seen=1, request_id="r", now=engine.utc_now())
        wait_for(lambda: len(entries_by(game.id)) > 3)
    finally:
        scheduler.stop()
        inbox.stop()
    threads = {thread.name for thread in threading.enumerate()}
    assert not any("APScheduler" in name or "byzanz" in name for name in threads)
    before = len(entries_by(game.id))
    time.sleep(0.5)
    assert len(entries_by(game.id)) == before


def test_a_job_that_fails_is_logged_and_called_again(app: Flask, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    settings = app.config["BYZANZ"].model_copy(update={"tick": 0.05})
    scheduler = loop.Scheduler(app, settings, parts=("web",))
    calls = []

    def fail() -> None:
        calls.append(1)
        raise ZeroDivisionError

    scheduler._schedule(0.05, "failing", fail)
    scheduler.start()
    try:
        wait_for(lambda: len(calls) > 2)
    finally:
        scheduler.stop()
    assert "job failing failed" in caplog.text


def test_a_web_process_beats_and_does_nothing_else(table: Begin, app: Flask) -> None:
    table(4, now=engine.utc_now())
    scheduler = loop.Scheduler(app, app.config["BYZANZ"], parts=("web",))
    scheduler.start()
    scheduler.stop()
    assert [row.part for row in all_of(Heartbeat)] == ["web"]
    assert [mail.status for mail in all_of(Mail) if mail.game_id != NEIGHBOUR] == ["waiting"]


@pytest.mark.usefixtures("app")
def test_a_commit_wakes_the_mailer() -> None:
    engine.committed.clear()
    with engine.transaction() as session:
        assert not engine.committed.is_set()
        session.execute(select(1))
    assert engine.committed.is_set()


@pytest.mark.usefixtures("app")
def test_an_idle_mailer_and_idle_bots_commit_nothing() -> None:
    engine.committed.clear()
    assert jobs.tick_outbox(NOW, FakeMailer()) == 0
    assert jobs.tick_bots(NOW) == 0
    assert not engine.committed.is_set()


# The inbox of a demo


def test_the_inbox_shows_each_mail_in_a_sandbox(app: Flask, table: Begin) -> None:
    game, inbox, demo = table(4), Inbox(), create_app(app.config["BYZANZ"])
    server_demo.install(demo, inbox)
    client = demo.test_client()
    assert "No email yet" in client.get("/inbox").text
    inbox.start()
    with Transport(MailServer("127.0.0.1", inbox.port, "none"), "byzanz.test") as transport:
        jobs.tick_outbox(NOW, transport)
    inbox.stop()
    assert 'href="/inbox/1"' in client.get("/inbox").text
    page = client.get("/inbox/1")
    assert f"https://byzanz.test/t/{game.tokens[0]}" in page.text
    assert "sandbox=" in page.text
    assert "frame-src 'self'" in page.headers["Content-Security-Policy"]
    framed = client.get("/inbox/1/html")
    policy = framed.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "sandbox" in policy
    assert "script-src" not in policy
    assert '<base target="_top">' in framed.text
    assert client.get("/inbox/2").status_code == 404
    assert client.get("/inbox/2/html").status_code == 404


def test_there_is_no_inbox_on_a_real_server(client: FlaskClient) -> None:
    assert client.get("/inbox").status_code == 404


@pytest.mark.usefixtures("app")
def test_the_inbox_keeps_the_newest_mails_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.demo.MOST_MAILS", 3)
    inbox = Inbox()
    inbox.start()
    with Transport(MailServer("127.0.0.1", inbox.port, "none"), "byzanz.test") as transport:
        for number in range(1, 6):
            content = f"Subject: mail {number}\r\n\r\n".encode()
            transport.send(Message("a@b.test", "c@d.test", content))
    inbox.stop()
    assert [kept.message["Subject"] for kept in inbox.mails()] == ["mail 5", "mail 4", "mail 3"]
    assert inbox.mail(2) is None
    assert inbox.mail(5) is not None
