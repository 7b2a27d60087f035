"""Games of Byzantium for the page tests, advanced to any position."""

from __future__ import annotations

import random
from collections.abc import Iterator

from tests.conftest import Table
from tests.support.tables import asked, make, position


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
