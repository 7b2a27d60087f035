"""Byzanz with a few more addresses, for comparing web servers.

python -m benchmarks.peers.waiting_app SERVER PORT WORKERS

/wait?SECONDS answers later, /stream?SECONDS sends a line each second until then, /large?BYTES is a large page, and
/address is the client's address that a proxy has told.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from benchmarks.peers.under import SERVERS
from server import create_app
from server.ops import serve
from server.store import engine

Environ: TypeAlias = dict[str, Any]
StartResponse: TypeAlias = Callable[..., Any]
byzanz = create_app()


def application(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    """Answer a request."""
    answer = PAGES.get(environ["PATH_INFO"])
    if answer is None:
        return byzanz(environ, start_response)
    found = answer(environ)
    length = [("Content-Length", str(len(found)))] if isinstance(found, bytes) else []
    start_response("200 OK", [("Content-Type", "text/plain"), *length])
    return iter([found]) if isinstance(found, bytes) else found


def _wait(environ: Environ) -> bytes:
    time.sleep(float(environ["QUERY_STRING"]))
    return b"waited"


def _stream(environ: Environ) -> Iterator[bytes]:
    end = time.monotonic() + float(environ["QUERY_STRING"])
    while time.monotonic() < end:
        yield b": still here\n\n"
        time.sleep(1)


PAGES: dict[str, Callable[[Environ], bytes | Iterator[bytes]]] = {
    "/wait": _wait,
    "/stream": _stream,
    "/large": lambda environ: b"x" * int(environ["QUERY_STRING"]),
    "/address": lambda environ: environ.get("HTTP_X_FORWARDED_FOR", "").encode(),
}


def main(server: str, port: str, workers: str) -> None:
    """Serve the application as a server that is compared does."""
    with byzanz.app_context():
        engine.db.engine.dispose()
    serve.load(byzanz)
    SERVERS[server](application, int(port), int(workers))


if __name__ == "__main__":
    main(*sys.argv[1:])
