"""Slow clients must not keep others from being answered: limits on each request, and looks from outside."""

from __future__ import annotations

import http.client
import socket
import ssl
import time
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from gunicorn.workers.gthread import ThreadWorker
from waitress.channel import HTTPChannel

REQUEST_SECONDS = 30.0
"""A request must arrive, and its answer must be taken, within this long, however steadily it drips."""
MOST_CONNECTIONS = 800
"""Connections that `serve` keeps open at once; a process may usually open 1,024 files."""
ANSWER_SECONDS = 5.0
"""A server that answers nothing for this long counts as silent."""
HALF_SECONDS = 2.0
"""How long to wait whether half a request is answered."""


class Channel(HTTPChannel):
    """A connection of `serve` that a request cannot keep open by dripping.

    A class of our own, since waitress' `channel_timeout` closes only connections on which nothing moves.
    """

    def __init__(self, *words: Any, **more: Any) -> None:
        self._idle_since = time.monotonic()
        super().__init__(*words, **more)

    def readable(self) -> bool:
        """Whether to read on; called at least once a second, so that it can also close the connection."""
        if self.requests:  # being answered
            self._idle_since = time.monotonic()
        elif time.monotonic() - self._idle_since > REQUEST_SECONDS:
            self.will_close = True
            if self.socket is not None:
                with suppress(OSError):  # the other end has hung up
                    self.socket.shutdown(socket.SHUT_RDWR)
        found: bool = super().readable()
        return found


class Worker(ThreadWorker):  # type: ignore[misc]  # gunicorn carries no types
    """A process of `web` that stops reading a half-sent request.

    A class of our own, since gunicorn's `timeout` and `keepalive` let such a request keep its thread for good.
    """

    def __init__(self, *words: Any, **more: Any) -> None:
        super().__init__(*words, **more)
        self._began: dict[Any, float] = {}

    def handle(self, conn: Any) -> Any:
        """Read and answer the next request of a connection."""
        self._began[conn] = time.monotonic()
        try:
            return super().handle(conn)
        finally:
            del self._began[conn]

    def murder_pending(self) -> None:
        """Close connections that have sent nothing, and end the reading of requests that are too slow."""
        super().murder_pending()
        for conn, began in list(self._began.items()):
            if time.monotonic() - began > REQUEST_SECONDS:
                with suppress(OSError):  # an answer can still be sent
                    conn.sock.shutdown(socket.SHUT_RD)


def is_answered(address: tuple[Any, ...]) -> bool:
    """Whether a server of this machine answers requests at an address."""
    call = http.client.HTTPConnection(address[0], address[1], timeout=ANSWER_SECONDS)
    try:
        call.request("GET", "/healthz")
        return call.getresponse().status < 500
    except (OSError, http.client.HTTPException):
        return False
    finally:
        call.close()


def passes_on_halves(base_url: str) -> bool | None:
    """Whether a half-sent request to the pages reaches them, so that slow clients can keep them busy.

    Returns:
        None if nothing answers there.
    """
    parts = urlsplit(base_url)
    https = parts.scheme == "https"
    address = (parts.hostname or "", parts.port or (443 if https else 80))
    half = f"GET {parts.path}/healthz HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Length: 2\r\n\r\n-"
    try:
        with socket.create_connection(address, timeout=ANSWER_SECONDS) as plain:
            tls = ssl.create_default_context()
            to = tls.wrap_socket(plain, server_hostname=address[0]) if https else plain
            with to:
                to.sendall(half.encode())
                to.settimeout(HALF_SECONDS)
                with suppress(TimeoutError):
                    return bool(to.recv(1))
                to.settimeout(ANSWER_SECONDS)
                to.sendall(b"-")
                return False if to.recv(1) else None
    except OSError:
        return None
