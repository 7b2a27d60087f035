"""Upgrading a database: by several processes at once, and never one from an unknown version."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import text

from server import create_app
from server.config import ConfigError
from server.store import engine, migrate
from tests.conftest import settings


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Return a database without tables."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/byzanz.db"
        return
    url = sa.make_url(request.getfixturevalue("postgres"))
    name = f"byzanz_{uuid.uuid4().hex}"
    admin = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with admin.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
        yield url.set(database=name).render_as_string(hide_password=False)
        connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")


def test_of_several_processes_one_makes_the_tables(empty_database: str) -> None:
    environment = {
        **os.environ,
        "BYZANZ_DATABASE_URL": empty_database,
        "BYZANZ_SECRET_KEY": "0123456789abcdef0123456789abcdef",
    }
    command = [sys.executable, "-m", "server.cli", "moderator", "list"]
    started = [
        subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        for _ in range(3)
    ]
    for process in started:
        said, _ = process.communicate(timeout=120)
        assert (process.returncode, said) == (0, "")
    app = create_app(settings(empty_database))
    with app.app_context():
        migrate.check()
        engine.db.engine.dispose()


@pytest.mark.usefixtures("app")
def test_tables_of_another_version_are_left_alone() -> None:
    with engine.transaction() as session:
        session.execute(text("UPDATE alembic_version SET version_num = 'ffff'"))
    for refuse in (migrate.check, migrate.upgrade):
        with pytest.raises(ConfigError, match="ffff"):
            refuse()
