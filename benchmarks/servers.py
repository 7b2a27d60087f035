"""Servers in processes of their own, with their CPU time and memory, and cheap clients that load them.

`python -m benchmarks.servers` is the process of the clients, which `run_clients` starts: it reads a plan from standard
input as JSON and prints what it measured. So that it starts quickly, this module imports nothing of the server.
"""

from __future__ import annotations

import base64
import json
import os
import selectors
import signal
import socket
import struct
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import urlencode

HOST = "127.0.0.1"
SLOWEST_START = 60.0
"""Seconds after which a server that does not listen never will."""
PROC = Path("/proc")
ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Server:
    """A running server.

    Args:
        pid: of its first process.
        port: on which it listens.
    """

    pid: int
    port: int

    def cpu_seconds(self) -> float:
        """Return the CPU time that all its processes have taken so far, those that have ended included."""
        ticks = sum(sum(map(int, stat[11:15])) for stat in _stats(self.pid))
        return ticks / os.sysconf("SC_CLK_TCK")

    def pss_megabytes(self) -> float:
        """Return the memory of all its processes, with what they share counted once."""
        kilobytes = 0
        for pid in tree(self.pid):
            with suppress(OSError):  # it has just ended
                lines = (PROC / str(pid) / "smaps_rollup").read_text().splitlines()
                kilobytes += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        return kilobytes * 1024 / 1e6


def tree(pid: int) -> list[int]:
    """Return the ids of a process and all its descendants."""
    children: dict[int, list[int]] = {}
    for each in PROC.iterdir():
        if each.name.isdigit() and (stat := _stat(int(each.name))):
            children.setdefault(int(stat[1]), []).append(int(each.name))
    found = [pid]
    for parent in found:  # grows while it is walked
        found += children.get(parent, [])
    return found


def parent(pid: int) -> int | None:
    """Return the id of a process's parent; None if there is no such process."""
    stat = _stat(pid)
    return int(stat[1]) if stat else None


def _stats(pid: int) -> Iterator[list[str]]:
    for each in tree(pid):
        if stat := _stat(each):
            yield stat


def _stat(pid: int) -> list[str] | None:
    """Return the fields of /proc/PID/stat from the state on; None if the process has ended."""
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


@contextmanager
def started(
    command: Sequence[str], port: int, environment: Mapping[str, str] | None = None
) -> Iterator[Server]:
    """Start a server, wait until it listens, and stop it at the end.

    Args:
        environment: added to ours.

    Raises:
        RuntimeError: it has ended, or does not listen.
    """
    with subprocess.Popen(
        command, env=os.environ | dict(environment or {}), stdout=subprocess.DEVNULL, start_new_session=True
    ) as process:
        try:
            _wait_until_it_listens(process, port)
            yield Server(process.pid, port)
        finally:
            stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ask a server to stop, and kill all its processes if it does not."""
    process.send_signal(signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(10)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _wait_until_it_listens(process: subprocess.Popen[bytes], port: int) -> None:
    last = time.monotonic() + SLOWEST_START
    while not listens(port):
        if process.poll() is not None or time.monotonic() > last:
            raise RuntimeError(f"{process.args!r} does not listen on port {port}")
        time.sleep(0.05)


def listens(port: int) -> bool:
    """Whether a process listens on a port of this machine."""
    with socket.socket() as probe:
        probe.settimeout(5)
        return probe.connect_ex((HOST, port)) == 0


def free_port() -> int:
    """Return a free port of this machine."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


@contextmanager
def byzanz_web(environment: dict[str, str], workers: int) -> Iterator[Server]:
    """Run `byzanz web`, which logs warnings only: the terminal would take part of the time.

    Args:
        environment: with its settings.
    """
    port = free_port()
    command = [sys.executable, "-m", "server.cli", "web", "--port", str(port), "--workers", str(workers)]
    with started(command, port, environment | {"BYZANZ_LOG_LEVEL": "warning"}) as server:
        yield server


@contextmanager
def smtp_sink() -> Iterator[int]:
    """Run a mail server that accepts and forgets every email, and yield its port."""
    port = free_port()
    sink = ("--nosetuid", "--class", "aiosmtpd.handlers.Sink", "--listen", f"{HOST}:{port}")
    with started([sys.executable, "-m", "aiosmtpd", *sink], port):
        yield port


# Clients: on raw sockets, each sends its next request once the last was answered.

