"""Durable submissions per second through real HTTP, beside raw SQLite commits on the same disk in the same run."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from threading import Thread
from time import perf_counter
from typing import Any

from flask import Flask
from waitress import wasyncore
from waitress.server import create_server

from benchmarks.fixtures import ScriptedMove, script, start_game, temporary_server
from benchmarks.peers import flask_apps

CLIENTS = 8
ROUNDS = 4
"""Both are measured alternately, so that a disk that is busy for a while slows both."""


def measure(moves: int = 100) -> dict[str, float]:
    """Submit moves one after another, then from eight clients at once, each at its own table.

    Args:
        moves: for each of the four rounds and for each of the eight clients.
    """
    alone: list[float] = []
    raw: list[float] = []
    with temporary_server() as (app, folder):
        scripts = [script(start_game(number), moves) for number in range(ROUNDS + CLIENTS)]
        with _served(app) as port:
            for lines in scripts[:ROUNDS]:
                raw += raw_commits(folder / "raw.db", len(lines))
                alone += _submissions(port, lines)
            together, spent = _at_once(port, scripts[ROUNDS:])
    rate, raw_rate = len(alone) / sum(alone), len(raw) / sum(raw)
    return {
        "submissions_per_second": rate,
        "milliseconds_median": median(alone) * 1000,
        "raw_commits_per_second": raw_rate,
        "ratio_to_raw": rate / raw_rate,
        "clients_at_once": CLIENTS,
        "submissions_per_second_at_once": together / spent,
        "ratio_to_raw_at_once": together / spent / raw_rate,
    }


@contextmanager
def _served(app: Flask) -> Iterator[int]:
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # waiting clients are what is measured
    server: Any = create_server(app, host="127.0.0.1", port=0, threads=CLIENTS)
    thread = Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield server.effective_port
    finally:
        server.task_dispatcher.shutdown()
        # The loop closes its sockets itself: closed from here, one could just be polled.
        server.trigger.pull_trigger(lambda: wasyncore.close_all(server._map))
        thread.join(10)


def _submissions(port: int, lines: Sequence[ScriptedMove]) -> list[float]:
    """Return the seconds that each move of a script took, from the request to the response."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    took = []
    for number, line in enumerate(lines):
        body = json.dumps({"move": line.move, "seen": line.seen, "request_id": f"b{number}"})
        start = perf_counter()
        connection.request(
            "POST", f"/api/v1/seats/{line.token}/moves", body, {"Content-Type": "application/json"}
        )
        answer = connection.getresponse()
        content = answer.read()
        took.append(perf_counter() - start)
        if answer.status != 201:
            raise RuntimeError(f"a scripted move was refused: {answer.status} {content!r}")
    connection.close()
    return took


def _at_once(port: int, scripts: Sequence[Sequence[ScriptedMove]]) -> tuple[int, float]:
    start = perf_counter()
    with ThreadPoolExecutor(len(scripts)) as clients:
        played = list(clients.map(lambda lines: _submissions(port, lines), scripts))
    return sum(map(len, played)), perf_counter() - start


def raw_commits(database: Path, n: int) -> list[float]:
    """Return the seconds that each of n commits of a small row took, as durable as those of the server."""
    connection = flask_apps.connected(database)
    took = []
    for _ in range(n):
        start = perf_counter()
        flask_apps.commit(connection, "x" * 200)
        took.append(perf_counter() - start)
    connection.close()
    return took
