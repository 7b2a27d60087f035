"""Metrics of HTTP requests, which prometheus-client keeps in memory, or in files that the processes of `web` share."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import flask
from flask import Flask

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

    from prometheus_client import CollectorRegistry

LOGGER = logging.getLogger(__name__)
SHARED = "PROMETHEUS_MULTIPROC_DIR"
"""The variable by which prometheus-client is told the folder of those files, before it is first imported."""
SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
METHODS = {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"}
UNKNOWN = "unknown"
"""The label of all addresses that no route serves, and of other methods."""

ROUTE = "byzanz.route"
"""Where a request remembers its route when it ends."""


@contextmanager
def shared() -> Iterator[None]:
    """Let the processes that are forked in this block share their figures: a scrape of one shows those of all."""
    if SHARED in os.environ:
        yield
        return
    folder = tempfile.mkdtemp(prefix="byzanz-metrics-")
    os.environ[SHARED], owner = folder, os.getpid()
    try:
        yield
    finally:
        if os.getpid() == owner:  # a worker leaves this block, too
            del os.environ[SHARED]
            shutil.rmtree(folder, ignore_errors=True)


def init_app(app: Flask, registry: CollectorRegistry) -> None:
    """Count and time all requests to an app."""
    from prometheus_client import CollectorRegistry, Counter, Histogram
    from prometheus_client.multiprocess import MultiProcessCollector

    mine = CollectorRegistry() if SHARED in os.environ else registry
    if mine is not registry:
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    count = Counter("byzanz_http_requests", "Requests.", ["method", "route", "status"], registry=mine)
    took = Histogram(
        "byzanz_http_request_duration_seconds",
        "Seconds until a request was answered.",
        ["method", "route"],
        buckets=SECONDS,
        registry=mine,
    )

    def note(method: str, route: str, status: str, seconds: float) -> None:
        try:
            count.labels(method, route, status).inc()
            took.labels(method, route).observe(seconds)
        except Exception as error:  # such as a full disk: the answer is worth more than its figures
            LOGGER.warning("a request is not counted: %s", type(error).__name__, extra={"outage": True})

    @app.teardown_request
    def remember_route(_error: BaseException | None) -> None:
        if flask.request.url_rule is not None:
            flask.request.environ[ROUTE] = flask.request.url_rule.rule

    app.wsgi_app = _Middleware(app.wsgi_app, note)  # type: ignore[method-assign]


class _Middleware:
    """Notes method, route, status and seconds of each request; an address never, for it may hold a token."""

    def __init__(
        self,
        app: Callable[[WSGIEnvironment, StartResponse], Iterable[bytes]],
        note: Callable[[str, str, str, float], None],
    ) -> None:
        self._app, self._note = app, note

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        began = time.perf_counter()
        answered = "500"

        def start(status: str, headers: list[tuple[str, str]], *more: Any) -> Callable[[bytes], object]:
            nonlocal answered
            answered = status[:3]
            return start_response(status, headers, *more)

        try:
            return self._app(environ, start)
        finally:
            method = environ["REQUEST_METHOD"]
            method = method if method in METHODS else UNKNOWN
            self._note(method, environ.get(ROUTE, UNKNOWN), answered, time.perf_counter() - began)
