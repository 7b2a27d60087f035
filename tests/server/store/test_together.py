"""Changes that wait share one COMMIT, and nothing else: no fault, no answer before its time, no context."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask
from sqlalchemy import event
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as NoConnection
from sqlalchemy.orm import Session

from server import play
from server.errors import NotYourTurn, Refused
from server.store import engine, together
from server.store.engine import connection_of
from server.store.models import Total
from tests.conftest import Table
from tests.support.at_once import PATIENCE, wait_until_held_up
from tests.support.games import all_of, entries, submit

Begin = Callable[..., Table]
Work = Callable[[Session], Any]


class Asked:
    """What became of a change that a thread of its own has asked for."""

    def __init__(self, work: Work, game_id: str) -> None:
        self.work, self.game_id = work, game_id
        self.result: Any = None
        self.error: BaseException | None = None
        self.unsure = False

    def ask(self, app: Flask) -> None:
        with app.app_context():
            engine.begin_request()
            try:
                self.result = together.together(self.work, self.game_id)
            except BaseException as error:
                self.error = error
            self.unsure = engine.may_have_changed()


class Commits:
    """The transactions that were committed, and what each thread had been told by then."""

    def __init__(self) -> None:
        self.count = 0
        self.before: Callable[[], object] = lambda: None

    def note(self, _connection: object) -> None:
        self.before()
        self.count += 1


@pytest.fixture
def commits(games: list[str]) -> Iterator[Commits]:
    assert games  # they are made before
    found = Commits()
    event.listen(engine.db.engine, "commit", found.note)
    yield found
    event.remove(engine.db.engine, "commit", found.note)


def all_at_once(app: Flask, *changes: Asked) -> None:
    """Let changes be asked for in this order while somebody else makes one, so that they wait for each other."""
    with ThreadPoolExecutor(len(changes)) as pool, held_up(app) as wait_for:
        for number, change in enumerate(changes, 1):
            pool.submit(change.ask, app)
            wait_for(number)


@contextmanager
def held_up(app: Flask) -> Iterator[Callable[[int], None]]:
    """Let changes wait until the block ends; the function that it gives waits for so many of them."""
    with app.app_context():
        found = together._changes()
    assert not found._busy
    found._busy = True

    def wait_for(number: int) -> None:
        while len(found._waiting) < number:
            time.sleep(0.001)

    yield wait_for
    found._hand_over()


def count(name: str, then: Callable[[], object] = lambda: None) -> Work:
    """Return work that stores a row and does something else."""

    def work(session: Session) -> str:
        session.add(Total(name=name, value=1))
        session.flush()
        then()
        return name

    return work


def lock(session: Session, game_id: str) -> str:
    return play.lock_game(session, game_id).id


def refuse() -> None:
    raise Refused("no")


def stored() -> set[str]:
    return {row.name for row in all_of(Total)}


@pytest.fixture
def games(table: Begin) -> list[str]:
    return [table(4, game_id).id for game_id in ("g1", "g2", "g3")]


def test_changes_that_wait_share_a_commit(app: Flask, games: list[str], commits: Commits) -> None:
    changes = [Asked(count(f"t{n}"), game) for n, game in enumerate(games)]
    all_at_once(app, *changes)
    assert commits.count == 1
    assert [change.result for change in changes] == ["t0", "t1", "t2"]
    assert all(change.unsure for change in changes)
    assert stored() == {"t0", "t1", "t2"}


def test_no_answer_leaves_before_the_commit(app: Flask, games: list[str], commits: Commits) -> None:
    changes = [Asked(count(f"t{n}"), game) for n, game in enumerate(games)]
    told: list[Any] = []

    def look() -> None:
        time.sleep(0.05)  # for a thread that would not wait
        told.extend(change.result or change.error for change in changes)

    commits.before = look
    all_at_once(app, *changes)
    assert told == [None, None, None]


@pytest.mark.parametrize("first", [0, 1, 2])
def test_one_that_fails_after_it_wrote_fails_alone(app: Flask, games: list[str], first: int) -> None:
    changes = [Asked(count(f"t{n}", refuse if n == first else print), game) for n, game in enumerate(games)]
    all_at_once(app, *changes)
    for n, change in enumerate(changes):
        assert isinstance(change.error, Refused) if n == first else change.result == f"t{n}"
        assert change.unsure == (n != first)
    assert stored() == {"t0", "t1", "t2"} - {f"t{first}"}


def test_one_that_the_database_refuses_fails_alone(app: Flask, games: list[str]) -> None:
    """A row that is there already spoils the whole transaction: all others are made again."""
    names = ("same", "same", "t2")
    changes = [Asked(count(name), game) for name, game in zip(names, games, strict=True)]
    all_at_once(app, *changes)
    failed = [change for change in changes if change.error is not None]
    assert len(failed) == 1
    assert isinstance(failed[0].error, sa.exc.IntegrityError)
    assert stored() == {"same", "t2"}


def test_one_that_ends_the_transaction_harms_no_other(app: Flask, games: list[str]) -> None:
    runs: list[str] = []

    def roll_back(session: Session) -> str:
        runs.append("rolls back")
        if len(runs) == 1:
            raw: Any = connection_of(session).connection.dbapi_connection
            raw.execute("ROLLBACK")
            raise OperationalError("INSERT", None, Exception("database or disk is full"))
        return "at last"

    changes = [
        Asked(count("t0"), games[0]),
        Asked(roll_back, games[1]),
        Asked(count("t2"), games[2]),
    ]
    all_at_once(app, *changes)
    assert [change.result for change in changes] == ["t0", "at last", "t2"]
    assert stored() == {"t0", "t2"}


def test_after_a_commit_that_fails_all_are_unsure_and_nothing_is_made_again(
    app: Flask, games: list[str], commits: Commits
) -> None:
    runs: list[int] = []

    def fail() -> None:
        raise OperationalError("COMMIT", None, Exception("disk I/O error"))

    commits.before = fail
    changes = [Asked(count(f"t{n}", lambda: runs.append(1)), game) for n, game in enumerate(games)]
    changes.append(Asked(count("t3", refuse), games[0]))
    all_at_once(app, *changes)
    commits.before = lambda: None
    assert all(isinstance(change.error, OperationalError) and change.unsure for change in changes)
    assert len(runs) == 3
    assert stored() <= {"t0", "t1", "t2"}
    assert together.together(count("next"), games[0]) == "next"  # on another connection


def test_more_than_fit_and_those_that_take_too_long_wait_for_the_next(
    app: Flask, games: list[str], commits: Commits, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = [Asked(count(f"t{n:02}"), games[n % 3]) for n in range(together.MOST + 1)]
    all_at_once(app, *changes)
    assert commits.count == 2
    monkeypatch.setattr(together, "SECONDS", 0.01)
    slow = [Asked(count(f"u{n}", lambda: time.sleep(0.02)), games[n]) for n in range(3)]
    all_at_once(app, *slow)
    assert commits.count == 5
    assert all(change.result for change in changes + slow)
    assert len(stored()) == together.MOST + 4


def test_a_thread_that_is_told_to_end_takes_no_other_with_it(app: Flask, games: list[str]) -> None:
    """Whoever leads when it happens, the others' changes are made."""
    ended: list[int] = []

    def end() -> None:
        if not ended:
            ended.append(threading.get_ident())
            raise SystemExit

    changes = [Asked(count("t0"), games[0]), Asked(count("t1", end), games[1]), Asked(count("t2"), games[2])]
    all_at_once(app, *changes)
    lost = [change for change in changes if isinstance(change.error, SystemExit)]
    assert len(lost) <= 1
    assert all(change.result for change in changes if change not in lost)
    assert stored() == {change.result for change in changes if change not in lost}


