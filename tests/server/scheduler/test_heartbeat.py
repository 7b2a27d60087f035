"""Several processes of the same kind share one heartbeat; that of `byzanz mail-in` is no clock's business."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from threading import Barrier

from flask import Flask
from sqlalchemy import delete, select

from server.store import engine, operations
from server.store.facts import Fact
from server.store.models import Heartbeat, Outage

TOGETHER = 4
ROUNDS = 5


def test_the_first_beats_of_several_processes_do_not_collide(app: Flask, now: datetime) -> None:
    ready = Barrier(TOGETHER)

    def beat(_process: int) -> bool:
        with app.app_context():
            ready.wait()
            return operations.HeartbeatRecorder("web", 5).record(now, 1.0)

    for _ in range(ROUNDS):
        with ThreadPoolExecutor(TOGETHER) as processes:
            assert list(processes.map(beat, range(TOGETHER))) == [False] * TOGETHER
        with engine.transaction() as session:
            assert session.get_one(Heartbeat, "web").at == now
            session.execute(delete(Heartbeat))


def test_a_mail_in_that_stopped_long_ago_makes_no_outage(app: Flask, now: datetime) -> None:
    with app.app_context(), engine.transaction() as session:
        for part, ago in (("web", 60), ("scheduler", 60), ("mail-in", 86400)):
            session.add(Heartbeat(part=part, at=now - timedelta(seconds=ago)))
        operations.raise_alert(
            session, operations.CLOCK_JUMPED, Fact("clock_jumped"), now - timedelta(seconds=30)
        )
        assert operations.accept_clock(session, now)
        (outage,) = session.scalars(select(Outage).where(Outage.part == "clock")).all()
    assert outage.from_at == now - timedelta(seconds=60)


def test_a_part_is_up_while_one_of_its_processes_beats(app: Flask, now: datetime) -> None:
    with app.app_context():
        first, second = (
            operations.HeartbeatRecorder("web", 5),
            operations.HeartbeatRecorder("web", 5),
        )
        first.record(now, 1.0)
        for seconds in range(0, 600, 30):  # the first one is not there
            second.record(now + timedelta(seconds=seconds), 1.0 + seconds)
        with engine.transaction() as session:
            assert not operations.is_silent(session, "web", now + timedelta(seconds=600), 5)
        first.record(now + timedelta(seconds=600), 601.0)
        with engine.transaction() as session:
            assert session.scalars(select(Outage)).all() == []
        first.record(now + timedelta(seconds=900), 901.0)  # nobody was there
        with engine.transaction() as session:
            assert session.scalars(select(Outage.from_at)).all() == [now + timedelta(seconds=600)]
