"""The scheduler: calls the jobs at their intervals."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from threading import Event, Lock, Thread
from typing import IO

from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.interval import IntervalTrigger
from flask import Flask

from server import play
from server.config import Settings
from server.mail.outgoing import deliver, digest
from server.mail.outgoing.smtp import Transport, parse_mail_url
from server.scheduler.jobs import (
    steady,
    tick_addresses,
    tick_bots,
    tick_digests,
    tick_figures,
    tick_invitation_reminders,
    tick_outbox,
    tick_purge,
    tick_rematches,
    tick_reminders,
    tick_results,
    tick_rules,
    tick_tables,
    tick_turns,
    tick_unreached,
)
from server.store import operations, outbox, people
from server.store.engine import alone, committed, db, transaction, utc_now

LOGGER = logging.getLogger(__name__)

DIGEST_INTERVAL = 60.0
"""Seconds between checks for due digests."""


ADDRESSES_INTERVAL = 60.0
"""Seconds between looks at the addresses that are about to change."""
INVITATION_REMINDER_INTERVAL = 600.0
"""Seconds between checks for unanswered invitations."""
REMATCH_INTERVAL = 600.0
"""Seconds between checks for games whose next one is to be offered."""
TABLES_INTERVAL = 600.0
"""Seconds between looks at the open tables."""
PURGE_INTERVAL = 600.0
"""Seconds between deletions of old emails."""
RESULTS_INTERVAL = 60.0
"""Seconds between looks for games that have ended."""
RULES_INTERVAL = 600.0
"""Seconds between looks for games whose rules are not installed."""
FIGURES_INTERVAL = 600.0
"""Seconds between counts of all games."""
TOTALS_INTERVAL = 15.0
"""Seconds between the moments at which the figures of this process are stored."""
LOOK_AT_CLOCK = 1.0
"""Seconds between looks whether the clock was set back."""


def record_heartbeat(recorder: operations.HeartbeatRecorder, now: datetime, steady: float) -> None:
    """Record a heartbeat of one part of the server; once a wrong clock is right, look again at what it delayed."""
    if recorder.record(now, steady):
        _reset_future_times(now)


def confirm_clock(now: datetime) -> bool:
    """Confirm that the clock is right, so that deadlines are enforced again; False if it was not in doubt."""
    _reset_future_times(now)
    with transaction() as session:
        return operations.accept_clock(session, now)


def _reset_future_times(now: datetime) -> None:
    play.reset_future_turns(now)
    with transaction() as session:
        outbox.reset_future_times(session, now)
        digest.look_again(session, now)


class _Interval(IntervalTrigger):  # type: ignore[misc]  # APScheduler carries no types
    """An interval that begins anew at each run; APScheduler's own counts up all runs that a clock set forward skips."""

    def get_next_fire_time(self, _previous: datetime | None, now: datetime) -> datetime:
        """Return when the job runs after a run at `now`."""
        found: datetime = now + self.interval
        return found


