"""Running the server: everything in one process, or web and scheduler apart, until stopped."""

from __future__ import annotations

import errno
import gc
import logging
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from threading import Event
from types import FrameType
from typing import Any

from babel import Locale
from flask import Flask
from gunicorn.app.base import BaseApplication
from gunicorn.glogging import Logger as GunicornLogger
from gunicorn.workers.gthread import ThreadWorker
from jinja2 import TemplateError
from sqlalchemy.orm import configure_mappers
from waitress.channel import HTTPChannel
from waitress.server import create_server

from server import config, i18n
from server.config import ConfigError, Settings
from server.ops import logs
from server.ops.checks import is_answered
from server.scheduler.loop import Scheduler
from server.store import engine, migrate

# ---- slow clients ----

REQUEST_SECONDS = 30.0
"""A request must arrive, and its answer must be taken, within this long, however steadily it drips."""
MOST_CONNECTIONS = 800
"""Connections that a process keeps open at once; it may usually open 1,024 files."""


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
    """A process of `web` that slow clients do not hold up.

    A class of our own, since gunicorn's `timeout` and `keepalive` let a half-sent request keep its thread for good, and
    since the thread that accepts connections would wait up to 2 s for each client to hang up after its last answer.
    """

    def __init__(self, *words: Any, **more: Any) -> None:
        super().__init__(*words, **more)
        self._began: dict[Any, float] = {}

    def handle(self, conn: Any) -> Any:
        """Read and answer the next request of a connection."""
        self._began[conn] = time.monotonic()
        try:
            goes_on = super().handle(conn)
        finally:
            del self._began[conn]
        if goes_on is False:
            conn.close(graceful=True)  # here, where it holds up nobody else
            conn.close = _already_closed
        return goes_on

    def murder_pending(self) -> None:
        """Close connections that have sent nothing, and end the reading of requests that are too slow."""
        super().murder_pending()
        for conn, began in list(self._began.items()):
            if time.monotonic() - began > REQUEST_SECONDS:
                with suppress(OSError):  # an answer can still be sent
                    conn.sock.shutdown(socket.SHUT_RD)


def _already_closed(graceful: bool = False) -> None:
    """Stand for a connection's `close`."""


# ---- servers ----

LOGGER = logging.getLogger(__name__)
THREADS = 300
"""Requests that `serve` answers at once: 200 that are kept open leave enough for pages."""
WEB_THREADS = 400
"""Requests that each process of `web` answers at once: 200 that are kept open, or 300 half-sent ones, leave enough."""
SCHEDULER = "scheduler"
"""The role of `serve` and `scheduler`, which one process on an SQLite file has."""
LISTEN_REMEDIES = {
    errno.EADDRINUSE: "stop the program that uses it, or choose another --port",
    errno.EACCES: "choose a --port above 1023 and let the proxy pass on to it",
    errno.EADDRNOTAVAIL: "choose a --host that this machine has",
}
NOTICE_SIGNALS = 1.0
"""Seconds between two looks of a main thread that only waits: a signal may have come to another thread."""
LONGEST_REQUEST = 16 * 1024 * 1024
"""Bytes; the application itself accepts far less, and has its own error page for it."""


def serve(app: Flask, host: str, port: int) -> None:
    """Run web, scheduler and mailer in this process, until SIGTERM or Ctrl-C.

    Raises:
        ConfigError: the database, the mail server's address or the port cannot be used.
    """
    with only_scheduler(app):
        _prepare(app, migrate.upgrade)
        _serve(app, host, port)


def _serve(app: Flask, host: str, port: int) -> None:
    with listening(host, port) as listener:
        scheduler = Scheduler(app, _settings(app), answers=partial(is_answered, listener.getsockname()))
        run(app, listener, scheduler, f"Byzanz is listening on {_url(listener)}. Press Ctrl-C to stop.")


def run(app: Flask, listener: socket.socket, scheduler: Scheduler, greeting: str) -> None:
    """Answer requests in this thread while the scheduler runs in others; stop both on SIGTERM or Ctrl-C.

    Args:
        greeting: printed when requests are answered.
    """
    server = waitress_on(app, listener)
    scheduler.start()
    try:
        print(greeting, flush=True)
        server.run()  # ends at SystemExit and KeyboardInterrupt, after pending requests
    finally:
        server.close()
        scheduler.stop()


def waitress_on(app: Callable[..., Any], listener: socket.socket) -> Any:
    """Return the web server of `serve`, which `run()` starts."""
    server: Any = create_server(
        app,
        sockets=[listener],
        threads=THREADS,
        connection_limit=MOST_CONNECTIONS,
        asyncore_use_poll=True,  # select() ends at 1,024 files
        ident=None,
        max_request_body_size=LONGEST_REQUEST,
        # Kept, or every visitor behind a proxy would seem to be on this machine.
        clear_untrusted_proxy_headers=False,
    )
    server.channel_class = Channel
    return server


def web(app: Flask, host: str, port: int, workers: int) -> None:
    """Run the pages alone, in several processes, which share the memory of what is loaded before they start.

    Raises:
        ConfigError: the database or the port cannot be used.
    """
    _prepare(app, migrate.check)
    listening(host, port).close()  # reports an unusable address in one line
    with app.app_context():
        engine.db.engine.dispose()  # processes must not share a connection
    load(app)
    print(f"Byzanz is listening on http://{host}:{port} with {workers} processes.", flush=True)
    GunicornServer(app, options(host, port, workers)).run()


