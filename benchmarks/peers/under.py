"""The web servers that are compared, each with several processes that share what was loaded before they were forked."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from typing import Any, TypeAlias

from server.ops import serve

HOST = "127.0.0.1"
Application: TypeAlias = Callable[..., Any]


def gunicorn(app: Application, port: int, workers: int) -> None:
    """Serve an application as `byzanz web` does, without heartbeats."""
    hooks = {"post_worker_init", "worker_exit"}
    options = serve.options(HOST, port, workers)
    chosen = {name: value for name, value in options.items() if name not in hooks}
    serve.GunicornServer(app, chosen).run()


def granian(app: Application, port: int, workers: int) -> None:
    """Serve an application with granian and as many threads."""
    from granian.constants import HTTPModes, Interfaces
    from granian.log import LogLevels
    from granian.server.mp import MPServer

    multiprocessing.set_start_method("fork")
    server = MPServer(
        "benchmarks",
        address=HOST,
        port=port,
        workers=workers,
        interface=Interfaces.WSGI,
        blocking_threads=serve.WEB_THREADS,
        backpressure=serve.MOST_CONNECTIONS,
        http=HTTPModes.http1,
        websockets=False,
        log_level=LogLevels.error,
    )
    server.serve(target_loader=lambda *_: app, wrap_loader=False)


def waitress(app: Application, port: int, workers: int) -> None:
    """Serve an application as `byzanz serve` does, in several processes."""
    with serve.listening(HOST, port) as listener:
        listener.listen(1024)
        listener.setblocking(False)
        running = []
        for _ in range(workers):
            if not (pid := os.fork()):
                serve.exit_on_sigterm()
                serve.waitress_on(app, listener).run()
                return
            running.append(pid)

        def stop(*_: object) -> None:
            for pid in running:
                os.kill(pid, signal.SIGTERM)

        signal.signal(signal.SIGTERM, stop)
        for pid in running:
            os.waitpid(pid, 0)


SERVERS: dict[str, Callable[[Application, int, int], None]] = {
    "gunicorn": gunicorn,
    "granian": granian,
    "waitress": waitress,
}
