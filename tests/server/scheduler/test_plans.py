"""What the idle jobs read: on a database with many games, each statement goes to the few rows concerned by an index."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy.orm import Session

from benchmarks import load
from benchmarks.load import IDLE
from server.ops import metrics
from server.store import engine, outbox
from server.web.moderation import desk
from tests.conftest import NOW
from tests.support.costs import executed

GAMES = 20_000
"""Enough for PostgreSQL to prefer an index, and for one statement per game to be noticed."""
LARGE = {"game", "seat", "turn", "entry", "person", "outbox", "link"}
"""The tables that grow with the number of games."""
KEYS = {f"pk_{table}" for table in LARGE} | {"uq_outbox_key"}
INDEXES: dict[str, set[str]] = {
    "heartbeats": set(),
    "turns": {"ix_turn_due_at"},
    "unreached": {"ix_turn_refused_at"},
    "reminders": {"ix_turn_remind_at"},
    "bots": {"ix_turn_bots"},
    "outbox": {"ix_outbox_waiting"},
    "digests": {"ix_person_digest", "ix_turn_unstarted"},
    "purge": {"ix_outbox_expiring", "ix_outbox_counted", "ix_game_undated", "ix_game_trial"},
    "results": {"ix_game_uncounted"},
    "nudges": {"ix_seat_invited", "ix_person_lost"},
    "rematches": {"ix_game_kept_going"},
    "tables": {"ix_game_open"},
    "rejected emails": {"ix_outbox_failed"},
    "emails of a person": {"ix_outbox_person_id"},
    "metrics": {"ix_outbox_waiting", "ix_turn_refused_at", "ix_game_on_hold", "ix_game_uncounted"},
}
"""The indexes, besides the keys, that each job searches, and two queries of pages that share its tables."""
QUERIES: dict[str, Callable[[Session], object]] = {
    "rejected emails": lambda session: desk.refused(session, NOW).rows,
    "emails of a person": lambda session: outbox.count_queued(session, "answer", 1, NOW),
    "metrics": lambda session: not metrics.families(session, NOW),
}
WHOLE = {"ix_turn_bots", "ix_game_undated", "ix_game_trial", "ix_game_open", "ix_person_lost"}
"""Indexes of few rows that are read from one end: bots to move, games that have just ended, those of visitors,
open tables, and people whom no email reaches."""
MORE = {
    "nudges": {"ix_outbox_reader", "ix_outbox_person_id"},
    "tables": {"ix_outbox_person_id"},
    "metrics": {"ix_outbox_tried"},
    "rejected emails": {"ix_seat_person_id"},
}
"""Further indexes that a job may use: by one of them it looks for an earlier email to the same person."""
COUNTED = {"ix_outbox_waiting", "ix_outbox_tried", "ix_game_on_hold", "ix_game_uncounted"}
"""Indexes of few rows from which the metrics read one end, or count a limited number."""

TABLES = {
    str(name): table.name
    for table in engine.Base.metadata.sorted_tables
    for name in (*(index.name for index in table.indexes), *(key.name for key in table.constraints))
}
"""The tables of all indexes and keys."""

pytestmark = pytest.mark.empty_database


def reads(statement: str, parameters: Any) -> Iterator[tuple[str, str, bool]]:
    """Yield what a statement reads: the table, the index or "", and whether it searches rather than scans."""
    with engine.db.engine.connect() as connection:
        if connection.dialect.name == "sqlite":
            for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", tuple(parameters)):
                yield from _sqlite_step(row[3])
        else:
            plan = connection.exec_driver_sql(f"EXPLAIN (FORMAT JSON) {statement}", parameters).scalar_one()
            yield from _postgresql_steps(plan[0]["Plan"])


def _sqlite_step(step: str) -> Iterator[tuple[str, str, bool]]:
    found = re.match(
        r"(SEARCH|SCAN) (\w+)(?: USING (?:COVERING )?(?:INDEX (\w+)|INTEGER PRIMARY KEY))?", step
    )
    if found is None:
        return
    kind, table, index = found.groups()
    key = f"pk_{table}" if "PRIMARY KEY" in step or index == f"sqlite_autoindex_{table}_1" else index
    yield table, key or "", kind == "SEARCH"


def _postgresql_steps(node: dict[str, Any]) -> Iterator[tuple[str, str, bool]]:
    index = node.get("Index Name")
    if index:
        yield TABLES[index], index, "Index Cond" in node
    elif node["Node Type"] == "Seq Scan":
        yield node["Relation Name"], "", False
    for each in node.get("Plans", ()):
        yield from _postgresql_steps(each)


def strange_reads(job: str) -> list[str]:
    """Run an idle job or a query; return what it reads not by its own indexes, and which of these it does not use."""
    with executed(engine.db.engine) as sent:
        if job in IDLE:
            assert not IDLE[job](NOW + timedelta(seconds=5))
        else:
            with engine.reading() as session:
                assert not QUERIES[job](session)
    mine = INDEXES[job] | KEYS | MORE.get(job, set())
    whole = WHOLE | (COUNTED if job == "metrics" else set())
    found, used = [], set()
    for statement, parameters in sent:
        if statement.startswith(("SELECT", "UPDATE", "DELETE", "WITH")):
            for table, index, searched in reads(statement, parameters):
                used.add(index)
                if table in LARGE and (index not in mine or not (searched or index in whole)):
                    found.append(f"{job}: {table} by {index or 'reading all'}: {statement}")
    return found + [f"{job}: {index} is not used" for index in INDEXES[job] - used]


@pytest.mark.usefixtures("app")
def test_each_idle_job_reads_by_its_own_indexes() -> None:
    load.add_heartbeats(NOW)
    load.add_games(GAMES, NOW)
    strange = []
    if engine.db.engine.dialect.name == "sqlite":  # it plans without counting the rows unless it is told to
        strange += [line for job in INDEXES for line in strange_reads(job)]
    load.count_rows()
    strange += [line for job in INDEXES for line in strange_reads(job)]
    assert not strange, "\n".join(strange)
