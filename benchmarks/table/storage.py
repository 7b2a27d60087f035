"""What whole games leave in the database: bytes over all tables and indexes, and rows of the outbox."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import func, select, text

from benchmarks.fixtures import play_line, script, start_game, temporary_server
from benchmarks.table.figures import Figures, Size
from server.mail.outgoing import deliver
from server.mail.outgoing.smtp import Message
from server.scheduler import heartbeat, jobs
from server.store import engine
from server.store.models import Heartbeat, Mail

WHOLE = 10_000
"""Moves: more than any game has."""
KEPT = timedelta(days=31)
"""After this time, nothing of the outbox needs to be kept for a game that is over."""
DELAYED = timedelta(minutes=10)
"""After this time, nothing waits any more that was queued with a delay."""
TICK = 5.0
PURGES = 200
"""How often the jobs run at most, to delete in small batches."""


class Forget:
    """A mail sender that forgets."""

    def send(self, _message: Message) -> None:
        """Accept an email."""


def measure(size: Size, figures: Figures) -> None:
    """Play whole games, sending every email at once, and compare the database before and after."""
    with temporary_server():
        games = [start_game(f"bytes{number}") for number in range(size.whole_games)]
        lines = {game_id: script(game_id, WHOLE) for game_id in games}
        _deliver(engine.utc_now())
        before, mails = _bytes(), _mails()
        for game_id, moves in lines.items():
            for line in moves:
                play_line(game_id, line)
                _deliver(engine.utc_now())
        _deliver(engine.utc_now() + DELAYED)
        made = sum(map(len, lines.values()))
        figures.add("bytes_a_move", (_bytes() - before) / made)
        figures.add("outbox_rows_a_move", (_mails() - mails) / made)
        _run_jobs(engine.utc_now() + KEPT)
        figures.add("outbox_rows_left_a_move", _mails() / made)


def _deliver(now: datetime) -> None:
    while deliver.deliver(now, Forget()):
        pass


def _run_jobs(now: datetime) -> None:
    """Run all jobs until they delete no more emails."""
    left = -1
    for _ in range(PURGES):
        with engine.transaction() as session:
            for part in heartbeat.PARTS:
                session.merge(Heartbeat(part=part, at=now))
        jobs.tick_turns(now, TICK)
        jobs.tick_unreached(now, TICK)
        jobs.tick_reminders(now)
        jobs.tick_bots(now)
        jobs.tick_outbox(now, Forget())
        jobs.tick_digests(now, TICK)
        jobs.tick_nudges(now)
        jobs.tick_purge(now, TICK)
        before, left = left, _mails()
        if before == left:
            return


def _bytes() -> float:
    """Return the bytes that are in use in the pages of all tables and indexes."""
    with engine.reading() as session:
        return float(session.scalar(text("SELECT sum(pgsize - unused) FROM dbstat")) or 0)


def _mails() -> int:
    with engine.reading() as session:
        return session.scalar(select(func.count()).select_from(Mail)) or 0
