"""Bots at a table, and the entries that a tick leaves."""

from __future__ import annotations

from typing import Any

from server.play import turns
from server.store import engine, log
from server.store.models import Seat
from tests.conftest import Table

TICK = 100.0
"""Slow, so that hours pass in few heartbeats: a process may be silent for ten minutes."""


def entries(game_id: str) -> list[tuple[int | None, str, str]]:
    with engine.reading() as session:
        return [(entry.seat, entry.by, entry.move) for entry in log.entries(session, game_id, after=1)]


def change(kind: type[Any], key: Any, **values: object) -> None:
    with engine.transaction() as session:
        row = session.get_one(kind, key)
        for name, value in values.items():
            setattr(row, name, value)


def give_to_bots(game: Table, seats: range, bot: str = "greedy") -> None:
    for seat in seats:
        change(Seat, (game.id, seat), bot=bot, person_id=None)
    with engine.transaction() as session:
        for turn in turns.open_turns(session, game.id):
            turn.bot = turn.seat in seats
