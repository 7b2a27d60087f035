"""Several web processes, schedulers and mailers on one PostgreSQL: moves a second, and who sends how many emails."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from sqlalchemy import text

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
PATIENCE = 120.0
DONE = re.compile(r"\bmail (\d+)\b.* was (sent|dropped)")
LEFT = text("SELECT count(*) FROM outbox WHERE status = 'waiting' AND not_before <= :now")


def measure(
    sizes: Sequence[int] = SIZES, games: int = GAMES, moves: int = MOVES, emails: int = EMAILS
) -> dict[str, float | None]:
    """Play games on a new database with each number of processes, and send all their emails.

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
            _wait_until_sent()
            seconds = time.perf_counter() - start
        done = [DONE.findall(log.read_text()) for log in logs]
    shares, total = [len(each) for each in done], sum(map(len, done))
    sent = [mail for each in done for mail, became in each if became == "sent"]
    return {
        "moves_per_second": outcome.per_second,
        "mails_queued": queued,
        "mails_sent": len(sent),
        "mails_sent_twice": len(sent) - len(set(sent)),
        "mails_sent_or_dropped_per_second": total / seconds,
        "smallest_share_of_a_mailer": min(shares) * n / max(1, total),
        "largest_share_of_a_mailer": max(shares) * n / max(1, total),
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


def _wait_until_sent() -> None:
    """Wait until no email is due any more.

    Raises:
        RuntimeError: some are left.
    """
    last = time.monotonic() + PATIENCE
    while True:
        with engine.reading() as session:
            if not session.execute(LEFT, {"now": engine.utc_now()}).scalar_one():
                return
        if time.monotonic() > last:
            raise RuntimeError("some emails were not sent")
        time.sleep(0.1)
