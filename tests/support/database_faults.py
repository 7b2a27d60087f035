"""Troubles of the database: its lock is held from outside, or its driver fails."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer

import psycopg
import pytest
import sqlalchemy as sa
from flask import Flask
from sqlalchemy import event

from server.store import engine
from server.store.engine import Base

IMPATIENT = 0.05
"""Seconds that the server waits for a lock here."""
LONGEST = 60.0
"""Seconds after which a lock is given back in any case."""
DRIVER = {
    "full": lambda: sqlite3.OperationalError("database or disk is full"),
    "input or output": lambda: sqlite3.OperationalError("disk I/O error"),
    "read-only": lambda: sqlite3.OperationalError("attempt to write a readonly database"),
    "gone": lambda: sqlite3.OperationalError("unable to open database file"),
    "damaged": lambda: sqlite3.DatabaseError("database disk image is malformed"),
    "misused": lambda: sqlite3.InterfaceError("bad parameter or other API misuse"),
    "no connection left": lambda: sa.exc.TimeoutError("QueuePool limit of size 5 overflow 10 reached"),
    "no file left": lambda: sa.exc.OperationalError("open", None, OSError(24, "Too many open files")),
}
"""What fails a driver's call, each made anew."""
LOST: dict[str, Callable[[], Exception]] = {
    "connection": lambda: psycopg.OperationalError("server closed the connection unexpectedly"),
    "terminated": lambda: psycopg.errors.AdminShutdown("terminating connection due to administrator command"),
    "lock": lambda: psycopg.errors.LockNotAvailable("canceling statement due to lock timeout"),
    "statement": lambda: psycopg.errors.QueryCanceled("canceling statement due to statement timeout"),
    "read-only": lambda: psycopg.errors.ReadOnlySqlTransaction(
        "cannot execute UPDATE in a read-only transaction"
    ),
    "full": lambda: psycopg.errors.DiskFull("could not extend file: No space left on device"),
    "upgraded": lambda: psycopg.errors.UndefinedColumn("column game.said does not exist"),
    "closed": lambda: psycopg.InterfaceError("the cursor is closed"),
}
"""The same of PostgreSQL's driver."""


@pytest.fixture
def impatient(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Flask:
    """Return the app, whose new connections give up locks soon."""
    monkeypatch.setattr(engine, "BUSY_SECONDS", IMPATIENT)
    monkeypatch.setattr(engine, "LOCK_SECONDS", IMPATIENT)
    engine.db.engine.dispose()
    return app


@contextmanager
def locked(app: Flask) -> Iterator[Callable[[], None]]:
    """Hold the lock of all writers within the block, as a shell or a backup program would; readers go on on SQLite.

    Yields:
        A function that gives the lock back before.
    """
    url = sa.make_url(app.config["SQLALCHEMY_DATABASE_URI"])
    arguments = {"check_same_thread": False} if url.drivername == "sqlite" else {}
    other = sa.create_engine(url, poolclass=sa.NullPool, connect_args=arguments)
    with other.connect() as connection:
        if url.drivername == "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            connection.exec_driver_sql(
                f"LOCK TABLE {', '.join(Base.metadata.tables)} IN ACCESS EXCLUSIVE MODE"
            )
        end = Timer(LONGEST, connection.rollback)
        end.start()
        try:
            yield connection.rollback
        finally:
            end.cancel()
            connection.rollback()


def locked_for(app: Flask, seconds: float) -> Timer:
    """Hold the lock for some seconds from now; return what ends it, to be joined."""
    holding = locked(app)
    give_back = holding.__enter__()

    def end() -> None:
        give_back()
        holding.__exit__(None, None, None)

    timer = Timer(seconds, end)
    timer.start()
    return timer


@contextmanager
def failing(error: Callable[[], Exception], *, writes_only: bool = False) -> Iterator[None]:
    """Let the driver raise an error as each transaction begins, in the block."""

    def fail(connection: sa.Connection) -> None:
        if connection.get_execution_options().get("writes") or not writes_only:
            raise error()

    event.listen(engine.db.engine, "begin", fail)
    try:
        yield
    finally:
        event.remove(engine.db.engine, "begin", fail)
