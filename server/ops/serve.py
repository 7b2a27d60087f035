"""Running the server: everything in one process, or web and scheduler apart, until stopped."""

from __future__ import annotations

import logging
import signal
import socket
import sys
from collections.abc import Callable
from threading import Event
from types import FrameType
from typing import Any

from flask import Flask
from gunicorn.app.base import BaseApplication
from gunicorn.glogging import Logger as GunicornLogger
from waitress.server import create_server

from server.config import ConfigError, Settings
from server.mail.incoming import lmtp
from server.scheduler.clockwork import Scheduler
from server.store import links, migrate

THREADS = 8
"""Requests that one process answers at once."""
LONGEST_REQUEST = 16 * 1024 * 1024
"""Bytes; the application itself accepts far less, and has its own error page for it."""


def serve(app: Flask, host: str, port: int) -> None:
    """Run web, scheduler and mailer in this process, until SIGTERM or Ctrl-C.

    Raises:
        ConfigError: the database, the mail server's address or the port cannot be used.
    """
    _prepare(app)
    scheduler = Scheduler(app, _settings(app))
    with listening(host, port) as listener:
        run(app, listener, scheduler, f"Byzanz is listening on {_url(listener)}. Press Ctrl-C to stop.")


def run(app: Flask, listener: socket.socket, scheduler: Scheduler, greeting: str) -> None:
    """Answer requests in this thread while the scheduler runs in others; stop both on SIGTERM or Ctrl-C.

    Args:
        greeting: printed when requests are answered.
    """
    server: Any = create_server(
        app,
        sockets=[listener],
        threads=THREADS,
        ident=None,
        max_request_body_size=LONGEST_REQUEST,
        # Kept, or every visitor behind a proxy would seem to be on this machine.
        clear_untrusted_proxy_headers=False,
    )
    scheduler.start()
    try:
        print(greeting, flush=True)
        server.run()  # ends at SystemExit and KeyboardInterrupt, after pending requests
    finally:
        server.close()
        scheduler.stop()


def web(make_app: Callable[[], Flask], host: str, port: int, workers: int) -> None:
    """Run the pages alone, in several processes, each with its own application.

    Raises:
        ConfigError: the database or the port cannot be used.
    """
    _prepare(make_app())
    listening(host, port).close()  # reports an unusable address in one line
    print(f"Byzanz is listening on http://{host}:{port} with {workers} processes.", flush=True)
    _GunicornServer(make_app, _options(host, port, workers)).run()


def _options(host: str, port: int, workers: int) -> dict[str, object]:
    """Return gunicorn's options."""
    return {
        "bind": f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
        "workers": workers,
        "worker_class": "gthread",
        "threads": THREADS,
        "loglevel": "warning",
        "logger_class": _GunicornLog,
        "control_socket_disable": True,
        "post_worker_init": _start_heartbeat,
        "worker_exit": _stop_heartbeat,
    }


def _start_heartbeat(worker: Any) -> None:
    app = worker.wsgi
    worker.heartbeat = Scheduler(app, _settings(app), parts=("web",))
    worker.heartbeat.start()


def _stop_heartbeat(_server: Any, worker: Any) -> None:
    """Stop a worker's heartbeat before it exits: a tick during the interpreter's shutdown would log a traceback."""
    if hasattr(worker, "heartbeat"):
        worker.heartbeat.stop()


class _GunicornServer(BaseApplication):  # type: ignore[misc]  # gunicorn carries no types
    """The gunicorn application: each worker loads ours after the fork."""

    def __init__(self, make_app: Callable[[], Flask], options: dict[str, object]) -> None:
        self._make_app = make_app
        self._options = options
        super().__init__()

    def load_config(self) -> None:
        """Apply the given options, and none from a file or the environment."""
        for name, value in self._options.items():
            self.cfg.set(name, value)

    def load(self) -> Flask:
        """Return the application of one worker."""
        return self._make_app()


class MaskingFormatter(logging.Formatter):
    """A log formatter that masks link tokens: web servers log the URL of a failed request."""

    def format(self, record: logging.LogRecord) -> str:
        """Format the record and its traceback, if any."""
        return links.TOKEN.sub("…", super().format(record))


class _GunicornLog(GunicornLogger):  # type: ignore[misc]  # gunicorn carries no types
    """Gunicorn's own log, masked."""

    def setup(self, cfg: Any) -> None:
        """Set up the handlers as configured."""
        super().setup(cfg)
        for handler in self.error_log.handlers:
            handler.setFormatter(MaskingFormatter(self.error_fmt, self.datefmt))


def scheduler(app: Flask) -> None:
    """Run deadlines, reminders, bots and mails alone, until SIGTERM or Ctrl-C.

    Raises:
        ConfigError: the database or the mail server's address cannot be used.
    """
    _prepare(app)
    scheduler = Scheduler(app, _settings(app), parts=("scheduler",))
    scheduler.start()
    print("The scheduler is running. Press Ctrl-C to stop.", flush=True)
    try:
        Event().wait()
    except (SystemExit, KeyboardInterrupt):
        pass
    finally:
        scheduler.stop()


def mail_in(app: Flask, host: str, port: int) -> None:
    """Receive mail by LMTP, until SIGTERM or Ctrl-C.

    Raises:
        ConfigError: the database or the port cannot be used.
    """
    _prepare(app)
    with listening(host, port) as listener:
        listener.listen()
        print(
            f"Byzanz is receiving email by LMTP on {_host_and_port(listener)}. Press Ctrl-C to stop.",
            flush=True,
        )
        lmtp.serve(app, listener)


def listening(host: str, port: int) -> socket.socket:
    """Return a socket bound to this address; port 0 picks a free one.

    Raises:
        ConfigError: the address does not exist here, or is in use.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        return _bound(*found[0])
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or "no such host"
        raise ConfigError(f"cannot listen on {host} port {port}: {why}") from error


def _bound(family: int, kind: int, protocol: int, _name: str, address: tuple[Any, ...]) -> socket.socket:
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError:
        listener.close()
        raise
    return listener


def exit_on_sigterm() -> None:
    """Let SIGTERM end this process as Ctrl-C does, through every `finally`."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise SystemExit(0)

    signal.signal(signal.SIGTERM, stop)


def log_to_stderr() -> None:
    """Log warnings and errors to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(MaskingFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING)
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # do not log requests that wait a moment


def _prepare(app: Flask) -> None:
    log_to_stderr()
    exit_on_sigterm()
    with app.app_context():
        migrate.upgrade()


def _settings(app: Flask) -> Settings:
    found = app.config["BYZANZ"]
    assert isinstance(found, Settings)
    return found


def _url(listener: socket.socket) -> str:
    return f"http://{_host_and_port(listener)}"


def _host_and_port(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
