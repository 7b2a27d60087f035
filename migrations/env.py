"""Alembic's environment, run by `flask --app wsgi db …` and by the server when it starts."""

from __future__ import annotations

from alembic import context
from sqlalchemy import Connection, text

from server.store import models  # noqa: F401 - importing the models registers the tables
from server.store.engine import Base, db, wait_without_limit

target = Base.metadata


def run(connection: Connection) -> None:
    """Run the migrations in one transaction.

    SQLite alters a table by rebuilding it. With foreign keys enabled, dropping the old table would act on the rows
    that refer to it, and the pragma has no effect inside a transaction. Foreign keys are therefore disabled during the
    run and checked before the commit.
    """
    sqlite = connection.dialect.name == "sqlite"
    raw = connection.connection.driver_connection
    assert raw is not None
    if sqlite:
        raw.execute("PRAGMA foreign_keys=OFF")
    context.configure(
        connection=connection,
        target_metadata=target,
        render_as_batch=True,
        compare_type=True,
        transaction_per_migration=False,
    )
    with context.begin_transaction():
        wait_without_limit(connection)
        context.run_migrations()
        if sqlite:
            broken = connection.execute(text("PRAGMA foreign_key_check")).fetchall()
            if broken:
                raise RuntimeError(f"a migration would leave rows with broken references: {broken[:5]}")
    if sqlite:
        connection.commit()
        raw.execute("PRAGMA foreign_keys=ON")


if context.is_offline_mode():
    raise SystemExit("migrations run against a live database only")
with db.engine.connect().execution_options(writes=True) as live:
    run(live)