CLIENTS = 8
"""How many play at once in most benchmarks, each its own game."""
SETTLING = 0.2
"""Seconds in which a server may finish what it does after its last answer, before its CPU time is read."""
TIMEOUT = 60.0
CHUNK = 65536
GAME = "bids"
"""The game of peers/flatfile.js."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What clients shall do.

    Args:
        port: of the server on this machine.
        clients: the requests of each client, in order; for boardgame.io, its match's name alone.
        statuses: of the answers, in turn.
        moves: for boardgame.io, how many moves to make in each match; 0 for plain HTTP.
    """

    port: int
    clients: Sequence[Sequence[str]]
    statuses: Sequence[int] = (200,)
    moves: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What clients measured.

    Args:
        seconds: from the first request to the last answer.
        took: the seconds of each request, in the order of each client's requests, one client after another.
    """

    seconds: float
    took: list[list[float]] = field(default_factory=list)

    @property
    def answers(self) -> int:
        """How many requests were answered."""
        return sum(map(len, self.took))

    @property
    def per_second(self) -> float:
        """How many requests were answered in a second."""
        return self.answers / self.seconds


def get_request(path: str) -> str:
    """Return a request for a page."""
    return f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\nAccept-Language: en\r\n\r\n"


def post_request(path: str, body: object) -> str:
    """Return a request that sends JSON."""
    text = json.dumps(body)
    head = f"POST {path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(text.encode())}\r\n\r\n{text}"


def form_request(path: str, fields: Mapping[str, object]) -> str:
    """Return a request that sends a form."""
    text = urlencode(fields)
    head = f"POST {path} HTTP/1.1\r\nHost: {HOST}\r\nAccept-Language: en\r\n"
    head += "Content-Type: application/x-www-form-urlencoded\r\n"
    return f"{head}Content-Length: {len(text)}\r\n\r\n{text}"


def run_clients(plan: Plan) -> Outcome:
    """Let clients do what is planned, in another process.

    Raises:
        RuntimeError: a request was refused or not answered.
    """
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.servers"],
        input=json.dumps(asdict(plan)),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"clients failed: {done.stderr.strip().splitlines()[-1:]}")
    return Outcome(**json.loads(done.stdout))


def costing(server: Server, plan: Plan) -> tuple[Outcome, float]:
    """Let clients carry out a plan; return what they measured and the server's CPU seconds meanwhile."""
    before = server.cpu_seconds()
    outcome = run_clients(plan)
    time.sleep(SETTLING)
    return outcome, server.cpu_seconds() - before


def carry_out(plan: Plan) -> Outcome:
    """Let clients do what is planned, in this process."""
    if plan.moves:
        clients: list[Client] = [Match(plan, names[0]) for names in plan.clients]
    else:
        clients = [Browser(plan, requests) for requests in plan.clients]
    try:
        return _talk(clients)
    finally:
        for client in clients:
            client.socket.close()


def _talk(clients: Sequence[Client]) -> Outcome:
    start = time.perf_counter()
    with selectors.DefaultSelector() as selector:
        for client in clients:
            client.begin()
            selector.register(client.socket, selectors.EVENT_READ, client)
        while selector.get_map():
            ready = selector.select(TIMEOUT)
            if not ready:
                raise RuntimeError("a request was not answered")
            for key, _ in ready:
                _go_on(selector, key.data)
    return Outcome(time.perf_counter() - start, [client.took for client in clients])


def _go_on(selector: selectors.BaseSelector, client: Client) -> None:
    before = client.socket
    if client.go_on():
        if client.socket is not before:  # the server had closed it
            selector.unregister(before)
            selector.register(client.socket, selectors.EVENT_READ, client)
    else:
        selector.unregister(before)


