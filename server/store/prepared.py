"""Statements that are compiled once and run on the driver's own connection.

SQLAlchemy writes the SQL and converts the values; only its work for each execution is left out, which took a third of
a move. What a move, a turn page or an email asks for uses this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.sql.compiler import SQLCompiler

from server.store.engine import driver_errors

Values = Mapping[str, Any]
Convert = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A statement for one kind of database.

    Args:
        sql: in the driver's style.
        names: of the parameters in order; empty if the driver wants them by name.
        fixed: the values that the statement brings along.
        converts: for each parameter that the driver does not take as it is.
        results: for each column, by its place, that the driver does not return as it is.
    """

    sql: str
    names: tuple[str, ...]
    fixed: dict[str, Any]
    converts: dict[str, Convert]
    results: tuple[tuple[int, Convert], ...]

    def parameters(self, values: Values) -> Any:
        """Return the values in the form in which the driver takes them."""
        given = {**self.fixed, **values}
        for name, convert in self.converts.items():
            given[name] = convert(given[name])
        return [given[name] for name in self.names] if self.names else given

    def converted(self, row: Sequence[Any]) -> Sequence[Any]:
        """Return a row as SQLAlchemy would."""
        found = list(row)
        for place, convert in self.results:
            found[place] = convert(found[place])
        return found


class Prepared:
    """A statement, compiled for each kind of database when it first runs there.

    Args:
        statement: with `bindparam`s.
        more: the same for another dialect, by its name, where that needs a construct of its own.
    """

    def __init__(self, statement: Any, **more: Any) -> None:
        self._statement, self._more = statement, more
        self._compiled: dict[tuple[str, ...], _Compiled] = {}

    def all(self, connection: Connection, values: Values) -> list[Sequence[Any]]:
        """Run a query and return its rows."""
        return self.ask(connection, values)()

    def ask(self, connection: Connection, values: Values) -> Callable[[], list[Sequence[Any]]]:
        """Run a query, whose rows the returned function fetches; in a `pipeline`, call it after that."""
        compiled = self._for(connection, ())
        with driver_errors(connection.dialect, compiled.sql):
            cursor = _send(connection, compiled.sql, compiled.parameters(values), "execute")

        def rows() -> list[Sequence[Any]]:
            with driver_errors(connection.dialect, compiled.sql):
                found = cursor.fetchall()
            return [compiled.converted(row) for row in found] if compiled.results else found

        return rows

    def first(self, connection: Connection, values: Values) -> Sequence[Any] | None:
        """Run a query and return its first row, or None."""
        return next(iter(self.all(connection, values)), None)

    def run(self, connection: Connection, rows: Sequence[Values]) -> None:
        """Run a statement that writes, once for each of these rows, which all have values for the same columns."""
        compiled = self._for(connection, tuple(rows[0]))
        parameters = [compiled.parameters(row) for row in rows]
        with driver_errors(connection.dialect, compiled.sql):
            _send(connection, compiled.sql, parameters, "executemany")

    def _for(self, connection: Connection, keys: tuple[str, ...]) -> _Compiled:
        key = (connection.dialect.name, *keys)
        if key not in self._compiled:
            self._compiled[key] = self._compile(connection, keys)
        return self._compiled[key]

    def _compile(self, connection: Connection, keys: tuple[str, ...]) -> _Compiled:
        dialect = connection.dialect
        statement = self._more.get(dialect.name, self._statement)
        made: SQLCompiler = statement.compile(dialect=dialect, column_keys=list(keys) or None)
        brought = made.construct_params(_check=False).items()
        fixed = {name: value for name, value in brought if name not in keys and value is not None}
        prefetched: Any = (
            made.insert_prefetch
        )  # columns with a default of the model, always a plain value here
        fixed |= {column.key: column.default.arg for column in prefetched}
        columns = getattr(statement, "exported_columns", None) or () if made.isinsert is False else ()
        results = (
            (place, column.type.dialect_impl(dialect).result_processor(dialect, None))
            for place, column in enumerate(columns)
        )
        converts: dict[str, Any] = dict(made._bind_processors)
        return _Compiled(
            made.string,
            tuple(made.positiontup or ()) if made.positional else (),
            fixed,
            {name: convert for name, convert in converts.items() if convert is not None},
            tuple((place, convert) for place, convert in results if convert is not None),
        )


@contextmanager
def pipeline(connection: Connection) -> Iterator[None]:
    """Send the statements of the block without waiting for each answer, which a network or another process delays.

    An error of one of them is raised at the end of the block. SQLite, which answers within the call, has no pipeline.
    """
    if connection.dialect.name == "sqlite":
        yield
        return
    raw: Any = connection.connection.dbapi_connection
    with driver_errors(connection.dialect), raw.pipeline():
        yield


def _send(connection: Connection, sql: str, parameters: Any, method: str) -> Any:
    """Run SQL on the driver's connection, and return its cursor."""
    cursor = connection.connection.cursor()
    getattr(cursor, method)(sql, parameters)
    return cursor
