"""The comparison of web servers: what it starts, counts and calls lost, on small servers of its own."""

from __future__ import annotations

import importlib.util
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Semaphore, Thread
from typing import Any

import pytest
from werkzeug import Response
from werkzeug.test import create_environ, run_wsgi_app

from benchmarks import servers, web_servers
from benchmarks.load import ScriptedMove, temporary_server
from benchmarks.peers import under, waiting_app
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
    monkeypatch.setattr(web_servers, "STREAMS", 6)


@pytest.mark.parametrize("name", CANDIDATES)
def test_a_candidate_is_started_with_its_port_and_processes(name: str) -> None:
    module, *words = web_servers.command(name, 8123, 4)[2:]
    assert words == [name, "8123", "4"]
    assert importlib.util.find_spec(module)
    assert set(CANDIDATES) == set(under.SERVERS)


@pytest.mark.usefixtures("impatient")
def test_open_streams_are_counted_and_a_page_is_opened_beside() -> None:
    with serving() as port:
        found = web_servers.streaming(servers.Server(os.getpid(), port))
    assert found["of_6_streams_begun"] == 0, "they are answered after a minute"
    assert found["seconds_for_a_page_beside_6_streams"] < 0.5
    with serving(threads=6) as port:
        found = web_servers.streaming(servers.Server(os.getpid(), port))
    assert found["seconds_for_a_page_beside_6_streams"] == 0.5


@pytest.mark.usefixtures("impatient")
def test_half_requests_are_sent_and_left() -> None:
    with serving() as port:
        for half in web_servers.HALVES.values():
            before = Server.accepted
            with web_servers.sent(port, half, 6) as connections:
                assert Server.accepted == before + 6
                assert web_servers._seconds_to_answer(port) < 0.5
                assert web_servers.still_open(connections) == 6


@pytest.mark.usefixtures("impatient")
def test_each_half_arrives_and_nothing_follows() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        web_servers.sent(listener.getsockname()[1], b"GE", 6) as connections,
    ):
        for _ in range(6):
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(0.1)
                assert connection.recv(9) == b"GE"
                with pytest.raises(TimeoutError):
                    connection.recv(9)
        assert web_servers.still_open(connections) == 0, "the server has hung up"


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
@pytest.mark.parametrize("name", [name for name in CANDIDATES if importlib.util.find_spec(name)])
def test_a_server_loses_nothing_when_it_stops(name: str) -> None:
    with temporary_server():
        found = web_servers.stopping(name)
    assert found["acknowledged_before_the_stop"] > 0
    assert (found["acknowledged_and_lost"], found["played_but_not_answered"]) == (0, 0)
    assert found["running_request_answered"] == 1


@pytest.mark.parametrize(
    ("path", "length"),
    [("/wait?0.01", 6), ("/stream?0.01", 14), ("/large?70000", 70_000), ("/address", 9), ("/else", 2)],
)
def test_the_application_has_addresses_of_its_own(path: str, length: int) -> None:
    environ = create_environ(path, headers={"X-Forwarded-For": "192.0.2.1"})
    body, _, _ = run_wsgi_app(waiting_app.extended(Response("ok")), environ, buffered=True)
    assert len(b"".join(body)) == length
