"""Each process has a heartbeat; one whose clock contradicts the database's does nothing, stores nothing and says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import delete

from server.mail.incoming import lmtp
from server.ops import metrics
from server.scheduler import loop
from server.store import engine, operations, people
from server.store.models import Alert, Heartbeat, Outage, Process
from server.store.operations import DATABASE_CLOCK, DEAD_AFTER, MACHINE_CLOCK, ProcessHeartbeat
from tests.conftest import Table
from tests.support.games import all_of
from tests.support.scheduler import SECONDS

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
on_postgresql = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
"""Marks tests of two machines, which an SQLite file never has."""


def shifted(by: timedelta) -> Callable[[], datetime]:
    """Return a clock that is wrong by so much."""
    return lambda: engine.utc_now() + by


def process(machine: str, *parts: str) -> ProcessHeartbeat:
    """Return a process on a machine of this name."""
    made = ProcessHeartbeat(parts)
    made._machine = machine
    return made


def standing() -> set[str]:
    return {row.key for row in all_of(Alert) if row.cleared_at is None}


@pytest.fixture(autouse=True)
def right_again() -> Iterator[None]:
    yield
    operations.forget_clock()


@pytest.mark.usefixtures("app")
def test_each_process_has_a_row_for_each_part_and_a_clean_stop_deletes_them() -> None:
    whole, web = ProcessHeartbeat(("web", "scheduler")), ProcessHeartbeat(["web"])
    for _ in range(2):
        assert whole.send()
        assert web.send()
    assert sorted(row.part for row in all_of(Process)) == ["scheduler", "web", "web"]
    assert all(abs(engine.utc_now() - row.at) < MINUTE and row.off == 0 for row in all_of(Process))
    whole.stop()
    assert [row.part for row in all_of(Process)] == ["web"]
    web.stop()
    assert all_of(Process) == []


@pytest.mark.usefixtures("app")
def test_a_mail_in_that_stops_is_waited_for_no_more_but_one_that_dies_is() -> None:
    first, second = ProcessHeartbeat([lmtp.PART]), ProcessHeartbeat([lmtp.PART])
    for each in (first, second):
        each.send()
    with engine.transaction() as session:
        engine.insert(session, Heartbeat, {"part": lmtp.PART, "at": engine.utc_now()}, key="part")
    first.stop()
    assert [row.part for row in all_of(Heartbeat)] == [lmtp.PART], "the other one lives"
    second.stop()
    assert all_of(Heartbeat) == []


@pytest.mark.usefixtures("app")
def test_the_last_heartbeats_of_the_parts_that_clocks_need_stay_for_the_outage_that_begins() -> None:
    now = engine.utc_now() - 3 * DEAD_AFTER
    with engine.transaction() as session:
        session.add_all(Heartbeat(part=part, at=now) for part in ("web", "scheduler", lmtp.PART))
        session.add(Process(id="dead", part="scheduler", machine="gone", at=now, off=0))
    scheduler = ProcessHeartbeat(["scheduler"])
    scheduler.send()
    assert {row.part for row in all_of(Heartbeat)} == {"web", "scheduler"}
    assert [row.id for row in all_of(Process)] == [scheduler._id]
    operations.HeartbeatRecorder("scheduler", 5.0).record(engine.utc_now(), 1.0)
    (outage,) = all_of(Outage)
    assert (outage.part, outage.from_at) == ("scheduler", now)
    scheduler.stop()
    assert {row.part for row in all_of(Heartbeat)} == {"web", "scheduler"}


@pytest.mark.usefixtures("app")
def test_a_part_without_a_process_is_forgotten_only_a_day_after_its_heartbeat() -> None:
    with engine.transaction() as session:
        engine.insert(session, Heartbeat, {"part": lmtp.PART, "at": engine.utc_now()}, key="part")
    ProcessHeartbeat(["scheduler"]).send()
    assert [row.part for row in all_of(Heartbeat)] == [lmtp.PART]


# Clocks


@on_postgresql
@pytest.mark.usefixtures("app")
@pytest.mark.parametrize("off", [2 * HOUR, -2 * HOUR, timedelta(seconds=75), -timedelta(days=400)])
def test_a_machine_with_a_wrong_clock_raises_one_alert_until_it_is_right(off: timedelta) -> None:
    right, wrong = process("alpha", "web", "scheduler"), process("beta", "scheduler")
    assert right.send()
    for _ in range(2):
        assert not wrong.send(shifted(off))
        assert operations.clock_off() != timedelta(0)
        assert right.send()
        assert standing() == {f"{MACHINE_CLOCK}beta"}
    (alert,) = all_of(Alert)
    assert "beta" in str(alert.text)
    assert ("ahead of" in str(alert.text)) == (off > timedelta(0))
    assert abs(alert.at - engine.utc_now()) < MINUTE, "by the database's clock"
    assert wrong.send()
    assert standing() == set()


@on_postgresql
@pytest.mark.usefixtures("app")
def test_the_alert_of_a_machine_that_is_gone_ends() -> None:
    right, wrong = process("alpha", "web"), process("beta", "scheduler")
    right.send()
    wrong.send(shifted(HOUR))
    assert standing() == {f"{MACHINE_CLOCK}beta"}
    wrong.stop()
    right.send()
    assert standing() == set()


@on_postgresql
@pytest.mark.usefixtures("app")
def test_one_alert_names_the_database_if_all_contradict_it() -> None:
    alpha, beta = process("alpha", "web"), process("beta", "scheduler")
    for _ in range(2):
        assert not alpha.send(shifted(HOUR))
        assert not beta.send(shifted(HOUR))
    assert standing() == {DATABASE_CLOCK}
    assert alpha.send()
    assert standing() == {f"{MACHINE_CLOCK}beta"}
    assert beta.send()
    assert standing() == set()


@on_postgresql
@pytest.mark.usefixtures("app")
def test_a_difference_of_less_than_a_minute_and_a_slow_answer_are_no_contradiction() -> None:
    assert process("alpha", "web").send(shifted(timedelta(seconds=50)))
    looks = iter([timedelta(minutes=-5), timedelta(0)])  # the question took five minutes
    assert process("alpha", "web").send(lambda: engine.utc_now() + next(looks))
    assert standing() == set()


@on_postgresql
def test_a_scheduler_with_a_wrong_clock_stores_nothing_and_recovers(
    app: Flask, table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    game = table(3, now=engine.utc_now())
    for part in operations.PARTS:
        operations.HeartbeatRecorder(part, SECONDS).record(engine.utc_now(), 1.0)
    before = {row.part: row.at for row in all_of(Heartbeat)}
    ran: list[str] = []
    for name in dir(loop):
        if name.startswith("tick_"):
            monkeypatch.setattr(loop, name, lambda *_words, name=name: ran.append(name))
    people.note(game.people[0], engine.utc_now())
    other = process("alpha", "web", "scheduler")
    other.send()
    monkeypatch.setattr(loop, "utc_now", shifted(2 * HOUR))
    settings = app.config["BYZANZ"].model_copy(update={"tick": SECONDS})
    made = loop.Scheduler(app, settings, parts=("scheduler",))
    made._process._machine = "beta"
    start = made._scheduler.start
    monkeypatch.setattr(made._scheduler, "start", lambda: start(paused=True))
    made.start()
    try:
        work = made._scheduler.get_jobs()
        for job in work:
            job.func(*job.args)
        engine.committed.set()
        made._stopping.wait(0.2)
        assert ran == []
        assert all_of(Outage) == []
        assert {row.part: row.at for row in all_of(Heartbeat)} == before
        assert standing() == {f"{MACHINE_CLOCK}beta"}
        monkeypatch.setattr(loop, "utc_now", engine.utc_now)
        for job in sorted(work, key=lambda job: job.id != "heartbeats"):
            job.func(*job.args)
        assert {"tick_turns", "tick_outbox", "tick_reminders"} <= set(ran)
        assert all_of(Outage) == []
        assert standing() == set()
    finally:
        made.stop()


@on_postgresql
def test_pages_of_a_process_with_a_wrong_clock_are_not_available(
    client: FlaskClient, table: Callable[..., Table]
) -> None:
    game = table(3)
    process("alpha", "web", "scheduler").send()
    process("beta", "web").send(shifted(HOUR))
    form = {"move": "pass", "seen": "1", "request_id": "r"}
    seat = f"/api/v1/seats/{game.tokens[0]}"
    asked = [
        client.get("/"),
        client.post(f"/t/{game.tokens[0]}", data=form),
        client.get(seat),
        client.post(f"{seat}/moves", json={"move": "pass", "seen": 1, "request_id": "r"}),
    ]
    assert [answer.status_code for answer in asked] == [503] * 4
    assert all(int(answer.headers["Retry-After"]) > 0 for answer in asked)
    assert "The clock of this server is wrong" in asked[1].text
    assert asked[3].json is not None
    assert asked[3].json["error"]["code"] == "unavailable"
    assert client.get("/healthz").status_code == 200
    assert client.get("/static/style.css", buffered=True).status_code == 200
    told = client.get("/readyz")
    assert told.status_code == 503
    assert any("ahead of the database's" in reason for reason in (told.json or {})["reasons"])
    process("beta", "web").send()
    assert client.post(f"/t/{game.tokens[0]}", data=form).status_code == 303


@on_postgresql
def test_a_web_server_of_ones_own_compares_the_clocks_at_its_first_page_and_again(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It sends no heartbeats: nobody but the one who asks for a page makes it look."""
    process("alpha", "web", "scheduler").send()
    operations.forget_clock()
    monkeypatch.setattr("socket.gethostname", lambda: "beta")
    monkeypatch.setattr(operations, "utc_now", shifted(2 * HOUR))
    operations._asked_for_pages.cache_clear()
    assert [client.get(path).status_code for path in ("/", "/lobby", "/readyz")] == [503] * 3
    assert standing() == {f"{MACHINE_CLOCK}beta"}
    monkeypatch.setattr(operations, "utc_now", engine.utc_now)
    assert client.get("/").status_code == 503, "it looks once a minute"
    monkeypatch.setitem(operations._compare_at, "steady", 0.0)
    assert client.get("/").status_code == 200
    assert standing() == set()


