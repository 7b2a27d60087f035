"""Several web processes and schedulers on one PostgreSQL: how much they do, and how evenly they share it."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path

from sqlalchemy import TextClause, text

from benchmarks import clients
from benchmarks.fixtures import environment, start_game, temporary_server
from benchmarks.peers import programs
from benchmarks.table import rates
from server.store import engine
from tests.torture import databases

SIZES = (1, 2, 4)
"""Web processes, and as many schedulers, each with its mailer."""
GAMES, MOVES = 16, 20
EMAILS = 600
"""Further games that begin before the schedulers start: the email about each first turn is due."""
PATIENCE = 600.0
DONE = re.compile(r"\bmail (\d+)\b.* was (sent|dropped)")
TIMED_OUT = re.compile(r"was played for seat \d+ in time-out")
LEFT = text("SELECT count(*) FROM outbox WHERE status = 'waiting' AND not_before <= :now")
NEWEST = text("SELECT max(id) FROM outbox")
RUN_OUT = text("UPDATE turn SET opened_at = :begin, started_at = :begin, due_at = :end")
DUE = text("SELECT count(*) FROM turn WHERE due_at <= :now")
LATE = timedelta(days=10)
"""For so long the clocks of all turns have run: longer than any allowance and time bank."""


def measure(
    sizes: Sequence[int] = SIZES, games: int = GAMES, moves: int = MOVES, emails: int = EMAILS
) -> dict[str, float | None]:
    """Play games on a new database with each number of processes, send all their emails and play all turns once late.

    Args:
        sizes: numbers of web processes, each with as many schedulers.
        games: played at once.
        moves: in each.
        emails: about further games, to be sent as well.
    """
    figures: dict[str, float | None] = {}
    with databases.postgres() as postgres, databases.folder() as private:
        if postgres is None:
            return {"moves_per_second": None}
        for n in sizes:
            with databases.empty(databases.POSTGRESQL, private, postgres) as url:
                figures |= {
                    f"{name}_of_{n}": value
                    for name, value in _play(url, n, games, moves, emails, private).items()
                }
    return figures


def _play(url: str, n: int, games: int, moves: int, emails: int, private: Path) -> dict[str, float]:
    with ExitStack() as stack:
        stack.enter_context(temporary_server(url))
        lines = rates.scripts(games, moves + 1)
        web = stack.enter_context(programs.byzanz_web(environment(), n))
        outcome = clients.run(rates.move_plan(web.port, lines))
        for number in range(emails):
            start_game(f"-{number}")
        with engine.reading() as session:
            queued = session.execute(LEFT, {"now": engine.utc_now()}).scalar_one()
        mails = stack.enter_context(programs.smtp_sink())
        logs = [private / f"{n}-{number}.log" for number in range(n)]
        start = time.perf_counter()
        with ExitStack() as mailers:
            for log in logs:
                mailers.enter_context(_scheduler(f"smtp://127.0.0.1:{mails}", log))
            _wait_for_none(LEFT)
            seconds = time.perf_counter() - start
            newest, late = _run_out()
            start = time.perf_counter()
            _wait_for_none(DUE)
            turns_took = time.perf_counter() - start
        said = [log.read_text() for log in logs]
    done = [[(mail, became) for mail, became in DONE.findall(each) if int(mail) <= newest] for each in said]
    shares, total = [len(each) for each in done], sum(map(len, done))
    played = [len(TIMED_OUT.findall(each)) for each in said]
    sent = [mail for each in done for mail, became in each if became == "sent"]
    return {
        "moves_per_second": outcome.per_second,
        "mails_queued": queued,
        "mails_sent": len(sent),
        "mails_sent_twice": len(sent) - len(set(sent)),
        "mails_sent_or_dropped_per_second": total / seconds,
        "smallest_share_of_a_mailer": min(shares) * n / max(1, total),
        "largest_share_of_a_mailer": max(shares) * n / max(1, total),
        "turns_due": late,
        "turns_played": sum(played),
        "turns_played_per_second": sum(played) / turns_took,
        "smallest_share_of_a_scheduler": min(played) * n / max(1, sum(played)),
        "largest_share_of_a_scheduler": max(played) * n / max(1, sum(played)),
    }


@contextmanager
def _scheduler(mail_url: str, log: Path) -> Iterator[None]:
    command = [sys.executable, "-m", "server.cli", "scheduler"]
    with log.open("wb") as output:
        settings = environment() | {
            "BYZANZ_MAIL_URL": mail_url,
            "BYZANZ_MAILER": log.stem,
            "BYZANZ_TICK": "0.5",
        }
        process = subprocess.Popen(command, env=settings, stdout=output, stderr=output)
        try:
            yield
        finally:
            process.terminate()
            process.wait(PATIENCE)


def _run_out() -> tuple[int, int]:
    """Let the time of all open turns run out; return the id of the newest email until then, and how many turns."""
    now = engine.utc_now()
    with engine.transaction() as session:
        newest = session.execute(NEWEST).scalar_one()
        session.execute(RUN_OUT, {"begin": now - LATE, "end": now})
        return newest, session.execute(DUE, {"now": now}).scalar_one()


def _wait_for_none(query: TextClause) -> None:
    """Wait until a query finds nothing due any more.

    Raises:
        RuntimeError: something is left.
    """
    last = time.monotonic() + PATIENCE
    while True:
        with engine.reading() as session:
            left = session.execute(query, {"now": engine.utc_now()}).scalar_one()
        if not left:
            return
        if time.monotonic() > last:
            raise RuntimeError(f"{left} are left: {query}")
        time.sleep(0.1)
