"""A person's own habits: counted from their own answers alone, as far back as is said."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from server import play
from server.community import profiles, statistics
from server.store import engine, log
from server.store.models import Conduct, Seat
from tests.conftest import NOW, Table
from tests.support.games import advance, make
from tests.support.results import counted, handled, played, somebody

pytestmark = [pytest.mark.empty_database, pytest.mark.usefixtures("app")]
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def of(person: int, zone: str = "UTC") -> statistics.Habits:
    with engine.reading() as session:
        return statistics.habits(session, person, zone)


def conduct(game_id: str, person: int, answers: list[list[int]], ended: datetime = NOW) -> None:
    with engine.transaction() as session:
        row = Conduct(
            game_id=game_id, person_id=person, ended_at=ended, abandoned=False, substitute=False, answers=""
        )
        row.answers = json.dumps(answers)
        session.add(row)


def own_seqs(game_id: str, seat: int, by: str) -> list[int]:
    with engine.reading() as session:
        entries = log.entries(session, game_id)
    return [
        each.seq for each in entries if each.seat == seat and each.by == by and not each.move.startswith("!")
    ]


def test_nothing_is_said_of_nobody() -> None:
    found = of(somebody("Alice"))
    assert (found.games, found.paces, found.saved, found.tallies, found.mates) == (
        0,
        [],
        statistics.Saved(0, 0),
        [],
        [],
    )
    assert (sum(found.weekdays), sum(found.hours)) == (0, 0)


def test_answers_are_counted_by_day_and_hour_in_the_own_time_zone(table: Callable[..., Table]) -> None:
    game = table(3)
    saturday = datetime(2026, 3, 7, 22, 30, tzinfo=UTC)
    make(game, 0, "pass", at=saturday)
    make(game, 1, "pass", at=saturday + HOUR)
    found = of(game.people[0])
    assert (found.weekdays, found.hours) == ([0, 0, 0, 0, 0, 1, 0], [0] * 7 + [1])
    found = of(game.people[0], "Europe/Berlin")
    assert (found.weekdays, found.hours) == ([0, 0, 0, 0, 0, 1, 0], [0] * 7 + [1])
    found = of(game.people[0], "Asia/Tokyo")
    assert (found.weekdays, found.hours) == ([0, 0, 0, 0, 0, 0, 1], [0, 0, 1, 0, 0, 0, 0, 0])


def test_times_are_those_of_the_counted_decisions_without_missed_ones() -> None:
    ann, bob = somebody("Alice"), somebody("Bob")
    counted("g1", ["Alice", "Bob"], [1, 2])
    counted("g2", ["Alice", "Bob"], [1, 2], slug="empire")
    conduct("g1", ann, [[1, 60], [2, 3600], [3, 7200], [4, -1], [5, 90000]])
    conduct("g1", bob, [[6, 10]])
    conduct("g2", ann, [[1, 30]])
    assert of(ann).paces == [
        statistics.Pace("byzanz", 4, 5400, 0.5, 0.75),
        statistics.Pace("empire", 1, 30, 1.0, 1.0),
    ]
    assert of(bob).paces == [statistics.Pace("byzanz", 1, 10, 1.0, 1.0)]


def test_orders_save_the_usual_time_and_count_as_no_answer(table: Callable[..., Table]) -> None:
    game = table(3)
    seat = advance(game, "bid")
    play.place_order(game.id, (seat + 1) % 3, "pass this lot", now=NOW)
    make(game, seat, "pass")
    owner = game.people[(seat + 1) % 3]
    orders = own_seqs(game.id, (seat + 1) % 3, "order")
    assert orders
    counted("usual", ["Alice", "Bob", "Charlie"], [1, 2, 3])
    conduct("usual", owner, [[1, 7200], [2, 7200]])
    conduct(game.id, owner, [[seq, 0] for seq in orders])
    found = of(owner)
    assert found.saved == statistics.Saved(len(orders), 7200 * len(orders))
    assert found.paces == [statistics.Pace("byzanz", 2, 7200, 0.0, 1.0)]


def test_a_substitute_has_no_part_in_what_was_before() -> None:
    game = played("g1")
    gina, last = somebody("Gina"), max(own_seqs("g1", 0, "player"))
    with engine.transaction() as session:
        seat = session.get_one(Seat, ("g1", 0))
        seat.person_id, seat.held_since = gina, last - 1
    assert sum(of(somebody("Gina")).weekdays) == 1
    assert sum(of(game.people[0]).weekdays) == 0
    assert sum(of(game.people[1]).weekdays) == len(own_seqs("g1", 1, "player"))


def test_ones_own_record_has_private_games_and_bots() -> None:
    ann = somebody("Alice")
    counted("g1", ["Alice", "Bob"], [1, 2], listed=False)
    counted("g2", ["Alice", "Bot"], [2, 1])
    counted("g3", ["Alice", "Bot"], [2, 1], early=True)
    [tally] = of(ann).tallies
    assert (tally.played, tally.won) == (2, 1)


def test_those_one_meets_most_often_come_first() -> None:
    ann = somebody("Alice")
    counted("g1", ["Alice", "Bob", "Charlie"], [1, 2, 3], at=NOW - 2 * DAY)
    counted("g2", ["Charlie", "Alice", "Bot"], [1, 2, 3], at=NOW - DAY)
    handled("Bob", "Bobby", "met")
    with engine.transaction() as session:
        session.get_one(Seat, ("g2", 0)).stored_name = "Charles"
    assert of(ann).mates == [
        statistics.Mate("Charles", None, profiles.Company(2, 1)),
        statistics.Mate("Bob", "Bobby", profiles.Company(1, 1)),
    ]


def test_only_so_many_games_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "MOST_GAMES_OF_HABITS", 2)
    ann = somebody("Alice")
    for n in range(4):
        counted(f"g{n}", ["Alice", "Bob"], [1, 2], at=NOW + n * DAY)
        conduct(f"g{n}", ann, [[1, n]], NOW + n * DAY)
    found = of(ann)
    assert found.games == 2
    assert found.paces[0].median == 2.5
    assert found.tallies[0].played == 2
