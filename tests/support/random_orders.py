"""What the games' own makers of random standing orders (`random_orders` in tests/games/) share."""

from __future__ import annotations

from byzanz.chance import Draw
from byzanz.kit.played import choice


def some_of(draw: Draw, words: tuple[str, ...], most: int) -> list[str]:
    """Return some of these words, each once.

    Args:
        most: how many there may be.
    """
    return list(dict.fromkeys(choice(draw, words) for _ in range(1 + draw(most))))