def test_work_runs_in_the_context_of_the_thread_that_asks(app: Flask, games: list[str]) -> None:
    asker: ContextVar[str] = ContextVar("asker", default="nobody")
    told: list[tuple[str, str]] = []

    class Named(Asked):
        def ask(self, app: Flask) -> None:
            asker.set(self.game_id)
            super().ask(app)

    changes = [
        Named(lambda _session, game=game: told.append((game, asker.get())), game)  # type: ignore[misc]
        for game in games
    ]
    all_at_once(app, *changes)
    assert sorted(told) == [(game, game) for game in games]


def test_what_is_for_after_the_commit_happens_once_and_in_the_thread_that_asks(
    app: Flask, games: list[str]
) -> None:
    done: list[tuple[str, int]] = []
    threads: dict[str, int] = {}

    class Noted(Asked):
        def ask(self, app: Flask) -> None:
            threads[self.game_id] = threading.get_ident()
            super().ask(app)

    def work(game: str, fails: bool) -> Work:
        def later(session: Session) -> str:
            engine.after_commit(session, lambda: done.append((game, threading.get_ident())))
            if fails:
                raise Refused("no")
            assert not done
            return game

        return later

    changes = [Noted(work(game, game == games[1]), game) for game in games]
    all_at_once(app, *changes)
    assert sorted(done) == sorted((game, threads[game]) for game in (games[0], games[2]))


