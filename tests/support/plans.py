"""How a database reads for a statement: which tables that grow with the server it scans, as its planner says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Index, PrimaryKeyConstraint, UniqueConstraint

from server.store import engine
from tests.support.costs import Statement

SMALL = {"address_change", "alarm", "beat", "outage", "process", "total"}
"""Tables that do not grow with the games and people of a server; an address changes within days."""
LARGE = {table.name for table in engine.Base.metadata.sorted_tables} - SMALL
"""All others: no job may read a whole one."""
BROAD = {"ix_game_status"}
"""Indexes of which one value stands for most rows: searching one is a scan in other words."""
WHOLE = {
    *("ix_alarm_open", "ix_game_kept_going", "ix_game_on_hold", "ix_game_open", "ix_game_trial"),
    *("ix_game_uncounted", "ix_game_undated", "ix_outbox_waiting", "ix_outbox_tried", "ix_person_lost"),
    *("ix_seat_offered", "ix_turn_bots", "ix_turn_unstarted", "ix_wish_person_id", "ix_word_hidden"),
}
"""Indexes of few rows, which may be read from one end to the other; each new table is compared with all searches."""
FIRST = {"ix_game_rules"}
"""Indexes of which a statement with LIMIT may read the first row."""

TABLES = {
    str(name): table.name
    for table in engine.Base.metadata.sorted_tables
    for name in (*(index.name for index in table.indexes), *(key.name for key in table.constraints))
}
"""The tables of all indexes and keys."""
PLANNED = ("SELECT", "UPDATE", "DELETE", "WITH", "INSERT")


LEADING = {
    str(index.name): next(iter(index.columns)).name
    for table in engine.Base.metadata.sorted_tables
    for index in (*table.indexes, table.primary_key, *table.constraints)
    if isinstance(index, (Index, PrimaryKeyConstraint, UniqueConstraint))
}
"""The first column of each index and key: a condition on a later one alone reads all of it."""


@dataclass(frozen=True, slots=True)
class Read:
    """One step of a plan.

    Args:
        table: that is read.
        index: by which; empty if all rows are read.
        searched: whether the index is searched rather than scanned.
    """

    table: str
    index: str
    searched: bool


def reads(statement: str, parameters: Any) -> Iterator[Read]:
    """Yield what a statement reads."""
    if isinstance(parameters, list) and isinstance(parameters[0], (dict, list, tuple)):
        parameters = parameters[0]  # of the first row
    with engine.db.engine.connect() as connection:
        if connection.dialect.name == "sqlite":
            for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", tuple(parameters)):
                yield from _sqlite_step(row[3])
        else:
            connection.exec_driver_sql("SET LOCAL enable_seqscan = off")  # of few rows it would read all
            plan = connection.exec_driver_sql(f"EXPLAIN (FORMAT JSON) {statement}", parameters).scalar_one()
            yield from _postgresql_steps(plan[0]["Plan"])


def scans(sent: Iterable[Statement]) -> list[str]:
    """Return a line for each large table that one of these statements scans."""
    plain = {statement: parameters for statement, parameters in sent if statement.startswith(PLANNED)}
    return [
        f"{each.table} by {each.index or 'reading all'}: {statement}"
        for statement, parameters in plain.items()
        for each in reads(statement, parameters)
        if each.table in LARGE and not is_bounded(each, statement)
    ]


def is_bounded(read: Read, statement: str) -> bool:
    """Whether a step reads a limited number of rows, however many there are."""
    if read.index in BROAD:
        return False
    sqlite = engine.db.engine.dialect.name == "sqlite"
    in_order = bool(read.index) or (
        sqlite and "ORDER BY" in statement
    )  # SQLite's own order is that of its ids
    one = "LIMIT" in statement or statement.startswith(("SELECT max(", "SELECT min("))
    first = in_order and one and ("WHERE" not in statement or read.index in FIRST)
    return read.searched or read.index in WHOLE or first


def _sqlite_step(step: str) -> Iterator[Read]:
    found = re.match(
        r"(SEARCH|SCAN) (\w+)(?: USING (?:COVERING )?(?:INDEX (\w+)|INTEGER PRIMARY KEY))?", step
    )
    if found is None:
        return
    kind, table, index = found.groups()
    key = f"pk_{table}" if "PRIMARY KEY" in step or index == f"sqlite_autoindex_{table}_1" else index
    yield Read(table, key or "", kind == "SEARCH" and "ANY(" not in step)


def _postgresql_steps(node: dict[str, Any]) -> Iterator[Read]:
    index = node.get("Index Name")
    if index:
        searched = re.search(rf"\b{LEADING[index]}\b", node.get("Index Cond", "")) is not None
        yield Read(TABLES[index], index, searched)
    elif node["Node Type"] == "Seq Scan":
        yield Read(node["Relation Name"], "", False)
    for each in node.get("Plans", ()):
        yield from _postgresql_steps(each)
