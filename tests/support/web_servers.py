"""A real web server for tests, in a thread of this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

from flask import Flask
from waitress import wasyncore
from waitress.server import create_server
from werkzeug.exceptions import NotFound

from server.demo import LOOPBACK
from server.store import engine


def below(app: Callable[..., Any], path: str) -> Callable[..., Any]:
    """Return a proxy that passes on what lies under a path of its host, and finds nothing elsewhere."""

    def proxy(environ: dict[str, Any], start_response: Any) -> Any:
        if not f"{environ['PATH_INFO']}/".startswith(f"{path}/"):
            return NotFound()(environ, start_response)
        return app(environ, start_response)

    return proxy


@contextmanager
def serving(app: Flask, port: int, front: Callable[..., Any] | None = None) -> Iterator[None]:
    """Serve an app on a loopback port until the block ends.

    Args:
        front: a WSGI application to ask instead, which passes requests on to the app.
    """
    server: Any = create_server(front or app, host=LOOPBACK, port=port, threads=4)
    thread = Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.task_dispatcher.shutdown()  # an answer may be out before its thread is through
        # The loop closes its sockets itself: closed from here, one could just be polled.
        server.trigger.pull_trigger(lambda: wasyncore.close_all(server._map))
        thread.join(timeout=10)
        with app.app_context():
            engine.db.engine.dispose()
