"""The record of a game as the server writes it: its header, and what belongs to another game."""

from __future__ import annotations

from collections.abc import Callable

from byzanz import record
from byzanz.rules import ALL, PUBLIC, Viewer
from server import play
from server.play import history
from server.store import engine
from server.store.models import Seat
from tests.conftest import NAMES, NOW, Table
from tests.support.games import loaded, outsider

Begin = Callable[..., Table]


def written(game_id: str, viewer: Viewer = PUBLIC) -> record.Record:
    """Return the record of a game after it was written and read again."""
    with engine.reading() as session:
        found = history.record_for(loaded(session, game_id), viewer)
    (again,) = record.read(record.write(found))
    assert again == found
    return found


def test_the_header_names_the_seats_that_were_not_asked_for_a_cut(table: Begin) -> None:
    game, other = table(4), table(3, "other")
    assert written(game.id).header.uncut == ()
    with engine.transaction() as session:
        for game_id, seat in (("g1", 1), ("g1", 3), ("other", 0)):
            session.get_one(Seat, (game_id, seat)).uncut = True
    for viewer in (PUBLIC, 0, ALL):
        header = written(game.id, viewer).header
        assert (header.uncut, header.cuts, header.seats) == ((1, 3), NAMES[:4], NAMES[:4])
    assert written(other.id).header.uncut == (0,)


def test_the_seed_is_in_a_record_only_after_the_end(table: Begin) -> None:
    game, other = table(3), table(3, "other")
    assert [written(game.id, viewer).header.seed for viewer in (PUBLIC, 0, ALL)] == [None] * 3
    play.moderate(game.id, "!abandon", reason="x", person_id=outsider(), now=NOW)
    ended = written(game.id)
    assert ended.header.seed == bytes(32)
    assert ended.result is not None
    assert [entry.move.split()[0] for entry in ended.entries] == ["shuffle", "!abandon"]
    assert ended.head == ended.entries[-1].hash
    assert record.verify(ended).unchecked == 0
    assert {entry.salt is not None for entry in ended.entries} == {True}
    assert (written(other.id).header.seed, written(other.id).result) == (None, None)
