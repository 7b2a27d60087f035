"""The log: no entry can be changed or removed by any means."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DatabaseError

from byzanz import record
from server.store import engine, log, models
from tests.conftest import NOW, Table

WAYS = (
    "UPDATE entry SET move = 'pass' WHERE seq = 1",
    "UPDATE entry SET note = NULL",
    "DELETE FROM entry",
    "DELETE FROM entry WHERE seq = 1",
)


@pytest.mark.parametrize("statement", WAYS)
def test_the_database_refuses_to_change_the_log(table: Callable[..., Table], statement: str) -> None:
    table(3)
    with pytest.raises(DatabaseError, match="append-only"), engine.transaction() as session:
        session.execute(text(statement))


def test_it_refuses_to_replace_or_empty_the_log(table: Callable[..., Table]) -> None:
    table(3)
    sqlite = engine.db.engine.dialect.name == "sqlite"
    statement = (
        "INSERT OR REPLACE INTO entry "
        "SELECT game_id, seq, at, seat, by, 'pass', note, salt, hash, request_id FROM entry"
        if sqlite
        else "TRUNCATE entry"
    )
    with pytest.raises(DatabaseError, match="append-only"), engine.transaction() as session:
        session.execute(text(statement))


def test_two_entries_never_share_a_number_or_a_request(table: Callable[..., Table]) -> None:
    table(3)
    with pytest.raises(DatabaseError), engine.transaction() as session:
        session.add(bare(1, None))
    with pytest.raises(DatabaseError), engine.transaction() as session:
        session.add_all([bare(8, "r"), bare(9, "r")])


def bare(seq: int, request_id: str | None) -> models.Entry:
    return models.Entry(
        game_id="g1",
        seq=seq,
        at="",
        seat=0,
        by="player",
        move="pass",
        note=None,
        salt="",
        hash="",
        request_id=request_id,
    )


def test_time_in_the_log_never_falls(table: Callable[..., Table]) -> None:
    table(3)
    with engine.transaction() as session:
        game = session.get_one(models.Game, "g1")
        log.append(
            session, game, seat=None, by="moderator", move="!note", now=NOW - timedelta(days=3), note="x"
        )
        assert log.entries(session, "g1")[-1].at == log.stamp(NOW)


def test_the_chain_holds(table: Callable[..., Table]) -> None:
    table(3)
    with engine.transaction() as session:
        game = session.get_one(models.Game, "g1")
        for number in range(3):
            log.append(session, game, seat=None, by="moderator", move="!note", now=NOW, note=f"note {number}")
    with engine.reading() as session:
        found = log.entries(session, "g1")
        assert log.head_hash(session, session.get_one(models.Game, "g1")) == found[-1].hash
        assert log.entries(session, "g1", after=1, upto=2) == found[1:2]
    previous = record.GENESIS
    for entry in found:
        assert entry.hash == record.expected_hash(previous, entry)
        previous = entry.hash
