"""The log: no entry can be changed or removed by any means."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DatabaseError

from byzanz import record
from byzanz.record import Cause
from server.play import game, history
from server.store import engine, log, models
from tests.conftest import NOW, Table
from tests.support.costs import statements
from tests.support.games import append, loaded

DEPLOY = Path(__file__).parents[3] / "docs" / "deploy.md"
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
        "SELECT game_id, seq, at, seat, by, 'pass', note, salt, hash, request_id, seconds FROM entry"
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


@pytest.mark.parametrize(
    ("salt", "digest"), [("0" * 32, "0" * 64), ("0" * 16, "0" * 64), ("0" * 32, "0" * 32)]
)
def test_hex_digits_are_not_taken_for_bytes(table: Callable[..., Table], salt: str, digest: str) -> None:
    table(3)
    values = (
        f"'g1', 9, (SELECT max(at) FROM entry), 0, 'player', 'pass', NULL, '{salt}', '{digest}', NULL, NULL"
    )
    with pytest.raises(DatabaseError, match="ck_entry_lengths"), engine.transaction() as session:
        session.execute(text(f"INSERT INTO entry VALUES ({values})"))


def test_a_request_is_found_by_its_index(table: Callable[..., Table]) -> None:
    table(3)
    if engine.db.engine.dialect.name != "sqlite":  # PostgreSQL reads so small a table whole
        return
    with statements(engine.db.engine) as sent, engine.reading() as session:
        game.load(session, "g1", NOW, seat=0, request_id="r")
    load = next(statement for statement in sent if "AS repeated" in statement)
    with engine.reading() as session:
        asked = f"EXPLAIN QUERY PLAN {load}", (None,) * load.count("?")
        plan = session.connection().exec_driver_sql(*asked).all()
    (step,) = (row[3] for row in plan if "repeated" in row[3])
    assert "INDEX uq_entry_game_id_seat_request_id (game_id=? AND seat=? AND request_id=?)" in step


def bare(seq: int, request_id: str | None) -> models.Entry:
    return models.Entry(
        game_id="g1",
        seq=seq,
        at=engine.stamp(NOW),
        seat=0,
        by="player",
        move="pass",
        note=None,
        salt="0" * 32,
        hash="0" * 64,
        request_id=request_id,
    )


def test_time_in_the_log_never_falls(table: Callable[..., Table]) -> None:
    table(3)
    append("g1", seat=None, by="moderator", move="!note", now=NOW - timedelta(days=3), note="x")
    with engine.reading() as session:
        assert log.entries(session, "g1")[-1].at == engine.stamp(NOW)


def test_the_chain_holds(table: Callable[..., Table]) -> None:
    table(3)
    for number in range(3):
        append("g1", seat=None, by="moderator", move="!note", now=NOW, note=f"note {number}")
    with engine.reading() as session:
        found = log.entries(session, "g1")
        assert session.get_one(models.Game, "g1").head_hash == found[-1].hash
        assert log.entries(session, "g1", after=1, upto=2) == found[1:2]
        previous = history.header_of(loaded(session, "g1")).first_hash
    for entry in found:
        assert entry.hash == record.expected_hash(previous, entry)
        previous = entry.hash


def test_the_decisions_of_a_seat_are_its_moves(table: Callable[..., Table]) -> None:
    table(3)
    made = [(0, "player", "pass"), (0, "rules", "pass"), (1, "player", "pass"), (0, "player", "!leave 0")]
    made += [(0, "order", "pass"), (0, "clock", "pass"), (0, "player", "pass")]
    seqs = [append("g1", seat=seat, by=by, move=move, now=NOW).seq for seat, by, move in made]
    with engine.transaction() as session:
        person_id = session.get_one(models.Seat, ("g1", 0)).person_id
        assert person_id is not None
        assert log.count_decisions(session, "g1", 0, seqs[0], seqs[-1]) == 2  # neither the first nor the last
        assert log.count_decisions(session, "g1", 0, seqs[0] - 1, seqs[-1] + 1) == 4
        held = log.held_moves(session, person_id, ["g1"], (Cause.PLAYER, Cause.ORDER))
        assert [row.seq for row in held] == [seqs[0], seqs[4], seqs[6]]
        assert not log.held_moves(session, person_id, ["other"], (Cause.PLAYER,))
        session.get_one(models.Seat, ("g1", 0)).held_since = seqs[4]  # somebody else made those before
        session.flush()
        held = log.held_moves(session, person_id, ["g1"], (Cause.PLAYER, Cause.ORDER))
        assert [(row.seq, row.by) for row in held] == [(seqs[6], "player")]


def test_the_documented_queries_read_the_log_and_the_outbox(table: Callable[..., Table]) -> None:
    table(3)
    for number in range(20):
        at = NOW + timedelta(days=number, microseconds=number * 123_457)
        append("g1", seat=None, by="moderator", move="!note", now=at, note=f"note {number}")
    chapter = (
        DEPLOY.read_text().partition("## Reading the database")[2].partition("```")[2].partition("```")[0]
    )
    on_sqlite, _, on_postgresql = chapter.partition("-- PostgreSQL")
    sqlite = engine.db.engine.dialect.name == "sqlite"
    queries = (on_sqlite.replace("-- SQLite", "") if sqlite else on_postgresql).split(";")[:-1]
    with engine.reading() as session:
        connection = session.connection()
        found = [
            connection.exec_driver_sql(
                query.replace("THE GAME", "g1").replace("%", "%" if sqlite else "%%")
            ).all()
            for query in queries
        ]
        assert [record.Entry(*row) for row in found[0]] == log.entries(session, "g1")
    if sqlite:
        assert {(row.kind, row.created) for row in found[1]} == {("turn", f"{NOW:%Y-%m-%d %H:%M:%S}")}
