"""Changes of games that wait share a transaction and its COMMIT: one thread makes those of all who wait.

A thread that meets no other makes its change at once. Then the thread that has waited longest makes all changes that
wait by that time, in the order in which they came, on one connection. Every answer leaves after the COMMIT. A change
that fails leaves nothing behind and harms no other: on its own it ends the transaction, among others it goes back to
its savepoint. Where that is impossible, such as on a full disk, all are made again, each in a transaction of its own.
If the COMMIT fails, nobody knows whether it was carried out: all are told so, and nothing is made again; the ids of the
requests settle it.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeVar

import flask
from sqlalchemy import Connection, event
from sqlalchemy.exc import OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as NoConnection
from sqlalchemy.orm import Session

from server.store import engine, log

T = TypeVar("T")
MOST, SECONDS = 16, 0.05
"""Changes in one transaction, and how long they may take before the rest waits for the next one."""
EXTENSION = "byzanz_changes"


class State(Enum):
    """What has become of a change."""

    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"
    """Nothing has changed."""
    UNSURE = "unsure"
    """It was made, but the COMMIT has not ended, or has failed."""
    ALONE = "alone"
    """It has to be made in a transaction of its own."""


@dataclass(slots=True, eq=False)
class Change:
    """A change of a game that waits.

    Args:
        context: of the thread that asks for it.
        after: what that thread does after the COMMIT.
        turn: released when it is made, or when its thread is to make what waits.
        leads: whether its thread has been told to make what waits.
    """

    game_id: str
    work: Callable[[Session], Any]
    context: Context
    state: State = State.WAITING
    result: Any = None
    error: BaseException | None = None
    after: tuple[Callable[[], object], ...] = ()
    turn: threading.Lock = field(default_factory=threading.Lock)
    leads: bool = False


def together(work: Callable[[Session], T], game_id: str) -> T:
    """Do the work that changes a game in a writing transaction, which it may share, and return its result.

    Another thread may do the work, in the context of this one, and it may be done twice. So it uses the database and
    nothing else; the rest is for afterwards (`engine.after_commit`).

    Args:
        game_id: of the game that it locks.

    Raises:
        NoConnection: other changes took too long. Whatever the work raises; then nothing has changed.
    """
    first = engine.pending_first_write()

    def whole(session: Session) -> T:
        if first is not None:
            first(session)
        result = work(session)
        session.flush()
        return result

    change = Change(game_id, whole, copy_context())
    _changes().make(change)
    if change.state is State.ALONE:
        with engine.transaction(game_id) as session:
            return work(session)
    if change.state is not State.FAILED:
        engine.note_commit()
    if change.error is not None:
        raise change.error
    engine.note_success(change.after)
    return change.result  # type: ignore[no-any-return]


def _changes() -> Changes:
    """Return the changes that wait in this process for the database of the current application."""
    found: Changes | None = flask.current_app.extensions.get(EXTENSION)
    if found is None:
        found = flask.current_app.extensions.setdefault(EXTENSION, Changes())
        event.listen(engine.db.engine, "engine_disposed", lambda _engine: found.close())
    return found


class Changes:
    """The changes that wait, and the connection on which they are made."""

    def __init__(self) -> None:
        self._waiting: deque[Change] = deque()
        self._mutex = threading.Lock()
        self._busy = False
        self._kept: tuple[Connection, Session] | None = None

    def make(self, change: Change) -> None:
        """Wait until a change is made or has failed, and make what waits whenever nobody else does."""
        change.turn.acquire()
        with self._mutex:
            self._waiting.append(change)
            change.leads = not self._busy
            self._busy = True
        if not change.leads:
            self._wait(change)
        if change.leads:
            try:
                while change.state is State.WAITING:
                    self._make_some(change)
            finally:
                self._hand_over()

    def _wait(self, change: Change) -> None:
        if change.turn.acquire(timeout=engine.BUSY_SECONDS):
            return
        with self._mutex:
            if change in self._waiting and not change.leads:
                self._waiting.remove(change)
                raise NoConnection(f"the other changes took more than {engine.BUSY_SECONDS} s")
        change.turn.acquire()  # somebody is making it

    def _make_some(self, own: Change) -> None:
        with self._mutex:
            changes = [self._waiting.popleft() for _ in range(min(MOST, len(self._waiting)))]
        try:
            self._make(changes)
        finally:
            for change in changes:
                if change is not own:
                    change.turn.release()

    def _hand_over(self) -> None:
        """Let the thread of the change that waits first make what waits."""
        with self._mutex:
            self._busy = bool(self._waiting)
            if self._busy:
                self._waiting[0].leads = True
                self._waiting[0].turn.release()

    def close(self) -> None:
        """Close the connection that is kept; the next changes open another."""
        kept, self._kept = self._kept, None
        if kept is not None:
            with suppress(SQLAlchemyError):  # it may be broken
                kept[0].detach()  # else the pool would keep it
            kept[0].close()

    def _make(self, changes: list[Change]) -> None:
        """Make changes in one transaction, and say what has become of each."""
        try:
            with self._transaction() as session:
                left = _make_each(session, changes)
                with self._mutex:
                    self._waiting.extendleft(reversed(left))
        except BaseException as error:
            if not isinstance(error, Exception) or isinstance(error, SQLAlchemyError):
                self.close()
            ends = not isinstance(error, Exception)  # this thread is told to end, and the others are not
            for change in changes:
                if change.state is State.WAITING:
                    again = ends or isinstance(error, _Spoilt)
                    change.state, change.error = State.ALONE if again else State.FAILED, error
                elif change.state is State.UNSURE:
                    change.error = OperationalError("COMMIT", None, error) if ends else error
            if ends:
                raise
        else:
            for change in changes:
                if change.state is State.UNSURE:
                    change.state = State.DONE if change.error is None else State.FAILED

    @contextmanager
    def _transaction(self) -> Iterator[Session]:
        of = engine.db.engine
        sqlite = of.dialect.name == "sqlite"
        with (
            engine.one_writer(of, engine.BUSY_SECONDS) if sqlite else nullcontext(),
            engine.driver_errors(of.dialect),
        ):
            if self._kept is None:
                self._kept = engine.opened_for_writing()
            connection, session = self._kept
            session.info.clear()
            try:
                with connection.begin():
                    try:
                        yield session
                    finally:
                        session.close()
            finally:
                if not sqlite:  # by the next time it may be gone: the pool looks
                    self._kept = None
                    connection.close()


class _Spoilt(Exception):
    """A change has failed in such a way that those before it are lost, too."""


def _make_each(session: Session, changes: list[Change]) -> list[Change]:
    """Make changes one after another, and return those for which time is up."""
    locked = log.lock_free(session, {change.game_id for change in changes})
    late = time.monotonic() + SECONDS
    for place, change in enumerate(changes):
        if place and time.monotonic() > late:
            left = changes[place:]
            del changes[place:]
            break
        if change.game_id not in locked:
            change.state = State.ALONE
        else:
            _make_one(session, change, shared=len(changes) > 1)
    else:
        left = []
    for change in changes:
        if change.state is State.WAITING:
            change.state = State.UNSURE
    return left


def _make_one(session: Session, change: Change, *, shared: bool) -> None:
    if shared:
        _send(session, "SAVEPOINT change")
    try:
        change.result = change.context.run(change.work, session)
    except Exception as error:
        if not shared:
            raise
        change.error = error
        try:
            _send(session, "ROLLBACK TO SAVEPOINT change")
        except SQLAlchemyError:
            raise _Spoilt from error
        if isinstance(error, engine.UNAVAILABLE):  # such as a lock that it did not get
            change.state = State.ALONE
    change.after = tuple(engine.taken_after_commit(session))
    session.expunge_all()  # the next one trusts nothing that was read before


def _send(session: Session, sql: str) -> None:
    connection = engine.connection_of(session)
    raw: Any = connection.connection.dbapi_connection
    with engine.driver_errors(connection.dialect, sql):
        raw.execute(sql)
