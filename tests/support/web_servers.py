"""A real web server for tests, in a thread of this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

from flask import Flask
from waitress import wasyncore
from waitress.server import create_server

from server.demo.smtp_sink import LOOPBACK
from server.store import engine


@contextmanager
def serving(app: Flask, port: int) -> Iterator[None]:
    """Serve an app on a loopback port until the block ends."""
    server: Any = create_server(app, host=LOOPBACK, port=port, threads=4)
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
