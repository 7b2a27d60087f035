"""The parts of games, and charts whose numbers match the log and the result."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import pytest

from byzanz import record
from byzanz.bots.simulate import simulate_game
from byzanz.charts import Chart
from byzanz.games import latest, rules_of
from byzanz.games.byzanz import view as byzanz_view
from byzanz.games.byzanz.state import VALUE
from byzanz.record import Record
from byzanz.rules import PUBLIC
from byzanz.umpire import read_logged
from tests.games import byzanz as byzanz_game
from tests.games import empire as empire_game
from tests.support import game_data

GAMES = [(rules.slug, seats) for rules in latest() for seats in rules.seats]


@cache
def record_of(slug: str, seats: int, number: int = 1) -> Record:
    """A whole game of bots, half of them any, half of them greedy."""
    bots = [("greedy", "random")[seat % 2] for seat in range(seats)]
    return simulate_game(rules_of(slug), seats, b"story", number, bots)


def views(game: Record) -> list[Any]:
    """What the public saw after each move that counts."""
    rules = rules_of(game.header.game)
    state, found = rules.setup(len(game.header.seats), {}), []
    for entry in record.effective(game.entries):
        state = rules.apply(state, entry.seat, read_logged(rules, entry.move))
        found.append(rules.view(state, PUBLIC))
    return found


def charts(game: Record) -> dict[str, Chart]:
    """The charts of a game, by name; each is whole."""
    shown = views(game)
    found = rules_of(game.header.game).charts(shown)
    for chart in found:
        assert chart.steps
        assert 1 <= len(chart.lines) <= 7
        assert all(len(line.values) == len(chart.steps) for line in chart.lines)
        places = [step.place for step in chart.steps]
        assert places == sorted(places)
        assert 0 <= places[0] <= places[-1] < len(shown)
        assert len({step.heading for step in chart.steps}) == len(chart.steps)
        assert all(value is None or value >= 0 for line in chart.lines for value in line.values)
    return {chart.name: chart for chart in found}


def last(chart: Chart) -> tuple[int | None, ...]:
    return tuple(line.values[-1] for line in chart.lines)


def result(game: Record) -> tuple[int, ...]:
    assert game.result is not None
    return game.result.scores


@pytest.mark.parametrize(("slug", "seats"), GAMES)
def test_the_parts_of_a_game_follow_each_other(slug: str, seats: int) -> None:
    game = record_of(slug, seats)
    parts = [rules_of(slug).heading(view) for view in views(game)]
    begun = [after for before, after in pairwise([(), *parts]) if after != before]
    assert len(begun) == len(set(begun)), "no part comes back"
    parts_of = game_data.of(slug, "parts", None)
    if parts_of:
        ends_early = game_data.of(slug, "ENDS_EARLY", False)
        assert begun == parts_of(seats)[: len(begun) if ends_early else None]


@pytest.mark.parametrize("seats", [3, 4, 5, 6])
def test_byzanz_tells_profit_hands_and_the_market(seats: int) -> None:
    game = record_of("byzanz", seats)
    found = charts(game)
    assert list(found) == ["prices", "profit", "market", "hands"]
    assert last(found["profit"]) == result(game)
    assert found["profit"].steps[-1].heading == ("end",)
    ends = byzanz_game.parts(seats)
    assert [step.heading for step in found["hands"].steps] == ends
    assert [step.heading for step in found["market"].steps] == [p for p in ends if p[-1].startswith("lot")]
    shown = views(game)
    assert last(found["hands"]) == shown[-1].hand_sizes
    for at, step in enumerate(found["market"].steps):
        lying = dict(shown[step.place].market)
        assert [line.values[at] for line in found["market"].lines] == [
            len(lying.get(line.of, ())) for line in found["market"].lines
        ]


def paid_by_the_log(game: Record) -> list[tuple[int, int]]:
    """Who paid how much for lots that were bid for, read from the texts of the entries alone."""
    lying: dict[int, int] = {}
    found = []
    for entry in record.effective(game.entries):
        verb, *cards = entry.move.split(" ")
        if entry.seat is None:
            continue
        if verb == "bid":
            lying[entry.seat] = lying.get(entry.seat, 0) + sum(int(card[-1]) for card in cards)
        elif verb == "pass":
            lying.pop(entry.seat, None)
        elif verb == "tax" and lying:
            found.append((entry.seat, lying.pop(entry.seat)))
            lying.clear()
    return found


def paid_in_the_chart(game: Record) -> list[tuple[int, int]]:
    """The same from the chart, without what cost nothing; every step has one winner."""
    prices = charts(game)["prices"]
    found = []
    for at in range(len(prices.steps)):
        [(seat, price)] = [
            (seat, line.values[at]) for seat, line in enumerate(prices.lines) if line.values[at] is not None
        ]
        found.append((seat, price or 0))
    return [(seat, price) for seat, price in found if price]


@pytest.mark.parametrize("seats", [3, 4, 5, 6])
def test_the_prices_of_lots_are_the_bids_of_the_log(seats: int) -> None:
    for number in range(3):
        game = record_of("byzanz", seats, number)
        assert paid_in_the_chart(game) == paid_by_the_log(game)


def test_a_wrong_price_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byzanz_view, "VALUE", (2, *VALUE[1:]))
    game = record_of("byzanz", 3)
    assert paid_in_the_chart(game) != paid_by_the_log(game)


@pytest.mark.parametrize("number", range(4))
def test_empire_tells_territory_and_legacy_of_each_battle(number: int) -> None:
    game = record_of("empire", 2, number)
    found = charts(game)
    assert list(found) == ["territory", "legacy"]
    assert last(found["legacy"]) == result(game)
    [territory] = found["territory"].lines
    assert all(value is not None and value <= 20 for value in territory.values)
    assert game.result is not None
    assert (territory.values[-1] == 0) == (game.result.reason == "fallen")
    assert [step.heading for step in found["territory"].steps] == empire_game.parts(2)[
        : len(territory.values)
    ]


@pytest.mark.parametrize("seats", [2, 3, 4])
def test_byzantium_tells_points_and_the_cards_left(seats: int) -> None:
    game = record_of("byzantium", seats)
    found = charts(game)
    assert list(found) == ["points", "left"]
    points = tuple(sum(value or 0 for value in line.values) for line in found["points"].lines)
    assert points == result(game)
    for number in range(seats):
        mine = [at for at, step in enumerate(found["left"].steps) if step.heading[0] == f"round {number + 1}"]
        for line, won in zip(found["left"].lines, found["points"].lines, strict=True):
            values = [line.values[at] or 0 for at in mine]
            assert values == sorted(values, reverse=True)
            assert values[-1] == won.values[number]


@pytest.mark.parametrize(("slug", "seats"), GAMES)
def test_a_game_that_stops_early_has_charts_of_what_there_was(slug: str, seats: int) -> None:
    shown = views(record_of(slug, seats))
    for length in range(1, len(shown), 7):
        for chart in rules_of(slug).charts(shown[:length]):
            assert all(step.place < length for step in chart.steps)
