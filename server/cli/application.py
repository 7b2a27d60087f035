"""The application around one command that works on the database and ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def application(*, up_to_date: bool) -> Iterator[None]:
    """The application's context, on a database that is up to date; its connections are closed at the end.

    Args:
        up_to_date: bring the database up to date; else only look whether it is.

    Raises:
        ConfigError: a setting is missing or bad, or the database cannot be used as it is.
    """
    from server import create_app
    from server.store import engine, migrate  # here, so that commands about files start at once

    with create_app().app_context():
        try:
            migrate.upgrade() if up_to_date else migrate.check()
            yield
        finally:
            engine.db.engine.dispose()
