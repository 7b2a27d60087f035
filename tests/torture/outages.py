"""Promise 5: nobody loses a turn to our downtime, to a clock that jumps, or to an email that never arrived.

The server takes time as an argument, so months pass in seconds. Processes are down for minutes or days, restart or
resume; the machine's clock jumps and is corrected, or a moderator confirms it; mailboxes are full and emails bounce.
The journal records everything in true time, which the server never sees.
"""

from __future__ import annotations

import random
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from pathlib import Path
from typing import Any

from tests.support.games import loaded
from tests.torture import databases, evidence, journal, tables
from tests.torture.house import NO_MAIL, environment
from tests.torture.journal import Journal
from tests.torture.processes import Running
from tests.torture.report import Report, complaints, count, judge

GAMES = 80
ALLOWANCE = 2 * 3600
BEAT = 40.0
"""Seconds between two heartbeats according to the settings; a process counts as down after six times that."""
STEP = timedelta(minutes=4)
AT_ONCE = 5
"""Games that one tick times out."""
START = datetime(2026, 1, 5, tzinfo=UTC)
SHORTEST, LONGEST, ALONE = 5 / 60, 72.0, 6.0
"""Hours that an outage lasts at least and at most, and mostly if only one process is down."""
JUMPS = (timedelta(days=3), -timedelta(days=3), timedelta(hours=5), -timedelta(minutes=40))
AWAY, RESTART, JUMP, FULL, BOUNCE, MOVE, BACK = 0.02, 0.02, 0.008, 0.03, 0.02, 0.2, 0.3
"""How likely each of these events is in a step."""
MORE = 6.0
"""How many times as often, if that is requested."""


def run(turns: int, seconds: float, seed: int, breaks: str | None = None, often: str = "") -> Report:
    """Time out turns, on SQLite.

    Args:
        turns: at most; seconds: after which no further step starts.
        seed: of all faults.
        breaks: a promise to break on purpose.
        often: what happens much more often than usual: away, jump, full or bounce.
    """
    began = time.monotonic()
    with ExitStack() as stack:
        private = stack.enter_context(databases.folder(databases.MEMORY))
        url = stack.enter_context(databases.empty(databases.SQLITE, private, None))
        noted, log = Journal(private / "journal"), private / "log"
        settings = environment(url, NO_MAIL)
        laid = tables.lay(tables.Wish(GAMES, allowance=ALLOWANCE, at=START), settings, log, noted)
        games = [table.id for table in laid]
        child = Running(_live, (noted.path, games, turns, seconds, seed, breaks, often), settings, log)
        ended = child.finish(seconds + 60)
        child.kill()
        faults = judge(url, noted.path, "clocks") + complaints(log)
        if ended != 0:
            faults += (f"the world ended with {ended}: {log.read_text()[-1000:]}",)
        n, days = _figures(url, noted.path)
        figures = (
            f"{count(noted.path, 'down')} outages and {count(noted.path, 'doubt')} jumps of the clock in {days} days, "
            f"{count(noted.path, 'stopped')} mails refused or sent back, {time.monotonic() - began:.0f} s"
        )
    return Report("outages", n, figures, faults)


def _figures(url: str, path: Path) -> tuple[int, int]:
    """Return how many turns timed out, and how many days passed."""
    lines = journal.read(path)
    connection = evidence.connect(url)
    found = evidence.gather(connection, lines)
    connection.close()
    missed = sum(len(game.known.missed) for game in found.games.values() if game.known is not None)
    last = max((evidence.moment(line["true"]) for line in found.lines("entries")), default=START)
    return missed, (last - START).days


class Postman:
    """Accepts every email except those to addresses that are full."""

    def __init__(self) -> None:
        self.full: dict[str, datetime] = {}
        """Until when each address is full."""
        self.taken: set[str] = set()

    def send(self, message: Any) -> None:
        """Accept an email, or refuse it permanently."""
        from server.mail.outgoing.smtp import PermanentFailure

        if message.recipient in self.full:
            raise PermanentFailure("552 5.2.2 full")
        self.taken.add(message_from_bytes(message.content)["Message-ID"])


