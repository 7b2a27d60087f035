"""Several processes of the same kind share one heartbeat."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from threading import Barrier

from flask import Flask
from sqlalchemy import delete

from server.scheduler import heartbeat
from server.store import engine
from server.store.models import Heartbeat

TOGETHER = 4
ROUNDS = 5


def test_the_first_beats_of_several_processes_do_not_collide(app: Flask, now: datetime) -> None:
    ready = Barrier(TOGETHER)

    def beat(_process: int) -> bool:
        with app.app_context():
            ready.wait()
            return heartbeat.HeartbeatRecorder("web", 5).record(now, 1.0)

    for _ in range(ROUNDS):
        with ThreadPoolExecutor(TOGETHER) as processes:
            assert list(processes.map(beat, range(TOGETHER))) == [False] * TOGETHER
        with engine.transaction() as session:
            assert session.get_one(Heartbeat, "web").at == now
            session.execute(delete(Heartbeat))
