"""Database revisions: which one a database has, and upgrading it to the latest."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from sqlalchemy import inspect, text
from sqlalchemy.exc import SQLAlchemyError

from server.config import MIGRATIONS, ConfigError
from server.store.engine import db, driver_errors, one_writer, wait_without_limit

LOCK = 0x62797A616E7A
"""The number of the advisory lock that lets only one process at a time migrate a PostgreSQL database."""

WITH_THE_OLDER = "dc3bbcf3"
"""The last commit with the migrations that came before the first one of today."""
OLDER = frozenset(f"{number:04}" for number in range(1, 33))
"""Their revisions, at which a database of that time may still be."""


def head_revision() -> str:
    """Return the revision that this code is written for."""
    return max(_revisions())


def current_revision() -> str | None:
    """Return the revision of the database, None before the first migration."""
    with driver_errors(db.engine.dialect), db.engine.connect() as connection:
        if not inspect(connection).has_table("alembic_version"):
            return None
        found: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
        return found


def check() -> None:
    """Check that the database is at the revision of this code.

    Raises:
        ConfigError: it is at another revision, or empty.
    """
    revision, head = current_revision(), head_revision()
    if revision != head:
        refuse_unknown(revision)
        state = f"at revision {revision}, not {head}" if revision else "empty"
        raise ConfigError(f"the database is {state}: run `byzanz upgrade`")


def upgrade() -> tuple[str | None, str | None]:
    """Run the pending migrations; other processes wait meanwhile and then find nothing left to do.

    Returns:
        The revisions of the database before and after.

    Raises:
        ConfigError: the database does not answer, or belongs to another version of this program.
    """
    try:
        with driver_errors(db.engine.dialect), _exclusive():
            before = current_revision()
            refuse_unknown(before)
            if before != head_revision():
                _run_pending()
            return before, current_revision()
    except SQLAlchemyError as error:
        raise ConfigError(f"BYZANZ_DATABASE_URL: {error_line(error)}") from error


def _run_pending() -> None:
    from alembic import command  # here, so that a server whose database is up to date starts quickly
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config(MIGRATIONS / "alembic.ini")
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    try:
        command.upgrade(config, "head")
    except (CommandError, RuntimeError) as error:
        raise ConfigError(f"the database cannot be upgraded: {error}") from error


def refuse_unknown(revision: str | None) -> None:
    """Check that this code knows a revision.

    Raises:
        ConfigError: it does not, because the database is too old, or because a newer version has upgraded it.
    """
    if revision in OLDER:
        raise ConfigError(
            f"the database is at revision {revision}, which is too old for this version of Byzanz: install commit "
            f"{WITH_THE_OLDER} and run `byzanz upgrade`, then install this version and run it again (docs/deploy.md)"
        )
    if revision and revision not in _revisions():
        raise ConfigError(
            f"the database is at revision {revision}, which this version of Byzanz does not know: a newer one has "
            "upgraded it. Install that version, or restore a backup from before the upgrade"
        )


def error_line(error: SQLAlchemyError) -> str:
    """Return a database error as one line."""
    text = str(getattr(error, "orig", None) or error)
    return " ".join(text.split())[:300]


def _revisions() -> set[str]:
    """Return the revisions of the migrations: each one's file begins with its own, and they follow each other."""
    return {path.name.partition("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*_*.py")}


def _exclusive() -> AbstractContextManager[None]:
    return _advisory_lock() if db.engine.dialect.name == "postgresql" else one_writer(db.engine)


@contextmanager
def _advisory_lock() -> Iterator[None]:
    # Held by a transaction and not by a session: a pooler hands each transaction to another connection.
    with db.engine.begin() as connection:
        wait_without_limit(connection)
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})
        yield
