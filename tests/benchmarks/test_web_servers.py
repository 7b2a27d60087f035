"""The comparison of web servers: what it starts, counts and calls lost, on small servers of its own."""

from __future__ import annotations

import importlib.util
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Semaphore, Thread
from typing import Any

import pytest

from benchmarks import web_servers
from benchmarks.load import ScriptedMove, temporary_server
from benchmarks.web_servers import CANDIDATES, Player

LINES = [ScriptedMove(0, "token", "bid Grain 1", seen) for seen in range(4)]


class Handler(BaseHTTPRequestHandler):
    """Answers GET with 200, later if it is asked to wait, and POST with the next of `statuses`; None hangs up."""

    protocol_version = "HTTP/1.1"
    threads = Semaphore(500)
    statuses: list[int | None] = []  # noqa: RUF012 - set anew by each test

    def do_GET(self) -> None:
        """Answer a page."""
        with self.threads:
            if "?" in self.path:
                time.sleep(float(self.path.partition("?")[2]))
        self._answer(200)

    def do_POST(self) -> None:
        """Answer a move."""
        self.rfile.read(int(self.headers["Content-Length"]))
        status = self.statuses.pop(0)
        if status is None:
            self.close_connection = True
        else:
            self._answer(status)

    def _answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_words: object) -> None:
        """Log nothing."""


class Server(ThreadingHTTPServer):
    """A server for many connections at once."""

    request_queue_size = 300
    daemon_threads = True
    accepted = 0

    def process_request(self, request: Any, client_address: Any) -> None:
        """Handle a connection, and count it."""
        Server.accepted += 1
        super().process_request(request, client_address)


@contextmanager
def serving(threads: int = 500) -> Iterator[int]:
    """A server that lets so many requests wait at once; its port."""
    Handler.threads = Semaphore(threads)
    with Server(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few requests, and half a second until a page counts as not answered."""
    monkeypatch.setattr(web_servers, "PATIENCE", 0.5)
    monkeypatch.setattr(web_servers, "WAITING", 6)
    monkeypatch.setattr(web_servers, "SLOW", 6)


@pytest.mark.parametrize("name", CANDIDATES)
def test_a_candidate_is_started_with_its_port_and_processes(name: str) -> None:
    command = CANDIDATES[name].command(8123, 4)
    assert command[:3] == [sys.executable, "-m", name.partition("_")[0]]
    assert command[command.index("--workers") + 1] == "4"
    assert "127.0.0.1:8123" in command or command[command.index("--port") + 1] == "8123"
    threads = name.rpartition("_")[2]
    assert threads == "sync" or threads in command
    assert command[-1] == web_servers.APPLICATION


@pytest.mark.usefixtures("impatient")
def test_waiting_requests_are_counted_if_they_are_answered() -> None:
    with serving() as port:
        found = web_servers.waiting(port, 0.2)
    assert found["of_6_waiting_answered"] == 6
    assert 0.2 < found["seconds_until_all_waiting_were_answered"] < 1.2
    assert found["seconds_for_a_page_beside_6_waiting"] < 0.5
    with serving(threads=1) as port:  # they wait one after another
        found = web_servers.waiting(port, 0.4)
    assert 1 <= found["of_6_waiting_answered"] < 6
    assert found["seconds_for_a_page_beside_6_waiting"] == 0.5


@pytest.mark.usefixtures("impatient")
def test_half_requests_are_sent_and_left() -> None:
    with serving() as port:
        for half in web_servers.HALVES.values():
            before = Server.accepted
            with web_servers.half_sent(port, half):
                assert Server.accepted == before + 6
                assert web_servers._seconds_to_answer(port) < 0.5


@pytest.mark.usefixtures("impatient")
def test_each_half_arrives_and_nothing_follows() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        web_servers.half_sent(listener.getsockname()[1], b"GE"),
    ):
        for _ in range(6):
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(0.1)
                assert connection.recv(9) == b"GE"
                with pytest.raises(TimeoutError):
                    connection.recv(9)


def test_a_player_tells_what_was_acknowledged_and_what_was_cut_off() -> None:
    Handler.statuses = [201, 201, None]
    player = Player("a game", LINES)
    with serving() as port:
        player.play(port)
    assert player.acknowledged == ["request-0", "request-1"]
    assert player.cut_off == "request-2"
    Handler.statuses = [201, 503, 201, 201]
    player = Player("a game", LINES)
    with serving() as port:
        player.play(port)
    assert player.acknowledged == ["request-0", "request-2", "request-3"], (
        "a refused move is not acknowledged"
    )
    assert player.cut_off is None


def test_moves_are_lost_if_acknowledged_and_not_in_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = {"a": {"1", "2", "3"}, "b": {"1"}, "c": {"1"}}
    monkeypatch.setattr(Player, "played", lambda self: logs[self.game_id])
    players = [
        Player("a", [], ["1", "2"], "3"),
        Player("b", [], ["1", "2", "4"], "3"),
        Player("c", [], ["1"]),
    ]
    assert web_servers.tally(players) == {
        "acknowledged_before_the_stop": 6,
        "acknowledged_and_lost": 2,
        "played_but_not_answered": 1,
    }


def test_a_server_that_is_not_installed_has_no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    figures = web_servers.measure(rounds=1)
    assert figures == {f"{name}_moves_per_second": None for name in CANDIDATES}


@pytest.mark.nightly
def test_the_server_of_byzanz_loses_nothing_when_it_stops() -> None:
    with temporary_server():
        found = web_servers.stopping(CANDIDATES["gunicorn_gthread_8"])
    assert found["acknowledged_before_the_stop"] > 0
    assert (found["acknowledged_and_lost"], found["played_but_not_answered"]) == (0, 0)
    assert found["running_request_answered"] == 1
