"""Cheap clients on raw sockets, in one process of their own: each sends its next request once the last was answered.

`python -m benchmarks.clients` reads a plan from standard input as JSON and prints what it measured; `run` starts it.
"""

from __future__ import annotations

import base64
import json
import selectors
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

HOST = "127.0.0.1"
ROOT = Path(__file__).resolve().parent.parent
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
        status: of every answer.
        moves: for boardgame.io, how many moves to make in each match; 0 for plain HTTP.
    """

    port: int
    clients: Sequence[Sequence[str]]
    status: int = 200
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


def get(path: str) -> str:
    """Return a request for a page."""
    return f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\nAccept-Language: en\r\n\r\n"


def post(path: str, body: object) -> str:
    """Return a request that sends JSON."""
    text = json.dumps(body)
    head = f"POST {path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(text.encode())}\r\n\r\n{text}"


def run(plan: Plan) -> Outcome:
    """Let clients do what is planned, in another process.

    Raises:
        RuntimeError: a request was refused or not answered.
    """
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.clients"],
        input=json.dumps(asdict(plan)),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"clients failed: {done.stderr.strip().splitlines()[-1:]}")
    return Outcome(**json.loads(done.stdout))


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


class Client:
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

    def send_next(self) -> None:
        """Send the next request."""
        raise NotImplementedError

    def answers(self) -> int:
        """Take the answers that have arrived completely out of the buffer and return how many."""
        raise NotImplementedError

    def wanted(self) -> int:
        """Return how many requests there are."""
        raise NotImplementedError

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
        self.status = f"HTTP/1.1 {plan.status} ".encode()
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
        if not self.buffer.startswith(self.status):
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
