"""What a view shows, sorted by the table and the seats, whatever the game."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from byzanz.games.facts import Fact, facts
from byzanz.moves import Move
from byzanz.rules import PUBLIC, Viewer
from byzanz.umpire import settle
from tests.support.folders import example


def test_facts_of_a_view_are_sorted_by_table_and_seat() -> None:
    rules = example("goofspiel").Goofspiel()
    state, _ = settle(rules, rules.setup(2, {}), lambda due: example_shuffle(due.label, due.cards))
    table, by_seat = facts(rules.view(state, PUBLIC), 2)
    assert {fact.name: fact.cards for fact in table} == {
        "last": (),
        "offered": ("1",),
        "to come": tuple(map(str, range(2, 14))),
    }
    assert [fact.name for fact in by_seat[0]] == ["scores", "hands"]
    assert by_seat[1][0].text == "0"


@dataclass(frozen=True)
class Place:
    """A place of a board."""

    x: int
    card: str | None
    is_open: bool = False


@dataclass(frozen=True)
class Board:
    """A view whose facts are no cards."""

    viewer: Viewer
    places: tuple[Place, ...]
    ended: bool


def test_a_fact_that_is_a_dataclass_shows_its_values() -> None:
    table, _ = facts(Board(PUBLIC, (Place(0, "ash", True), Place(4, None)), False), 3)
    assert table == (Fact("places", "0 ash True"), Fact("places", "4"))


@dataclass(frozen=True)
class Trick:
    """A view of a game of tricks: the cards of a trick by seat, and who leads."""

    viewer: Viewer
    trick: tuple[str, ...]
    last_trick: tuple[str, ...]
    leader: int
    pile: tuple[str, ...]


def test_a_text_for_each_seat_belongs_to_the_seats_if_one_is_empty_or_the_game_says_so() -> None:
    view = Trick(PUBLIC, ("", "2c", ""), ("3c", "4c", "5c"), 1, ("6c", "7c", "8c"))
    table, by_seat = facts(view, 3, ("last_trick", "leader"))
    assert table == (Fact("pile", cards=("6c", "7c", "8c")),)
    assert by_seat[0] == (Fact("last trick", cards=("3c",), is_laid=True),)
    assert by_seat[1] == (
        Fact("trick", cards=("2c",), is_laid=True),
        Fact("last trick", cards=("4c",), is_laid=True),
        Fact("leader"),
    )


@pytest.mark.parametrize("leader", [True, -1, 3])
def test_what_is_no_seat_belongs_to_the_table(leader: int) -> None:
    table, by_seat = facts(Trick(PUBLIC, (), (), leader, ()), 3, {"leader"})
    assert "leader" in {fact.name for fact in table}
    assert by_seat == ((), (), ())


def example_shuffle(label: str, cards: tuple[str, ...]) -> Move:
    """Return the shuffle that leaves the cards as they are."""
    return Move("shuffle", (label, *cards))
