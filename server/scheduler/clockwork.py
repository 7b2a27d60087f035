"""The scheduler: calls the jobs at their intervals."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from threading import Event, Lock, Thread

from apscheduler.schedulers.background import BackgroundScheduler
from flask import Flask

from server.config import Settings
from server.mail.outgoing import deliver
from server.mail.outgoing.smtp import Transport, parse_mail_url
from server.scheduler import heartbeat
from server.scheduler.jobs import (
    steady,
    tick_bots,
    tick_digests,
    tick_nudges,
    tick_outbox,
    tick_reminders,
    tick_turns,
    tick_unreached,
)
from server.store import outbox
from server.store.engine import committed, transaction, utc_now

LOGGER = logging.getLogger(__name__)

DIGEST_INTERVAL = 60.0
"""Seconds between checks for due digests."""


NUDGE_INTERVAL = 600.0
"""Seconds between checks for unanswered invitations."""


def record_heartbeat(recorder: heartbeat.HeartbeatRecorder, now: datetime, steady: float) -> None:
    """Record a heartbeat of one part of the server; once a wrong clock is right, make the emails it delayed due."""
    if recorder.record(now, steady):
        with transaction() as session:
            outbox.reset_future_times(session, now)


def confirm_clock(now: datetime) -> bool:
    """Confirm that the clock is right, so that deadlines are enforced again; False if it was not in doubt."""
    with transaction() as session:
        outbox.reset_future_times(session, now)
        return heartbeat.accept_clock(session, now)


class Scheduler:
    """Calls the ticks every few seconds, and the bots and the mailer right after each commit of this process.

    Args:
        app: the application in whose context each tick runs.
        parts: the parts of the server that this process is: `web` only sends heartbeats, `scheduler` also runs jobs.

    Raises:
        ConfigError: BYZANZ_MAIL_URL names no mail server.
    """

    def __init__(self, app: Flask, settings: Settings, parts: tuple[str, ...] = heartbeat.PARTS) -> None:
        self._app = app
        self._tick = settings.tick
        self._recorders = [heartbeat.HeartbeatRecorder(part, settings.tick) for part in parts]
        self._runs_jobs = "scheduler" in parts
        self._server = parse_mail_url(settings.mail_url) if self._runs_jobs else None
        self._helo = settings.sender_domain
        self._scheduler = BackgroundScheduler(
            timezone=UTC, job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None}
        )
        logging.getLogger("apscheduler").setLevel(logging.ERROR)  # do not log skipped ticks
        self._stopping = Event()
        self._locks = {"bots": Lock(), "outbox": Lock()}
        self._waker = Thread(target=self._wake, name="byzanz-waker", daemon=True)

    def start(self) -> None:
        """Send a heartbeat first, so that outages are known before any deadline is enforced; then tick."""
        self._run_safely("heartbeats", self._record_heartbeats)
        self._schedule(self._tick, "heartbeats", self._record_heartbeats)
        if self._runs_jobs:
            self._schedule(self._tick, "turns", lambda: tick_turns(utc_now(), self._tick))
            self._schedule(self._tick, "unreached", lambda: tick_unreached(utc_now(), self._tick))
            self._schedule(self._tick, "reminders", lambda: tick_reminders(utc_now()))
            self._schedule(self._tick, "bots", self._run_bots)
            self._schedule(self._tick, "outbox", self._send_mail)
            self._schedule(DIGEST_INTERVAL, "digests", lambda: tick_digests(utc_now(), self._tick))
            self._schedule(NUDGE_INTERVAL, "nudges", lambda: tick_nudges(utc_now()))
            self._waker.start()
        self._scheduler.start()

    def stop(self) -> None:
        """Finish the running jobs and start no more."""
        self._stopping.set()
        committed.set()
        self._scheduler.shutdown(wait=True)
        if self._waker.is_alive():
            self._waker.join(timeout=60)

    def _schedule(self, seconds: float, name: str, work: Callable[[], object]) -> None:
        self._scheduler.add_job(
            self._run_safely, "interval", args=(name, work), seconds=seconds, id=name, next_run_time=utc_now()
        )

    def _run_safely(self, name: str, work: Callable[[], object]) -> None:
        try:
            with self._app.app_context():
                work()
        except Exception:
            LOGGER.exception("job %s failed; it will run again at the next tick", name)

    def _wake(self) -> None:
        while not self._stopping.is_set():
            committed.wait()
            committed.clear()
            self._run_safely("bots", self._run_bots)
            self._run_safely("outbox", self._send_mail)

    def _record_heartbeats(self) -> None:
        for recorder in self._recorders:
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
