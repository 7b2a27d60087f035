"""The database engine: `transaction` to write, `reading` to read, and timestamps always in UTC."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import ColumnElement, DateTime, Dialect, Engine, MetaData, event, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import DeclarativeBase, MappedAsDataclass, Session
from sqlalchemy.types import TypeDecorator

try:
    import fcntl
except ImportError:  # not Unix: SQLite's busy handler alone serialises the writers
    fcntl = None  # type: ignore[assignment]

BUSY_SECONDS = 30
committed = threading.Event()
"""Set after each commit in this process, so that its mailer and bots need not wait for the next tick."""


class Base(MappedAsDataclass, DeclarativeBase, kw_only=True):
    """The base class of all tables; constraints are named, so that migrations can change them."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(column_0_N_label)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


db = SQLAlchemy(metadata=Base.metadata, disable_autonaming=True)


class UtcTime(TypeDecorator[datetime]):
    """A timezone-aware UTC datetime; SQLite would drop the zone without converting, so it stores UTC without one."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a datetime without a time zone reached the database")
        moment = value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: datetime | None, _dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def init_app(app: Flask) -> None:
    """Bind the database to an app and, on SQLite, set what durability and the append-only triggers need."""
    db.init_app(app)
    with app.app_context():
        if db.engine.dialect.name == "sqlite":
            event.listen(db.engine, "connect", _set_up_sqlite)
            event.listen(db.engine, "begin", _begin_sqlite)


def _set_up_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # SQLAlchemy's own BEGIN decides, see _begin_sqlite
    for pragma in (
        "journal_mode=WAL",
        "synchronous=FULL",
        "foreign_keys=ON",
        "recursive_triggers=ON",  # else INSERT OR REPLACE bypasses the append-only triggers
        "secure_delete=ON",
        f"busy_timeout={BUSY_SECONDS * 1000}",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Any) -> None:
    # A deferred transaction that reads and then writes fails with "database is locked" whatever the timeout.
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def one_writer(engine: Engine) -> Iterator[None]:
    """Queue the writers of one SQLite file: a file lock wakes the next one at once, while the busy handler polls.

    Never open a `transaction` inside the block: it would wait for the lock that this block holds.
    """
    name = engine.url.database
    if fcntl is None or not name or name == ":memory:":
        yield
        return
    with Path(f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def transaction() -> Iterator[Session]:
    """Open a writing transaction: commit at the end of the block, roll back if it raises.

    The session is a new one, so nothing read before the block is trusted inside it. Never keep it open during SMTP,
    HTTP or a bot's thinking.
    """
    engine = db.engine
    queue = one_writer(engine) if engine.dialect.name == "sqlite" else nullcontext()
    with queue, Session(engine, expire_on_commit=False) as session:
        session.connection(execution_options={"writes": True})
        yield session
        session.commit()
    committed.set()


@contextmanager
def reading() -> Iterator[Session]:
    """Open a read-only session on one consistent snapshot of the database."""
    with Session(db.engine, expire_on_commit=False) as session:
        if db.engine.dialect.name == "postgresql":
            session.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
        yield session


def insert(
    session: Session,
    table: type[Base],
    values: Mapping[str, Any],
    *,
    key: str,
    again: Mapping[str, Any] | None = None,
    where: ColumnElement[bool] | None = None,
) -> None:
    """Insert a row, or update the one with the same key, if there is one, with `again`.

    Args:
        key: the unique column.
        again: the columns to update; if None, the existing row stays as it is.
        where: a condition that the existing row must meet to be updated.
    """
    dialect = postgresql if session.get_bind().dialect.name == "postgresql" else sqlite
    row = dialect.insert(table).values(values)
    if again is None:
        session.execute(row.on_conflict_do_nothing(index_elements=[key]))
    else:
        session.execute(row.on_conflict_do_update(index_elements=[key], set_=again, where=where))


def utc_now() -> datetime:
    """Return the current time; call it at the edges only and pass it inward as `now`."""
    return datetime.now(UTC)
