"""The migrations make the tables of the models: columns, keys, constraints and indexes with their names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import flask_migrate
import pytest
import sqlalchemy as sa
from flask import Flask

from server import config
from server.store import engine


@pytest.fixture
def created(request: pytest.FixtureRequest) -> Iterator[sa.Connection]:
    """Return a connection to a database of the same kind as the app's, with the tables made from the models."""
    file = engine.db.engine.dialect.name == "sqlite"
    made = sa.create_engine("sqlite://" if file else request.getfixturevalue("bare_postgres"))
    with made.connect() as connection:
        engine.Base.metadata.create_all(connection)
        yield connection
    made.dispose()


def plain(found: Any) -> Any:
    """Return what was reflected in a form that compares by content.

    A column's default is left out: a migration that adds a column gives old rows a value, and the models give one to
    each new row.
    """
    if isinstance(found, Mapping):
        return {str(name): plain(value) for name, value in found.items() if name != "default"}
    if isinstance(found, list):
        return [plain(each) for each in found]
    return str(found) if isinstance(found, (sa.types.TypeEngine, sa.TextClause)) else found


def described(connection: sa.Connection) -> dict[str, Any]:
    """Return everything that the database says about its tables; the order of the columns does not matter."""
    found = sa.inspect(connection)
    parts: dict[str, Mapping[Any, Any]] = {
        "column": found.get_multi_columns(),
        "foreign key": found.get_multi_foreign_keys(),
        "unique constraint": found.get_multi_unique_constraints(),
        "check": found.get_multi_check_constraints(),
        "index": found.get_multi_indexes(),
    }
    known = {
        f"{table}: primary key": plain(key) for (_, table), key in found.get_multi_pk_constraint().items()
    }
    for part, tables in parts.items():
        known |= {
            f"{table}: {part} {each['name']}": plain(each)
            for (_, table), rows in tables.items()
            for each in rows
        }
    return {name: value for name, value in known.items() if not name.startswith("alembic_version:")}


@pytest.mark.usefixtures("app")
def test_migrated_tables_are_those_of_the_models(created: sa.Connection) -> None:
    with engine.db.engine.connect() as connection:
        assert described(connection) == described(created)


def test_a_new_migration_would_be_empty(app: Flask) -> None:
    flask_migrate.Migrate(app, engine.db, directory=str(config.MIGRATIONS), render_as_batch=True)
    flask_migrate.check()  # exits and logs the differences if there are any
