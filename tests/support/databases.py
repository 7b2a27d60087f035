"""Databases with all tables for tests: copies of an SQLite file, and a PostgreSQL clone that is reset between tests."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import sqlalchemy as sa
from flask import Flask

from server import create_app
from server.config import Settings
from server.store import engine
from server.store import migrate as migrations

MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""The folder for most test databases: in memory if possible, because these tests do not depend on a disk."""
SECRET = "a secret that only the tests know"
TABLES = """
SELECT c.relname, c.oid::text, array_agg(a.attname::text || a.atttypid ORDER BY a.attnum)::text,
  (SELECT array_agg(t.tgname::text || t.tgenabled::text ORDER BY t.tgname)::text
    FROM pg_trigger t WHERE t.tgrelid = c.oid)
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' GROUP BY c.oid, c.relname ORDER BY c.relname
"""
"""What a test may have changed about the tables themselves: their names, columns and triggers."""


def settings(database_url: str, **more: object) -> Settings:
    """Return settings for a test; settings not named here come from the environment, as in production."""
    values = {
        "database_url": database_url,
        "mail_url": "smtp://127.0.0.1:9",
        "mail_from": "Byzanz <games@byzanz.test>",
        "base_url": "https://byzanz.test",
        "secret_key": SECRET,
        "rate_limits": False,
    }
    return Settings.model_validate(values | more)


def migrate(url: str) -> None:
    """Create all tables in an empty database."""
    with create_app(settings(url)).app_context():
        migrations.upgrade()
        if engine.db.engine.dialect.name == "sqlite":
            with engine.db.engine.connect() as connection:
                connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")  # the file alone is copied
        engine.db.engine.dispose()


@contextmanager
def copied(file: Path, folder: Path | None = None) -> Iterator[str]:
    """Copy an SQLite file and yield the URL of the copy; it is deleted at the end.

    Args:
        folder: for the copy; by default a new one.
    """
    if folder is None:
        with (
            tempfile.TemporaryDirectory(prefix="byzanz-", dir=MEMORY) as made,
            copied(file, Path(made)) as url,
        ):
            yield url
        return
    path = folder / "byzanz.db"
    shutil.copy(file, path)
    try:
        yield f"sqlite:///{path}"
    finally:
        for left in folder.glob("byzanz.db*"):
            left.unlink()


@contextmanager
def postgres_database(server: str, template: str | None = None) -> Iterator[str]:
    """Create a database on a PostgreSQL server, as a copy of the template's URL if one is given; yield its URL."""
    url, name = sa.make_url(server), f"byzanz_{uuid.uuid4().hex}"
    copy = f" TEMPLATE {sa.make_url(template).database} STRATEGY FILE_COPY" if template else ""
    admin = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with admin.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}{copy}")
    try:
        yield url.set(database=name).render_as_string(hide_password=False)
    finally:
        with admin.connect() as connection:
            connection.exec_driver_sql(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


class PostgresClone:
    """A clone of a template database that is put back into its first state before each test.

    Creating a database takes a tenth of a second, clearing one a hundredth. The log's triggers refuse TRUNCATE and
    DELETE, so the clearing connection, which is a superuser's, suspends all triggers for itself. A test that changed
    the tables themselves costs a new clone.

    Args:
        server: the URL of the server, as a superuser.
        template: the URL of a database with all tables; rows in it are part of the first state.
    """

    def __init__(self, server: str, template: str) -> None:
        self._server = server
        self._template = template

    def __enter__(self) -> Self:
        self._clone()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._drop()

    def _clone(self) -> None:
        self._database = postgres_database(self._server, self._template)
        self.url = self._database.__enter__()
        self._connection = sa.create_engine(
            self.url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool
        ).connect()
        self._first = self._tables()
        names = [name for name, *_ in self._first]
        self._connection.exec_driver_sql(
            "CREATE SCHEMA first;"
            + "".join(f'CREATE TABLE first."{name}" AS TABLE public."{name}";' for name in names)
        )
        self._counters = self._connection.exec_driver_sql(
            "SELECT sequencename, last_value FROM pg_sequences WHERE schemaname = 'public'"
        ).all()

    def _clearing(self, empty: bool) -> str:
        statements = ["SET session_replication_role = replica"]
        for name, *_ in self._first:
            statements.append(f'DELETE FROM "{name}"')
            if not empty or name == "alembic_version":
                statements.append(f'INSERT INTO "{name}" SELECT * FROM first."{name}"')
        for name, last in self._counters:
            used = last is not None and not empty
            statements.append(f"SELECT setval('\"{name}\"', {last if used else 1}, {used})")
        return ";".join([*statements, "SET session_replication_role = origin"])

    def _drop(self) -> None:
        self._connection.close()
        self._database.__exit__(None, None, None)

    def _tables(self) -> list[tuple[str, ...]]:
        return [tuple(row) for row in self._connection.exec_driver_sql(TABLES)]

    def reset(self, empty: bool = False) -> str:
        """End all other connections, restore the first state and return the URL.

        Args:
            empty: without the rows of the template.
        """
        self._connection.exec_driver_sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        if self._tables() != self._first:
            self._drop()
            self._clone()
        self._connection.exec_driver_sql(self._clearing(empty))
        return self.url


def kept(app: Flask) -> Path:
    """Return a copy of the SQLite database of an application."""
    with engine.db.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    file = Path(app.config["SQLALCHEMY_DATABASE_URI"].removeprefix("sqlite:///"))
    return Path(shutil.copy(file, file.with_suffix(".fresh")))


def restore(copy: Path) -> None:
    """Restore the copy."""
    engine.db.engine.dispose()
    file = copy.with_suffix(".db")
    for old in file.parent.glob(f"{file.name}*"):
        old.unlink()
    shutil.copy(copy, file)
