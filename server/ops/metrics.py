"""Health checks, and metrics for Prometheus: counted in the database at each scrape, for this machine only."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import flask
from flask import Blueprint, Flask, Response
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector
from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from server.config import settings
from server.scheduler import heartbeat
from server.store import engine, migrate
from server.store.models import Alert, Game, Heartbeat, Mail, Seat, Turn

STATUSES = ("asked", "inviting", "running", "over", "cancelled")
PROXY_HEADERS = ("X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Forwarded", "Via")
"""Headers that show that a request came through a proxy, so not from this machine."""
blueprint = Blueprint("metrics", __name__)
health = Blueprint("health", __name__)


def init_app(app: Flask) -> None:
    """Register the metrics page, with its own registry."""
    registry = CollectorRegistry()
    registry.register(_DatabaseCollector())
    app.extensions["byzanz_metrics"] = registry
    app.register_blueprint(blueprint)
    app.register_blueprint(health)


@blueprint.get("/metrics")
def metrics() -> Response:
    """Serve the metrics on loopback only; for others the page does not exist."""
    if not _from_this_machine():
        flask.abort(404)
    text = generate_latest(flask.current_app.extensions["byzanz_metrics"])
    return Response(text, content_type=CONTENT_TYPE_LATEST)


def _from_this_machine() -> bool:
    """Whether a program on this machine asks this server directly, by a loopback address."""
    if any(name in flask.request.headers for name in PROXY_HEADERS):
        return False
    host = urlsplit(f"//{flask.request.host}").hostname or ""
    return _is_loopback(flask.request.remote_addr or "") and (host == "localhost" or _is_loopback(host))


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


class _DatabaseCollector(Collector):
    """Reads every metric from the database, so that all processes report the same."""

    def describe(self) -> list[Metric]:
        return []  # else registering would query the database

    def collect(self) -> Iterator[Metric]:
        with engine.reading() as session:
            yield from _of_games(session)
            yield from _of_mail(session, engine.utc_now())
            yield from _of_health(session, engine.utc_now())


def _count(session: Session, query: Any) -> int:
    return session.scalar(query) or 0


def _of_games(session: Session) -> Iterator[Metric]:
    games = GaugeMetricFamily("byzanz_games", "Games by status.", labels=["status"])
    rows = session.execute(select(Game.status, func.count()).group_by(Game.status))
    found = {status: n for status, n in rows}  # noqa: C416 - dict() does not know a row for a pair
    for status in STATUSES:
        games.add_metric([status], found.get(status, 0))
    yield games
    on_hold = _count(session, select(func.count()).where(Game.quarantine.is_not(None)))
    yield GaugeMetricFamily("byzanz_games_set_aside", "Games on hold after an error.", value=on_hold)
    turns = _count(session, select(func.count()).select_from(Turn))
    yield GaugeMetricFamily("byzanz_open_turns", "Open turns.", value=turns)
    on_autopilot = select(func.count()).where(Seat.autopilot, Game.status == "running")
    on_autopilot = on_autopilot.select_from(Seat).join(Game, Game.id == Seat.game_id)
    yield GaugeMetricFamily(
        "byzanz_seats_on_autopilot", "Seats for which the server plays.", value=_count(session, on_autopilot)
    )
    entries = _count(session, select(func.sum(Game.head)))
    yield CounterMetricFamily("byzanz_entries", "Entries appended to the logs of all games.", value=entries)


def _of_mail(session: Session, now: datetime) -> Iterator[Metric]:
    waiting = Mail.status == "waiting"
    count, oldest = session.execute(select(func.count(), func.min(Mail.created_at)).where(waiting)).one()
    age = max(0.0, (now - oldest).total_seconds()) if oldest else 0.0
    yield GaugeMetricFamily("byzanz_outbox_waiting", "Emails waiting to be sent.", value=count)
    yield GaugeMetricFamily("byzanz_outbox_oldest_seconds", "Age of the oldest waiting email.", value=age)
    tried = _count(session, select(func.sum(Mail.attempts)))
    ended = _count(session, select(func.count()).where(Mail.status.in_(("sent", "failed"))))
    yield CounterMetricFamily("byzanz_mail_attempts", "Attempts to send an email.", value=tried + ended)
    for status in ("sent", "failed", "dropped"):
        n = _count(session, select(func.count()).where(Mail.status == status))
        yield GaugeMetricFamily(f"byzanz_outbox_{status}", f"Emails that were {status}.", value=n)


def _of_health(session: Session, now: datetime) -> Iterator[Metric]:
    alerts = _count(session, select(func.count()).where(Alert.cleared_at.is_(None)))
    yield GaugeMetricFamily("byzanz_alarms_open", "Alerts that no moderator has cleared.", value=alerts)
    heartbeats = GaugeMetricFamily(
        "byzanz_beat_age_seconds",
        "Seconds since the last heartbeat of a part of the server.",
        labels=["part"],
    )
    for row in session.scalars(select(Heartbeat).order_by(Heartbeat.part)):
        heartbeats.add_metric([row.part], max(0.0, (now - row.at).total_seconds()))
    yield heartbeats


@health.get("/healthz")
def alive() -> tuple[dict[str, str], int]:
    """Report that the process answers."""
    return {"status": "alive"}, 200


@health.get("/readyz")
def ready() -> tuple[dict[str, Any], int]:
    """Report whether database, migrations and scheduler are in order; 503 with the reasons if not."""
    reasons = _reasons()
    return {"status": "not ready" if reasons else "ready", "reasons": reasons}, 503 if reasons else 200


def _reasons() -> list[str]:
    try:
        if migrate.current_revision() != migrate.head_revision():
            return ["the database is not at the latest revision"]
        with engine.reading() as session:
            silent = heartbeat.is_silent(session, "scheduler", engine.utc_now(), settings().tick)
    except SQLAlchemyError:  # its message may contain the database URL
        return ["the database does not answer"]
    return ["the scheduler sends no heartbeat"] if silent else []
