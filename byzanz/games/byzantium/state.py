"""The state of a game of Byzantium, and what follows from it alone."""

from __future__ import annotations

from dataclasses import dataclass

from byzanz.games.byzantium.cards import PACK, Cards
from byzanz.games.byzantium.cross import NO_CARDS, Cross
from byzanz.moves import Question

HAND_SIZE = {2: 10, 3: 8, 4: 6}
"""How many cards each seat is dealt, by the number of seats."""


@dataclass(frozen=True, slots=True)
class State:
    """A moment of a game. Every tuple with one item a seat is in seat order.

    When a round is over, its cards lie there until the next is dealt.

    Args:
        step: `deal`, `put` or `over`.
        number: how many decisions have been opened so far.
        round: the one on the table, from 1; 0 before the first deal.
        turn: the seat that places a card; -1 when it is nobody.
        kitty: the cards dealt to nobody: before the first deal all of them.
        hands: of each seat.
        cross: the card on each slot, in the order of SLOTS.
        passed: the seats that had to pass this round, in the order of passing.
        lacks: the cards that each seat showed by passing that it did not hold: all that could be placed.
        shown: for each finished round what was left in each hand.
    """

    step: str
    number: int
    round: int
    turn: int
    kitty: Cards
    hands: tuple[Cards, ...]
    cross: Cross
    passed: tuple[int, ...]
    lacks: tuple[Cards, ...]
    shown: tuple[tuple[Cards, ...], ...]


def initial(seats: int) -> State:
    """Return the state before the first deal."""
    return State(
        step="deal",
        number=0,
        round=0,
        turn=-1,
        kitty=PACK,
        hands=((),) * seats,
        cross=NO_CARDS,
        passed=(),
        lacks=((),) * seats,
        shown=(),
    )


def awaited(state: State) -> dict[int, Question]:
    """Return the seat to move, with its question."""
    return {} if state.turn < 0 else {state.turn: Question("put", state.number)}


def scores(state: State) -> tuple[int, ...]:
    """Return the points of each seat: one for each card left in a finished round."""
    return tuple(sum(len(hands[seat]) for hands in state.shown) for seat in range(len(state.hands)))
