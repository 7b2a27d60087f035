"""The CPU time of each job of the scheduler with nothing due, with a thousand and with many running games."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from statistics import median
from time import perf_counter, thread_time

from flask import Flask

from benchmarks import crowd
from benchmarks.fixtures import temporary_server
from server.mail.outgoing.smtp import Message
from server.scheduler import heartbeat, jobs, loop
from server.store import engine, people, totals

FEW, MANY = 1_000, 1_000_000
"""Running games."""
TICK = 5.0
WARM_UP = 3
"""Ticks before the first that counts: they compile the statements and fill the caches."""


class _NoMail:
    """A mail sender for an outbox in which nothing can be due."""

    def send(self, message: Message) -> None:
        """Fail; never called."""
        raise AssertionError(f"a mail was due: {message.recipient}")


def _send_heartbeats(now: datetime) -> int:
    for part in heartbeat.PARTS:
        loop.record_heartbeat(heartbeat.HeartbeatRecorder(part, TICK), now, jobs.steady())
    return 0


def _store_presence(_now: datetime) -> int:
    people.store()
    return 0


def _store_totals(_now: datetime) -> int:
    totals.store()
    return 0


IDLE: dict[str, Callable[[datetime], int]] = {
    "heartbeats": _send_heartbeats,
    "presence": _store_presence,
    "totals": _store_totals,
    "turns": lambda now: jobs.tick_turns(now, TICK),
    "unreached": lambda now: jobs.tick_unreached(now, TICK),
    "reminders": jobs.tick_reminders,
    "bots": jobs.tick_bots,
    "outbox": lambda now: jobs.tick_outbox(now, _NoMail()),
    "digests": lambda now: jobs.tick_digests(now, TICK),
    "nudges": jobs.tick_nudges,
    "rematches": jobs.tick_rematches,
    "rules": jobs.tick_rules,
    "tables": lambda now: jobs.tick_tables(now, TICK),
    "addresses": lambda now: jobs.tick_addresses(now, TICK),
    "purge": lambda now: jobs.tick_purge(now, TICK),
    "results": lambda now: jobs.tick_results(now, TICK),
}
"""The jobs of the scheduler by their names; what each returns is how much there was to do. `figures` is left out."""


def measure(many: int = MANY, ticks: int = 100) -> dict[str, float]:
    """Run each job on a database of a thousand running games and on one of many, in turn.

    Args:
        many: how many games that is.
        ticks: how often, at each size.
    """
    with temporary_server() as (small, _folder):
        _fill(FEW)
        with temporary_server() as (large, _folder):
            start = perf_counter()
            _fill(many)
            setting_up = perf_counter() - start
            few, lots = _milliseconds((small, large), ticks)
    ratios = {job: lots[job] / few[job] for job in IDLE}
    return {
        **{f"milliseconds_of_{job}_at_{FEW}": spent for job, spent in few.items()},
        **{f"milliseconds_of_{job}_at_{many}": spent for job, spent in lots.items()},
        **{f"ratio_of_{job}": ratio for job, ratio in ratios.items()},
        "ratio": max(ratios.values()),
        "seconds_to_set_up": setting_up,
    }


def _fill(games: int) -> None:
    now = engine.utc_now()
    crowd.prepare(now)
    crowd.add_games(0, games, now)


def _milliseconds(servers: tuple[Flask, Flask], ticks: int) -> tuple[dict[str, float], ...]:
    """Return the median CPU time of each job on each server; they take turns, so that a busy machine slows both."""
    took: list[dict[str, list[float]]] = [{name: [] for name in IDLE} for _ in servers]
    for number in range(WARM_UP + ticks):
        for app, spent in list(zip(servers, took, strict=True))[:: -1 if number % 2 else 1]:
            with app.app_context():
                for name, job in IDLE.items():
                    now, start = engine.utc_now(), thread_time()
                    done = job(now)
                    milliseconds = (thread_time() - start) * 1000
                    assert done == 0, f"{name}: something was due"
                    spent[name] += [milliseconds] if number >= WARM_UP else []
    return tuple({name: median(each) for name, each in spent.items()} for spent in took)
