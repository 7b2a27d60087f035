"""Health checks, and metrics for Prometheus: reading them takes no longer the more games there are."""

from __future__ import annotations

import hmac
import ipaddress
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import flask
from flask import Blueprint, Flask, Response
from prometheus_client import CollectorRegistry, disable_created_metrics, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector
from sqlalchemy import ColumnElement, func, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session
from werkzeug.sansio.utils import get_host

from byzanz import __version__
from byzanz.record import Cause
from server.community import results
from server.config import settings
from server.mail import deliverability
from server.ops import checks
from server.store import engine, migrate, operations
from server.store.models import WAITING, Alert, Game, GameStatus, Heartbeat, Mail, Turn
from server.web import http

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

    from prometheus_client import CollectorRegistry


# ---- requests ----

LOGGER = logging.getLogger(__name__)
SHARED = "PROMETHEUS_MULTIPROC_DIR"
"""The variable by which prometheus-client is told the folder of those files, before it is first imported."""
SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
METHODS = {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"}
UNKNOWN = "unknown"
"""The label of all addresses that no route serves, and of other methods."""


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


def count_requests(app: Flask, registry: CollectorRegistry) -> None:
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
            flask.request.environ[http.ROUTE] = flask.request.url_rule.rule

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
            self._note(method, environ.get(http.ROUTE, UNKNOWN), answered, time.perf_counter() - began)


# ---- all metrics ----
# What the database knows is the same from every process; what is counted in memory (`store.totals`) is stored every
# few seconds.

SENDING = ("sent", "dropped", "retried", "rejected")
RECEIVING = (
    *("reply", "refused", "auto", "bounce", "complaint"),
    *("repeated", "unknown", "too_big", "deferred"),
)
MOST = 10_000
"""What may be many is counted up to here."""
PROXY_HEADERS = ("X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Forwarded", "Via")
"""Headers that show that a request came through a proxy, so not from this machine."""
blueprint = Blueprint("metrics", __name__)
health = Blueprint("health", __name__)


def init_app(app: Flask) -> None:
    """Register the metrics page, with its own registry."""
    disable_created_metrics()  # type: ignore[no-untyped-call]
    registry = CollectorRegistry()
    registry.register(_DatabaseCollector())
    count_requests(app, registry)
    app.extensions["byzanz_metrics"] = registry
    app.register_blueprint(blueprint)
    app.register_blueprint(health)


@blueprint.get("/metrics")
def metrics() -> Response:
    """Serve the metrics to this machine and to requests with the token; for others the page does not exist."""
    if not (_from_this_machine() or _has_token()):
        flask.abort(404)
    text = generate_latest(flask.current_app.extensions["byzanz_metrics"])
    return Response(text, content_type=CONTENT_TYPE_LATEST)


def _has_token() -> bool:
    token = settings().metrics_token.get_secret_value().encode()
    given = flask.request.headers.get("Authorization", "").encode()
    return bool(token) and hmac.compare_digest(given, b"Bearer " + token)


def _from_this_machine() -> bool:
    """Whether a program on this machine asks this server directly, by a loopback address."""
    if any(name in flask.request.headers for name in PROXY_HEADERS):
        return False
    host = urlsplit(f"//{get_host('http', flask.request.environ[http.CLAIMED_HOST])}").hostname or ""
    visitor_address = http.address()
    if visitor_address is None or not visitor_address.is_loopback:
        return False
    return host == "localhost" or _is_loopback(host)


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


class _DatabaseCollector(Collector):
    """Reads what all processes report alike; only whether the database answers, if it does not."""

    def describe(self) -> list[Metric]:
        return []  # else registering would query the database

    def collect(self) -> Iterator[Metric]:
        try:
            with engine.reading() as session:
                found = families(session, engine.utc_now())
        except SQLAlchemyError:
            found = []
        yield _gauge("byzanz_database_up", "Whether the database answers.", bool(found))
        build = GaugeMetricFamily("byzanz_build_info", "The version of this process.", labels=["version"])
        build.add_metric([__version__], 1)
        yield from (build, *found)


def families(session: Session, now: datetime) -> list[Metric]:
    """Return what the database knows."""
    stored = operations.stored_figures(session)
    return [
        *_of_games(session, stored),
        *_of_results(session, now),
        *_of_mail(session, stored, now),
        *_of_health(session, stored, now),
    ]


def _gauge(name: str, what: str, value: float) -> Metric:
    return GaugeMetricFamily(name, what, value=value)


def _up_to_most(session: Session, *where: ColumnElement[bool]) -> int:
    """Count rows by an index of few, and no further than MOST."""
    rows = select(1).where(*where).limit(MOST).subquery()
    return session.scalar(select(func.count()).select_from(rows)) or 0


def _counter(
    name: str, what: str, label: str, kinds: Iterable[str], stored: Mapping[str, int], prefix: str
) -> Metric:
    family = CounterMetricFamily(name, what, labels=[label])
    for kind in kinds:
        family.add_metric([kind], stored.get(f"{prefix}:{kind}", 0))
    return family


def _of_games(session: Session, stored: Mapping[str, int]) -> Iterator[Metric]:
    games = GaugeMetricFamily("byzanz_games", "Games by status, ten minutes old.", labels=["status"])
    for status in GameStatus:
        games.add_metric([status], stored.get(f"games:{status}", 0))
    yield games
    yield _gauge("byzanz_open_turns", "Open turns, ten minutes old.", stored.get("turns:open", 0))
    on_autopilot = stored.get("seats:autopilot", 0)
    yield _gauge(
        "byzanz_seats_on_autopilot", "Seats for which the server plays, ten minutes old.", on_autopilot
    )
    on_hold = _up_to_most(session, Game.quarantine.is_not(None))
    yield _gauge("byzanz_games_set_aside", "Games on hold after an error, or without their rules.", on_hold)
    stopped = _up_to_most(session, Turn.refused_at.is_not(None))
    yield _gauge("byzanz_turns_stopped", "Turns whose clock stands because no email arrives.", stopped)
    yield _counter("byzanz_entries", "Entries appended to the logs.", "by", Cause, stored, "entries")


def _of_results(session: Session, now: datetime) -> Iterator[Metric]:
    earliest = next((ended_at for _, ended_at in results.due(session, now, 1)), None) or now
    yield _gauge(
        "byzanz_results_oldest_seconds",
        "How long the earliest finished game has waited for its result to be counted.",
        (now - earliest).total_seconds(),
    )


def _of_mail(session: Session, stored: Mapping[str, int], now: datetime) -> Iterator[Metric]:
    yield _gauge(
        "byzanz_outbox_waiting", "Emails that wait, also for their time.", _up_to_most(session, WAITING)
    )
    yield _gauge(
        "byzanz_outbox_due", "Emails to be sent now.", _up_to_most(session, WAITING, Mail.not_before <= now)
    )
    due = session.scalar(select(func.min(Mail.not_before)).where(WAITING))
    tried = session.scalar(select(func.min(Mail.tried_at)).where(WAITING, Mail.tried_at.is_not(None)))
    since = min(moment for moment in (due, tried, now) if moment is not None)
    yield _gauge(
        "byzanz_outbox_oldest_seconds",
        "How long the oldest email that could be sent has been due.",
        (now - since).total_seconds(),
    )
    yield _counter("byzanz_mails_out", "Outgoing emails by outcome.", "outcome", SENDING, stored, "mail_out")
    yield _counter("byzanz_mails_in", "Incoming emails by outcome.", "outcome", RECEIVING, stored, "mail_in")


def _of_health(session: Session, stored: Mapping[str, int], now: datetime) -> Iterator[Metric]:
    yield _gauge(
        "byzanz_alarms_open",
        "Alerts that no moderator has cleared.",
        _up_to_most(session, Alert.cleared_at.is_(None)),
    )
    blocked = operations.open_alert(session, deliverability.BLOCKED) is not None
    yield _gauge(
        "byzanz_mail_blocked", "Whether a mail server refuses emails because of this server.", blocked
    )
    in_doubt = operations.open_alert(session, operations.CLOCK_JUMPED) is not None
    yield _gauge("byzanz_clock_in_doubt", "Whether the clock of a machine has jumped.", in_doubt)
    yield _gauge(
        "byzanz_clock_off_seconds",
        "How far the clock of a process is from the database's, at most.",
        operations.largest_difference(session, now),
    )
    frozen = operations.enforced_until(session, now, settings().tick) is None
    yield _gauge(
        "byzanz_clock_frozen", "Whether no deadline is enforced, after a jump or in an outage.", frozen
    )
    heartbeats = GaugeMetricFamily(
        "byzanz_beat_age_seconds",
        "Seconds since the last heartbeat of a part of the server.",
        labels=["part"],
    )
    for row in session.scalars(select(Heartbeat).order_by(Heartbeat.part)):
        heartbeats.add_metric([row.part], max(0.0, (now - row.at).total_seconds()))
    yield heartbeats
    ticks = GaugeMetricFamily(
        "byzanz_job_last_success_timestamp_seconds",
        "When each job of the scheduler last ended without an error.",
        labels=["name"],
    )
    for name in sorted(stored):
        if name.startswith("job:"):
            ticks.add_metric([name.removeprefix("job:")], stored[name])
    yield ticks


@health.get("/healthz")
def alive() -> tuple[dict[str, Any], int]:
    """Report that the process answers; `byzanz doctor` also learns what the proxy told."""
    return {"status": "alive", **checks.seen(flask.request, settings())}, 200


@health.get("/readyz")
def ready() -> tuple[dict[str, Any], int]:
    """Report whether database, migrations, scheduler and clock are in order; 503 with the reasons if not."""
    reasons = _reasons()
    return {"status": "not ready" if reasons else "ready", "reasons": reasons}, 503 if reasons else 200


def _reasons() -> list[str]:
    try:
        if migrate.current_revision() != migrate.head_revision():
            return ["the database is not at the latest revision"]
        with engine.reading() as session:
            silent = operations.is_silent(session, "scheduler", engine.utc_now(), settings().tick)
    except SQLAlchemyError:  # its message may contain the database URL
        return ["the database does not answer"]
    operations.compare_if_due()
    off = int(operations.clock_off().total_seconds())
    if off:
        return [
            f"the clock of this machine is {abs(off)} seconds {'ahead of' if off > 0 else 'behind'} the database's"
        ]
    return ["the scheduler sends no heartbeat"] if silent else []
