"""Migrated tables match the models, and the log's triggers exist after every migration."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from flask import Flask
from flask_migrate import upgrade

from server import config, create_app
from server.store import engine
from tests.conftest import settings

REVISIONS = [revision.revision for revision in ScriptDirectory(str(config.MIGRATIONS)).walk_revisions()]


@pytest.fixture
def empty(request: pytest.FixtureRequest, tmp_path: object) -> Iterator[Flask]:
    """An app on a database without any table."""
    file = f"sqlite:///{tmp_path}/bare.db"
    url = file if request.param == "sqlite" else request.getfixturevalue("bare_postgres")
    app = create_app(settings(url))
    with app.app_context():
        yield app
        engine.db.engine.dispose()


def triggers(connection: sa.Connection) -> set[str]:
    if connection.dialect.name == "sqlite":
        query = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'entry'"
    else:
        query = "SELECT tgname FROM pg_trigger WHERE tgrelid = 'entry'::regclass AND NOT tgisinternal"
    return set(connection.scalars(sa.text(query)))


@pytest.mark.parametrize("empty", ["sqlite", "postgresql"], indirect=True)
@pytest.mark.parametrize("revision", REVISIONS[::-1])
def test_the_log_keeps_its_triggers_at_every_revision(empty: Flask, revision: str) -> None:
    upgrade(revision=revision)
    with engine.db.engine.connect() as connection:
        sqlite = connection.dialect.name == "sqlite"
        wanted = (
            {"entry_no_update", "entry_no_delete"} if sqlite else {"entry_no_change", "entry_no_truncate"}
        )
        assert triggers(connection) == wanted


def test_the_migrated_tables_are_those_of_the_models(app: Flask) -> None:
    with engine.db.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, engine.Base.metadata) == []


def test_sqlite_is_set_up_to_last(app: Flask) -> None:
    if engine.db.engine.dialect.name != "sqlite":
        return
    with engine.db.engine.connect() as connection:
        found = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "recursive_triggers", "secure_delete")
        }
    assert found == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "recursive_triggers": 1,
        "secure_delete": 1,
    }
