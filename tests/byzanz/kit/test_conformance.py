"""Every game at hand keeps the contract, and each check finds a game that breaks it."""

from typing import Any

import pytest

from byzanz.games import latest, rules_of
from byzanz.kit import conformance, played
from byzanz.kit.conformance import CHECKS, TABLE_CHECKS, Game, check_bots, faults, name_of
from byzanz.kit.moves import check_orders
from byzanz.moves import BadSetup, Order, UnreadableOrder
from byzanz.rules import Rules
from tests.support import game_data
from tests.support.folders import example
from tests.support.passing_game import Passing
from tests.support.planted_faults import PLANTED, Obeys, PaysToLose, ShowsNoDeck
from tests.support.sealed_game import Sealed

GAMES = 6
"""Games with each number of seats at night; on every commit there is one, and of games with a single number two."""
SMALL = (Sealed(), Passing(), example("goofspiel").Goofspiel())


CASES = [(rules, seats) for rules in (*SMALL, *latest()) for seats in rules.seats]


@pytest.mark.parametrize(("rules", "seats"), CASES, ids=lambda it: getattr(it, "slug", it))
def test_a_game_keeps_the_contract(rules: Rules[Any, Any], seats: int, pytestconfig: pytest.Config) -> None:
    nightly = pytestconfig.getoption("nightly")
    # Games among bots take long; tests of each game say how strong its bots are.
    tables = (
        TABLE_CHECKS if nightly or rules in SMALL else [it for it in TABLE_CHECKS if it is not check_bots]
    )
    for number in range(GAMES if nightly else 2 if len(rules.seats) == 1 else 1):
        game = Game(rules, seats, 10 * number + seats)
        assert list(faults(game, (*CHECKS, *(() if number else tables)))) == []


@pytest.mark.parametrize(("faulty", "check"), PLANTED, ids=lambda it: getattr(it, "__name__", it))
def test_a_planted_fault_is_found(monkeypatch: pytest.MonkeyPatch, faulty: type[Sealed], check: str) -> None:
    monkeypatch.setattr(played, "LONGEST_GAME", 300)
    monkeypatch.setattr(conformance, "_MOST", 60)
    checks = [it for it in (*CHECKS, *TABLE_CHECKS) if name_of(it) == check]
    found = (fault for seed in range(GAMES) for fault in faults(Game(faulty(), 2, seed), checks))
    assert next(found).check == check


def test_every_check_has_a_planted_fault() -> None:
    assert {check for _, check in PLANTED} == {"play", *map(name_of, (*CHECKS, *TABLE_CHECKS))}


def test_standing_orders_without_a_fault_pass() -> None:
    for seed in range(GAMES):
        assert list(faults(Game(Obeys(), 2, seed), [check_orders])) == []


class Calls(Obeys):
    """Its order has a word that stands nowhere in its code, as in `call from 4`."""

    def parse_order(self, text: str) -> Order:
        if not text.startswith("lay from ") or not text.removeprefix("lay from ").isdecimal():
            raise UnreadableOrder("Write an order like this: %(example)s.", example="lay from 4")
        return Order(text, "lay")


class CallsByExample(Calls):
    example_orders = ("lay from 4",)


class CallsByWrongExample(Calls):
    example_orders = ("lay from 4", "lay from four")


def test_the_maker_of_a_game_names_orders_that_work() -> None:
    assert list(faults(Game(CallsByExample(), 2, 1), [check_orders])) == []
    [fault] = faults(Game(Calls(), 2, 1), [check_orders])
    assert fault.wrong.endswith("Name some in example_orders.")
    [fault] = faults(Game(CallsByWrongExample(), 2, 1), [check_orders])
    assert fault.wrong.startswith("The example of an order “lay from four” is not read: Write an order")


@pytest.mark.parametrize("rules", latest(), ids=lambda rules: rules.slug)
def test_shipped_games_name_an_order_of_each_kind(rules: Rules[Any, Any]) -> None:
    named = {rules.parse_order(text).text.split()[0] for text in rules.example_orders}
    assert named == game_data.of_all("ORDER_KINDS")[rules.slug]


def test_the_deck_need_not_be_shown_before_the_first_deal() -> None:
    for seed in range(GAMES):
        assert list(faults(Game(ShowsNoDeck(), 2, seed), CHECKS)) == []


class Indifferent(Sealed):
    """Its greedy bot plays like the random one."""

    def evaluate(self, view: Any) -> float:
        return 0.0


@pytest.mark.parametrize(("faulty", "patience", "most"), [(PaysToLose, 999, 100), (Indifferent, 4, 4)])
def test_bots_stop_once_it_is_clear_that_greed_does_not_win_or_time_is_up(
    faulty: type[Sealed], patience: int, most: int
) -> None:
    asked: list[int] = []

    def has_time() -> bool:
        asked.append(1)
        return len(asked) < patience

    [fault] = faults(Game(faulty(), 2, 1, has_time), [check_bots])
    assert "more is better, also where the fewest points win" in fault.wrong
    assert 0 < len(asked) <= most


class PaysManyToLose(PaysToLose):
    """Losing pays, and there would be a smaller table."""

    seats = range(1, 4)


def test_at_larger_tables_greed_must_not_lose() -> None:
    [fault] = faults(Game(PaysManyToLose(), 2, 1), [check_bots])
    assert "comes before random ones" in fault.wrong
    assert list(faults(Game(Sealed(), max(Sealed.seats), 1), [check_bots])) == []


def test_games_are_found_by_slug_and_version() -> None:
    byzanz = rules_of("byzanz")
    assert rules_of("byzanz", 1).version == 1
    assert byzanz in latest()
    with pytest.raises(BadSetup, match="the games are: byzanz"):
        rules_of("chess")
    with pytest.raises(BadSetup, match="There is no version 99 of the rules of byzanz"):
        rules_of("byzanz", 99)
