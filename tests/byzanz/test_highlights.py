"""What is worth telling of a finished game, checked against its log; the places of all seats."""

from __future__ import annotations

import pytest

from byzanz import record
from byzanz.charts import Highlight, turning_point
from byzanz.games import rules_of
from byzanz.record import Record
from tests.byzanz.test_charts import GAMES, paid_by_the_log, record_of, views


def highlights(game: Record) -> dict[str, Highlight]:
    """The highlights of a game, by name; each shows one of its views."""
    assert game.result is not None
    shown = views(game)
    found = rules_of(game.header.game).highlights(shown, game.result.winners)
    assert len(found) <= 3
    assert all(0 <= each.place < len(shown) for each in found)
    return {each.name: each for each in found}


@pytest.mark.parametrize("seats", [3, 4, 5, 6])
def test_the_dearest_lot_and_the_best_set_are_those_of_the_log(seats: int) -> None:
    for number in range(3):
        game = record_of("byzanz", seats, number)
        found, moves = highlights(game), list(record.effective(game.entries))
        dearest, best = found["dearest lot"], found["best set"]
        first = next(paid for paid in paid_by_the_log(game) if paid[1] == dearest.numbers[1])
        assert (dearest.seat, dearest.numbers[1]) == first
        assert dearest.numbers[1] == max(price for _, price in paid_by_the_log(game))
        sale = moves[best.place]
        sold = sorted(sale.move.split(" ")[1:])
        assert sale.seat == best.seat
        assert sorted(best.cards) == sold or (len(best.cards) == 1 and best.cards[0] in sold)
        assert views(game)[dearest.place].lot == dearest.cards


def test_byzantium_tells_the_best_and_the_worst_round() -> None:
    game = record_of("byzantium", 3)
    found, shown = highlights(game), views(game)
    counts = [[len(hand) for hand in hands] for hands in shown[-1].shown]
    number, most = found["worst round"].numbers
    assert most == max(max(left) for left in counts)
    assert len(found["worst round"].cards) == most == counts[number - 1][found["worst round"].seat]
    number, least, other = found["best round"].numbers
    assert least == min(counts[number - 1])
    assert other == sorted(counts[number - 1])[1]


def test_empire_tells_the_battles_that_moved_the_border_most() -> None:
    for number in range(4):
        shown = views(record_of("empire", 2, number))
        battles = {view.battle.year: view.battle for view in shown if view.battle}
        changes = {year: max(0, battle.after) - battle.before for year, battle in battles.items()}
        found = highlights(record_of("empire", 2, number))
        for name, most in (
            ("greatest victory", max(changes.values())),
            ("heaviest defeat", min(changes.values())),
        ):
            if name in found:
                year, mine, other, before, after = found[name].numbers
                assert after - before == most == changes[year]
                battle = battles[year]
                assert (battle.melds[found[name].seat].force, mine) == (mine, max(mine, other))
            elif "fall" not in found:
                assert most <= 0 if name == "greatest victory" else most >= 0


def test_the_turning_point_is_the_largest_gain_of_a_winner_who_led_throughout() -> None:
    steps = [(1, 4, (0, 3)), (2, 9, (5, 4)), (3, 12, (9, 5)), (4, 20, (10, 9))]
    assert turning_point(steps, [0]) == [Highlight("turning point", 9, 0, (2, -3, 1))]
    assert turning_point(steps, [1]) == [Highlight("turning point", 4, 1, (1, 0, 3))]
    assert turning_point(steps, [0, 1]) == []


def test_the_turning_point_is_the_step_that_took_the_lead_for_good() -> None:
    steps = [(1, 4, (0, 5)), (2, 9, (5, 5)), (3, 12, (6, 7)), (4, 20, (8, 7))]
    assert turning_point(steps, [0]) == [Highlight("turning point", 20, 0, (4, -1, 1))]
    assert turning_point(steps, []) == []
    assert turning_point([(1, 4, (0, 3))], [0]) == []
    led_throughout = [(1, 4, (1, 0)), (2, 9, (9, 1))]
    assert [each.place for each in turning_point(led_throughout, [0])] == [9]


@pytest.mark.parametrize(("slug", "seats"), GAMES)
def test_a_game_that_was_ended_early_tells_what_there_was(slug: str, seats: int) -> None:
    shown = views(record_of(slug, seats))
    for length in range(1, len(shown), 9):
        for each in rules_of(slug).highlights(shown[:length], ()):
            assert each.place < length
            assert each.name != "turning point"
