"""Servers that break a promise on purpose, to test that the checker notices; only torture runs start them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from datetime import datetime, timedelta
from typing import Any

WAIT = 0.1
"""Seconds by which a broken server delays what it has already acknowledged."""


def hasty() -> None:
    """Acknowledge each move before it is committed (promise 1)."""
    from flask import current_app

    from server import play
    from server.store import engine
    from server.store.models import Game

    truly = play.submit

    def submit(game_id: str, seat: int, move: Any, **more: Any) -> play.Receipt:
        app = current_app._get_current_object()  # type: ignore[attr-defined]

        def later() -> None:
            time.sleep(WAIT)
            with app.app_context():
                truly(game_id, seat, move, **more)

        with engine.reading() as session:
            head = session.get_one(Game, game_id).head
        threading.Thread(target=later, daemon=True).start()
        return play.Receipt(game_id, seat, head + 1, repeated=False)

    play.submit = submit


def premature() -> None:
    """Answer those who share a transaction before its COMMIT (promise 1)."""
    from server.store import together
    from server.store.together import State

    make, make_each = together.Changes.make, together._make_each

    def make_and_answer(self: Any, change: Any) -> None:
        threading.Thread(target=copy_context().run, args=(make, self, change), daemon=True).start()
        while change.state is State.WAITING:
            time.sleep(0.001)

    def make_slowly(session: Any, changes: Any) -> Any:
        left = make_each(session, changes)
        time.sleep(WAIT)
        return left

    together.Changes.make, together._make_each = make_and_answer, make_slowly  # type: ignore[method-assign]


def contagious() -> None:
    """Let a change that fails take those before it in its transaction with it (promise 1)."""
    from server.store import engine, together

    truly = together._make_one

    def make_one(session: Any, change: Any, *, shared: bool) -> None:
        truly(session, change, shared=shared)
        if shared and change.error is not None:
            raw: Any = engine.connection_of(session).connection.dbapi_connection
            raw.execute("ROLLBACK")
            raw.execute("BEGIN IMMEDIATE")

    together._make_one = make_one


def boastful() -> None:
    """Mark each email as sent before it is (promises 1 and 6)."""
    from server.mail.outgoing import deliver
    from server.store import engine, outbox

    truly = deliver._deliver_one

    def deliver_one(mail: Any, now: datetime, sender: Any) -> bool:
        with engine.transaction() as session:
            outbox.mark_sent(session, mail, now)
        time.sleep(5 * WAIT)
        return truly(mail, now, sender)

    deliver._deliver_one = deliver_one


def forgetful() -> None:
    """Recognise no repeated request (promise 3); needs tables without unique request ids, see `damage.unguard`."""
    from server.play import moves
    from server.play.game import Table

    check_link = moves.check_link

    def forget(table: Table, seat: int, link_id: int | None) -> None:
        table.repeated = None
        check_link(table, seat, link_id)

    moves.check_link = forget


def eager() -> None:
    """Time turns out after half of their time (promise 4)."""
    from server.play import turns

    def deadline(_session: Any, game: Any, turn: Any) -> datetime | None:
        began: datetime | None = turn.started_at
        return began + timedelta(seconds=game.allowance / 2) if began else None

    turns.deadline = deadline  # type: ignore[assignment]


def oblivious() -> None:
    """Count our own downtime (promise 5)."""
    from server.play import turns

    turns.outages = lambda session, since: []  # noqa: ARG005 - mypy compares the names


def credulous() -> None:
    """Trust the machine's clock whatever it shows (promise 5)."""
    from server.store import operations

    operations.HeartbeatRecorder._clock_jumped = lambda *_beat: False  # type: ignore[method-assign]


def deaf() -> None:
    """Keep the clock running when a turn email has bounced (promise 5)."""
    from server.play import turns

    turns.stop = lambda *_turn: None


BREAKS: dict[str, Callable[[], None]] = {
    "hasty": hasty,
    "premature": premature,
    "contagious": contagious,
    "boastful": boastful,
    "forgetful": forgetful,
    "eager": eager,
    "oblivious": oblivious,
    "credulous": credulous,
    "deaf": deaf,
}
"""The promises that a torture run can be told to break, by name."""
