"""Web servers under `byzanz web`, in one run: speed, slow clients, open streams, forged headers, stopping, and memory.

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
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException

from sqlalchemy import select

from benchmarks import load, servers
from benchmarks.load import ScriptedMove, environment, script, start_game, temporary_server
from benchmarks.report import Figures
from benchmarks.servers import CLIENTS, HOST, Plan, Server, get_request
from server.store import engine
from server.store.models import Entry

CANDIDATES = ("gunicorn", "granian", "waitress")
"""What is compared: `benchmarks/peers/under.py` starts each, with the threads that `byzanz web` has."""
WORKERS = 2
CROWD = 300
"""Slow clients of one process."""
STREAMS = 200
"""Answers of one process that are kept open."""
RUNNING = 3.0
"""Seconds that a request still needs when the server is asked to stop."""
PATIENCE = 10.0
"""Seconds after which a page counts as not answered."""
TOO_LONG = 35.0
"""Seconds after which a request that has not arrived completely should be given up: `byzanz web` waits for 30."""
FORGED, TRUE = "192.0.2.6", "192.0.2.1"
"""The address in a visitor's own header, whose name has underscores, and the one that a proxy has told."""


def measure(
    rounds: int = 3, moves: int = 60, pages: int = 100, too_long: float = TOO_LONG
) -> dict[str, float | None]:
    """Compare the web servers; a figure is None if its server is not installed.

    Args:
        rounds: of moves and pages, in which the servers take turns.
        moves: of each of eight clients in each round.
        pages: opened by each of eight clients in each round, and before the memory is read.
        too_long: seconds after which half-sent requests that are still open are counted.
    """
    here = [name for name in CANDIDATES if importlib.util.find_spec(name)]
    found: dict[str, float | None] = {
        f"{name}_moves_per_second": None for name in CANDIDATES if name not in here
    }
    with temporary_server():
        found |= _speed(here, rounds, moves, pages)
        for name in here:
            for what, value in _demands(name, too_long).items():
                found[f"{name}_{what}"] = value
            for workers in (2, 4):
                found[f"{name}_megabytes_of_{workers}_processes"] = _memory(name, workers, pages)
    return found


def command(name: str, port: int, workers: int) -> list[str]:
    """Return the command that starts Byzanz under a web server."""
    words = ("-m", "benchmarks.peers.waiting_app", name, str(port), str(workers))
    return [sys.executable, *words]


@contextmanager
def _running(name: str, workers: int = WORKERS) -> Iterator[Server]:
    port = servers.free_port()
    settings = environment() | {"BYZANZ_LOG_LEVEL": "error"}
    with servers.started(command(name, port, workers), port, settings) as server:
        _seconds_to_answer(port)  # the processes are ready now
        yield server


def _speed(names: Sequence[str], rounds: int, moves: int, pages: int) -> dict[str, float | None]:
    """Let the servers take turns with moves and pages; a first round warms them up and is not counted."""
    figures = Figures()
    with ExitStack() as stack:
        webs = {name: stack.enter_context(_running(name)) for name in names}
        for number in range(rounds + 1):
            into = figures if number else Figures()
            for name, server in webs.items():
                games = load.scripts(CLIENTS, moves + 1)
                views = [[get_request(f"/t/{lines[-1].token}")] * pages for lines in games]
                plans = {"move": load.move_plan(server.port, games), "page": Plan(server.port, views)}
                for what, plan in plans.items():
                    outcome, cpu = servers.costing(server, plan)
                    into.add(f"{name}_{what}s_per_second", outcome.per_second)
                    into.add(f"{name}_cpu_milliseconds_a_{what}", cpu * 1000 / outcome.answers)
    return {name: figures.median(name) for name in figures.rounds}


