"""The scheduler's jobs: which there are, how often each runs, and what each of them calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from threading import Event
from typing import Any

import pytest
from flask import Flask

from server import play
from server.mail.incoming import receive
from server.mail.outgoing import deliver, digest
from server.mail.outgoing.smtp import Transport
from server.play.moderation import Newcomer
from server.scheduler import jobs, loop
from server.store import engine, operations, outbox, people
from server.store.models import Game
from tests.conftest import NOW, Table
from tests.support.games import TICK, entries_by, give_to_bots, outsider, submit
from tests.support.scheduler import JOBS, SECONDS

Begin = Callable[..., Table]
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
FREE_LEASES = outbox.free_leases


class Ticks:
    """Stand-ins for all that the jobs call: each notes its calls."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self._results = {"tick_bots": [1, 2], "tick_outbox": [deliver.BATCH, 3]}
        for name in dir(loop):
            if name.startswith("tick_"):
                monkeypatch.setattr(loop, name, partial(self._tick, name))
        monkeypatch.setattr(loop, "record_heartbeat", self._record)
        monkeypatch.setattr(outbox, "free_leases", lambda _mailer: None)
        monkeypatch.setattr(people, "store", lambda: self.calls.append(("presence.store",)))
        monkeypatch.setattr(operations, "store_figures", lambda: self.calls.append(("totals.store",)))

    def _tick(self, name: str, now: datetime, *more: Any) -> int:
        assert abs(now - datetime.now(UTC)) < MINUTE
        passed = [type(each) if isinstance(each, Transport) else each for each in more]
        self.calls.append((name, *passed))
        left = self._results.get(name)
        return left.pop(0) if left else 0

    def _record(self, recorder: operations.HeartbeatRecorder, now: datetime, _steady: float) -> None:
        assert abs(now - datetime.now(UTC)) < MINUTE
        self.calls.append(("record_heartbeat", recorder.part))


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> Ticks:
    return Ticks(monkeypatch)


@pytest.fixture
def scheduler(app: Flask, ticks: Ticks) -> Iterator[loop.Scheduler]:  # noqa: ARG001 (jobs are replaced first)
    """Start a scheduler whose jobs wait to be called by the test."""
    settings = app.config["BYZANZ"].model_copy(update={"tick": SECONDS})
    made = loop.Scheduler(app, settings)
    made._scheduler.start = partial(made._scheduler.start, paused=True)
    engine.committed.clear()
    made.start()
    yield made
    made.stop()


def test_each_job_runs_at_its_interval_and_calls_its_tick(scheduler: loop.Scheduler, ticks: Ticks) -> None:
    # The first heartbeat comes before all ticks, and before a deadline is enforced, games without rules are on hold.
    assert ticks.calls == JOBS["heartbeats"][1] + JOBS["rules"][1]
    found = {}
    for job in scheduler._scheduler.get_jobs():
        ticks.calls.clear()
        job.func(*job.args)
        found[job.id] = (job.trigger.interval.total_seconds(), list(ticks.calls))
        assert job.next_run_time - datetime.now(UTC) < MINUTE
    assert found == JOBS


@pytest.mark.parametrize("jump", [timedelta(days=4), timedelta(days=-4)])
def test_a_job_whose_clock_jumps_runs_once_and_then_at_its_interval(
    scheduler: loop.Scheduler, monkeypatch: pytest.MonkeyPatch, jump: timedelta
) -> None:
    then = datetime.now(UTC) + jump
    monkeypatch.setattr(loop, "utc_now", lambda: then)
    looks = [True, False]  # the watch looks once and is then told to stop
    monkeypatch.setattr(scheduler._stopping, "wait", lambda _seconds: looks.pop())
    scheduler._watch_clock()
    monkeypatch.undo()
    for job in scheduler._scheduler.get_jobs():
        assert job.next_run_time <= then
        assert len(job._get_run_times(then)) == 1
        assert job.trigger.get_next_fire_time(job.next_run_time, then) == then + job.trigger.interval


def test_the_web_sends_a_heartbeat_only_after_it_has_answered_a_request(app: Flask, ticks: Ticks) -> None:
    answers = [False, True]
    made = loop.Scheduler(app, app.config["BYZANZ"], answers=lambda: answers.pop(0))
    made._scheduler.start = partial(made._scheduler.start, paused=True)
    own, web = ("record_heartbeat", "scheduler"), ("record_heartbeat", "web")
    made.start()
    try:
        assert ticks.calls == [own, *JOBS["rules"][1]]  # nothing can be answered yet, so nothing is asked
        (job,) = (job for job in made._scheduler.get_jobs() if job.id == "heartbeats")
        for sent in ([own], [web, own]):
            ticks.calls.clear()
            job.func(*job.args)
            assert ticks.calls == sent
    finally:
        made.stop()


def test_a_commit_lets_bots_move_and_then_sends_the_mail(scheduler: loop.Scheduler, ticks: Ticks) -> None:
    ticks.calls.clear()
    engine.committed.set()
    for _ in range(600):
        if len(ticks.calls) == 5:
            break
        scheduler._stopping.wait(0.05)
    assert ticks.calls == JOBS["bots"][1] + JOBS["outbox"][1]


