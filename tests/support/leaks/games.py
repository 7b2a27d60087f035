"""The games that pairs of worlds play: how they continue at random, and which moments are compared."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from byzanz.moves import Move
from byzanz.rules import Rules, Viewer

Chooser = Callable[[Any, random.Random], tuple[int, Move]]


@dataclass(frozen=True, slots=True)
class Step:
    """One entry of a game: a move of a seat, or a shuffle; `forced` if the seat had no other move."""

    seat: int | None
    move: str
    forced: bool

    @property
    def made(self) -> Move:
        """The move itself."""
        verb, *args = self.move.split(" ")
        return Move(verb, tuple(args))


@dataclass(frozen=True, slots=True)
class Moment:
    """A kind of moment at which a pair is compared.

    Args:
        name: of the kind.
        fits: whether a state is such a moment, and for which viewer.
        secrets: what must differ between the two worlds, one of `retold.secrets`.
    """

    name: str
    fits: Callable[[Any, Viewer], bool]
    secrets: frozenset[str]


@dataclass(frozen=True, slots=True)
class Kind:
    """One of the games.

    Args:
        seats: the possible numbers of seats.
        choosing: returns the players of one game: who may move, and what they do.
        moments: in which pairs take turns.
    """

    rules: Rules[Any, Any]
    seats: tuple[int, ...]
    choosing: Callable[[random.Random], Chooser]
    moments: tuple[Moment, ...]


def of_others(items: tuple[Any, ...], viewer: Viewer) -> list[Any]:
    """Return the items of all other seats."""
    return [item for seat, item in enumerate(items) if seat != viewer]
