"""The time of a scheduler tick with nothing due, with few and with many running games."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from email.message import EmailMessage
from statistics import median
from time import perf_counter
from typing import Any

from sqlalchemy import insert
from sqlalchemy.orm import Session

from benchmarks.fixtures import temporary_server
from server.scheduler import jobs
from server.store import engine, log
from server.store.models import Entry, Game, Heartbeat, Mail, Person, Seat, Turn

FEW, MANY = 100, 100_000
"""Running games."""
SEATS = 4
AT_ONCE = 5_000
"""Games inserted with one statement per table."""
TICK = 5.0


def measure(many: int = MANY, ticks: int = 30) -> dict[str, float]:
    """Tick on a database of a hundred games, then on the same one grown to many.

    Args:
        many: how many games that is.
        ticks: how often, at each size.
    """
    with temporary_server():
        now = engine.utc_now()
        _people(now)
        _games(0, FEW, now)
        few = _tick_milliseconds(now, ticks)
        start = perf_counter()
        _games(FEW, many, now)
        setting_up = perf_counter() - start
        lots = _tick_milliseconds(now, ticks)
    return {
        f"milliseconds_at_{FEW}": few["all"],
        f"milliseconds_at_{many}": lots["all"],
        "ratio": lots["all"] / few["all"],
        **{f"milliseconds_of_{job}_at_{many}": spent for job, spent in lots.items() if job != "all"},
        "seconds_to_set_up": setting_up,
    }


class _NoMail:
    """A mail sender for an outbox in which nothing can be due."""

    def send(self, message: EmailMessage) -> None:
        """Fail; never called."""
        raise AssertionError(f"a mail was due: {message['Subject']}")


def _tick_milliseconds(now: datetime, ticks: int) -> dict[str, float]:
    """Return the median of each job of a tick, and of a whole one."""
    work: dict[str, Callable[[], int]] = {
        "turns": lambda: jobs.tick_turns(now, TICK),
        "reminders": lambda: jobs.tick_reminders(now),
        "bots": lambda: jobs.tick_bots(now),
        "outbox": lambda: jobs.tick_outbox(now, _NoMail()),
    }
    took: dict[str, list[float]] = {name: [] for name in (*work, "all")}
    for _ in range(ticks):
        before = perf_counter()
        for name, job in work.items():
            start = perf_counter()
            done = job()
            took[name].append((perf_counter() - start) * 1000)
            assert done == 0, f"{name}: something was due"
        took["all"].append((perf_counter() - before) * 1000)
    return {name: median(spent) for name, spent in took.items()}


def _people(now: datetime) -> None:
    with engine.transaction() as session:
        names = [f"player{number}" for number in range(SEATS)]
        session.add_all(Person(email=f"{name}@example.org", name=name, created_at=now) for name in names)
        session.add_all(Heartbeat(part=part, at=now) for part in ("web", "scheduler"))


def _games(first: int, last: int, now: datetime) -> None:
    """Insert running games, each with its seats, an entry, a turn that is due tomorrow and its sent mail."""
    for begin in range(first, last, AT_ONCE):
        numbers = range(begin, min(begin + AT_ONCE, last))
        with engine.transaction() as session:
            _insert(session, Game, (_game(number, now) for number in numbers))
            _insert(session, Seat, (_seat(number, seat) for number in numbers for seat in range(SEATS)))
            _insert(session, Entry, (_entry(number, now) for number in numbers))
            _insert(session, Turn, (_turn(number, now) for number in numbers))
            _insert(session, Mail, (_mail(number, now) for number in numbers))


def _insert(session: Session, table: Any, rows: Iterator[dict[str, object]]) -> None:
    session.execute(insert(table), list(rows))


def _id(number: int) -> str:
    return f"bench{number:07}"


def _game(number: int, now: datetime) -> dict[str, object]:
    return {
        "id": _id(number),
        "slug": "byzanz",
        "rules": 1,
        "name": "A game",
        "organiser_id": 1,
        "status": "running",
        "allowance": 86400,
        "seed": "00" * 32,
        "commitment": "00" * 32,
        "created_at": now,
        "started_at": now,
        "head": 1,
    }


def _seat(number: int, seat: int) -> dict[str, object]:
    return {
        "game_id": _id(number),
        "seat": seat,
        "name": f"P{seat}",
        "status": "seated",
        "person_id": seat + 1,
    }


def _entry(number: int, now: datetime) -> dict[str, object]:
    entry = {
        "seq": 1,
        "at": log.stamp(now),
        "seat": None,
        "by": "chance",
        "move": "shuffle deal",
        "note": None,
    }
    return entry | {"game_id": _id(number), "salt": "00" * 16, "hash": "00" * 32}


def _turn(number: int, now: datetime) -> dict[str, object]:
    due = now + timedelta(days=1, seconds=number % 3600)
    return {
        "game_id": _id(number),
        "seat": number % SEATS,
        "question": "bid 1",
        "opened_seq": 1,
        "opened_at": now,
        "started_at": now,
        "due_at": due,
        "remind_at": due - timedelta(hours=5),
    }


def _mail(number: int, now: datetime) -> dict[str, object]:
    seat = number % SEATS
    return {
        "key": f"turn:{_id(number)}:{seat}:1",
        "kind": "turn",
        "person_id": seat + 1,
        "created_at": now,
        "not_before": now,
        "game_id": _id(number),
        "seat": seat,
        "seq": 1,
        "details": json.dumps({}),
        "status": "sent",
        "finished_at": now,
    }
