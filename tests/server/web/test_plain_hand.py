"""The hand of the plain form: each card once, tapped or ticked, and the moves that are left."""

from __future__ import annotations

from itertools import combinations, permutations

from server.web.plain_games import Pick, hand

CARDS = tuple("abcdefgh")


def texts(verb: str, choices: object) -> list[str]:
    return [" ".join((verb, *words)) for words in choices]  # type: ignore[attr-defined]


def test_cards_are_tapped_where_one_verb_takes_one_card() -> None:
    made = hand(CARDS, ["play a", "play c", "done"])
    assert [it.card for it in made.cards] == list(CARDS)
    assert [it.move for it in made.cards if it.is_open] == ["play a", "play c"]
    assert [it.move for it in made.cards if not it.is_open] == [""] * 6
    assert (made.picks, made.taps, made.rest) == ((), "play", {"done": ["done"]})


def test_cards_are_ticked_where_any_three_may_be_chosen() -> None:
    made = hand(CARDS, texts("pass", combinations(CARDS, 3)))
    assert made.picks == (Pick("pass", 3, 3),)
    assert [it.value for it in made.cards] == [f"{card}#{at}" for at, card in enumerate(CARDS)]
    assert not any(it.move for it in made.cards)
    assert made.rest == {}


def test_cards_are_ticked_where_several_verbs_take_them() -> None:
    moves = [
        "play a",
        "discard b",
        *texts("pass", combinations("abc", 2)),
        *texts("pass", combinations("abc", 1)),
    ]
    made = hand(CARDS, [*moves, "done"])
    assert made.picks == (Pick("play", 1, 1), Pick("discard", 1, 1), Pick("pass", 1, 2))
    assert [it.card for it in made.cards if it.is_open] == ["a", "b", "c"]
    assert made.rest == {"done": ["done"]}


def test_a_few_of_the_choices_are_a_button_each_and_many_are_ticked() -> None:
    sets = texts("sell", combinations(CARDS, 3))
    assert hand(CARDS, sets[:20]).rest == {"sell": sets[:20]}
    wide = texts("sell", list(combinations("abcdefghij", 3))[:61])
    assert hand("abcdefghij", wide).picks == (Pick("sell", 3, 3),)


def test_the_boxes_stand_in_the_order_in_which_the_moves_name_the_cards() -> None:
    made = hand(("c", "a", "b"), texts("pass", combinations("abc", 2)))
    assert [it.value for it in made.cards] == ["a#1", "b#2", "c#0"]
    ordered = texts("rank", permutations("abc", 2))
    assert hand(("c", "a", "b"), ordered).rest == {"rank": ordered}, "boxes have no order"


def test_equal_cards_are_told_apart() -> None:
    made = hand(("a", "a", "b"), ["play a", "play b"])
    assert [it.value for it in made.cards] == ["a#0", "a#1", "b#2"]
    assert hand(("a", "b"), ["sell a a"]).rest == {"sell": ["sell a a"]}, "only one is held"


def test_moves_that_name_other_things_are_left() -> None:
    moves = ["put a on x", "put b on x"]
    made = hand(CARDS, moves)
    assert made.rest == {"put": moves}
    assert not any(it.is_open for it in made.cards)
