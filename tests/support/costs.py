"""What calls cost: the statements that a database gets, and times, which a test asserts as a ratio only."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from server.store import prepared

Statement = tuple[str, Any]
"""A statement in the style of the driver, and its parameters."""


@contextmanager
def built(engine: sa.Engine) -> Iterator[list[Statement]]:
    """Collect the statements that SQLAlchemy builds and executes itself in this block, not the prepared ones."""
    sent: list[Statement] = []

    def note(_connection: object, _cursor: object, statement: str, parameters: Any, *_more: object) -> None:
        sent.append((statement, parameters))

    event.listen(engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(engine, "before_cursor_execute", note)


@contextmanager
def executed(engine: sa.Engine) -> Iterator[list[Statement]]:
    """Collect the statements that an engine sends in this block, in order; one with many rows counts once."""

    def send(connection: Any, sql: str, parameters: Any, method: str) -> Any:
        if connection.engine is engine:
            sent.append((sql, parameters))
        return prepared_send(connection, sql, parameters, method)

    prepared_send = prepared._send
    prepared._send = send
    try:
        with built(engine) as sent:
            yield sent
    finally:
        prepared._send = prepared_send


@contextmanager
def statements(engine: sa.Engine) -> Iterator[list[str]]:
    """Collect them without their parameters; the list is complete after the block."""
    texts: list[str] = []
    with executed(engine) as sent:
        yield texts
    texts += (" ".join(sql.split()) for sql, _ in sent)


def listing(sent: Sequence[str]) -> str:
    """Return the statements for the message of a failing test: a line each, and how often it was sent."""
    return "\n".join(f"{times} × {statement}" for statement, times in Counter(sent).most_common())


def more(few: Sequence[str], many: Sequence[str]) -> str:
    """Return the statements that one collection has more often than another, as a listing; empty if none."""
    return listing(list((Counter(many) - Counter(few)).elements()))


# ---- time ----

NOISE = 0.003
"""Seconds that decide nothing."""
ROUNDS = 12
"""How often both are measured: other work on the machine makes a call slower, never faster."""


def costs_at_most(factor: float, much: Callable[[], object], small: Callable[[], object]) -> bool:
    """Whether one call costs at most a number of times what another costs, in the least processor time of each."""
    least = {much: float("inf"), small: float("inf")}
    for _ in range(ROUNDS):
        for call in least:
            began = time.thread_time()
            call()
            least[call] = min(least[call], time.thread_time() - began)
        if least[much] <= factor * least[small] + NOISE:
            return True
    return False
