"""Health checks and metrics are correct, and metrics are served to this machine only."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta

import pytest
import time_machine
from flask import Flask
from flask.testing import FlaskClient
from pydantic import SecretStr
from sqlalchemy import event, select, text
from sqlalchemy.exc import OperationalError

from byzanz import __version__
from server import create_app
from server.mail import deliverability
from server.mail.outgoing import deliver
from server.mail.outgoing.smtp import PermanentFailure, TemporaryFailure
from server.mail.text import quoted
from server.scheduler import jobs, loop
from server.store import engine, links, operations
from server.store.facts import Fact
from server.store.models import Game, Mail
from server.store.operations import HeartbeatRecorder
from server.web import setup
from tests.conftest import NOW, Table, settings
from tests.support.answers import figures
from tests.support.mail_servers import FakeMailer
from tests.support.mails import send_waiting

Seating = Callable[..., Table]


@pytest.mark.empty_database  # the figures count everything
def test_the_figures_are_those_of_the_database(client: FlaskClient, table: Seating) -> None:
    before = figures(client)
    assert before["byzanz_games running"] == before["byzanz_entries_total chance"] == 0
    table(3)
    table(3, "g2")
    with engine.transaction() as session:
        operations.raise_alert(session, "something", quoted("Something is wrong."), NOW)
    assert jobs.tick_figures(NOW) == 0
    operations.store_figures()
    assert 'byzanz_games{status="running"} 2.0' in client.get("/metrics").text.splitlines()
    now = figures(client)
    assert now["byzanz_games running"] == now["byzanz_open_turns"] == 2
    assert now["byzanz_outbox_waiting"] == now["byzanz_outbox_due"] == 2
    assert now["byzanz_entries_total chance"] == 2
    assert now["byzanz_alarms_open"] == now["byzanz_database_up"] == 1
    assert now[f"byzanz_build_info {__version__}"] == 1


@pytest.mark.empty_database
def test_all_games_are_counted_by_one_scheduler_at_a_time(table: Seating) -> None:
    def counted() -> int:
        operations.store_figures()
        with engine.reading() as session:
            return operations.stored_figures(session)["games:running"]

    jobs.tick_figures(NOW)
    assert counted() == 0
    table(3)
    jobs.tick_figures(NOW + timedelta(seconds=jobs.COUNTED_AGAIN - 1))
    assert counted() == 0
    jobs.tick_figures(NOW + timedelta(seconds=jobs.COUNTED_AGAIN + 1))
    assert counted() == 1


def test_what_cannot_be_stored_is_kept_and_two_processes_add_up(client: FlaskClient) -> None:
    operations.count_figure("mail_in:bounce")

    def down(_connection: object) -> None:
        raise OperationalError("BEGIN", {}, Exception("gone"))

    event.listen(engine.db.engine, "begin", down)
    try:
        with pytest.raises(OperationalError):
            operations.store_figures()
        silent = figures(client)
    finally:
        event.remove(engine.db.engine, "begin", down)
    assert silent["byzanz_database_up"] == 0
    assert "byzanz_mails_in_total bounce" not in silent
    operations.count_figure("mail_in:bounce", 2)
    operations.store_figures()
    operations.store_figures()
    assert figures(client)["byzanz_mails_in_total bounce"] == 3
    operations.count_figure("mail_in:bounce")  # another process
    operations.store_figures()
    assert figures(client)["byzanz_mails_in_total bounce"] == 4


def test_two_threads_never_store_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    stored: list[dict[str, int]] = []

    def upsert(_session: object, figures: dict[str, int], *, add: bool) -> None:  # noqa: ARG001
        stored.append(dict(figures))
        if len(stored) == 1:
            operations.count_figure("mail_in:reply")
            operations.store_figures()  # another thread, meanwhile

    monkeypatch.setattr(operations, "transaction", nullcontext)
    monkeypatch.setattr(operations, "_upsert", upsert)
    operations.forget_figures()
    operations.count_figure("mail_in:bounce")
    operations.store_figures()
    assert [each for each in stored if each] == [{"mail_in:bounce": 1}, {"mail_in:reply": 1}]


@pytest.mark.empty_database
def test_only_mail_that_is_due_makes_the_outbox_old(client: FlaskClient, table: Seating) -> None:
    game = table(3)
    with time_machine.travel(NOW + timedelta(hours=1), tick=False):
        assert figures(client)["byzanz_outbox_oldest_seconds"] == 3600
        deliver.deliver(NOW, FakeMailer(TemporaryFailure("busy")))  # its next attempt is later
    with time_machine.travel(NOW + timedelta(seconds=5), tick=False):
        now = figures(client)
    assert (now["byzanz_outbox_due"], now["byzanz_outbox_waiting"]) == (0, 1)
    assert now["byzanz_outbox_oldest_seconds"] == 5
    with engine.transaction() as session:
        mail = session.scalars(select(Mail)).one()
        mail.tried_at, mail.not_before = None, NOW + timedelta(days=1)  # quiet hours
    with time_machine.travel(NOW + timedelta(hours=9), tick=False):
        assert figures(client)["byzanz_outbox_oldest_seconds"] == 0
    send_waiting(NOW + timedelta(days=1))
    operations.store_figures()
    now = figures(client)
    assert now["byzanz_mails_out_total retried"] == now["byzanz_mails_out_total sent"] == 1
    assert game.people


def test_what_stands_still_is_told(client: FlaskClient, table: Seating) -> None:
    table(3)
    with engine.transaction() as session:
        session.get_one(Game, "g1").quarantine = quoted("a fault")
        operations.raise_alert(session, operations.CLOCK_JUMPED, Fact("clock_jumped"), NOW)
    deliver.deliver(NOW, FakeMailer(PermanentFailure("550 no")), n=1)
    stopped = figures(client)
    assert stopped["byzanz_games_set_aside"] == stopped["byzanz_clock_in_doubt"] == 1
    assert stopped["byzanz_clock_frozen"] == 1


def test_a_mail_server_that_refuses_us_is_told(client: FlaskClient) -> None:
    assert figures(client)["byzanz_mail_blocked"] == 0
    with engine.transaction() as session:
        deliverability.report_refusal(session, Fact("text", {"text": "550 listed"}), NOW)
    assert figures(client)["byzanz_mail_blocked"] == 1


def test_a_turn_that_no_mail_reaches_is_stopped(client: FlaskClient, table: Seating) -> None:
    before = figures(client)["byzanz_turns_stopped"]
    table(3)
    deliver.deliver(NOW, FakeMailer(PermanentFailure("550 no")), n=1)
    assert figures(client)["byzanz_turns_stopped"] == before + 1


def test_the_clock_runs_while_all_parts_beat(client: FlaskClient) -> None:
    for part in ("web", "scheduler"):
        loop.record_heartbeat(HeartbeatRecorder(part, 5.0), engine.utc_now(), jobs.steady())
    running = figures(client)
    assert running["byzanz_clock_frozen"] == running["byzanz_clock_in_doubt"] == 0
    assert running["byzanz_beat_age_seconds web"] < 60


def test_requests_are_counted_by_their_route_and_never_by_their_address(
    database_url: str, table: Seating
) -> None:
    game = table(3)
    app = create_app(settings(database_url))
    client = app.test_client()
    for _ in range(2):
        assert client.get(f"/t/{game.tokens[0]}").status_code == 200
    assert client.get(f"/nowhere/{game.tokens[0]}").status_code == 404
    assert client.open("/", method="BREW").status_code == 405
    told = client.get("/metrics").text
    now = figures(client)
    assert now["byzanz_http_requests_total GET /t/<token> 200"] == 2
    assert now["byzanz_http_request_duration_seconds_count GET /t/<token>"] == 2
    assert now["byzanz_http_requests_total GET unknown 404"] == 1
    assert now["byzanz_http_requests_total unknown unknown 405"] == 1
    assert game.tokens[0] not in told
    assert "BREW" not in told


def test_a_request_that_fails_is_counted_as_a_fault(
    database_url: str, table: Seating, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = table(3)
    app = create_app(settings(database_url))

    def faulty(*_args: object, **_more: object) -> None:
        raise RuntimeError("boom")

    with monkeypatch.context() as patch:
        patch.setattr(links, "seat_access", faulty)
        assert app.test_client().get(f"/t/{game.tokens[0]}").status_code == 500
        patch.setattr(setup, "error_page", faulty)
        with pytest.raises(RuntimeError):
            app.test_client().get(f"/t/{game.tokens[0]}")
    assert figures(app.test_client())["byzanz_http_requests_total GET /t/<token> 500"] == 2


TOKEN = "0123456789abcdef-a-token"


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("token", "given", "status"),
    [
        (TOKEN, f"Bearer {TOKEN}", 200),
        (TOKEN, f"Bearer {TOKEN}x", 404),
        (TOKEN, TOKEN, 404),
        (TOKEN, "", 404),
        ("", "Bearer ", 404),
        ("", "", 404),
    ],
)
def test_whoever_has_the_token_gets_them_from_anywhere(
    database_url: str, token: str, given: str, status: int
) -> None:
    app = create_app(settings(database_url, metrics_token=SecretStr(token)))
    headers = {"Authorization": given, "Host": "byzanz.test", "X-Forwarded-For": "192.0.2.1"}
    assert app.test_client().get("/metrics", headers=headers).status_code == status
    with app.app_context():
        engine.db.engine.dispose()


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
    loop.record_heartbeat(HeartbeatRecorder("scheduler", 5.0), engine.utc_now(), jobs.steady())
    assert reasons(client) == []


def test_ready_means_that_the_tables_are_the_newest(client: FlaskClient) -> None:
    loop.record_heartbeat(HeartbeatRecorder("scheduler", 5.0), engine.utc_now(), jobs.steady())
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
