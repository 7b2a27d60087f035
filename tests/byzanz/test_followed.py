"""What followed from the moves of whole games: told in whole sentences, once each, and kept as it was said."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

from byzanz.games import rules_of
from byzanz.moves import Message
from byzanz.parsing import written
from byzanz.umpire import followed, read_followed
from tests.byzanz.test_charts import GAMES, record_of, views


def told(slug: str, seats: int, number: int = 1) -> list[Sequence[Message]]:
    """What followed from each move but the first."""
    rules = rules_of(slug)
    return [
        rules.followed(before, after) for before, after in pairwise(views(record_of(slug, seats, number)))
    ]


def said(message: Message) -> str:
    """The sentence, with seats for names."""
    return message.text % {**message.places, **message.seats}


@pytest.mark.parametrize(("slug", "seats"), GAMES)
def test_what_followed_is_read_as_it_was_said(slug: str, seats: int) -> None:
    rules = rules_of(slug)
    for before, after in pairwise(views(record_of(slug, seats))):
        line = followed(rules, before, after)
        assert read_followed(line) == tuple(rules.followed(before, after))
        assert written(list(read_followed(line))) == (line or "[]")
        for message in read_followed(line):
            assert "%" not in said(message)
            hash(message)


def test_each_battle_is_told_once_with_all_that_came_of_it() -> None:
    for number in range(4):
        shown = views(record_of("empire", 2, number))
        battles = {view.battle.year: view.battle for view in shown if view.battle}
        fought = [messages for messages in told("empire", 2, number) if messages]
        assert [messages[0].places["year"] for messages in fought] == sorted(battles)
        for (won, moved, *gained), battle in zip(fought, battles.values(), strict=True):
            own, other = (battle.melds[seat] for seat in (battle.emperor, 1 - battle.emperor))
            forces = sorted([own.force, other.force])
            assert said(won).endswith(f"{forces[1]} to {forces[0]}" if own.force != other.force else "each")
            assert str(max(0, battle.after)) in said(moved)
            assert bool(gained) == bool(battle.legacy or sum(card.legacy for card in own.cards))
            for meld, drawn in zip(battle.melds, won.places["melds"], strict=True):
                assert [card.card for card in meld.cards] == [card["card"] for card in drawn["cards"]]


@pytest.mark.parametrize("seats", [2, 3, 4])
def test_the_points_of_each_round_are_told_at_its_end(seats: int) -> None:
    shown: Any = views(record_of("byzantium", seats))[-1].shown
    ended = [messages[0] for messages in told("byzantium", seats) if messages]
    assert [message.places["round"] for message in ended] == list(range(1, len(shown) + 1))
    for message, hands in zip(ended, shown, strict=True):
        assert message.seats["points"] == tuple((seat, f"+{len(hand)}") for seat, hand in enumerate(hands))
