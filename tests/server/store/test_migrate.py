"""Upgrading a database: by several processes at once, and never one from an unknown version."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic.script import ScriptDirectory
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from server import create_app
from server.config import MIGRATIONS, ConfigError
from server.store import engine, migrate
from tests.conftest import settings


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Return a database without tables."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/byzanz.db"
        return
    yield request.getfixturevalue("bare_postgres")


def test_of_several_processes_one_makes_the_tables(empty_database: str) -> None:
    environment = {
        **os.environ,
        "BYZANZ_DATABASE_URL": empty_database,
        "BYZANZ_SECRET_KEY": "0123456789abcdef0123456789abcdef",
    }
    command = [sys.executable, "-m", "server.cli", "upgrade"]
    started = [
        subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        for _ in range(3)
    ]
    said = [process.communicate(timeout=120)[0] for process in started]
    assert [process.returncode for process in started] == [0] * 3, said
    assert sorted(lines.splitlines()[-1].split(" ")[2:4] for lines in said) == [
        ["is", "at"],
        ["is", "at"],
        ["was", "empty"],
    ]
    app = create_app(settings(empty_database))
    with app.app_context():
        migrate.check()
        engine.db.engine.dispose()


def test_the_revisions_are_those_that_the_files_of_the_migrations_are_named_after() -> None:
    scripts = ScriptDirectory(str(MIGRATIONS))
    assert migrate.head_revision() == scripts.get_current_head()
    assert migrate._revisions() == {step.revision for step in scripts.walk_revisions()}


@pytest.mark.usefixtures("app")
def test_a_database_that_is_up_to_date_is_not_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    def upgraded(*_args: object) -> None:
        raise AssertionError

    monkeypatch.setattr("alembic.command.upgrade", upgraded)
    assert migrate.upgrade() == (migrate.head_revision(), migrate.head_revision())


def test_a_migration_of_a_file_excludes_its_other_writers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[bool] = []

    def locked(*_args: object) -> None:
        with Path(f"{tmp_path}/byzanz.db.lock").open("w") as lock, pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        tried.append(True)

    monkeypatch.setattr("alembic.command.upgrade", locked)
    with create_app(settings(f"sqlite:///{tmp_path}/byzanz.db")).app_context():
        migrate.upgrade()
        engine.db.engine.dispose()
    assert tried == [True]


@pytest.mark.usefixtures("app")
@pytest.mark.parametrize(
    ("revision", "told"),
    [
        ("ffff", "revision ffff, which this version of Byzanz does not know: a newer one has upgraded it"),
        ("0001", "revision 0001, which is too old for this version of Byzanz: install commit dc3bbcf3"),
        ("0032", "revision 0032, which is too old for this version of Byzanz: install commit dc3bbcf3"),
    ],
)
def test_tables_of_another_version_are_left_alone(revision: str, told: str) -> None:
    with engine.transaction() as session:
        session.execute(text("UPDATE alembic_version SET version_num = :it"), {"it": revision})
    for refuse in (migrate.check, migrate.upgrade):
        with pytest.raises(ConfigError, match=told):
            refuse()
    assert migrate.current_revision() == revision


def test_the_error_of_a_database_is_one_line_of_its_own_words() -> None:
    said = 'connection to server failed:\n\tFATAL:  role "byzanz" does not exist\n'
    told = 'connection to server failed: FATAL: role "byzanz" does not exist'
    assert migrate.error_line(DBAPIError("SELECT 1", None, Exception(said))) == told
    assert migrate.error_line(SQLAlchemyError(said)) == told
    assert len(migrate.error_line(SQLAlchemyError("x" * 400))) == 300
