"""What PostgreSQL bears: several web processes and schedulers on one database, and a log of a million games."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from psycopg import Connection
from sqlalchemy import TextClause, text

from benchmarks import load, servers
from benchmarks.load import environment, start_game, temporary_postgres, temporary_server
from server.store import engine, statements
from server.store.prepared import Prepared

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


def fleet(
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
    for n in sizes:
        with temporary_postgres() as url:
            if url is None:
                return {"moves_per_second": None}
            played = _play(url, n, games, moves, emails)
            figures |= {f"{name}_of_{n}": value for name, value in played.items()}
    return figures


def _play(url: str, n: int, games: int, moves: int, emails: int) -> dict[str, float]:
    with ExitStack() as stack:
        _, folder = stack.enter_context(temporary_server(url))
        lines = load.scripts(games, moves + 1)
        web = stack.enter_context(servers.byzanz_web(environment(), n))
        outcome = servers.run_clients(load.move_plan(web.port, lines))
        for _ in range(emails):
            start_game()
        with engine.reading() as session:
            queued = session.execute(LEFT, {"now": engine.utc_now()}).scalar_one()
        mails = stack.enter_context(servers.smtp_sink())
        logs = [folder / f"{n}-{number}.log" for number in range(n)]
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


# The log of many running games, whole and hash-partitioned by game: time, size, hot statements.

LOGGED_GAMES = 1_000_000
ENTRIES = 5
"""Entries of each game."""
PARTITIONS = 64
SAMPLE = 200
"""Games for which each statement is explained."""
UNCHECKED = "SET session_replication_role = replica"
"""Foreign keys and triggers are not measured here, and checking them would take most of the time."""
LONGER = """
    INSERT INTO entry (game_id, seq, at, seat, by, move, salt, hash, request_id)
    SELECT 'g' || n, seq, now(), seq % 4, 'player', 'bid 1', decode(md5(n::text), 'hex'),
        sha256(n::text::bytea), md5(n || ':' || seq)
    FROM generate_series(0, {games} - 1) n, generate_series(2, {entries}) seq;
    UPDATE game SET head = {entries} WHERE status = 'running'
"""
SPLIT = """
    ALTER TABLE entry RENAME TO entry_whole;
    CREATE TABLE entry (LIKE entry_whole INCLUDING DEFAULTS INCLUDING CONSTRAINTS) PARTITION BY HASH (game_id);
    {parts};
    INSERT INTO entry SELECT * FROM entry_whole;
    ALTER TABLE entry ADD CONSTRAINT pk_entry_parts PRIMARY KEY (game_id, seq);
    CREATE UNIQUE INDEX uq_entry_parts ON entry (game_id, seat, request_id) WHERE request_id IS NOT NULL;
    ALTER TABLE entry ADD CONSTRAINT fk_entry_parts FOREIGN KEY (game_id) REFERENCES game (id);
    CREATE TRIGGER entry_no_change BEFORE UPDATE OR DELETE ON entry
        FOR EACH ROW EXECUTE FUNCTION entry_is_append_only();
    CREATE TRIGGER entry_no_truncate BEFORE TRUNCATE ON entry
        FOR EACH STATEMENT EXECUTE FUNCTION entry_is_append_only()
