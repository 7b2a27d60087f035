"""Web servers under `byzanz web`, in one run: speed, slow clients, requests that wait, stopping, and memory.

Decision 9 tells what they are compared for and what came out.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException

from sqlalchemy import select

from benchmarks import load, servers
from benchmarks.load import ScriptedMove, environment, script, start_game, temporary_server
from benchmarks.report import Figures
from benchmarks.servers import CLIENTS, HOST, Plan, Server
from server.store import engine
from server.store.models import Entry

APPLICATION = "benchmarks.peers.waiting_app:application"
WORKERS = 2
SLOW = 120
"""Requests that are sent by half and left so."""
WAITING = 200
"""Requests that wait at once."""
WAIT = 5.0
"""Seconds that each of them waits."""
RUNNING = 3.0
"""Seconds that a request still needs when the server is asked to stop."""
PATIENCE = 10.0
"""Seconds after which a page counts as not answered."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A web server with its options.

    Args:
        module: that runs it with `python -m`.
        options: of its command, besides the port and the number of processes.
    """

    module: str
    options: tuple[str, ...]

    def command(self, port: int, workers: int = WORKERS) -> list[str]:
        """Return the command that starts it."""
        there = (
            ("--bind", f"{HOST}:{port}")
            if self.module == "gunicorn"
            else ("--host", HOST, "--port", str(port), "--no-ws")
        )
        all_options = (*there, "--workers", str(workers), *self.options)
        return [sys.executable, "-m", self.module, "--log-level", "warning", *all_options, APPLICATION]


def _gthread(threads: int, *more: str) -> Candidate:
    return Candidate("gunicorn", ("--worker-class", "gthread", "--threads", str(threads), *more))


def _granian(threads: int) -> Candidate:
    return Candidate("granian", ("--interface", "wsgi", "--blocking-threads", str(threads)))


CANDIDATES = {
    "gunicorn_sync": Candidate("gunicorn", ("--worker-class", "sync")),
    "gunicorn_gthread_8": _gthread(8),
    "gunicorn_gthread_128": _gthread(128),
    "granian_8": _granian(8),
    "granian_128": _granian(128),
}
"""What is compared; the number is that of the threads of each process."""
FOR_MEMORY = {"gunicorn_gthread_8": _gthread(8), "gunicorn_gthread_8_preload": _gthread(8, "--preload")} | {
    "granian_8": _granian(8)
}


def measure(
    rounds: int = 3, moves: int = 60, wait: float = WAIT, pages: int = 100
) -> dict[str, float | None]:
    """Compare the web servers; a figure is None if its server is not installed.

    Args:
        rounds: of moves, in which the servers take turns.
        moves: of each of eight clients in each round.
        wait: seconds that a waiting request waits.
        pages: opened by each of eight clients before the memory is read.
    """
    here = {name: each for name, each in CANDIDATES.items() if importlib.util.find_spec(each.module)}
    found: dict[str, float | None] = {
        f"{name}_moves_per_second": None for name in CANDIDATES if name not in here
    }
    with temporary_server():
        found |= _speed(here, rounds, moves)
        for name, candidate in here.items():
            for what, value in _demands(candidate, wait).items():
                found[f"{name}_{what}"] = value
        for name, candidate in FOR_MEMORY.items():
            if importlib.util.find_spec(candidate.module):
                found[f"{name}_megabytes_of_4_processes"] = _memory(candidate, pages)
    return found


@contextmanager
def _running(candidate: Candidate, workers: int = WORKERS) -> Iterator[Server]:
    port = servers.free_port()
    with servers.started(candidate.command(port, workers), port, environment()) as server:
        _seconds_to_answer(port)  # the processes load the application now
        yield server


def _speed(candidates: Mapping[str, Candidate], rounds: int, moves: int) -> dict[str, float | None]:
    """Let the servers take turns with moves; a first round warms them up and is not counted."""
    figures = Figures()
    with ExitStack() as stack:
        webs = {name: stack.enter_context(_running(each)) for name, each in candidates.items()}
        for number in range(rounds + 1):
            for name, server in webs.items():
                games = load.scripts(CLIENTS, moves + 1)
                outcome, cpu = servers.costing(server, load.move_plan(server.port, games))
                if number:
                    figures.add(f"{name}_moves_per_second", outcome.per_second)
                    figures.add(f"{name}_cpu_milliseconds_a_move", cpu * 1000 / outcome.answers)
    return {name: figures.median(name) for name in figures.rounds}


def _demands(candidate: Candidate, wait: float) -> dict[str, float]:
    """Return whether a server meets the demands: pages meanwhile answered, requests ended, moves lost."""
    found: dict[str, float] = {}
    for half in HALVES:
        with _running(candidate) as server, half_sent(server.port, HALVES[half]):
            found[f"seconds_for_a_page_beside_{SLOW}_half_sent_{half}"] = _seconds_to_answer(server.port)
    with _running(candidate) as server:
        found |= waiting(server.port, wait)
    return found | stopping(candidate)


HALVES: dict[str, bytes] = {
    "headers": b"POST /api/v1/seats/x/moves HTTP/1.1\r\nHost: x\r\nContent-Ty",
    "bodies": b"POST /api/v1/seats/x/moves HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    b'Content-Length: 1000\r\n\r\n{"move": ',
}
"""The halves of requests, by what breaks off."""


@contextmanager
def half_sent(port: int, half: bytes) -> Iterator[None]:
    """Keep connections open on which only half of a request was sent."""
    with ExitStack() as stack:
        for _ in range(SLOW):
            connection = stack.enter_context(socket.create_connection((HOST, port), PATIENCE))
            connection.sendall(half)
        time.sleep(0.5)
        yield


def waiting(port: int, wait: float) -> dict[str, float]:
    """Let many requests wait, and open a page meanwhile."""
    with ThreadPoolExecutor(WAITING) as pool:
        start = time.perf_counter()
        answers = [pool.submit(_status, port, f"/wait?{wait}", wait + PATIENCE) for _ in range(WAITING)]
        time.sleep(min(1.0, wait / 2))
        page = _seconds_to_answer(port)
        in_time = [each.result() for each in answers]
    return {
        f"seconds_for_a_page_beside_{WAITING}_waiting": page,
        f"of_{WAITING}_waiting_answered": float(in_time.count(200)),
        "seconds_until_all_waiting_were_answered": time.perf_counter() - start,
    }


def _seconds_to_answer(port: int) -> float:
    """Return the longest that one of five pages took; PATIENCE if one was not answered."""
    took = []
    for _ in range(5):
        start = time.perf_counter()
        if _status(port, "/healthz", PATIENCE) is None:
            return PATIENCE
        took.append(time.perf_counter() - start)
    return max(took)


def _status(port: int, path: str, timeout: float) -> int | None:
    """Return the status of a page; None if there was no answer in time."""
    connection = HTTPConnection(HOST, port, timeout=timeout)
    with suppress(OSError, HTTPException), closing(connection):
        connection.request("GET", path, headers={"Connection": "close"})
        return connection.getresponse().status
    return None


@dataclass(slots=True)
class Player:
    """A client that makes moves until the server is gone.

    Args:
        game_id: its game.
        lines: its moves.
        acknowledged: the request ids that were answered.
        cut_off: the one that was sent and not answered, if any.
    """

    game_id: str
    lines: Sequence[ScriptedMove]
    acknowledged: list[str] = field(default_factory=list)
    cut_off: str | None = None

    def play(self, port: int) -> None:
        """Make moves one after another, on one connection as long as the server keeps it."""
        with closing(HTTPConnection(HOST, port, timeout=PATIENCE)) as connection:
            for line in self.lines:
                request_id = f"request-{line.seen}"
                body = json.dumps({"move": line.move, "seen": line.seen, "request_id": request_id})
                path, kind = f"/api/v1/seats/{line.token}/moves", {"Content-Type": "application/json"}
                try:
                    connection.request("POST", path, body, kind)
                    answer = connection.getresponse()
                    answer.read()
                except (OSError, HTTPException):
                    self.cut_off = request_id
                    return
                if answer.status == 201:
                    self.acknowledged.append(request_id)

    def played(self) -> set[str]:
        """Return the request ids in the log of the game."""
        with engine.reading() as session:
            ids = session.scalars(select(Entry.request_id).where(Entry.game_id == self.game_id))
            return {each for each in ids if each}


def stopping(candidate: Candidate) -> dict[str, float]:
    """Ask a server to stop while people play and one request is still running."""
    players = [_player() for _ in range(CLIENTS)]
    with _running(candidate) as server, ThreadPoolExecutor(len(players) + 1) as pool:
        playing = [pool.submit(player.play, server.port) for player in players]
        running = pool.submit(_status, server.port, f"/wait?{RUNNING}", RUNNING + PATIENCE)
        time.sleep(RUNNING / 3)
        start = time.perf_counter()
        os.kill(server.pid, signal.SIGTERM)
        while os.waitid(os.P_PID, server.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            if time.perf_counter() - start > 3 * PATIENCE:
                break
            time.sleep(0.02)
        spent = time.perf_counter() - start
        for each in playing:
            each.result()
        status = running.result()
    return tally(players) | {"running_request_answered": float(status == 200), "seconds_to_stop": spent}


def _player() -> Player:
    game_id = start_game()
    return Player(game_id, script(game_id, 110))


def tally(players: Sequence[Player]) -> dict[str, float]:
    """Count what was acknowledged, what of it is lost, and which moves were played but not answered."""
    lost = cut_off = acknowledged = 0
    for player in players:
        played = player.played()
        acknowledged += len(player.acknowledged)
        lost += len(set(player.acknowledged) - played)
        cut_off += player.cut_off in played
    return {
        "acknowledged_before_the_stop": acknowledged,
        "acknowledged_and_lost": lost,
        "played_but_not_answered": cut_off,
    }


def _memory(candidate: Candidate, pages: int) -> float:
    """Return the memory of four processes after turn pages, with what they share counted once."""
    tokens = [lines[0].token for lines in load.scripts(CLIENTS, 1)]
    with _running(candidate, workers=4) as server:
        servers.run_clients(
            Plan(server.port, [[servers.get_request(f"/t/{token}")] * pages for token in tokens])
        )
        return server.pss_megabytes()