def test_the_first_write_of_a_request_is_part_of_its_own_change(app: Flask, games: list[str]) -> None:
    written: dict[str, bool] = {}

    class First(Asked):
        def ask(self, app: Flask) -> None:
            engine.first_write(lambda session: session.add(Total(name=f"first {self.game_id}", value=1)))
            super().ask(app)
            written[self.game_id] = engine.has_written()

    changes = [First(count(f"t{n}", refuse if n == 1 else print), game) for n, game in enumerate(games)]
    all_at_once(app, *changes)
    assert stored() == {f"first {games[0]}", f"first {games[2]}", "t0", "t2"}
    assert written == {games[0]: True, games[1]: False, games[2]: True}


def test_moves_in_several_games_share_a_commit_and_a_refused_one_tells_only_its_player(
    app: Flask, games: list[str], commits: Commits
) -> None:
    answers: dict[tuple[str, int], object] = {}

    def move(game: str, seat: int) -> None:
        with app.app_context():
            try:
                answers[game, seat] = submit(game, seat, "pass", seen=1, request_id=f"r{seat}")
            except Refused as refusal:
                answers[game, seat] = refusal

    with ThreadPoolExecutor(4) as pool, held_up(app) as wait_for:
        for number, (game, seat) in enumerate([*((game, 0) for game in games), (games[0], 2)], 1):
            pool.submit(move, game, seat)
            wait_for(number)
        before = commits.count
    shared = commits.count - before
    assert shared == 1
    assert all(answers[game, 0] == play.Receipt(game, 0, 2, repeated=False) for game in games)
    assert isinstance(answers[games[0], 2], NotYourTurn)
    assert [entries(game)[1].move for game in games] == ["pass"] * 3


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_game_that_another_transaction_holds_does_not_hold_up_the_others(
    app: Flask, games: list[str]
) -> None:
    changes = [Asked(partial(lock, game_id=game), game) for game in games]
    with ThreadPoolExecutor(1) as pool:
        with engine.transaction() as session:
            play.lock_game(session, games[1])
            done = pool.submit(all_at_once, app, *changes)
            wait_until_held_up(session)
            until = time.monotonic() + PATIENCE
            while not (changes[0].result and changes[2].result) and time.monotonic() < until:
                time.sleep(0.01)
            assert [change.result for change in changes] == [games[0], None, games[2]]
        done.result()
    assert changes[1].result == games[1]


def test_one_that_waits_too_long_gives_up_and_changes_nothing(
    app: Flask, games: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "BUSY_SECONDS", 0.05)
    late, later = Asked(count("late"), games[0]), Asked(count("later"), games[1])
    with held_up(app):
        late.ask(app)
    assert isinstance(late.error, NoConnection)
    assert not late.unsure
    later.ask(app)
    assert later.result == "later"
    assert stored() == {"later"}


def test_many_threads_get_the_answers_to_their_own_changes(app: Flask, games: list[str]) -> None:
    def ask(thread: int) -> list[Asked]:
        made = []
        for n in range(12):
            fails = (thread + n) % 5 == 0
            made.append(Asked(count(f"{thread}-{n}", refuse if fails else print), games[n % 3]))
            made[-1].ask(app)
        return made

    with ThreadPoolExecutor(8) as pool:
        found = [change for changes in pool.map(ask, range(8)) for change in changes]
    refused = [change for change in found if isinstance(change.error, Refused)]
    assert len(refused) == sum((thread + n) % 5 == 0 for thread in range(8) for n in range(12))
    assert stored() == {change.result for change in found if change not in refused}
    assert len(stored()) == len(found) - len(refused)
