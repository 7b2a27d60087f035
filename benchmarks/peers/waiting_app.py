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

from benchmarks.peers.under import SERVERS, Application
from server import create_app
from server.ops import serve
from server.store import engine

Environ: TypeAlias = dict[str, Any]
StartResponse: TypeAlias = Callable[..., Any]


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


def extended(app: Application) -> Application:
    """Return an application with these addresses, which another one answers at all others."""

    def application(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        answer = PAGES.get(environ["PATH_INFO"])
        if answer is None:
            found: Iterable[bytes] = app(environ, start_response)
            return found
        body = answer(environ)
        length = [("Content-Length", str(len(body)))] if isinstance(body, bytes) else []
        start_response("200 OK", [("Content-Type", "text/plain"), *length])
        return iter([body]) if isinstance(body, bytes) else body

    return application


def main(server: str, port: str, workers: str) -> None:
    """Serve the application as a server that is compared does."""
    byzanz = create_app()
    with byzanz.app_context():
        engine.db.engine.dispose()  # processes must not share a connection
    serve.load(byzanz)
    SERVERS[server](extended(byzanz), int(port), int(workers))


if __name__ == "__main__":
    main(*sys.argv[1:])