@on_postgresql
def test_mail_waits_while_the_clock_is_wrong(app: Flask) -> None:
    process("beta", lmtp.PART).send(shifted(-HOUR))
    assert lmtp.accept(app, b"", "", "play+aaaaaaaaaaaaaaaaaaaaaaaaaa@example.org") == lmtp.TRY_LATER


@on_postgresql
@pytest.mark.usefixtures("app")
def test_a_command_on_a_machine_with_a_wrong_clock_refuses_to_work(monkeypatch: pytest.MonkeyPatch) -> None:
    operations.check_clock()
    monkeypatch.setattr(operations, "utc_now", shifted(-HOUR))
    with pytest.raises(operations.WrongClock, match="seconds behind the database's: set it"):
        operations.check_clock()


@on_postgresql
@pytest.mark.usefixtures("app")
def test_the_metrics_show_the_largest_difference() -> None:
    def shown() -> float:
        with engine.reading() as session:
            found = {family.name: family for family in metrics.families(session, engine.utc_now())}
        return float(found["byzanz_clock_off_seconds"].samples[0].value)

    assert shown() == 0
    process("alpha", "web").send()
    process("beta", "web").send(shifted(-HOUR))
    assert 3590 < shown() < 3610


@pytest.mark.usefixtures("app")
def test_on_sqlite_the_clock_of_the_machine_is_the_databases() -> None:
    if engine.db.engine.dialect.name == "sqlite":
        assert ProcessHeartbeat(["web"]).send(shifted(HOUR))
        assert standing() == set()
    with engine.transaction() as session:
        session.execute(delete(Process))
        assert operations.open_alert(session, DATABASE_CLOCK) is None
