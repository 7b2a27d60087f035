"""Hand-made positions of Byzanz, games played at random, and the check that no card is lost."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

from byzanz.games.byzanz.rules import Byzanz
from byzanz.games.byzanz.state import Lot, State, names
from byzanz.moves import Move

BYZANZ = Byzanz()
GOODS = ("cloth", "grain", "olive", "spice", "wine", "wood")
NAMES = [f"{good}{value}" for good in GOODS for value in (1, 2, 3, 4)] + ["merchant"]
PACK = [name for name in NAMES for _ in range({"1": 6, "2": 5, "3": 3, "4": 2, "t": 16}[name[-1]])]
PLACES = ("deck", "removed", "lot", "market", "gone", "hands", "bids", "kept")


def cards(text: str) -> tuple[int, ...]:
    """Return cards by their names, as a state stores them."""
    return tuple(sorted(map(NAMES.index, text.split())))


def words(numbers: tuple[int, ...]) -> str:
    """Return the names of a state's cards."""
    return " ".join(NAMES[number] for number in numbers)


def move(line: str) -> Move:
    """Return a move in canonical form."""
    verb, *args = line.split()
    return Move(verb, tuple(args))


def at(seats: int = 4, **given: Any) -> State:
    """Return a position in which seat 0 starts an auction, changed by the given fields; the other cards are the deck.

    Args:
        seats: how many.
        given: fields of the state; `deck` names the cards on top.
    """
    piles: dict[str, Any] = {
        name: tuple(map(cards, value)) for name, value in given.items() if _is_piles(value)
    }
    piles |= {
        name: cards(value) for name, value in given.items() if name in PLACES and isinstance(value, str)
    }
    top = [NAMES.index(name) for name in str(given.pop("deck", "")).split()]
    start = replace(BYZANZ.setup(seats, {}), step="bid", number=1, turn=0, deck=())
    state = replace(start, **(given | piles | {"deck": ()}))
    rest = Counter(map(NAMES.index, PACK)) - Counter(everything(state)) - Counter(top)
    lots = (Lot(len(state.lot), names(state.lot), (), -1, ()),)
    return replace(state, deck=(*top, *sorted(rest.elements())), lots=state.lots or lots)


def _is_piles(value: Any) -> bool:
    return isinstance(value, tuple | list) and all(isinstance(pile, str) for pile in value) and value != ()


def everything(state: State) -> list[int]:
    """Return all cards of a position, wherever they are."""
    piles = (getattr(state, place) for place in PLACES)
    return [
        card for pile in piles for part in pile for card in (part if isinstance(part, tuple) else (part,))
    ]


def astray(state: State) -> Counter[str]:
    """Return the cards lost (-) and duplicated (+) since the start; there must be none."""
    there = Counter(NAMES[card] for card in everything(state))
    there.subtract(Counter(PACK))
    return Counter({name: count for name, count in there.items() if count})


def after(state: State, *lines: str) -> State:
    """Return the position after moves written `SEAT VERB CARD…`."""
    for line in lines:
        seat, text = line.split(" ", 1)
        state = BYZANZ.apply(state, int(seat), move(text))
    return state


def answers(state: State, seat: int) -> list[str]:
    """Return the legal moves of a seat as text."""
    return list(map(str, BYZANZ.moves(state, seat)))


def asked(state: State) -> dict[int, str]:
    """Return the open questions, without their numbers."""
    return {seat: question.kind for seat, question in BYZANZ.awaited(state).items()}


def dealt(seats: int, order: list[str]) -> State:
    """Return a game of this many seats, just dealt from cards in this order."""
    return BYZANZ.apply(BYZANZ.setup(seats, {}), None, Move("shuffle", ("deal", *order)))


def shuffled(rng: random.Random) -> list[str]:
    """Return the deck in random order."""
    order = PACK.copy()
    rng.shuffle(order)
    return order


def strides(step: int) -> list[str]:
    """Return the deck in a reproducible order: every `step`-th card of the canonical order, round and round."""
    return [PACK[step * at % len(PACK)] for at in range(len(PACK))]


def choices(state: State, rng: random.Random) -> tuple[int, Move]:
    """Choose a seat and a legal move: mostly an answer, now and then a sale out of turn or several discards."""
    sellers = [seat for seat in range(len(state.hands)) if BYZANZ.out_of_turn_moves(state, seat)]
    if sellers and rng.random() < 0.1:
        seat = rng.choice(sellers)
        return seat, rng.choice(BYZANZ.out_of_turn_moves(state, seat))
    seat = rng.choice(list(BYZANZ.awaited(state)))
    spare = len(state.hands[seat]) - 7
    if state.step == "limit" and rng.random() < 0.3:
        thrown = sorted(rng.sample(state.hands[seat], rng.randint(1, spare)))
        return seat, Move("discard", tuple(NAMES[card] for card in thrown))
    return seat, rng.choice(BYZANZ.moves(state, seat))


def game(seats: int, seed: int) -> Iterator[tuple[State, int, Move]]:
    """Play a whole game at random; return each move with the position before it, then the last position."""
    rng = random.Random(seed)
    state = dealt(seats, shuffled(rng))
    while BYZANZ.outcome(state) is None:
        seat, chosen = choices(state, rng)
        yield state, seat, chosen
        state = BYZANZ.apply(state, seat, chosen)
    yield state, -1, Move("over")


def differing(one: Any, other: Any) -> set[str]:
    """Return the names of the fields in which two states or views differ."""
    return {field.name for field in fields(one) if getattr(one, field.name) != getattr(other, field.name)}