def _demands(name: str, too_long: float) -> dict[str, float]:
    """Return whether a server meets the demands: pages meanwhile answered, requests ended, moves lost."""
    found: dict[str, float] = {}
    for half in HALVES:
        with _running(name, 1) as server, sent(server.port, HALVES[half], CROWD) as connections:
            found[f"seconds_for_a_page_beside_{CROWD}_half_sent_{half}"] = _seconds_to_answer(server.port)
            time.sleep(too_long)
            found[f"half_sent_{half}_open_after_{too_long:.0f}_s"] = still_open(connections)
    for slow, request in {"slow_readers": SLOW_READER, "that_do_not_hang_up": LAST}.items():
        with _running(name, 1) as server, sent(server.port, request, CROWD):
            found[f"seconds_for_a_page_beside_{CROWD}_{slow}"] = _seconds_to_answer(server.port)
    with _running(name, 1) as server:
        found |= streaming(server)
        found["believes_a_forged_address"] = float(FORGED in _forged(server.port))
    return found | stopping(name)


HALVES: dict[str, bytes] = {
    "headers": b"POST /language HTTP/1.1\r\nHost: x\r\nContent-Ty",
    "bodies": b"POST /language HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    b"Content-Length: 1000\r\n\r\nchosen=",
}
"""The halves of requests, by what breaks off."""


SLOW_READER = b"GET /large?1000000 HTTP/1.1\r\nHost: x\r\n\r\n"
"""A request for a large page that nobody reads."""
LAST = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
"""A request after which the server hangs up."""
STREAM = b"GET /stream?60 HTTP/1.1\r\nHost: x\r\n\r\n"


@contextmanager
def sent(port: int, text: bytes, connections: int) -> Iterator[list[socket.socket]]:
    """Keep connections open on which this was sent, and nothing follows."""
    with ExitStack() as stack:
        found = []
        for _ in range(connections):
            connection = stack.enter_context(socket.create_connection((HOST, port), PATIENCE))
            connection.sendall(text)
            found.append(connection)
        time.sleep(0.5)
        yield found


def still_open(connections: Sequence[socket.socket]) -> int:
    """Send one more byte on each, and return on how many the server has not hung up."""
    return sum(map(_is_open, connections))


def _is_open(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        connection.sendall(b"x")
        while connection.recv(4096):  # an error page comes first
            pass
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


def streaming(server: Server) -> dict[str, float]:
    """Keep answers open, and open a page meanwhile."""
    with sent(server.port, STREAM, STREAMS) as connections:
        time.sleep(1.0)
        begun = sum(map(_has_begun, connections))
        before, start = server.cpu_seconds(), time.perf_counter()
        time.sleep(2.0)
        idle = (server.cpu_seconds() - before) / (time.perf_counter() - start)
        page = _seconds_to_answer(server.port)
    return {
        f"of_{STREAMS}_streams_begun": float(begun),
        f"cpu_seconds_a_second_of_{STREAMS}_streams": idle,
        f"seconds_for_a_page_beside_{STREAMS}_streams": page,
    }


def _has_begun(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return b"200" in connection.recv(4096)
    except OSError:
        return False


def _forged(port: int) -> str:
    """Return the address that the application is told for a visitor who sends a forged one."""
    with closing(HTTPConnection(HOST, port, timeout=PATIENCE)) as connection:
        connection.request("GET", "/address", headers={"X-Forwarded-For": TRUE, "X_Forwarded_For": FORGED})
        return connection.getresponse().read().decode()


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


def stopping(name: str) -> dict[str, float]:
    """Ask a server to stop while people play and one request is still running."""
    players = [_player() for _ in range(CLIENTS)]
    with _running(name) as server, ThreadPoolExecutor(len(players) + 1) as pool:
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


def _memory(name: str, workers: int, pages: int) -> float:
    """Return the memory of all processes after turn pages, with what they share counted once."""
    tokens = [lines[0].token for lines in load.scripts(CLIENTS, 1)]
    with _running(name, workers) as server:
        servers.run_clients(Plan(server.port, [[get_request(f"/t/{token}")] * pages for token in tokens]))
        return server.pss_megabytes()
