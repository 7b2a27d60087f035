"""A game in hand: its rows are those of the models, and what is stored is what differs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from itertools import combinations

import pytest
from sqlalchemy import select

from byzanz import record
from server.play import running
from server.play.game import load
from server.store import engine, log, models
from server.store import statements as store_statements
from server.store.models import Game, Seat, Snapshot, Turn
from server.store.statements import TurnRow
from tests.conftest import NOW, Table
from tests.support.costs import listing, statements
from tests.support.games import append, submit

Begin = Callable[..., Table]
SETS = [set(chosen) for size in range(4) for chosen in combinations(range(3), size)]


@pytest.mark.parametrize(
    ("row", "model"),
    [
        (store_statements.GameRow, models.Game),
        (store_statements.SeatRow, models.Seat),
        (store_statements.PersonRow, models.Person),
        (store_statements.TurnRow, models.Turn),
        (store_statements.OrderRow, models.StandingOrder),
        (store_statements.LinkRow, models.Link),
        (store_statements.MailRow, models.Mail),
    ],
)
def test_a_row_has_fields_of_its_model_in_their_order(row: type, model: type[engine.Base]) -> None:
    columns = [attribute.key for attribute in model.__mapper__.column_attrs]
    own = [field.name for field in fields(row) if field.name not in ("person", "absences")]
    assert own == [name for name in columns if name in own]
    if model in (models.Turn, models.StandingOrder):
        assert own == columns


def test_what_has_not_changed_is_not_written(table: Begin) -> None:
    table(3)
    with (
        statements(engine.db.engine) as sent,
        engine.transaction() as session,
        running.in_hand(session, "g1", NOW) as hand,
    ):
        hand.seats[0].missed = hand.seats[0].missed
    assert not [each for each in sent if not each.startswith("SELECT")], listing(sent)


def test_only_what_has_changed_is_written(table: Begin) -> None:
    table(3)
    with (
        statements(engine.db.engine) as sent,
        engine.transaction() as session,
        running.in_hand(session, "g1", NOW) as hand,
    ):
        hand.seats[1].missed = 7
    (written,) = [each for each in sent if not each.startswith("SELECT")]
    assert written.startswith("UPDATE seat SET missed=")
    with engine.reading() as session:
        missed = select(Seat.game_id, Seat.seat).where(Seat.missed == 7)
        assert session.execute(missed).all() == [("g1", 1)]


@pytest.mark.parametrize("before", SETS, ids=str)
@pytest.mark.parametrize("after", SETS, ids=str)
def test_turns_are_stored_as_they_are_in_hand(table: Begin, before: set[int], after: set[int]) -> None:
    table(3)
    for asked in (before, after):
        with engine.transaction() as session, running.in_hand(session, "g1", NOW) as hand:
            changed = {
                seat: TurnRow("g1", seat, f"{sorted(asked)} {seat}", 1, NOW, "{}", bank=seat)
                for seat in asked
            }
            hand.turns.clear()
            hand.turns.update(changed)
    with engine.reading() as session:
        loaded = load(session, "g1", NOW)
        assert loaded is not None
        assert loaded.turns == changed
        stored = session.scalars(select(Turn).where(Turn.game_id == "g1")).all()
        assert {turn.seat for turn in stored} == after


def test_the_state_stored_is_that_of_the_newest_entry_or_none(table: Begin) -> None:
    table(3)
    own = select(Snapshot.seq).where(Snapshot.game_id == "g1")
    for seat in (0, 1):
        submit("g1", seat, "pass")
        with engine.reading() as session:
            assert session.scalars(own).all() == [session.get_one(Game, "g1").head]
    append("g1", seat=None, by="moderator", move="!note", note="x", now=NOW)
    with engine.reading() as session:
        loaded = load(session, "g1", NOW)
        assert loaded is not None
        assert loaded.snapshot is None
    submit("g1", 2, "pass")
    with engine.reading() as session:
        assert session.scalars(own).all() == [session.get_one(Game, "g1").head]


def test_a_game_remembers_the_hash_of_its_newest_entry(table: Begin) -> None:
    table(3)
    submit("g1", 0, "pass")
    with engine.reading() as session:
        game, entries = session.get_one(Game, "g1"), log.entries(session, "g1")
        assert (game.head, game.head_hash) == (entries[-1].seq, entries[-1].hash)
        assert game.head_hash == record.expected_hash(entries[-2].hash, entries[-1])
