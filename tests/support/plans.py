"""How a database reads for a statement: which tables that grow with the server it scans, as its planner says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table, UniqueConstraint, insert, select

from server.store import engine
from server.store.facts import Fact, FactColumn
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
    "ix_person_moderator",
    *("ix_seat_offered", "ix_turn_bots", "ix_turn_unstarted", "ix_wish_person_id", "ix_word_hidden"),
}
"""Indexes of few rows, which may be read from one end to the other; each new table is compared with all searches."""
BY_GAME = {"ix_game_newest"}
"""Indexes that begin with the slug of a game: PostgreSQL may search them once for each of these few."""
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


def fill(people: int, now: datetime) -> None:
    """Put rows into each large table that has none: of a few rows, planners read all."""
    with engine.transaction() as session:
        for table in engine.Base.metadata.sorted_tables:
            if table.name in LARGE and not session.execute(select(table).limit(1)).first():
                session.execute(insert(table), [_row(table, n, people, now) for n in range(people)])


def _row(table: Table, number: int, people: int, now: datetime) -> dict[str, Any]:
    """Return a row that differs from all others in its keys."""
    values: dict[str, Any] = {}
    for column in table.columns:
        if column is table.autoincrement_column and not column.foreign_keys:
            continue
        of = {key.column.table.name for key in column.foreign_keys}
        if of == {"game"}:
            values[column.name] = f"g{number}"
        elif of == {"person"}:
            values[column.name] = (number + (column.name != "person_id")) % people + 1
        elif not column.nullable:
            values[column.name] = _value(column, number, now)
    return values


def _value(column: Column[Any], number: int, now: datetime) -> Any:
    if isinstance(column.type, engine.UtcTime):
        return now
    if isinstance(column.type, engine.Hex):
        return f"{number:032x}"
    if isinstance(column.type, FactColumn):
        return Fact("text", {"text": "x"})
    kind = column.type.python_type
    if kind is str:
        return f"x{number}"
    return number if kind is int else number.to_bytes(16) if kind is bytes else kind()


def reads(statement: str, parameters: Any) -> Iterator[Read]:
    """Yield what a statement reads."""
    if isinstance(parameters, list) and isinstance(parameters[0], (dict, list, tuple)):
        parameters = parameters[0]  # of the first row
    with engine.db.engine.connect() as connection:
        if connection.dialect.name == "sqlite":
            for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", tuple(parameters)):
                yield from _sqlite_step(row[3])
        else:
            # As if there were a hundred times as many rows: of few, it would read a whole table or index.
            connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
            connection.exec_driver_sql("SET LOCAL cpu_index_tuple_cost = 0.5")
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
    # It skips through all values of a first column (ANY), and compares pairs with every row that shares the first.
    whole = "ANY(" in step or ")>(" in step or ")<(" in step
    yield Read(table, "" if whole or not key else key, kind == "SEARCH" and not whole)


def _postgresql_steps(node: dict[str, Any]) -> Iterator[Read]:
    index = node.get("Index Name")
    if index:
        condition = node.get("Index Cond", "")
        searched = bool(re.search(rf"\b{LEADING[index]}\b", condition) or (condition and index in BY_GAME))
        yield Read(TABLES[index], index, searched)
    elif node["Node Type"] == "Seq Scan":
        yield Read(node["Relation Name"], "", False)
    for each in node.get("Plans", ()):
        yield from _postgresql_steps(each)
