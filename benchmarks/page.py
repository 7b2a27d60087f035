"""The time to render a turn's page when the log is short and when it is long."""

from __future__ import annotations

from datetime import datetime
from statistics import median
from time import perf_counter

from flask.testing import FlaskClient

from benchmarks.fixtures import start_game, temporary_server, tokens_of
from server.play import positions
from server.store import engine, log
from server.store.models import Game

SHORT, LONG = 50, 5_000
"""Entries."""


def measure(views: int = 30) -> dict[str, float]:
    """Open the page of the seat to move, alternating between a short and a long log.

    Args:
        views: how often each.
    """
    with temporary_server() as (app, _):
        pages = {length: _page(length) for length in (SHORT, LONG)}
        took: dict[int, list[float]] = {SHORT: [], LONG: []}
        client = app.test_client()
        for view in range(views + 2):
            for length, path in pages.items():
                seconds = _opened(client, path)
                if view >= 2:  # the first ones compile the templates
                    took[length].append(seconds)
    short, long = median(took[SHORT]) * 1000, median(took[LONG]) * 1000
    return {f"milliseconds_at_{SHORT}": short, f"milliseconds_at_{LONG}": long, "ratio": long / short}


def _opened(client: FlaskClient, path: str) -> float:
    start = perf_counter()
    answer = client.get(path)
    took = perf_counter() - start
    if answer.status_code != 200:
        raise RuntimeError(f"the page of a turn answered {answer.status_code}")
    return took


def _page(length: int) -> str:
    """Return the URL of a turn in a game whose log has grown to this many entries."""
    game_id = start_game(length)
    with engine.reading() as session:
        position = positions.load(session, session.get_one(Game, game_id))
    seat = min(position.awaited)
    _lengthen(game_id, seat, length, engine.utc_now())
    return f"/t/{tokens_of(game_id)[seat]}"


def _lengthen(game_id: str, seat: int, length: int, now: datetime) -> None:
    """Let a seat pass and a moderator void it, again and again; in the end the seat is to move as before."""
    with engine.transaction() as session:
        game = log.lock_game(session, game_id)
        assert game is not None
        position = positions.load(session, game)
        while game.head < length - 3:
            passed = log.append(session, game, seat=seat, by="player", move="pass", now=now)
            for act in (f"!void {passed.seq}", "!pause", "!resume"):
                log.append(session, game, seat=None, by="moderator", move=act, now=now, note="to measure")
        while game.head < length:
            log.append(session, game, seat=None, by="moderator", move="!note", now=now, note="to measure")
        positions.save(session, game, position.at(game.head))