@dataclass
class World:
    """All faults, in true time; the server sees `now`, which is wrong by `off`.

    Args:
        often: what happens much more often than usual: away, jump, full or bounce.
        away: until when processes are down; last: the last heartbeat of each.
        doubt: since when the clock is wrong, and until when.
    """

    noted: Journal
    draw: random.Random
    games: list[str]
    often: str
    true: datetime = START
    off: timedelta = timedelta(0)
    away: dict[str, datetime] = field(default_factory=dict)
    last: dict[str, datetime] = field(default_factory=dict)
    recorders: dict[str, Any] = field(default_factory=dict)
    doubt: tuple[datetime, datetime] | None = None
    postman: Postman = field(default_factory=Postman)
    heads: dict[str, int] = field(default_factory=dict)
    tried: set[int] = field(default_factory=set)
    mailed: int = 0
    missed: int = 0

    @property
    def now(self) -> datetime:
        """Return the time that the machine's clock shows."""
        return self.true + self.off

    @property
    def steady(self) -> float:
        """Return the time that a clock shows which never jumps."""
        return (self.true - START).total_seconds()

    def step(self) -> None:
        """Let a few minutes pass, or an outage of everything."""
        self.true += STEP
        self._jump()
        self._fall()
        self._beat()
        if "scheduler" not in self.away:
            self._work()
        if "web" not in self.away:
            self._play()
        self._post()
        self._look()

    def _odds(self, what: str, usual: float) -> float:
        return usual * (MORE if what == self.often else 1)

    def _hours(self, most: float) -> timedelta:
        """Draw minutes, hours or days, short and long equally likely."""
        return timedelta(hours=SHORTEST * (most / SHORTEST) ** self.draw.random())

    def _fall(self) -> None:
        """Stop processes; when all are down, skip the time."""
        from server.store import operations

        if not self.away and self.draw.random() < self._odds("away", AWAY):
            which = self.draw.choice((["web"], ["scheduler"], ["web", "scheduler"], ["web", "scheduler"]))
            most = LONGEST if len(which) == 2 or self.draw.random() < 0.1 else ALONE
            self.away = dict.fromkeys(which, self.true + self._hours(most))
            if len(which) == 2:
                self.true = max(self.away.values())
        for part in [part for part, until in self.away.items() if until <= self.true]:
            del self.away[part]
        for part in operations.PARTS:
            if part not in self.recorders or (part not in self.away and self.draw.random() < RESTART):
                self.recorders[part] = operations.HeartbeatRecorder(part, BEAT)

    def _beat(self) -> None:
        from server.scheduler import loop
        from server.store import operations

        for part in [part for part in self.recorders if part not in self.away]:
            last = self.last.get(part, self.true)
            if self.true - last > STEP:
                self.noted.write("down", part=part, since=last.isoformat(), to=self.true.isoformat())
                if self.draw.random() < 0.5:  # it was restarted; otherwise the machine has slept
                    self.recorders[part] = operations.HeartbeatRecorder(part, BEAT)
            loop.record_heartbeat(self.recorders[part], self.now, self.steady)
            self.last[part] = self.true

    def _jump(self) -> None:
        """Let the clock jump; later it is corrected, or a moderator confirms it."""
        from server.scheduler import loop
        from server.store import engine, operations

        if self.doubt is None and not self.away and self.draw.random() < self._odds("jump", JUMP):
            self.doubt = self.true, self.true + self._hours(ALONE)
            self.off += self.draw.choice(JUMPS)
        elif self.doubt is not None and self.doubt[1] <= self.true and not self.away:
            since, self.doubt = self.doubt[0], None
            if self.draw.random() < 0.5:
                self.off = timedelta(0)
                self._beat()
            with engine.reading() as session:
                stands = operations.open_alert(session, operations.CLOCK_JUMPED)
            if stands:
                loop.confirm_clock(self.now)
            self.noted.write("doubt", since=since.isoformat(), to=self.true.isoformat())

    def _work(self) -> None:
        from server.mail.outgoing import deliver
        from server.scheduler import jobs

        while deliver.deliver(self.now, self.postman, steady=lambda: 0.0):
            pass
        jobs.tick_turns(self.now, BEAT)
        jobs.tick_unreached(self.now, BEAT)

    def _play(self) -> None:
        """Let a player move, or return from autopilot."""
        from sqlalchemy import select

        from server import play
        from server.errors import Refused
        from server.play import positions
        from server.store import engine
        from server.store.models import Game, Seat

        if self.draw.random() < MOVE:
            game_id = self.draw.choice(self.games)
            with engine.reading() as session:
                position = positions.current(loaded(session, game_id))
            for seat in list(position.awaited)[:1]:
                move = str(self.draw.choice(position.rules.moves(position.state, seat)))
                request = f"{game_id}-{position.head}"
                self.noted.write("ask", game=game_id, seat=seat, request=request, move=move)
                with suppress(Refused):
                    play.submit(game_id, seat, move, seen=position.head, request_id=request, now=self.now)
        if self.draw.random() < BACK:
            with engine.reading() as session:
                running = Seat.game_id.in_(select(Game.id).where(Game.status == "running"))
                places = session.execute(select(Seat.game_id, Seat.seat).where(Seat.autopilot, running)).all()
            for game_id, seat in places:
                self.noted.write("back", game=game_id, seat=seat)
                with suppress(Refused):
                    play.reclaim(game_id, seat, now=self.now)

    def _post(self) -> None:
        """Fill and empty mailboxes, and bounce an accepted email."""
        from sqlalchemy import func, select

        from server.mail import deliverability
        from server.mail.text import quoted
        from server.store import engine
        from server.store.models import Mail, Person

        with engine.reading() as session:
            people = {person.email: person.id for person in session.scalars(select(Person))}
        if self.draw.random() < self._odds("full", FULL):
            self.postman.full[self.draw.choice(sorted(filter(None, people)))] = self.true + self._hours(
                LONGEST
            )
        for mended in [each for each, until in self.postman.full.items() if until <= self.true]:
            del self.postman.full[mended]
            deliverability.mark_reachable(people[mended], self.now)
        if self.draw.random() < self._odds("bounce", BOUNCE):
            with engine.reading() as session:
                heeded = Mail.finished_at > self.now - deliverability.REPORT_WINDOW
                newest = (
                    select(func.max(Mail.id))
                    .where(Mail.kind == "turn")
                    .group_by(Mail.game_id, Mail.seat, Mail.seq)
                )
                sent = (
                    select(Mail).where(Mail.id.in_(newest), Mail.status == "sent", heeded).order_by(Mail.id)
                )
                mail = self.draw.choice(session.scalars(sent).all() or [None])
                address = None if mail is None else session.get_one(Person, mail.person_id).email
            if mail is not None and address is not None:
                self.noted.write("stopped", **self._turn(mail))
                deliverability.handle_bounce(mail.id, quoted("5.1.1 nobody here"), self.now)
                self.postman.full.setdefault(address, self.true + self._hours(ALONE))

    def _turn(self, mail: Any) -> dict[str, Any]:
        return {"game": mail.game_id, "seat": mail.seat, "opened": mail.seq, "true": self.true.isoformat()}

    def _look(self) -> None:
        """Record what was written and sent in this step."""
        from sqlalchemy import select

        from server.mail.outgoing.compose import message_id
        from server.store import engine, log
        from server.store.models import Game, Mail

        with engine.reading() as session:
            heads = dict(session.execute(select(Game.id, Game.head)).tuples().all())
            fresh = [
                (game_id, entry)
                for game_id, head in heads.items()
                if head > (seen := self.heads.get(game_id, 0))
                for entry in log.entries(session, game_id, after=seen)
            ]
            tried = select(Mail).where(Mail.kind == "turn", Mail.finished_at == self.now)
            mails = list(session.scalars(tried))
        for mail in mails:
            if mail.id in self.tried:  # the clock shows the time of an earlier step once more
                continue
            self.tried.add(mail.id)
            if message_id(mail.key) in self.postman.taken:
                self.noted.write("accepted", **self._turn(mail))
            elif mail.status == "failed":
                self.noted.write("stopped", **self._turn(mail))
        self.postman.taken.clear()
        self.heads = heads
        if fresh:
            self.missed += sum(entry.by == "clock" and entry.move[0] != "!" for _, entry in fresh)
            entries = [[game_id, entry.seq] for game_id, entry in fresh]
            self.noted.write("entries", true=self.true.isoformat(), entries=entries)


def _plain(session: Any, found: Any, _doors: Any, now: datetime) -> Any:
    """Compose an email without its text, which has nothing to do with time and takes most of it."""
    from server.mail.outgoing import view
    from server.mail.outgoing.compose import ComposedMail, message_id
    from server.mail.outgoing.smtp import Message

    content = f"Message-ID: {message_id(found.mail.key)}\r\n\r\n".encode()
    times = view.turn_times(session, found, now)
    return ComposedMail(Message("games@byzanz.test", found.person.email, content), times)


def _live(
    path: Path, games: list[str], turns: int, seconds: float, seed: int, breaks: str | None, often: str
) -> None:
    from server import config, create_app
    from server.mail.outgoing import deliver
    from server.ops import logs
    from server.scheduler import jobs
    from tests.torture import broken

    logs.log_to_stderr()
    last = time.monotonic() + seconds
    if breaks is not None:
        broken.BREAKS[breaks]()
    with create_app(config.load("mailing")).app_context():
        jobs.DUE_AT_ONCE = AT_ONCE
        deliver.compose = _plain  # type: ignore[attr-defined, assignment]
        world = World(Journal(path), random.Random(seed), games, often)
        while world.missed < turns and time.monotonic() < last:
            world.step()