"""
PART = "CREATE TABLE entry_{n} PARTITION OF entry FOR VALUES WITH (MODULUS {of}, REMAINDER {n})"
HOT: dict[str, Prepared] = {
    name: getattr(statements, name)
    for name in (
        *("OPEN_SEAT", "LOCK", "LOAD_GAME", "LOAD_SEATS", "LOAD_ORDERS", "ENTRIES", "SINCE_OWN"),
        *("TO_MOVE", "DUE", "ADD_ENTRIES"),
    )
}
"""Statements of a move, a turn page and an email; four of them touch the log."""


def partitions(
    games: int = LOGGED_GAMES, entries: int = ENTRIES, partitions: int = PARTITIONS
) -> dict[str, float | None]:
    """Fill a database, explain the hot statements, split the log as a migration would, and explain them again.

    Args:
        games: that run.
        entries: of each.
        partitions: of the log afterwards.
    """
    figures: dict[str, float | None] = {"games": games, "entries": games * entries, "partitions": partitions}
    with ExitStack() as stack:
        url = stack.enter_context(temporary_postgres())
        if url is None:
            return {"seconds_to_split": None}
        joined = url + ("&" if "?" in url else "?")
        stack.enter_context(temporary_server(f"{joined}options=-csession_replication_role%3Dreplica"))
        with Connection.connect(url, autocommit=True) as connection:
            figures["seconds_to_fill"] = _timed(lambda: _fill(connection, games, entries))
            figures |= _explained(connection, games, entries, "whole")
            figures |= _size(connection, "whole")
            parts = ";".join(PART.format(n=n, of=partitions) for n in range(partitions))
            figures["seconds_to_split"] = _timed(lambda: _run(connection, SPLIT.format(parts=parts)))
            _run(connection, "DROP TABLE entry_whole")
            _run(connection, "VACUUM ANALYZE entry")
            figures |= _explained(connection, games, entries, "split")
            figures |= _size(connection, "split")
    return figures


def _fill(connection: Connection[Any], games: int, entries: int) -> None:
    now = engine.utc_now()
    load.add_heartbeats(now)
    load.add_games(games, now)
    _run(connection, UNCHECKED)
    _run(connection, LONGER.format(games=games, entries=entries))
    _run(connection, "RESET session_replication_role")
    _run(connection, "VACUUM ANALYZE")


def _run(connection: Connection[Any], sql: str) -> None:
    connection.execute(sql.encode())


def _timed(work: Any) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


def _size(connection: Connection[Any], kind: str) -> dict[str, float]:
    rows = connection.execute(
        "SELECT sum(pg_table_size(relid)), sum(pg_indexes_size(relid)) FROM pg_partition_tree('entry')"
        if kind == "split"
        else "SELECT pg_table_size('entry'), pg_indexes_size('entry')"
    ).fetchone()
    assert rows is not None
    return {
        f"megabytes_of_{kind}": float(rows[0]) / 1e6,
        f"megabytes_of_indexes_of_{kind}": float(rows[1]) / 1e6,
    }


def _explained(connection: Connection[Any], games: int, entries: int, kind: str) -> dict[str, float]:
    """Return how long each hot statement is planned and run, and print its plan."""
    draw, found = random.Random("partitions"), dict[str, float]()  # noqa: S311 - which games are asked for
    numbers = [draw.randrange(games) for _ in range(SAMPLE)]
    for name, statement in HOT.items():
        plans = [_explain(connection, statement, number, entries) for number in numbers]
        found[f"planning_ms_of_{name}_{kind}"] = median(plan["Planning Time"] for plan in plans)
        found[f"execution_ms_of_{name}_{kind}"] = median(plan["Execution Time"] for plan in plans)
        print(f"{kind:6}{name:12}", ", ".join(_nodes(plans[-1]["Plan"])), file=sys.stderr, flush=True)
    return found


def _explain(connection: Connection[Any], statement: Prepared, number: int, entries: int) -> dict[str, Any]:
    game, now = f"g{number}", engine.utc_now()
    values = {
        "game": game,
        "seat": number % 4,
        "number": number % 4,
        "link": 0,
        "request": "none",
        "now": now,
        "after": 0,
        "newest": entries,
        "upto": entries,
        "digest": bytes(32),
        "purpose": "seat",
    }
    if statement is statements.ADD_ENTRIES:
        row = {"seat": 0, "by": "player", "move": "bid 1", "note": None, "request_id": os.urandom(8).hex()}
        values = {
            **row,
            "game_id": game,
            "seq": entries + 1,
            "at": engine.stamp(now),
            "salt": "00" * 16,
            "hash": "00" * 32,
        }
    keys = tuple(values) if statement is statements.ADD_ENTRIES else ()
    with engine.db.engine.connect() as ours:
        compiled = statement._for(ours, keys)
    with connection.transaction(force_rollback=True):
        sql = f"EXPLAIN (ANALYZE, FORMAT JSON) {compiled.sql}"
        row_of = connection.execute(sql.encode(), compiled.parameters(values)).fetchone()
    assert row_of is not None
    plan: dict[str, Any] = row_of[0][0]
    return plan


def _nodes(plan: dict[str, Any]) -> Iterator[str]:
    """Yield the nodes of a plan that read or write a table."""
    if "Relation Name" in plan:
        yield f"{plan.get('Operation') or plan['Node Type']} {plan.get('Index Name') or plan['Relation Name']}"
    for child in plan.get("Plans", ()):
        yield from _nodes(child)
