"""What `byzanz doctor` finds out about the database itself: whether it can be used, and whether it is the right one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC
from pathlib import Path

from sqlalchemy import func, select, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from server import config
from server.config import ConfigError, Settings, home
from server.ops import surroundings
from server.ops.finding import CLOCK_REMEDY, WRONG_CLOCK, Finding, apart
from server.store import engine, migrate
from server.store.models import Person

CAUSES = (
    ("password authentication failed", "correct the password in BYZANZ_DATABASE_URL"),
    ("no password supplied", "write user and password into BYZANZ_DATABASE_URL"),
    ("pg_hba.conf", "allow this machine and user in pg_hba.conf of PostgreSQL"),
    (
        "permission denied",
        "let this user own the database and its tables, or correct the user in BYZANZ_DATABASE_URL",
    ),
    ("does not exist", "create it in PostgreSQL (createdb, createuser), or correct BYZANZ_DATABASE_URL"),
    ("connection refused", "start PostgreSQL, or correct host and port in BYZANZ_DATABASE_URL"),
    ("could not translate host name", "correct the host in BYZANZ_DATABASE_URL, or the DNS"),
    ("failed to resolve host", "correct the host in BYZANZ_DATABASE_URL, or the DNS"),
    ("timeout expired", "let the network and firewalls reach PostgreSQL, or correct BYZANZ_DATABASE_URL"),
    ("too many clients", "raise max_connections of PostgreSQL, or use a pooler (docs/scale.md)"),
    ("remaining connection slots", "raise max_connections of PostgreSQL, or use a pooler (docs/scale.md)"),
    ("malformed", "the file is damaged: stop Byzanz and restore a backup (byzanz restore)"),
    ("not a database", "the file is damaged or another: restore a backup, or correct BYZANZ_DATABASE_URL"),
    (
        "disk i/o error",
        "the disk fails: see the log of the kernel (dmesg), and restore a backup on a sound one",
    ),
    ("disk is full", "make room: without it no move can be stored"),
    ("readonly database", "let this user write it, on a file system that is mounted writable"),
    ("unable to open", "let this user read and write the file and its folder"),
    ("locked", "another process holds its lock: stop it, or wait until it is done"),
)
"""What to do, by a part of what the driver says; the first that fits counts."""


def tables(settings: Settings) -> Finding:
    """Check that the database answers and is at the revision of this code; this runs in the application's context."""
    try:
        present, newest = migrate.current_revision(), migrate.head_revision()
    except SQLAlchemyError as error:
        return unusable(error)
    try:
        migrate.refuse_newer(present)
    except ConfigError as error:
        what, _, remedy = str(error).partition(": ")
        return Finding(False, f"database: {what.removeprefix('the database is ')}", remedy)
    if present is None and (other := surroundings.elsewhere(settings)):
        remedy = f"set {home.HOME}={other} if that is yours; else run `byzanz upgrade`"
        return Finding(False, f"the database is empty, but there is one in {other / home.DATABASE}", remedy)
    if present != newest:
        state = f"at revision {present}, not {newest}" if present else "empty"
        return Finding(False, f"database: {state}", "run `byzanz upgrade`")
    return Finding(True, f"database: {engine.db.engine.dialect.name}, at revision {present}")


def unusable(error: SQLAlchemyError) -> Finding:
    """Say what the driver reports, and what to do about it."""
    line = migrate.error_line(error)
    remedy = next((remedy for part, remedy in CAUSES if part in line.lower()), "check BYZANZ_DATABASE_URL")
    return Finding(False, f"database: {line}", remedy)


def findings(session: Session, settings: Settings, check_all: bool) -> Iterator[Finding]:
    """Yield what is wrong with a database at the revision of this code.

    Args:
        check_all: also read every page of an SQLite file.
    """
    yield from _another_one(session, settings)
    if session.get_bind().dialect.name == "postgresql":
        yield _clock(session)
    elif check_all:
        yield _pages(session)


def _another_one(session: Session, settings: Settings) -> Iterator[Finding]:
    """Warn of an empty database beside another one, which is probably the right one."""
    if session.scalar(select(func.count(Person.id))):
        return
    other = surroundings.elsewhere(settings)
    if other is not None and _has_people(other / home.DATABASE):
        file = config.database_file(settings)
        what = f"nobody is in {file}, and there is another database in {other / home.DATABASE}"
        yield Finding(False, what, f"set {home.HOME}={other} and restart, if players are missing their games")


def _has_people(file: Path) -> bool:
    """Whether anybody is in another database, which is only read."""
    try:
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as connection:
            return connection.execute("SELECT 1 FROM person LIMIT 1").fetchone() is not None
    except sqlite3.Error:
        return False


def _clock(session: Session) -> Finding:
    theirs = session.execute(text("SELECT clock_timestamp()")).scalar_one()
    differs = engine.utc_now() - theirs.astimezone(UTC)
    if abs(differs) > WRONG_CLOCK:
        what = f"the clock of this machine is {apart(differs)} that of the database"
        return Finding(False, what, CLOCK_REMEDY)
    return Finding(True, "the clocks of this machine and of the database agree")


def _pages(session: Session) -> Finding:
    said = session.execute(text("PRAGMA quick_check(1)")).scalar_one()
    if said != "ok":
        return Finding(False, f"the database file is damaged ({said})", "stop Byzanz and restore a backup")
    return Finding(True, "every page of the database file can be read")