class Scheduler:
    """Calls the ticks every few seconds, and the bots and the mailer right after each commit of this process.

    While the clock of this machine contradicts the database's, it only goes on comparing them.

    Args:
        app: the application in whose context each tick runs.
        parts: the parts of the server that this process is: `web` only sends heartbeats, `scheduler` also runs jobs.
        answers: whether this process answers requests; only then it sends heartbeats of the web, for clocks must not
            run while nobody can move. If None, it always does.

    Raises:
        ConfigError: BYZANZ_MAIL_URL names no mail server.
    """

    def __init__(
        self,
        app: Flask,
        settings: Settings,
        parts: tuple[str, ...] = operations.PARTS,
        answers: Callable[[], bool] | None = None,
    ) -> None:
        self._app = app
        self._answers = answers
        self._tick = settings.tick
        self._recorders = [operations.HeartbeatRecorder(part, settings.tick) for part in parts]
        self._process = operations.ProcessHeartbeat(parts)
        self._runs_jobs = "scheduler" in parts
        self._server = parse_mail_url(settings.mail_url) if self._runs_jobs else None
        self._helo = settings.sender_domain
        self._mailer = settings.mailer
        self._only_mailer: IO[str] | None = None
        self._scheduler = BackgroundScheduler(
            timezone=UTC, job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None}
        )
        logging.getLogger("apscheduler").setLevel(logging.ERROR)  # do not log skipped ticks
        self._stopping = Event()
        self._locks = {"bots": Lock(), "outbox": Lock()}
        self._waker = Thread(target=self._wake, name="byzanz-waker", daemon=True)
        self._watch = Thread(target=self._watch_clock, name="byzanz-clock-watch", daemon=True)

    def start(self) -> None:
        """Send a heartbeat first, so that outages are known before any deadline is enforced; then tick."""
        self._run_safely("heartbeats", lambda: self._record_heartbeats(started=False))
        if self._runs_jobs:
            self._run_safely("leases", self._free_leases)
            if not operations.clock_off():
                self._run_safely("rules", self._follow_rules)
        self._schedule(self._tick, "heartbeats", self._record_heartbeats)
        self._schedule(self._tick, "presence", people.store)
        self._schedule(TOTALS_INTERVAL, "totals", operations.store_figures)
        if self._runs_jobs:
            self._schedule(self._tick, "turns", lambda: tick_turns(utc_now(), self._tick))
            self._schedule(self._tick, "unreached", lambda: tick_unreached(utc_now(), self._tick))
            self._schedule(self._tick, "reminders", lambda: tick_reminders(utc_now()))
            self._schedule(self._tick, "bots", self._run_bots)
            self._schedule(self._tick, "outbox", self._send_mail)
            self._schedule(DIGEST_INTERVAL, "digests", lambda: tick_digests(utc_now(), self._tick))
            self._schedule(ADDRESSES_INTERVAL, "addresses", lambda: tick_addresses(utc_now(), self._tick))
            self._schedule(
                INVITATION_REMINDER_INTERVAL, "nudges", lambda: tick_invitation_reminders(utc_now())
            )
            self._schedule(REMATCH_INTERVAL, "rematches", lambda: tick_rematches(utc_now()))
            self._schedule(TABLES_INTERVAL, "tables", lambda: tick_tables(utc_now(), self._tick))
            self._schedule(PURGE_INTERVAL, "purge", lambda: tick_purge(utc_now(), self._tick))
            self._schedule(RESULTS_INTERVAL, "results", lambda: tick_results(utc_now(), self._tick))
            self._schedule(RULES_INTERVAL, "rules", self._follow_rules)
            self._schedule(FIGURES_INTERVAL, "figures", lambda: tick_figures(utc_now()))
            self._waker.start()
        self._scheduler.start()
        self._watch.start()

    def stop(self) -> None:
        """Finish the running jobs and start no more."""
        self._stopping.set()
        committed.set()
        if self._watch.is_alive():
            self._watch.join()
        self._scheduler.pause()
        self._scheduler.get_jobs()  # waits until none is being handed out: that would fail while all shut down
        self._scheduler.shutdown(wait=True)
        if self._runs_jobs and not operations.clock_off():
            self._run_safely("outcomes", lambda: deliver.store_outcomes(utc_now()))
        self._run_safely("totals", operations.store_figures)
        self._run_safely("the end", self._process.stop)
        if self._only_mailer is not None:
            self._only_mailer.close()
        if self._waker.is_alive():
            self._waker.join(timeout=60)

    def _schedule(self, seconds: float, name: str, work: Callable[[], object]) -> None:
        self._scheduler.add_job(
            self._run_job, _Interval(seconds=seconds), args=(name, work), id=name, next_run_time=utc_now()
        )

    def _follow_rules(self) -> None:
        """Hold the games whose packages are gone before any deadline is enforced, and release those that are back."""
        while tick_rules(utc_now()):
            pass

    def _free_leases(self) -> None:
        """Free what the mailer before this one was about to send; two that live must not take each other's."""
        self._only_mailer = alone(db.engine, "mailer")
        if self._only_mailer is not None or self._mailer:
            outbox.free_leases(self._mailer or outbox.UNNAMED)

    def _watch_clock(self) -> None:
        """Run at once the jobs that a clock set back has moved into the future.

        APScheduler waits for times of the machine's clock; this thread waits on the monotonic one. It also wakes
        APScheduler, which may wait for days because of a step that was undone before this thread looked.
        """
        while not self._stopping.wait(LOOK_AT_CLOCK):
            self._run_safely("clock watch", self._advance_jobs)

    def _advance_jobs(self) -> None:
        now = utc_now()
        for job in self._scheduler.get_jobs():
            if job.next_run_time > now + job.trigger.interval:
                job.modify(next_run_time=now)
        self._scheduler.wakeup()

    def _run_job(self, name: str, work: Callable[[], object]) -> None:
        if operations.clock_off() and name != "heartbeats":
            return
        if self._run_safely(name, work) and self._runs_jobs:
            operations.note_figure(f"job:{name}", int(utc_now().timestamp()))

    def _run_safely(self, name: str, work: Callable[[], object]) -> bool:
        try:
            with self._app.app_context():
                done = work()
        except Exception:
            LOGGER.exception("job %s failed; it will run again at the next tick", name)
            return False
        if done:
            LOGGER.info("job %(job)s: %(done)s done", {"job": name, "done": done})
        return True

    def _wake(self) -> None:
        while not self._stopping.is_set():
            committed.wait()
            committed.clear()
            if operations.clock_off():
                continue
            self._run_safely("bots", self._run_bots)
            self._run_safely("outbox", self._send_mail)

    def _record_heartbeats(self, started: bool = True) -> None:
        if not self._process.send(utc_now):
            LOGGER.error(
                "the clock of this machine is wrong; nothing is done until it is right",
                extra={"outage": True},
            )
            return
        for recorder in self._recorders:
            if recorder.part == "web" and self._answers is not None and not (started and self._answers()):
                continue
            record_heartbeat(recorder, utc_now(), steady())

    def _run_bots(self) -> None:
        with self._locks["bots"]:
            while not self._stopping.is_set() and tick_bots(utc_now()):
                pass

    def _send_mail(self) -> None:
        assert self._server is not None
        with self._locks["outbox"], Transport(self._server, self._helo) as transport:
            while not self._stopping.is_set() and tick_outbox(utc_now(), transport) == deliver.BATCH:
                pass
