"""A timeline replays the log at most once, no further than needed, and remembers the parts of the game alone."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from byzanz.rules import PUBLIC
from server.play import history, positions
from server.store import engine, log
from tests.conftest import Table
from tests.support.games import advance, count_entries, loaded, make, play_on, position, submit

Begin = Callable[..., Table]


@pytest.fixture
def replays(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Collect how many entries each replay goes through; no parts are remembered at first."""
    counted: list[int] = []
    states = positions.states

    def count(game: Any, log: Sequence[Any]) -> list[Any]:
        counted.append(len(log))
        return states(game, log)

    monkeypatch.setattr(positions, "states", count)
    monkeypatch.setattr(history, "_parts", OrderedDict())
    return counted


def load(game: Table, upto: int | None = None) -> history.Timeline:
    """Load the timeline of the public."""
    with engine.reading() as session:
        return history.load(loaded(session, game.id), PUBLIC, upto)


def test_a_second_look_replays_nothing_but_the_way_to_one_table(table: Begin, replays: list[int]) -> None:
    game = table(3)
    advance(game, "take")
    head = count_entries(game.id)
    with engine.reading() as session:
        hand = loaded(session, game.id)
        first = history.load(hand, PUBLIC)
        first.view(head - 2)
        assert replays == [head]
        again = history.load(hand, 1)
        assert (again.parts, again.openings()) == (first.parts, first.openings())
        assert replays == [head]
        state = positions.replay(hand.game, 3, first.rules, log.entries(session, game.id, upto=5))
        assert again.view(5) == first.rules.view(state, 1)
        again.view(3)
        assert replays == [head, 5]


def test_each_move_and_each_game_has_parts_of_its_own(table: Begin, replays: list[int]) -> None:
    game, other = table(3), table(4, "g2")
    advance(game, "tax")
    before = load(game)
    make(game, min(position(game.id).awaited), "tax " + str(position(game.id).view(PUBLIC).lot[0]))
    after, elsewhere = load(game), load(other)
    assert len(after.parts) > len(before.parts)
    assert after.parts[: len(before.parts)] == before.parts
    assert elsewhere.parts != after.parts[: len(elsewhere.parts)]
    assert load(game, upto=len(before.parts)).parts == before.parts
    assert len(replays) == 3


@pytest.mark.usefixtures("replays")
def test_the_logs_that_were_not_looked_at_for_longest_are_forgotten(
    table: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "MOST", 2)
    games = [table(3, f"g{number}") for number in range(3)]
    last = {number: load(games[number]).entries[-1].hash for number in (0, 1)}
    load(games[0])
    last[2] = load(games[2]).entries[-1].hash
    assert set(history._parts) == {last[0], last[2]}


def test_a_move_that_ends_a_lot_was_made_in_it_and_the_next_lot_begins_after_it(table: Begin) -> None:
    game = table(3)
    submit(game.id, 0, "bid wine1")
    play_on(game.id, 5)
    with engine.reading() as session:
        moments = history.load(loaded(session, game.id), PUBLIC)
    assert [entry.move for entry in moments.entries[1:]] == [
        "bid wine1",
        "pass",
        "pass",
        "tax cloth1",
        "sell wood1 wood2 wood2",
        "pass",
    ]
    assert [moments.made_in(seq) for seq in range(1, 8)] == [("round 1", "lot 6")] * 6 + [
        ("round 1", "lot 4")
    ]
    assert moments.openings() == {("round 1", "lot 6"): 1, ("round 1", "lot 4"): 6}
