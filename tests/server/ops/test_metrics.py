"""Health checks and metrics are correct, and metrics are served to this machine only."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from flask import Flask
from flask.testing import FlaskClient
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import text

from server import create_app
from server.mail.text import quoted
from server.scheduler import clockwork, jobs
from server.scheduler.heartbeat import HeartbeatRecorder
from server.store import alerts, engine
from server.store.models import Mail
from tests.conftest import NOW, Table, settings

Seating = Callable[..., Table]


def figures(client: FlaskClient) -> dict[str, float]:
    """Return the figures of a scrape, by name and label."""
    answer = client.get("/metrics")
    assert answer.status_code == 200
    samples = [sample for family in text_string_to_metric_families(answer.text) for sample in family.samples]
    return {" ".join((sample.name, *sample.labels.values())): sample.value for sample in samples}


@pytest.mark.empty_database  # the figures count everything
def test_the_figures_are_those_of_the_database(client: FlaskClient, table: Seating) -> None:
    before = figures(client)
    assert before["byzanz_games running"] == before["byzanz_entries_total"] == 0
    table(3)
    table(3, "g2")
    with engine.transaction() as session:
        alerts.raise_alert(session, "something", quoted("Something is wrong."), NOW)
        first = session.query(Mail).order_by(Mail.id).first()
        assert first is not None
        first.status, first.attempts = "sent", 2
    now = figures(client)
    assert now["byzanz_games running"] == now["byzanz_open_turns"] == now["byzanz_entries_total"] == 2
    assert now["byzanz_outbox_waiting"] == now["byzanz_outbox_sent"] == 1
    assert now["byzanz_mail_attempts_total"] == 3
    assert now["byzanz_alarms_open"] == 1
    assert now["byzanz_outbox_oldest_seconds"] >= 0


def test_a_game_set_aside_is_counted(client: FlaskClient, table: Seating) -> None:
    table(3)
    with engine.transaction() as session:
        session.execute(text("UPDATE game SET quarantine = 'a fault' WHERE id = 'g1'"))
    assert figures(client)["byzanz_games_set_aside"] == 1


ELSEWHERE = [
    {"environ_base": {"REMOTE_ADDR": "192.0.2.1"}},
    {"environ_base": {"REMOTE_ADDR": ""}},
    {"headers": {"X-Forwarded-For": "127.0.0.1"}},
    {"headers": {"X-Forwarded-For": "192.0.2.1"}},
    {"headers": {"Forwarded": "for=192.0.2.1"}},
    {"headers": {"X-Real-IP": "192.0.2.1"}},
    {"headers": {"Host": "byzanz.test"}},
    {"headers": {"Host": "127.0.0.1.byzanz.test"}},
]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("hops", [0, 1])
@pytest.mark.parametrize("request_", ELSEWHERE, ids=str)
def test_nobody_elsewhere_gets_the_figures(
    database_url: str, hops: int, request_: dict[str, dict[str, str]]
) -> None:
    app = create_app(settings(database_url, proxy_hops=hops))
    assert app.test_client().get("/metrics", **request_).status_code == 404
    with app.app_context():
        engine.db.engine.dispose()


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8000", "[::1]:8000"])
def test_this_machine_gets_them(client: FlaskClient, host: str) -> None:
    assert client.get("/metrics", headers={"Host": host}).status_code == 200


def test_every_app_has_figures_of_its_own(app: Flask, database_url: str) -> None:
    other = create_app(settings(database_url))
    assert other.extensions["byzanz_metrics"] is not app.extensions["byzanz_metrics"]
    with other.app_context():
        engine.db.engine.dispose()


def test_the_process_is_alive(client: FlaskClient) -> None:
    assert client.get("/healthz").json == {"status": "alive"}


def reasons(client: FlaskClient) -> list[str]:
    """Return why the server is not ready."""
    answer = client.get("/readyz")
    told = json.loads(answer.text)
    assert (answer.status_code, told["status"]) == ((503, "not ready") if told["reasons"] else (200, "ready"))
    found: list[str] = told["reasons"]
    return found


def test_ready_means_that_the_scheduler_beats(client: FlaskClient) -> None:
    assert reasons(client) == ["the scheduler sends no heartbeat"]
    clockwork.record_heartbeat(HeartbeatRecorder("scheduler", 5.0), engine.utc_now(), jobs.steady())
    assert reasons(client) == []


def test_ready_means_that_the_tables_are_the_newest(client: FlaskClient) -> None:
    clockwork.record_heartbeat(HeartbeatRecorder("scheduler", 5.0), engine.utc_now(), jobs.steady())
    with engine.transaction() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '0000'"))
    assert reasons(client) == ["the database is not at the latest revision"]


@pytest.mark.parametrize(
    "url", ["sqlite:////no/such/folder/b.db", "postgresql+psycopg://me:secret@127.0.0.1:1/b"]
)
def test_a_database_that_does_not_answer_is_told_without_its_address(url: str) -> None:
    assert reasons(create_app(settings(url)).test_client()) == ["the database does not answer"]


def test_figures_need_no_game(client: FlaskClient) -> None:
    assert {name for name in figures(client) if name.startswith("byzanz_games ")} == {
        f"byzanz_games {status}" for status in ("asked", "inviting", "running", "over", "cancelled")
    }