def load(app: Flask) -> None:
    """Load what each process would load for its first pages, so that all share it."""
    for name in app.jinja_env.list_templates(
        filter_func=lambda name: not name.startswith("mail/") and name[-4:] != ".css"
    ):
        try:
            app.jinja_env.get_template(name)
        except TemplateError as error:  # of a package, whose game alone may suffer
            LOGGER.warning("the template %s cannot be used: %s", name, error)
    for language in i18n.NAMES:
        i18n.translations(language)
        Locale.parse(language).days  # noqa: B018 - reads all that babel knows about a language
    configure_mappers()
    gc.collect()
    gc.freeze()  # a collection would write to what the processes share


def options(host: str, port: int, workers: int) -> dict[str, object]:
    """Return the options of gunicorn with which `web` runs."""
    return {
        "bind": f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
        "workers": workers,
        "worker_class": Worker,
        "threads": WEB_THREADS,
        "worker_connections": MOST_CONNECTIONS,
        "loglevel": "warning",
        "logger_class": _GunicornLog,
        "control_socket_disable": True,
        "post_worker_init": _start_heartbeat,
        "worker_exit": _stop_heartbeat,
    }


def _start_heartbeat(worker: Any) -> None:
    app = worker.wsgi
    answers = partial(is_answered, worker.sockets[0].getsockname())
    worker.heartbeat = Scheduler(app, _settings(app), parts=("web",), answers=answers)
    worker.heartbeat.start()


def _stop_heartbeat(_server: Any, worker: Any) -> None:
    """Stop a worker's heartbeat before it exits: a tick during the interpreter's shutdown would log a traceback."""
    if hasattr(worker, "heartbeat"):
        worker.heartbeat.stop()


class GunicornServer(BaseApplication):  # type: ignore[misc]  # gunicorn carries no types
    """The gunicorn application: its processes are forked with ours in memory."""

    def __init__(self, app: Callable[..., Any], options: dict[str, object]) -> None:
        self._app = app
        self._options = options
        super().__init__()

    def load_config(self) -> None:
        """Apply the given options, and none from a file or the environment."""
        for name, value in self._options.items():
            self.cfg.set(name, value)

    def load(self) -> Callable[..., Any]:
        """Return the application."""
        return self._app


class _GunicornLog(GunicornLogger):  # type: ignore[misc]  # gunicorn carries no types
    """Gunicorn's own log, which goes the way of all others."""

    def setup(self, cfg: Any) -> None:
        """Leave the records to the handler of the root logger."""
        super().setup(cfg)
        self.error_log.handlers.clear()
        self.error_log.propagate = True
        self.error_log.setLevel(logging.getLogger().getEffectiveLevel())


def scheduler(app: Flask) -> None:
    """Run deadlines, reminders, bots and mails alone, until SIGTERM or Ctrl-C.

    Raises:
        ConfigError: the database or the mail server's address cannot be used.
    """
    with only_scheduler(app):
        _prepare(app, migrate.check)
        _schedule(app)


def _schedule(app: Flask) -> None:
    scheduler = Scheduler(app, _settings(app), parts=("scheduler",))
    scheduler.start()
    print("The scheduler is running. Press Ctrl-C to stop.", flush=True)
    stopped = Event()
    try:
        while True:  # a signal that another thread has received is noticed when a wait ends
            stopped.wait(NOTICE_SIGNALS)
    except (SystemExit, KeyboardInterrupt):
        pass
    finally:
        scheduler.stop()


@contextmanager
def only_scheduler(app: Flask) -> Iterator[None]:
    """Keep other processes from running the scheduler on the same SQLite file; the end of this one frees it.

    Raises:
        ConfigError: another process does.
    """
    with app.app_context():
        try:
            lock = engine.alone(engine.db.engine, SCHEDULER)
        except OSError as error:
            file = config.database_file(_settings(app))
            raise ConfigError(f"the database {file} cannot be written: {error.strerror}") from error
        taken = lock is None and engine.has_lock_files(engine.db.engine)
    if taken:
        raise ConfigError(
            f"another `byzanz serve` or `byzanz scheduler` is running on {config.database_file(_settings(app))}: "
            "stop it first; an SQLite database has one"
        )
    try:
        yield
    finally:
        if lock is not None:
            lock.close()


def mail_in(app: Flask, host: str, port: int) -> None:
    """Receive mail by LMTP, until SIGTERM or Ctrl-C.

    Raises:
        ConfigError: the database or the port cannot be used.
    """
    from server.mail.incoming import lmtp  # here, so that the other servers start quickly
    from server.ops import mail_checks

    _prepare(app, migrate.check)
    with listening(host, port) as listener:
        listener.listen()
        mail_checks.note(_settings(app), listener)
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
        remedy = LISTEN_REMEDIES.get(getattr(error, "errno", None) or 0, "correct --host or --port")
        raise ConfigError(f"cannot listen on {host} port {port} ({why}): {remedy}") from error


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


def _prepare(app: Flask, database: Callable[[], object]) -> None:
    logs.log_to_stderr(_settings(app))
    exit_on_sigterm()
    for line in (*config.unknown(), *config.game_warnings(_settings(app))):
        LOGGER.warning(line)
    with app.app_context():
        database()


def _settings(app: Flask) -> Settings:
    found = app.config["BYZANZ"]
    assert isinstance(found, Settings)
    return found


def _url(listener: socket.socket) -> str:
    return f"http://{_host_and_port(listener)}"


def _host_and_port(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
