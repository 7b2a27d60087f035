"""Moves read by a grammar: several words in any order, and refusals that show a move as it could be."""

from __future__ import annotations

import pytest

from byzanz.moves import Move, UnreadableMove
from byzanz.parsing import example, read_move, several

DECK = ("2c", "3c", "4c", "10c")
GRAMMAR = {"pass": several(3, DECK), "swap": (DECK, DECK), "play": (DECK,), "done": ()}


def test_several_words_are_put_into_the_order_of_their_list() -> None:
    assert read_move("PASS 10c 2c 3", GRAMMAR) == Move("pass", ("2c", "3c", "10c"))


def test_words_of_two_places_keep_the_order_in_which_they_are_written() -> None:
    assert read_move("swap 4c 2c", GRAMMAR) == Move("swap", ("4c", "2c"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pass", "Write a move like this: pass 2c 3c 4c."),
        ("pass 2c", "“pass” needs 3 words after it, not 1. Example: pass 2c 3c 4c."),
        ("pass 2c 3c 4c 10c", "“pass” needs 3 words after it, not 4. Example: pass 2c 3c 4c."),
        ("swap 2c", "“swap” needs 2 words after it, not 1. Example: swap 2c 3c."),
        ("play 2c 3c", "Write a move like this: play 2c."),
        ("done 2c", "Write a move like this: done."),
    ],
)
def test_a_move_of_another_length_is_refused_with_one_that_could_be_played(text: str, said: str) -> None:
    with pytest.raises(UnreadableMove) as refusal:
        read_move(text, GRAMMAR)
    assert str(refusal.value) == said


def test_an_example_repeats_a_word_only_where_there_is_no_other() -> None:
    assert example("lay", (("a", "b"), ("x",), ("a", "b"), ("a", "b"))) == "lay a x b a"
