"""The log of an outage: one line a minute of each kind, instead of a traceback for each request that fails."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time

import psycopg
from sqlalchemy.exc import SQLAlchemyError

from server.store import engine, migrate

SECONDS = 60.0
"""How long further records of a kind are only counted."""
_FAILURES = (
    *engine.UNAVAILABLE,
    *(psycopg.OperationalError, psycopg.InterfaceError, sqlite3.OperationalError),
)


class OutageFilter(logging.Filter):
    """Lets the first record of each kind pass in a minute if the database has failed, as a line without a traceback.

    A kind is a message before its values are filled in, with the type of the error. The same holds for records that are
    marked with `extra={"outage": True}`. Others pass as they are.
    """

    def __init__(self) -> None:
        super().__init__()
        self._passed: dict[object, float] = {}
        self._left_out: dict[object, int] = {}
        self._lock = threading.Lock()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to log a record; one of an outage is shortened."""
        error = record.exc_info[1] if record.exc_info else None
        if not isinstance(error, _FAILURES) and not hasattr(record, "outage"):
            return True
        kind, now = (record.name, record.msg, type(error)), time.monotonic()
        with self._lock:
            if now < self._passed.get(kind, -SECONDS) + SECONDS:
                self._left_out[kind] = self._left_out.get(kind, 0) + 1
                return False
            self._passed[kind] = now
            more = self._left_out.pop(kind, 0)
        line = migrate.error_line(error) if isinstance(error, SQLAlchemyError) else error
        counted = f" ({more} more like it before)" if more else ""
        record.msg, record.args = record.getMessage() + (f": {line}" if error else "") + counted, ()
        record.exc_info = record.exc_text = None
        return True