class Client(ABC):
    """One connection that is used again and again; `took` are the seconds of each request.

    Args:
        plan: what to do.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.took: list[float] = []
        self.buffer = bytearray()
        self.connect()

    def connect(self) -> None:
        """Open the connection."""
        self.socket = socket.create_connection((HOST, self.plan.port), TIMEOUT)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def begin(self) -> None:
        """Send the first request."""
        self.sent = time.perf_counter()
        self.send_next()

    @abstractmethod
    def send_next(self) -> None:
        """Send the next request."""

    @abstractmethod
    def answers(self) -> int:
        """Take the answers that have arrived completely out of the buffer and return how many."""

    @abstractmethod
    def wanted(self) -> int:
        """Return how many requests there are."""

    def go_on(self) -> bool:
        """Read what has arrived and send the next request; False when all are answered."""
        arrived = self.socket.recv(CHUNK)
        if not arrived:
            raise RuntimeError(
                f"the server hung up after {len(self.took)} answers: {bytes(self.buffer[:200])!r}"
            )
        self.buffer += arrived
        if self.answers():
            now = time.perf_counter()
            self.took.append(now - self.sent)
            if len(self.took) == self.wanted():
                return False
            self.sent = now
            self.send_next()
        return True


class Browser(Client):
    """A client that sends requests over HTTP/1.1 and keeps its connection unless the server closes it.

    Args:
        requests: as `get` and `post` make them.
    """

    def __init__(self, plan: Plan, requests: Sequence[str]) -> None:
        self.requests = [request.encode() for request in requests]
        self.statuses = [f"HTTP/1.1 {status} ".encode() for status in plan.statuses]
        self.closed = False
        super().__init__(plan)

    def wanted(self) -> int:
        """Return how many requests there are."""
        return len(self.requests)

    def send_next(self) -> None:
        """Send the next request, on a new connection if the server has closed the last."""
        if self.closed:
            self.socket.close()
            self.connect()
        self.socket.sendall(self.requests[len(self.took)])

    def answers(self) -> int:
        """Take an answer, if it has arrived completely; its length must be given."""
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return 0
        head = bytes(self.buffer[:end]).lower() + b"\r\n"
        length = int(head.partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0])
        if len(self.buffer) < end + 4 + length:
            return 0
        if not self.buffer.startswith(self.statuses[len(self.took) % len(self.statuses)]):
            raise RuntimeError(f"a request was refused: {bytes(self.buffer[: end + 300])!r}")
        self.closed = b"\r\nconnection: close" in head
        self.buffer.clear()
        return 1


class Match(Client):
    """A client of boardgame.io that makes the moves of all seats of one match, over a WebSocket.

    Args:
        name: of the match, which begins when it is first asked for.
    """

    def __init__(self, plan: Plan, name: str) -> None:
        self.name = name
        super().__init__(plan)
        self._open()

    def wanted(self) -> int:
        """Return how many moves are to be made."""
        return self.plan.moves

    def send_next(self) -> None:
        """Make the next move; boardgame.io wants the number of the position that it was made in."""
        number = len(self.took)
        seat = str(number % 4)
        move = {"type": "bid", "args": [number], "playerID": seat, "credentials": None}
        action = {"type": "MAKE_MOVE", "payload": move}
        self._emit("update", action, number, self.name, seat)

    def answers(self) -> int:
        """Take all complete frames and return how many of them tell of a move."""
        moves = 0
        while (text := taken_frame(self.buffer)) is not None:
            if text == "2":
                self.socket.sendall(frame("3"))  # a heartbeat
            moves += text.startswith(f'42/{GAME},["update"')
        return moves

    def _open(self) -> None:
        key = base64.b64encode(b"a benchmark only").decode()
        self.socket.sendall(
            f"GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: {HOST}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        while b"\r\n\r\n" not in self.buffer:
            self.buffer += self.socket.recv(CHUNK)
        del self.buffer[: self.buffer.find(b"\r\n\r\n") + 4]
        self._await("0{")
        self.socket.sendall(frame(f"40/{GAME},"))
        self._await(f"40/{GAME},")
        self._emit("sync", self.name, "0", None, 4)
        self._await(f'42/{GAME},["sync"')

    def _emit(self, *words: object) -> None:
        self.socket.sendall(frame(f"42/{GAME},{json.dumps(words)}"))

    def _await(self, start: str) -> None:
        while not (text := taken_frame(self.buffer) or "").startswith(start):
            if not text:
                arrived = self.socket.recv(CHUNK)
                if not arrived:
                    raise RuntimeError(f"boardgame.io hung up before {start}")
                self.buffer += arrived


def frame(text: str) -> bytes:
    """Return a text as a frame of a WebSocket client; the mask is zero, so nothing needs to be masked."""
    data = text.encode()
    size = bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + struct.pack(">H", len(data))
    return b"\x81" + size + bytes(4) + data


def taken_frame(buffer: bytearray) -> str | None:
    """Take the first frame of a WebSocket server out of a buffer; None if it has not arrived completely."""
    if len(buffer) < 2:
        return None
    size, start = buffer[1] & 0x7F, 2
    if size > 125:
        start = 4 if size == 126 else 10
        size = int.from_bytes(buffer[2:start], "big")
    if len(buffer) < start + size:
        return None
    text = bytes(buffer[start : start + size]).decode()
    del buffer[: start + size]
    return text


if __name__ == "__main__":
    json.dump(asdict(carry_out(Plan(**json.load(sys.stdin)))), sys.stdout)
