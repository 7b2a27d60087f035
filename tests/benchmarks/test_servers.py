"""The clients of the benchmarks and the servers they talk to: what is sent, read, timed and added up."""

from __future__ import annotations

import multiprocessing
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from threading import Thread

import pytest

from benchmarks import servers
from benchmarks.servers import Outcome, Plan

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
LAST = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi"


class Listener:
    """A server that gives each request the next answer, in two parts, and keeps what it was sent."""

    def __init__(self, answers: Sequence[bytes]) -> None:
        self.requests: list[str] = []
        self.connections = 0
        self._answers = list(answers)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with self._socket:
            self._answer()

    def _answer(self) -> None:
        while self._answers:
            connection, _ = self._socket.accept()
            self.connections += 1
            with connection:
                while self._answers and (request := connection.recv(65536)):
                    self.requests.append(request.decode())
                    answer = self._answers.pop(0)
                    connection.sendall(answer[:-1])
                    time.sleep(0.01)
                    connection.sendall(answer[-1:])
                    if b"close" in answer:
                        break


def test_a_client_keeps_its_connection() -> None:
    server = Listener([OK, OK, OK])
    outcome = servers.carry_out(
        Plan(server.port, [[servers.get_request(f"/{number}") for number in range(3)]])
    )
    assert [request.split()[1] for request in server.requests] == ["/0", "/1", "/2"]
    assert server.connections == 1
    assert outcome.answers == len(outcome.took[0]) == 3
    assert all(took >= 0.01 for took in outcome.took[0]), "an answer counted before it was complete"
    assert outcome.seconds >= sum(outcome.took[0]) * 0.99
    assert outcome.per_second == pytest.approx(3 / outcome.seconds)


def test_a_client_connects_again_when_the_server_closes() -> None:
    server = Listener([LAST, OK, LAST])
    assert servers.carry_out(Plan(server.port, [[servers.get_request("/")] * 3])).answers == 3
    assert server.connections == 2


def test_clients_work_in_a_process_of_their_own() -> None:
    server = Listener([b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"])
    plan = Plan(server.port, [[servers.post_request("/moves", {"move": "Wörter"})]], statuses=(201,))
    assert servers.run_clients(plan).answers == 1
    head, _, body = server.requests[0].partition("\r\n\r\n")
    assert head.startswith("POST /moves HTTP/1.1\r\n")
    assert f"Content-Length: {len(body.encode())}" in head


@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 409 Conflict\r\nContent-Length: 2\r\n\r\nno", b"HTTP/1.1 200 OK\r\n"]
)
def test_a_refusal_or_a_broken_answer_fails_the_run(answer: bytes) -> None:
    server = Listener([answer])
    with pytest.raises(RuntimeError, match=r"was refused|hung up"):
        servers.carry_out(Plan(server.port, [[servers.get_request("/")]]))
    server = Listener([answer])
    with pytest.raises(RuntimeError, match=r"clients failed: .*(was refused|hung up)"):
        servers.run_clients(Plan(server.port, [[servers.get_request("/")]]))


@pytest.mark.parametrize("length", [0, 125, 126, 65_535])
def test_frames_carry_texts_of_any_length(length: int) -> None:
    sent = servers.frame("x" * length)
    masked = bytearray(sent)
    start = 2 if length < 126 else 4
    del masked[start : start + 4]  # a server sends no mask
    masked[1] &= 0x7F
    buffer = masked + b"\x81"
    for cut in (1, 3, len(masked) - 1):
        part = bytearray(masked[:cut])
        assert cut >= len(masked) or servers.taken_frame(part) is None
    assert servers.taken_frame(buffer) == "x" * length
    assert buffer == b"\x81", "only the first frame is taken"
    assert sent[1] & 0x80, "a client must mask"


def test_a_long_frame_is_read() -> None:
    buffer = bytearray(b"\x81\x7f" + (70_000).to_bytes(8, "big") + b"y" * 70_000)
    assert servers.taken_frame(buffer) == "y" * 70_000


def test_an_outcome_adds_up_all_clients() -> None:
    outcome = Outcome(2.0, [[0.1, 0.2], [0.3]])
    assert (outcome.answers, outcome.per_second) == (3, 1.5)


def burn(seconds: float) -> None:
    """Take CPU time in a process that has just begun: its own count begins at 0."""
    while time.process_time() < seconds:
        pass


@pytest.fixture
def busy() -> Iterator[int]:
    """A process whose child takes CPU time, then waits; its id."""
    code = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    while time.process_time() < 0.3: pass\n"
        "    print('burnt', flush=True)\n"
        "time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"burnt\n"
        yield process.pid
        os.killpg(process.pid, 9)


def test_cpu_and_memory_are_those_of_the_whole_tree(busy: int) -> None:
    server = servers.Server(busy, 0)
    assert len(servers.tree(busy)) == 2
    assert 0.25 < server.cpu_seconds() < 2
    alone = servers.Server(servers.tree(busy)[1], 0)
    assert 0.25 < alone.cpu_seconds() < 2
    assert alone.pss_megabytes() > 1
    assert server.pss_megabytes() > 1.5 * alone.pss_megabytes(), "the memory of one process alone"


def test_the_cpu_of_children_that_have_ended_is_kept() -> None:
    before = servers.Server(os.getpid(), 0).cpu_seconds()
    child = multiprocessing.get_context("fork").Process(target=burn, args=(0.3,))
    child.start()
    child.join()
    assert servers.Server(os.getpid(), 0).cpu_seconds() - before > 0.25


def test_a_server_that_does_not_start_is_reported() -> None:
    start = time.monotonic()
    with (
        pytest.raises(RuntimeError, match="does not listen"),
        servers.started([sys.executable, "-c", "raise SystemExit"], servers.free_port()),
    ):
        pass
    assert time.monotonic() - start < servers.SLOWEST_START / 2, "nobody saw that it has ended"


def test_a_server_is_stopped_with_its_children() -> None:
    port = servers.free_port()
    code = (
        "import os, signal, socket, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN) if os.fork() == 0 else None\n"
        f"server = socket.create_server(('127.0.0.1', {port}), reuse_port=True)\n"
        "time.sleep(60)"
    )
    with servers.started([sys.executable, "-c", code], port) as server:
        assert servers.listens(port)
        assert server.port == port
    deadline = time.monotonic() + 5
    while servers.listens(port) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not servers.listens(port)
