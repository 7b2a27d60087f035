"""Hand-made positions of Byzantium, games played at random, and the check that no card is lost."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

from byzanz.games.byzantium.rules import Byzantium
from byzanz.games.byzantium.state import State
from byzanz.moves import Move
from tests.conftest import Table
from tests.support.games import asked, make, position
from tests.support.second_rules.byzantium import CARDS, NAMES

BYZANTIUM = Byzantium()


def cards(text: str) -> tuple[int, ...]:
    """Return cards by their names, as a state stores them."""
    return tuple(sorted(map(CARDS.index, text.split())))


def words(numbers: tuple[int, ...]) -> str:
    """Return the names of a state's cards."""
    return " ".join(CARDS[number] for number in numbers)


def move(line: str) -> Move:
    """Return a move in canonical form."""
    verb, *args = line.split()
    return Move(verb, tuple(args))


def at(hands: tuple[str, ...], lying: str = "", **given: Any) -> State:
    """Return a position of the first round in which seat 0 is to place, changed by the given fields.

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
    """Return the position after moves written `SEAT put CARD on SLOT`."""
    for line in lines:
        seat, text = line.split(" ", 1)
        state = BYZANTIUM.apply(state, int(seat), move(text))
    return state


def answers(state: State, seat: int) -> list[str]:
    """Return the legal moves of a seat as text."""
    return list(map(str, BYZANTIUM.moves(state, seat)))


def cross_of(state: State) -> dict[str, str]:
    """Return the cards on the cross by slot."""
    return {NAMES[slot]: CARDS[card] for slot, card in enumerate(state.cross) if card >= 0}


def astray(state: State) -> Counter[str]:
    """Return the cards lost (-) and duplicated (+) since the start; there must be none."""
    there = Counter(cross_of(state).values())
    for pile in (state.kitty, *state.hands):
        there.update(words(pile).split())
    there.subtract(Counter(CARDS))
    return Counter({name: count for name, count in there.items() if count})


def deal(state: State, order: list[str]) -> State:
    """Deal the next round from cards in this order."""
    return BYZANTIUM.apply(state, None, Move("shuffle", (f"deal:{state.round + 1}", *order)))


def dealt(seats: int, order: list[str]) -> State:
    """Return the first round of a game, just dealt from cards in this order."""
    return deal(BYZANTIUM.setup(seats, {}), order)


def shuffled(rng: random.Random) -> list[str]:
    """Return the deck without its Aces in random order."""
    return rng.sample(CARDS, len(CARDS))


def strides(step: int) -> list[str]:
    """Return a reproducible order: every `step`-th card of the canonical order, round and round."""
    return [CARDS[step * at % len(CARDS)] for at in range(len(CARDS))]


def game(seats: int, seed: int) -> Iterator[tuple[State, int | None, Move]]:
    """Play a whole game at random; return each move with the position before it, then the last position."""
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
    """Return the names of the fields in which two states or views differ."""
    return {field.name for field in fields(one) if getattr(one, field.name) != getattr(other, field.name)}


# ---- games for the tests of pages ----


def legal(game: Table, seat: int) -> list[str]:
    """Return the moves of a seat as text."""
    now = position(game.id)
    return list(map(str, now.rules.moves(now.state, seat)))


def go_on(game: Table, turns: int, dice: random.Random) -> bool:
    """Play some turns at random; return False when the game is over."""
    for _ in range(turns):
        if not position(game.id).awaited:
            return False
        seat = asked(game)
        make(game, seat, dice.choice(legal(game, seat)))
    return bool(position(game.id).awaited)


def moments(game: Table, every: int = 3, seed: int = 3) -> Iterator[int]:
    """Yield the seat to move at moments of a whole game."""
    dice = random.Random(seed)
    while position(game.id).awaited:
        yield asked(game)
        go_on(game, every, dice)
