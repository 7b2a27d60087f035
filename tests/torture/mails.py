"""Promise 6: no email is lost, and each crash causes at most one extra copy, with the same Message-ID.

The mail server refuses, hangs, drips, hangs up, is down for hours, and kills the mailer just after accepting an email
from it. Time is an argument of each batch, so it runs 1,200 times as fast here.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import Any

from server.store.models import LinkPurpose
from tests.torture import databases
from tests.torture.faulty import Faulty
from tests.torture.house import environment
from tests.torture.journal import Journal
from tests.torture.processes import Running
from tests.torture.report import Report, complaints, count, judge
from tests.torture.times import Time

RATE = 1200.0
"""How much faster time runs: a lease of ten minutes takes half a second."""
TIMEOUT, LONGEST = 0.3, 0.6
"""Seconds that the mailer waits for one answer, and for one email in all."""
UP, DOWN = 8.0, 6.0
"""Seconds that the mail server is up, and down: two hours of the mailer's time."""
LOOK = 0.02
AT_ONCE = 40
"""Emails that are queued together when fewer than that are waiting."""
LAST = 60.0
"""Seconds in which everything that is left must be sent in the end."""


class Mailer:
    """One mailer that is killed and restarted.

    Args:
        settings: its environment; log: the file for its output.
        arguments: of `_deliver`.
        journal: gets a line for each kill.
    """

    def __init__(
        self, settings: Mapping[str, str], log: Path, arguments: tuple[Any, ...], journal: Journal
    ) -> None:
        self._settings, self._log, self._arguments = settings, log, arguments
        self._journal = journal
        self._running: Running | None = None
        self._lock = Lock()

    def start(self) -> None:
        """Start the mailer if it is not running."""
        with self._lock:
            if self._running is None or not self._running.alive:
                self._running = Running(_deliver, self._arguments, self._settings, self._log)

    def kill(self) -> None:
        """`kill -9`."""
        with self._lock:
            if self._running is not None and self._running.alive:
                self._journal.write("kill", part="mailer")
                self._running.kill()


def run(mails: int, seconds: float, seed: int, breaks: str | None = None) -> Report:
    """Deliver many emails to a failing server, on SQLite.

    Args:
        mails: at most; seconds: after which the server works normally and accepts what is left.
        seed: of the faults.
        breaks: a promise to break on purpose.
    """
    began = time.monotonic()
    with ExitStack() as stack:
        private = stack.enter_context(databases.folder())
        url = stack.enter_context(databases.empty(databases.SQLITE, private, None))
        journal, log = Journal(private / "journal"), private / "log"
        server = stack.enter_context(Faulty(journal, seed))
        settings = environment(url, server.url)
        clock = Time(time.monotonic(), RATE)
        mailer = Mailer(settings, log, (clock, journal.path, mails, breaks), journal)
        server.kill = mailer.kill
        if Running(_prepare, (), settings, log).finish() != 0:
            raise RuntimeError(f"there is no database:\n{log.read_text()}")
        downs = _trouble(server, mailer, mails, seconds)
        server.calm, server.down = True, False
        mailer.kill()
        drained = Running(_drain, (clock, journal.path), settings, log).finish()
        faults = judge(url, journal.path, "mails") + complaints(log)
        if drained != 0:
            faults += (f"the last mailer ended with {drained}",)
        met = ", ".join(f"{times} × {fault}" for fault, times in sorted(server.met.items()))
        figures = (
            f"{count(journal.path, 'kill')} mailers killed, down {downs} times for two hours, {met}; "
            f"{count(journal.path, 'mail')} copies taken, {time.monotonic() - began:.0f} s"
        )
        queued = count(journal.path, "queued")
    return Report("mails to a server that fails", queued, figures, faults)


def _trouble(server: Faulty, mailer: Mailer, mails: int, seconds: float) -> int:
    """Keep a mailer running until most emails are sent or the time is over; return how often the server was down."""
    began = time.monotonic()
    downs = 0
    while (now := time.monotonic() - began) < seconds and server.taken < mails:
        server.down = now % (UP + DOWN) > UP
        downs = int((now + DOWN) // (UP + DOWN))
        mailer.start()
        time.sleep(LOOK)
    return downs


def _prepare() -> None:
    """Create the tables."""
    from server import config, create_app
    from server.store import migrate

    with create_app(config.load(create=True)).app_context():
        migrate.upgrade()


def _queue(noted: Journal, mails: int, now: datetime) -> None:
    """Queue emails to as many people, if few are waiting."""
    from sqlalchemy import func, select

    from server.store import engine, links, outbox, people
    from server.store.models import Mail

    with engine.transaction() as session:
        first = session.scalar(select(func.count()).select_from(Mail)) or 0
        waiting = session.scalar(select(func.count()).where(Mail.status == "waiting")) or 0
        numbers = range(first, min(mails, first + AT_ONCE) if waiting < AT_ONCE else first)
        for number in numbers:
            reader = people.get_or_create(session, f"reader{number}@torture.example", "A reader", now).id
            link = links.issue(session, LinkPurpose.SIGNIN, reader, now, expires_at=now + timedelta(days=999))
            key, details = f"signin:{number}", {"link": link.id}
            outbox.enqueue(session, key=key, kind="signin", person_id=reader, now=now, details=details)
    for number in numbers:
        noted.write("queued", to=f"reader{number}@torture.example")


def _deliver(clock: Time, path: Path, mails: int, breaks: str | None) -> None:
    """Do what a mailer does, repeatedly; queue more when few emails are left."""
    from server import config, create_app
    from server.mail.outgoing import deliver
    from server.mail.outgoing.smtp import Transport, parse_mail_url
    from tests.torture import broken

    if breaks is not None:
        broken.BREAKS[breaks]()
    settings = config.load("mailing")
    noted = Journal(path)
    with create_app(settings).app_context():
        while True:
            _queue(noted, mails, clock.now())
            with Transport(
                parse_mail_url(settings.mail_url),
                settings.sender_domain,
                timeout=TIMEOUT,
                send_timeout=LONGEST,
            ) as transport:
                deliver.deliver(clock.now(), transport)
            time.sleep(LOOK)


def _drain(clock: Time, path: Path) -> int:
    """Deliver until nothing is waiting; return 1 if that never happens."""
    from sqlalchemy import func, select

    from server import config, create_app
    from server.mail.outgoing import deliver
    from server.mail.outgoing.smtp import Transport, parse_mail_url
    from server.store import engine
    from server.store.models import Mail

    settings = config.load("mailing")
    now, last = clock.now(), time.monotonic() + LAST
    with create_app(settings).app_context():
        while time.monotonic() < last:
            with engine.reading() as session:
                if not session.scalar(select(func.count()).where(Mail.status == "waiting")):
                    Journal(path).write("end", at=now.isoformat(), slack=0)
                    return 0
            with Transport(parse_mail_url(settings.mail_url), settings.sender_domain) as transport:
                while deliver.deliver(now, transport):
                    pass
            now += timedelta(minutes=15)
    return 1