@pytest.mark.usefixtures("app")
def test_nobody_is_given_up_and_no_clock_started_by_a_digest_while_deadlines_are_suspended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[datetime] = []
    monkeypatch.setattr(digest, "start_overdue_clocks", started.append)
    monkeypatch.setattr("server.play.turns.unreachable", pytest.fail)
    for part in operations.PARTS:
        operations.HeartbeatRecorder(part, TICK).record(NOW, 0)
    assert jobs.tick_digests(NOW + HOUR, TICK) == 0
    assert jobs.tick_unreached(NOW + HOUR, TICK) == 0
    assert started == []
    jobs.tick_digests(NOW + MINUTE, TICK)
    assert started == [NOW + MINUTE]


@pytest.mark.usefixtures("app")
def test_old_mail_is_deleted_unless_the_clock_is_in_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    purged: list[datetime] = []
    monkeypatch.setattr(receive, "purge", purged.append)
    monkeypatch.setattr(outbox, "purge", {NOW + MINUTE: 3}.get)
    monkeypatch.setattr("server.lobby.invitations.send_invitation_reminders", {NOW: 3}.get)
    assert jobs.tick_invitation_reminders(NOW) == 3
    for part in operations.PARTS:
        operations.HeartbeatRecorder(part, TICK).record(NOW, 0)
    assert jobs.tick_purge(NOW + HOUR, TICK) == 0
    assert purged == []
    assert jobs.tick_purge(NOW + MINUTE, TICK) == 3
    assert purged == [NOW + MINUTE]


@pytest.mark.empty_database
def test_a_confirmed_clock_makes_the_mail_of_its_wrong_past_due(table: Begin) -> None:
    table(3, now=NOW + HOUR)
    assert outbox.lease(NOW, 9) == []
    assert not loop.confirm_clock(NOW)
    assert len(outbox.lease(NOW, 9)) == 1


# Between a hint and the look at its game


def replaced(game: Table) -> None:
    with engine.transaction() as session:
        moderator = people.get_or_create(session, "mia@example.org", "Mia", NOW).id
    zoe = Newcomer("Zoe", "zoe@example.org")
    play.moderate(game.id, "!replace 0", reason="taken", person_id=moderator, now=NOW, newcomer=zoe)


def paused(game: Table) -> None:
    play.moderate(game.id, "!pause", reason="a storm", person_id=outsider(), now=NOW)


def assert_answered(game: Table) -> None:
    submit(game.id, 0, "pass")


@pytest.mark.parametrize("happens", [replaced, paused, assert_answered])
def test_a_bot_does_nothing_when_its_turn_has_gone_since_the_hint(
    table: Begin, monkeypatch: pytest.MonkeyPatch, happens: Callable[[Table], None]
) -> None:
    game = table(3)
    give_to_bots(game, range(1))
    real = jobs._decide

    def late(*words: Any) -> Any:
        happens(game)
        before[:] = entries_by(game.id)
        return real(*words)

    before: list[Any] = []
    monkeypatch.setattr(jobs, "_decide", late)
    assert jobs.tick_bots(NOW) == 0
    assert entries_by(game.id) == before
    with engine.reading() as session:
        assert session.get_one(Game, game.id).quarantine is None


def test_apscheduler_is_woken_though_it_waits_for_days(
    app: Flask, ticks: Ticks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step of the clock may be undone before anybody looks: then no job lies in the future, yet it sleeps."""
    monkeypatch.setattr(loop, "LOOK_AT_CLOCK", 0.01)
    made = loop.Scheduler(app, app.config["BYZANZ"].model_copy(update={"tick": SECONDS}))
    woken = Event()
    monkeypatch.setattr(made._scheduler, "wakeup", woken.set)
    made._scheduler.start = partial(made._scheduler.start, paused=True)
    made.start()
    woken.clear()
    try:
        assert woken.wait(30)
    finally:
        monkeypatch.undo()
        made.stop()
    assert ticks.calls


def started(app: Flask, mailer: str = "") -> loop.Scheduler:
    """Start a scheduler that sends mail under this name; its jobs wait."""
    made = loop.Scheduler(app, app.config["BYZANZ"].model_copy(update={"tick": SECONDS, "mailer": mailer}))
    made._scheduler.start = partial(made._scheduler.start, paused=True)
    made.start()
    return made


@pytest.mark.empty_database
def test_a_mailer_that_starts_again_sends_at_once_what_it_held(
    table: Begin, app: Flask, ticks: Ticks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On SQLite it need only be the one mailer of the file; on PostgreSQL there may be others, so it needs a name."""
    table(3)
    monkeypatch.setattr(outbox, "free_leases", FREE_LEASES)
    sqlite = engine.db.engine.dialect.name == "sqlite"
    name = "" if sqlite else "east"
    app.config["BYZANZ"] = app.config["BYZANZ"].model_copy(update={"mailer": name})
    assert len(outbox.lease(NOW, 9)) == 1
    first = started(app, name)
    assert ticks.calls
    try:
        assert len(outbox.lease(NOW, 9)) == 1, "what the one before it held is due"
        started(app, "" if sqlite else "west").stop()
        assert outbox.lease(NOW, 9) == [], "one that starts beside it takes nothing from it"
    finally:
        first.stop()
