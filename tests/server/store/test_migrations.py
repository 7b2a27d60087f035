"""The log's triggers exist after every migration, and a database of the baseline gets the schema of a new one."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.script import ScriptDirectory
from flask import Flask
from flask_migrate import Migrate, downgrade, upgrade

from server import config, create_app
from server.store import engine, migrate, operations
from server.store.models import Game
from tests.conftest import Table, settings

SCRIPTS = ScriptDirectory(str(config.MIGRATIONS))
REVISIONS = [revision.revision for revision in SCRIPTS.walk_revisions()]
DUMP = Path(__file__).parent / "databases" / "0033.sql"


@pytest.fixture
def empty(request: pytest.FixtureRequest, tmp_path: object) -> Iterator[Flask]:
    """Return an app on a database without tables."""
    file = f"sqlite:///{tmp_path}/bare.db"
    url = file if request.param == "sqlite" else request.getfixturevalue("bare_postgres")
    app = create_app(settings(url))
    Migrate(app, engine.db, directory=str(config.MIGRATIONS))
    with app.app_context():
        yield app
        engine.db.engine.dispose()


def triggers(connection: sa.Connection) -> set[str]:
    if connection.dialect.name == "sqlite":
        query = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'entry'"
    else:
        query = "SELECT tgname FROM pg_trigger WHERE tgrelid = 'entry'::regclass AND NOT tgisinternal"
    return set(connection.scalars(sa.text(query)))


@pytest.mark.parametrize("empty", ["sqlite", "postgresql"], indirect=True)
@pytest.mark.parametrize("revision", REVISIONS[::-1])
@pytest.mark.usefixtures("empty")
def test_the_log_keeps_its_triggers_at_every_revision(revision: str) -> None:
    upgrade(revision=revision)
    with engine.db.engine.connect() as connection:
        sqlite = connection.dialect.name == "sqlite"
        wanted = (
            {"entry_no_update", "entry_no_delete"} if sqlite else {"entry_no_change", "entry_no_truncate"}
        )
        assert triggers(connection) == wanted


@pytest.mark.usefixtures("app")
def test_a_change_of_what_a_games_page_shows_raises_its_revision(table: Callable[..., Table]) -> None:
    game, other = table(3), table(3, "g2")

    def raised(statement: str) -> int:
        with engine.transaction() as session:
            before = session.scalar(sa.select(Game.revision).where(Game.id == game.id)) or 0
            session.execute(sa.text(statement))
            return (session.scalar(sa.select(Game.revision).where(Game.id == game.id)) or 0) - before

    for column in ("name", "status", "quarantine", "result", "seed", "commitment", "time_zone"):
        assert raised(f"UPDATE game SET {column} = {column} WHERE id = 'g1'") == 1, column
    for column in ("name", "cut", "uncut"):
        assert raised(f"UPDATE seat SET {column} = {column} WHERE game_id = 'g1' AND seat = 1") == 1, column
    assert raised("UPDATE game SET head = head, paused = paused WHERE id = 'g1'") == 0
    assert raised("UPDATE seat SET bank = bank, missed = missed WHERE game_id = 'g1'") == 0
    assert raised(f"UPDATE game SET name = 'Other' WHERE id = '{other.id}'") == 0


@pytest.mark.usefixtures("app")
def test_sqlite_is_set_up_to_last() -> None:
    if engine.db.engine.dialect.name != "sqlite":
        return
    with engine.db.engine.connect() as connection:
        found = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "recursive_triggers", "secure_delete")
        }
    assert found == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "recursive_triggers": 1,
        "secure_delete": 1,
    }


def schema(url: str) -> set[str]:
    """Return the parts of an SQLite file's schema as it keeps them; a table's own are in no order."""
    with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
        found = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    parts = set()
    for (text,) in found:
        plain = " ".join(text.replace('"', "").split())
        begin, _, rest = plain.partition(" (")
        split = re.split(r", (?![^(]*\))", rest) if plain.startswith("CREATE TABLE") else [rest]
        parts |= {f"{begin}: {part.strip(' )')}" for part in split}
    return parts


@pytest.mark.parametrize("empty", ["sqlite"], indirect=True)
def test_a_database_of_the_baseline_gets_the_schema_of_a_new_one(empty: Flask, tmp_path: Path) -> None:
    upgrade()
    old = f"sqlite:///{tmp_path}/old.db"
    with sqlite3.connect(tmp_path / "old.db") as connection:
        connection.executescript(DUMP.read_text())
    connection.close()
    with create_app(settings(old)).app_context():
        assert migrate.upgrade() == ("0033", SCRIPTS.get_current_head())
        engine.db.engine.dispose()
    new = schema(empty.config["SQLALCHEMY_DATABASE_URI"])
    assert schema(old) == new
    assert len(new) > 400


@pytest.mark.parametrize("empty", ["sqlite", "postgresql"], indirect=True)
@pytest.mark.usefixtures("empty")
def test_the_baseline_is_the_end_of_the_way_back(caplog: pytest.LogCaptureFixture) -> None:
    upgrade()
    downgrade(revision="0033")
    upgrade()
    with pytest.raises(SystemExit):
        downgrade(revision="base")
    assert "a log is never dropped" in caplog.text


@pytest.mark.usefixtures("app")
def test_figures_of_any_size_are_stored() -> None:
    operations.forget_figures()  # what earlier tests of this process counted
    for _ in range(2):
        operations.count_figure("other", 1 << 40)
        operations.store_figures()
    with engine.reading() as session:
        assert operations.stored_figures(session)["other"] == 1 << 41
