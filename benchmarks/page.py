"""The time to render a turn's page when the log is short and when it is long."""

from __future__ import annotations

from statistics import median
from time import perf_counter

from flask.testing import FlaskClient

from benchmarks.fixtures import lengthen, start_game, temporary_server, tokens_of

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
    seat = lengthen(game_id, length)
    return f"/t/{tokens_of(game_id)[seat]}"
