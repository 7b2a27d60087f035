"""SQLite keeps the plans of the prepared statements."""

from __future__ import annotations

import re

import pytest
from sqlalchemy import BinaryExpression, BindParameter, Case, Column
from sqlalchemy.sql import visitors

from server.store import statements
from server.store.engine import db
from server.store.prepared import Prepared

COMPARED = re.compile(r"(\w+) (?:=|<>|IN)")
"""A column in the condition of an index, compared with a constant."""
PREPARED = {name: found for name, found in vars(statements).items() if isinstance(found, Prepared)}


def partial() -> set[tuple[str, str]]:
    """Return the columns whose values decide whether a row is in an index, each with its table."""
    indexes = [index for table in db.metadata.tables.values() for index in table.indexes]
    found = [(index.table, index.dialect_options["sqlite"]["where"]) for index in indexes]
    return {
        (table.name, column)
        for table, where in found
        if table is not None and where is not None
        for column in COMPARED.findall(str(where))
    }


@pytest.mark.parametrize("name", PREPARED)
def test_no_value_is_bound_that_could_fit_the_condition_of_an_index(name: str) -> None:
    """SQLite would plan the statement anew each time, which takes ten times as long as running it."""
    every = list(visitors.iterate(PREPARED[name]._statement))
    results = [part for each in every if isinstance(each, Case) for part in visitors.iterate(each)]
    bound = {
        (getattr(column.table, "element", column.table).name, column.name)
        for each in every
        if isinstance(each, BinaryExpression) and not any(each is part for part in results)
        for column in [each.left]
        if isinstance(column, Column) and isinstance(each.right, BindParameter)
    }
    assert bound & partial() == set()
