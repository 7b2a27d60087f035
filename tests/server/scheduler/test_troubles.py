"""The server's own troubles put no game on hold and end no loop; a fault of rules or log puts its own game on hold.

A database that is locked, full or lost, too little memory, a file that cannot be read, a thread that is stopped.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import psycopg
import pytest
import sqlalchemy as sa
from flask import Flask

from byzanz import umpire
from byzanz.games.byzanz import Byzanz
from server import play
from server.community import profiles
from server.errors import NotRunning
from server.lobby import visitors
from server.mail.incoming import receive
from server.play import positions
from server.scheduler import jobs, loop
from server.store import engine, operations, people
from server.store.models import Alert, Game, Presence, Snapshot, Turn
from tests.conftest import NOW, Table
from tests.support.database_faults import IMPATIENT, impatient, locked, locked_for
from tests.support.games import change, entries_by, give_to_bots, loaded, row
from tests.support.mails import one_database, send_waiting
from tests.support.scheduler import SECONDS

__all__ = ["impatient"]
Begin = Callable[..., Table]
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


def no_such_zone(*_words: Any, **_more: Any) -> None:
    ZoneInfo("Atlantis/Poseidonis")


def raising(error: BaseException) -> Callable[..., Any]:
    def fail(*_words: Any, **_more: Any) -> None:
        raise error

    return fail


TROUBLES: dict[str, Callable[..., Any]] = {
    "too little memory": raising(MemoryError()),
    "a full disk": raising(OSError(28, "No space left on device")),
    "a time limit": raising(TimeoutError("timed out")),
    "a connection": raising(ConnectionResetError(104, "Connection reset by peer")),
    "a stopped thread": raising(CancelledError()),
    "no thread left": raising(RuntimeError("can't start new thread")),
    "the driver, unwrapped": raising(sqlite3.OperationalError("database is locked")),
    "the other driver, unwrapped": raising(psycopg.OperationalError("server closed the connection")),
    "the database": raising(sa.exc.OperationalError("BEGIN", {}, Exception("gone"))),
    "a transaction that is lost": raising(sa.exc.PendingRollbackError("rolled back")),
    "no connection left": raising(sa.exc.TimeoutError("QueuePool limit")),
    "no time zones": no_such_zone,
}
FAULTS: dict[str, type[Exception]] = {
    kind.__name__: kind
    for kind in (
        ZeroDivisionError,
        KeyError,
        IndexError,
        AssertionError,
        TypeError,
        ValueError,
        AttributeError,
    )
} | {"RecursionError": RecursionError, "NotImplementedError": NotImplementedError}


def on_hold(game: Table) -> bool:
    return row(Game, game.id).quarantine is not None


def alerts() -> int:
    with engine.reading() as session:
        return session.scalar(sa.select(sa.func.count()).select_from(Alert)) or 0


@pytest.fixture
def due(table: Begin) -> Table:
    """Start a game whose first turn is overdue at NOW + 2 h."""
    game = table(3, allowance=3600)
    send_waiting()
    return game


# The server's own troubles


@one_database
def test_a_deadline_and_a_bot_that_meet_a_lock_wait_for_the_next_tick(
    due: Table, table: Begin, impatient: Flask
) -> None:
    other = table(3, game_id="bots")
    give_to_bots(other, range(1))
    with locked(impatient):
        assert jobs._time_out_turns(due.id, NOW + 2 * HOUR, NOW + 2 * HOUR) == 0
        assert jobs.tick_bots(NOW) == 0
    assert not on_hold(due)
    assert not on_hold(other)
    assert alerts() == 0
    assert jobs._time_out_turns(due.id, NOW + 2 * HOUR, NOW + 2 * HOUR) == 1
    assert jobs.tick_bots(NOW) == 1


@one_database
def test_a_lock_that_ends_right_after_a_game_met_it_puts_no_game_on_hold(
    due: Table, table: Begin, impatient: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it lasts, no hold could be stored either."""
    other = table(3, game_id="bots")
    give_to_bots(other, range(1))
    failed = jobs._failed
    for meet in (
        lambda: jobs._time_out_turns(due.id, NOW + 2 * HOUR, NOW + 2 * HOUR),
        lambda: jobs.tick_bots(NOW),
    ):
        with locked(impatient) as give_back, monkeypatch.context() as patch:
            patch.setattr(jobs, "_failed", lambda *words, end=give_back: (end(), failed(*words)))
            assert meet() == 0
        assert not on_hold(due)
        assert not on_hold(other)
        assert alerts() == 0
        assert meet() == 1


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize(
    "place", ["server.play.time_out", "server.play.game.Table.append", "byzanz.umpire.play"]
)
@one_database
def test_no_trouble_of_the_server_puts_a_game_on_hold_whose_time_is_up(
    due: Table, monkeypatch: pytest.MonkeyPatch, trouble: str, place: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(place, TROUBLES[trouble])
        assert jobs._time_out_turns(due.id, NOW + 2 * HOUR, NOW + 2 * HOUR) == 0
    assert not on_hold(due)
    assert jobs._time_out_turns(due.id, NOW + 2 * HOUR, NOW + 2 * HOUR) == 1


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize(
    "place", ["byzanz.bots.decide", "server.play.submit", "server.play.positions.current"]
)
@one_database
def test_no_trouble_of_the_server_puts_a_game_on_hold_whose_bot_is_to_move(
    table: Begin, monkeypatch: pytest.MonkeyPatch, trouble: str, place: str
) -> None:
    game = table(3)
    give_to_bots(game, range(1))
    with monkeypatch.context() as patch:
        patch.setattr(place, TROUBLES[trouble])
        assert jobs.tick_bots(NOW) == 0
    assert not on_hold(game)
    assert jobs.tick_bots(NOW) == 1


@pytest.mark.parametrize("trouble", TROUBLES)
@one_database
def test_no_trouble_of_the_server_while_a_log_is_replayed_puts_its_game_on_hold(
    due: Table, monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    with engine.transaction() as session:
        session.execute(sa.delete(Snapshot).where(Snapshot.game_id == due.id))
    with monkeypatch.context() as patch:
        patch.setattr("byzanz.umpire.replay", TROUBLES[trouble])
        assert jobs._time_out_turns(due.id, NOW + 2 * HOUR, NOW + 2 * HOUR) == 0
        with pytest.raises(Exception) as raised, engine.reading() as session:  # noqa: PT011 - any but the one below
            positions.current(loaded(session, due.id))
        assert not isinstance(raised.value, positions.Broken)
    assert not on_hold(due)


# Faults


@pytest.mark.parametrize("fault", FAULTS)
@one_database
def test_a_fault_of_the_rules_puts_its_game_on_hold(
    due: Table, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    monkeypatch.setattr(Byzanz, "fallback", raising(FAULTS[fault]("a bug")))
    assert jobs._time_out_turns(due.id, NOW + 2 * HOUR, NOW + 2 * HOUR) == 0
    assert on_hold(due)
    assert alerts() == 1


@one_database
def test_an_error_of_a_games_own_kind_is_a_fault(due: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    own = type("OutOfCards", (Exception,), {"__module__": "byzanz.games.byzanz.moves"})
    monkeypatch.setattr(Byzanz, "fallback", raising(own("a bug")))
    jobs._time_out_turns(due.id, NOW + 2 * HOUR, NOW + 2 * HOUR)
    assert on_hold(due)


@one_database
def test_a_runtime_error_is_a_fault_if_the_code_of_a_game_was_running(
    table: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = table(3)
    give_to_bots(game, range(1))
    monkeypatch.setattr(Byzanz, "apply", raising(RuntimeError("dictionary changed size during iteration")))
    jobs.tick_bots(NOW)
    assert on_hold(game)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("place", ["server.play.time_out", "server.play.game.Table.append"])
@one_database
def test_an_error_in_the_servers_own_code_puts_no_game_on_hold(
    due: Table, monkeypatch: pytest.MonkeyPatch, fault: str, place: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(place, raising(FAULTS[fault]("a bug")))
        assert jobs._time_out_turns(due.id, NOW + 2 * HOUR, NOW + 2 * HOUR) == 0
    assert not on_hold(due)
    assert jobs._time_out_turns(due.id, NOW + 2 * HOUR, NOW + 2 * HOUR) == 1


@pytest.mark.parametrize("fault", FAULTS)
@one_database
def test_an_error_in_the_servers_own_code_while_a_bot_moves_puts_no_game_on_hold(
    table: Begin, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    game = table(3)
    give_to_bots(game, range(1))
    with monkeypatch.context() as patch:
        patch.setattr("server.play.submit", raising(FAULTS[fault]("a bug")))
        assert jobs.tick_bots(NOW) == 0
    assert not on_hold(game)
    assert jobs.tick_bots(NOW) == 1


# Loops


@one_database
def test_an_old_visitors_game_that_is_broken_keeps_no_other_from_ending(table: Begin) -> None:
    bad, good = table(3, game_id="bad", trial=True), table(3, game_id="good", trial=True)
    change(Game, bad.id, options='{"unknown": true}')
    change(Game, bad.id, created_at=NOW - timedelta(days=1))
    with engine.transaction() as session:
        session.execute(sa.delete(Snapshot).where(Snapshot.game_id == bad.id))
    assert visitors.end_old(NOW + timedelta(days=30)) == 1
    assert row(Game, good.id).status == "over"
    assert on_hold(bad)
    with pytest.raises(NotRunning):
        play.submit(bad.id, 0, "pass", seen=0, request_id="r", now=NOW)


@one_database
@pytest.mark.usefixtures("app")
def test_a_purge_that_fails_keeps_no_other_from_its_work(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setattr(operations, "enforced_until", lambda *_: NOW)
    monkeypatch.setattr(
        jobs, "truncate_log", raising(sa.exc.OperationalError("PRAGMA", {}, Exception("locked")))
    )
    monkeypatch.setattr(receive, "purge", raising(ValueError("boom")))
    monkeypatch.setattr(profiles, "purge", lambda _now: done.append("handles"))
    monkeypatch.setattr("server.store.outbox.purge", lambda _now: done.append("outbox"))
    with pytest.raises(sa.exc.OperationalError):
        jobs.tick_purge(NOW, 5.0)
    assert done == ["handles", "outbox"]


@one_database
def test_a_reminder_that_fails_keeps_no_other_from_going_out(
    table: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    table(3, game_id="a", allowance=3600)
    table(3, game_id="b", allowance=3600)
    send_waiting()
    real = play.remind

    def remind(game_id: str, *rest: Any) -> bool:
        if game_id == "a":
            raise sa.exc.OperationalError("UPDATE", {}, Exception("lock timeout"))
        return real(game_id, *rest)

    monkeypatch.setattr(play, "remind", remind)
    assert jobs.tick_reminders(NOW + 50 * MINUTE) == 1


@one_database
def test_every_job_goes_on_after_a_lock(impatient: Flask, table: Begin) -> None:
    """Every job meets the lock, and each ends without an error at its next run."""
    table(3, now=engine.utc_now())
    settings = impatient.config["BYZANZ"].model_copy(
        update={"tick": SECONDS, "mail_url": "smtp://127.0.0.1:9"}
    )
    made = loop.Scheduler(impatient, settings)
    made._scheduler.start = lambda **_: type(made._scheduler).start(made._scheduler, paused=True)
    operations.note_figure("seen", 1)
    made.start()
    try:
        work = {job.id: job for job in made._scheduler.get_jobs()}
        with locked(impatient):
            for job in work.values():
                job.func(*job.args)
        people.note(1, engine.utc_now())
        operations.forget_figures()
        for job in work.values():
            job.func(*job.args)
        assert {f"job:{name}" for name in work} <= operations._noted.keys() | stored()
        assert made._waker.is_alive()
        assert made._watch.is_alive()
    finally:
        made.stop()


def stored() -> set[str]:
    with engine.reading() as session:
        return set(operations.stored_figures(session))


@one_database
def test_who_was_here_while_the_database_was_locked_is_stored_afterwards(
    impatient: Flask, table: Begin
) -> None:
    game = table(3)
    people.note(game.people[0], NOW + HOUR, game.id)
    with locked(impatient), pytest.raises(engine.UNAVAILABLE):
        people.store()
    people.store()
    assert row(Presence, (game.people[0], game.id)).at == NOW + HOUR


# The queue of writers


@one_database
@pytest.mark.concurrency
def test_a_writer_gives_up_its_place_in_the_queue_in_time(impatient: Flask) -> None:
    """Or ten writers would wait ten times as long as one for a lock that is held from outside."""
    took: list[float] = []

    def write() -> None:
        began = time.monotonic()
        with impatient.app_context(), pytest.raises(engine.UNAVAILABLE), engine.transaction():
            pass
        took.append(time.monotonic() - began)

    with locked(impatient):
        writers = [threading.Thread(target=write) for _ in range(10)]
        for each in writers:
            each.start()
        for each in writers:
            each.join()
    assert len(took) == 10
    assert max(took) < 5 * IMPATIENT + 1


@one_database
def test_a_lock_file_that_cannot_be_opened_is_the_databases_trouble(
    impatient: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert impatient.name
    monkeypatch.setattr("pathlib.Path.open", raising(OSError(28, "No space left on device")))
    with pytest.raises(sa.exc.OperationalError), engine.transaction():
        pass
    with pytest.raises(sa.exc.OperationalError):
        engine.alone(engine.db.engine, "mailer")


@one_database
def test_a_lock_that_ends_in_time_is_waited_for(
    impatient: Flask, monkeypatch: pytest.MonkeyPatch, due: Table
) -> None:
    monkeypatch.setattr(engine, "BUSY_SECONDS", 30)
    engine.db.engine.dispose()
    end = locked_for(impatient, 0.3)
    assert jobs._time_out_turns(due.id, NOW + 2 * HOUR, NOW + 2 * HOUR) == 1
    end.join()
    assert [by for _seat, by, _move in entries_by(due.id)] == ["clock"]
    assert row(Turn, (due.id, 1)).opened_at == NOW + 2 * HOUR


# What the databases themselves raise


@one_database
def test_a_full_disk_puts_no_game_on_hold(app: Flask, due: Table, table: Begin) -> None:
    other = table(3, game_id="bots")
    give_to_bots(other, range(1))

    def fill(connection: sqlite3.Connection, _record: object) -> None:
        connection.execute("PRAGMA max_page_count=1")  # as many as there are: none can be added

    with engine.transaction() as session:  # what a change could still write into
        session.execute(sa.text("CREATE TABLE filler (x)"))
    engine.db.engine.dispose()
    sa.event.listen(engine.db.engine, "connect", fill)
    full: list[str] = []
    try:
        for _ in range(200):
            try:
                with engine.transaction() as session:
                    session.execute(sa.text("INSERT INTO filler VALUES (zeroblob(3000))"))
            except engine.UNAVAILABLE as error:
                full.append(str(error.orig))  # type: ignore[union-attr]
                break
        assert full == ["database or disk is full"]
        assert jobs._time_out_turns(due.id, NOW + 2 * HOUR, NOW + 2 * HOUR) in (0, 1)
        for _ in range(60):
            jobs.tick_bots(NOW)
    finally:
        sa.event.remove(engine.db.engine, "connect", fill)
        engine.db.engine.dispose()
    assert app.name
    assert not on_hold(due)
    assert not on_hold(other)
    with engine.transaction() as session:
        session.execute(sa.text("DROP TABLE filler"))


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_connection_that_is_cut_in_mid_move_puts_no_game_on_hold(
    due: Table, monkeypatch: pytest.MonkeyPatch, app: Flask
) -> None:
    other = sa.create_engine(app.config["SQLALCHEMY_DATABASE_URI"], poolclass=sa.NullPool)
    ours = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
    ours += "AND datname = current_database() AND state = 'idle in transaction'"
    real = umpire.play

    def cut(*words: Any) -> Any:
        with other.connect() as connection:
            connection.execute(sa.text(ours))
        return real(*words)

    with monkeypatch.context() as patch:
        patch.setattr(umpire, "play", cut)
        assert jobs._time_out_turns(due.id, NOW + 2 * HOUR, NOW + 2 * HOUR) == 0
    assert not on_hold(due)
    assert jobs._time_out_turns(due.id, NOW + 2 * HOUR, NOW + 2 * HOUR) == 1


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_lock_of_postgresql_that_is_not_given_back_puts_no_game_on_hold(
    due: Table, table: Begin, impatient: Flask
) -> None:
    game = table(3, game_id="bots")
    give_to_bots(game, range(1))
    with locked(impatient):
        with suppress(*engine.UNAVAILABLE):
            jobs._time_out_turns(due.id, NOW + 2 * HOUR, NOW + 2 * HOUR)
        assert not jobs._play_bot(game.id, 0, NOW, lambda _n: 0, 1.0)
    assert not on_hold(due)
    assert not on_hold(game)
    assert jobs.tick_bots(NOW) == 1
