"""Positions of Byzantium set up by hand, games played at random, and the law that no card is lost."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

from byzanz.games.byzantium.rules import Byzantium
from byzanz.games.byzantium.state import State
from byzanz.moves import Move
from tests.byzanz.plain_byzantium import CARDS, NAMES

BYZANTIUM = Byzantium()


def cards(text: str) -> tuple[int, ...]:
    """Cards by their names, as a state has them."""
    return tuple(sorted(map(CARDS.index, text.split())))


def words(numbers: tuple[int, ...]) -> str:
    """Cards of a state by their names."""
    return " ".join(CARDS[number] for number in numbers)


def move(line: str) -> Move:
    """A move in canonical form."""
    verb, *args = line.split()
    return Move(verb, tuple(args))


def at(hands: tuple[str, ...], lying: str = "", **given: Any) -> State:
    """A moment of the first round at which seat 0 is to place, but for the fields given.

    Args:
        hands: the cards of each seat.
        lying: the cross, `e 7r ef 9r`.
        given: fields of the state.
    """
    seats, pairs = len(hands), lying.split()
    cross = [-1] * len(NAMES)
    for slot, card in zip(pairs[::2], pairs[1::2], strict=True):
        cross[NAMES.index(slot)] = CARDS.index(card)
    held = tuple(map(cards, hands))
    gone = {*cross}.union(*held)
    kitty = tuple(card for card in range(24) if card not in gone)
    start = replace(BYZANTIUM.setup(seats, {}), step="put", number=1, round=1, turn=0)
    return replace(start, hands=held, cross=tuple(cross), kitty=kitty, **given)


def after(state: State, *lines: str) -> State:
    """The moment after moves written `SEAT put CARD on SLOT`."""
    for line in lines:
        seat, text = line.split(" ", 1)
        state = BYZANTIUM.apply(state, int(seat), move(text))
    return state


def answers(state: State, seat: int) -> list[str]:
    """What a seat is offered, as text."""
    return list(map(str, BYZANTIUM.moves(state, seat)))


def cross_of(state: State) -> dict[str, str]:
    """What lies where."""
    return {NAMES[slot]: CARDS[card] for slot, card in enumerate(state.cross) if card >= 0}


def astray(state: State) -> Counter[str]:
    """The cards lost (-) and doubled (+) since the game began: none, by the law of conservation."""
    there = Counter(cross_of(state).values())
    for pile in (state.kitty, *state.hands):
        there.update(words(pile).split())
    there.subtract(Counter(CARDS))
    return Counter({name: count for name, count in there.items() if count})


def deal(state: State, order: list[str]) -> State:
    """The next round, dealt from cards in this order."""
    return BYZANTIUM.apply(state, None, Move("shuffle", (f"deal:{state.round + 1}", *order)))


def dealt(seats: int, order: list[str]) -> State:
    """The first round of a game, just dealt from cards in this order."""
    return deal(BYZANTIUM.setup(seats, {}), order)


def shuffled(rng: random.Random) -> list[str]:
    """The pack without its Aces in some order."""
    return rng.sample(CARDS, len(CARDS))


def strides(step: int) -> list[str]:
    """An order that anybody can lay out: every `step`-th card of the canonical order, round and round."""
    return [CARDS[step * at % len(CARDS)] for at in range(len(CARDS))]


def game(seats: int, seed: int) -> Iterator[tuple[State, int | None, Move]]:
    """A whole game at random: each move with the moment before it, then the last moment with a move of nobody."""
    rng = random.Random(seed)
    state = BYZANTIUM.setup(seats, {})
    while BYZANTIUM.outcome(state) is None:
        seat: int | None = None
        shuffle = BYZANTIUM.chance(state)
        if shuffle:
            chosen = Move("shuffle", (shuffle.label, *shuffled(rng)))
        else:
            (seat,) = BYZANTIUM.awaited(state)
            chosen = rng.choice(BYZANTIUM.moves(state, seat))
        yield state, seat, chosen
        state = BYZANTIUM.apply(state, seat, chosen)
    yield state, -1, Move("over")


def differing(one: Any, other: Any) -> set[str]:
    """The names of the fields in which two states or views differ."""
    return {field.name for field in fields(one) if getattr(one, field.name) != getattr(other, field.name)}
