"""Games for the page tests, advanced directly through the server."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

from sqlalchemy import func, select

from server import play
from server.play import positions
from server.play.positions import Position
from server.store import engine
from server.store.models import Entry, Game
from tests.conftest import NOW, Table


def position(game_id: str) -> Position:
    """Return the position of the game."""
    with engine.reading() as session:
        return positions.load(session, session.get_one(Game, game_id))


def entries(game_id: str) -> int:
    """Return the number of entries in its log."""
    with engine.reading() as session:
        return session.scalar(select(func.count()).where(Entry.game_id == game_id)) or 0


def asked(table: Table) -> int:
    """Return the first seat to move."""
    return min(position(table.id).awaited)


def url(table: Table, seat: int) -> str:
    """Return the URL of a seat's page."""
    return f"/t/{table.tokens[seat]}"


def make(table: Table, seat: int, move: str, name: str = "made", at: datetime | None = None) -> int:
    """Play a move, by default a minute after the one before; return its seq."""
    head = position(table.id).head
    now = at or NOW + timedelta(minutes=head)
    return play.submit(table.id, seat, move, seen=head, request_id=f"{name}-{head}", now=now).seq


def advance(table: Table, kind: str, seed: int = 1, at: datetime | None = None) -> int:
    """Play at random until a seat is asked this kind of question; return that seat."""
    dice = random.Random(seed)
    for _ in range(2000):
        now = position(table.id)
        seat = min(now.awaited)
        if now.awaited[seat].kind == kind:
            return seat
        make(table, seat, str(dice.choice(now.rules.moves(now.state, seat)[:6])), at=at)
    raise AssertionError(f"nobody was asked {kind}")
