"""Two small Flask applications under the same server as Byzanz: an empty one with one durable insert, and hello.

python -m benchmarks.peers.flask_apps PORT WORKERS DATABASE
"""

from __future__ import annotations

import sqlite3
import sys
import threading
from pathlib import Path

from flask import Flask, request

from benchmarks.peers import under

try:
    import fcntl
except ImportError:  # not Unix
    fcntl = None  # type: ignore[assignment]


def make_app(database: Path) -> Flask:
    """Return the application.

    Args:
        database: an SQLite file; the settings for durability are those of Byzanz, and so is the queue of its writers.
    """
    app = Flask(__name__)
    local = threading.local()

    def connection() -> sqlite3.Connection:
        if not hasattr(local, "connection"):
            local.connection = connected(database)
        found: sqlite3.Connection = local.connection
        return found

    @app.get("/")
    def hello() -> str:
        return "<!doctype html><title>Hello</title><p>Hello, world!"

    @app.post("/moves")
    def insert() -> tuple[dict[str, int | None], int]:
        with database.with_suffix(".lock").open("w") as queue:
            if fcntl is not None:
                fcntl.flock(queue, fcntl.LOCK_EX)
            row = commit(connection(), request.get_data(as_text=True))
        return {"seq": row}, 201

    return app


def connected(database: Path) -> sqlite3.Connection:
    """Open a database as durable as that of Byzanz, with one table."""
    connection = sqlite3.connect(database, isolation_level=None, timeout=30)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE IF NOT EXISTS raw (id INTEGER PRIMARY KEY, text TEXT)")
    return connection


def commit(connection: sqlite3.Connection, text: str) -> int | None:
    """Commit one row and return its number."""
    connection.execute("BEGIN IMMEDIATE")
    row = connection.execute("INSERT INTO raw (text) VALUES (?)", (text,)).lastrowid
    connection.execute("COMMIT")
    return row


def main(port: str, workers: str, database: str) -> None:
    """Serve the application as `byzanz web` does, without heartbeats."""
    connected(Path(database)).close()
    under.gunicorn(make_app(Path(database)), int(port), int(workers))


if __name__ == "__main__":
    main(*sys.argv[1:])
