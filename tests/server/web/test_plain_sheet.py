"""What the plain templates know of a game by its rules: the names of its cards, and how its moves are written."""

from __future__ import annotations

from server.web.plain_games import cards_of, in_writing
from tests.support.folders import example
from tests.support.passing_game import DECK, Passing


def test_the_cards_of_a_game_are_known_by_its_shuffle_and_its_grammar() -> None:
    assert cards_of(Passing()) == frozenset(DECK)
    assert [(it.verb, it.example) for it in in_writing(Passing())] == [
        ("pass", "pass 2c 3c"),
        ("play", "play 2c"),
    ]


def test_cards_that_are_never_shuffled_are_known_in_sealed_games() -> None:
    assert cards_of(example("goofspiel").Goofspiel()) == frozenset(map(str, range(1, 14)))


def test_words_that_are_no_cards_are_not_taken_for_some() -> None:
    class Signals(Passing):
        grammar = {**Passing.grammar, "signal": (("high", "low"), DECK)}  # noqa: RUF012

    assert cards_of(Signals()) == frozenset(DECK)
    assert in_writing(Signals())[-1].parts == ((1, ("high", "low")), (1, "pass"))
