"""Clients that send half a request keep nobody else from being answered, and no clock runs while nobody is."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from server.demo import free_port
from server.ops import checks, serve
from tests.support import servers
from tests.support.databases import copied
from tests.support.servers import Server, status

HALVES = {
    "headers": b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Drip: ",
    "body": b"POST /language HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    b"Content-Length: 100000\r\n\r\nchosen=",
}
LAST = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
"""A request after which the server hangs up."""
CROWD = 300
"""Connections: more than the 100 that waitress takes by itself."""
SERVE, WEB = ("serve",), ("web", "--workers", "1")
HURRY = "from server.ops import serve\nserve.REQUEST_SECONDS = 1.0"
NO_HURRY = "from server.ops import serve\nserve.REQUEST_SECONDS = 3600.0"
"""Code that changes the limit on a request."""
FEW_THREADS = f"{NO_HURRY}\nserve.WEB_THREADS = 100"
"""Code that lets half-sent requests fill the threads of `web`."""

Start = Callable[..., tuple[Server, int]]


@pytest.fixture
def start(migrated_file: Path, tmp_path: Path) -> Iterator[Start]:
    """Return a function that starts a server and returns it with its port."""
    with ExitStack() as stack:

        def started(words: tuple[str, ...], first: str) -> tuple[Server, int]:
            port, url = free_port(), stack.enter_context(copied(migrated_file))
            words = (*words, "--port", str(port))
            server = stack.enter_context(servers.running(words, url, tmp_path / "log", first=first))
            server.wait(lambda: status(port, timeout=5) == 200, "the first answer")
            return server, port

        yield started


@contextmanager
def half_sent(port: int, half: bytes) -> Iterator[list[socket.socket]]:
    """Keep connections open on which only half of a request was sent."""
    with ExitStack() as stack:
        found = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port), servers.PATIENCE))
            for _ in range(CROWD)
        ]
        for connection in found:
            connection.sendall(half)
        yield found


def is_closed(connection: socket.socket) -> bool:
    """Send one more byte, and return whether the other end has hung up."""
    connection.setblocking(False)
    try:
        connection.sendall(b"x")
        while answer := connection.recv(4096):
            assert answer  # an error page comes first
        return True
    except BlockingIOError:
        return False
    except OSError:
        return True


@pytest.mark.parametrize(
    ("words", "half"),
    [
        (SERVE, "headers"),
        pytest.param(SERVE, "body", marks=pytest.mark.nightly),
        pytest.param(WEB, "headers", marks=pytest.mark.nightly),
        (WEB, "body"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_pages_are_answered_beside_half_sent_requests(
    start: Start, words: tuple[str, ...], half: str
) -> None:
    _, port = start(words, NO_HURRY)
    with half_sent(port, HALVES[half]):
        assert status(port, timeout=20) == 200
        assert status(port, "/", timeout=20) == 200


@pytest.mark.parametrize(
    ("words", "half"),
    [
        pytest.param(SERVE, "headers", marks=pytest.mark.nightly),
        (SERVE, "body"),
        (WEB, "headers"),
        pytest.param(WEB, "body", marks=pytest.mark.nightly),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_a_request_that_drips_is_closed(start: Start, words: tuple[str, ...], half: str) -> None:
    server, port = start(words, HURRY)
    with half_sent(port, HALVES[half]) as connections:
        for connection in connections:
            server.wait(lambda each=connection: is_closed(each), "the end of a request")  # type: ignore[misc]
        assert status(port) == 200


@pytest.mark.parametrize("words", [SERVE, WEB], ids=lambda words: words[0])
def test_clients_that_do_not_hang_up_hold_up_nobody(start: Start, words: tuple[str, ...]) -> None:
    _, port = start(words, "")
    with half_sent(port, LAST):
        assert status(port, timeout=10) == 200
        assert status(port, "/", timeout=10) == 200


def test_the_web_sends_no_heartbeat_while_it_answers_nobody(start: Start) -> None:
    server, port = start(WEB, FEW_THREADS)
    server.wait_for_heartbeats("web")
    with half_sent(port, HALVES["headers"]):
        server.wait(lambda: status(port, timeout=1) is None, "a server that answers nobody")
        server.wait(lambda: stands_still(server), "heartbeats that have stopped")
    server.wait_for_heartbeats("web")


def stands_still(server: Server) -> bool:
    """Whether the web sends no heartbeat for twenty ticks."""
    before = server.heartbeats("web")
    time.sleep(20 * float(servers.TICK))
    return server.heartbeats("web") == before


def test_a_server_that_takes_in_whole_requests_is_told_from_one_that_does_not(start: Start) -> None:
    for words, passed_on in ((SERVE, False), (WEB, True)):
        _, port = start(words, "")
        assert checks.passes_on_halves(f"http://127.0.0.1:{port}") is passed_on
    assert checks.passes_on_halves(f"http://127.0.0.1:{free_port()}") is None


def test_nothing_answers_where_nothing_listens() -> None:
    assert not checks.is_answered(("127.0.0.1", free_port()))
    with serve.listening("127.0.0.1", 0) as listener:
        assert not checks.is_answered(listener.getsockname())
