"""What a view shows, sorted by the table and the seats, whatever the game."""

from __future__ import annotations

from dataclasses import dataclass

from byzanz.games.facts import Fact, facts
from byzanz.moves import Move
from byzanz.rules import PUBLIC, Viewer
from byzanz.umpire import settle
from tests.support.examples import example


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


def example_shuffle(label: str, cards: tuple[str, ...]) -> Move:
    """Return the shuffle that leaves the cards as they are."""
    return Move("shuffle", (label, *cards))
