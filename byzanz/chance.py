"""Seed, commitment, key and shuffle: chance that everybody can check later (docs/formats.md §3)."""

from __future__ import annotations

import hmac
import unicodedata
from collections.abc import Callable, Sequence
from hashlib import sha256
from struct import Struct
from typing import TypeAlias, TypeVar

from byzanz.moves import Move, RulesError, Shuffle

T = TypeVar("T")
Draw: TypeAlias = Callable[[int], int]
"""A source of chance handed in from outside: `draw(n)` is an integer from 0 to n-1."""
LONGEST_CUT = 64
"""The most code points in a cut."""
_WORD = 2**64
_FOUR_WORDS = Struct(">4Q")
_NOT_IN_A_CUT = {"Cc", "Cs", "Zl", "Zp"}


class BadCut(RulesError):
    """The text cannot be stored as a cut of the deck."""


def commitment(game_id: str, seed: bytes) -> str:
    """Return the hash that binds the server to a seed without showing it (docs/formats.md §3).

    Args:
        game_id: the game's id.
        seed: 32 bytes from the operating system.
    """
    return sha256(f"byzanz-deal/1\n{game_id}\n".encode() + seed).hexdigest()


def fingerprint(game_id: str, cut: str) -> str:
    """Return the hash that binds a player to a cut; it does not hide a short one (docs/formats.md §3).

    Args:
        game_id: the game's id.
        cut: as `clean_cut` returned it.
    """
    return sha256(f"byzanz-cut/1\n{game_id}\n{cut}".encode()).hexdigest()


def key(game_id: str, seed: bytes, cuts: Sequence[str]) -> bytes:
    """Return the key of a game's shuffles, made of the server's seed and all players' cuts (docs/formats.md §3).

    Args:
        game_id: the game's id.
        seed: the seed that was committed to.
        cuts: one a seat, in seat order, as `clean_cut` returned them.
    """
    return hmac.digest(seed, "\n".join((game_id, *cuts)).encode(), "sha256")


class Stream:
    """A stream of integers, the same for the same key and label (docs/formats.md §3).

    Args:
        key: the key of the game.
        label: the label of the shuffle.
    """

    def __init__(self, key: bytes, label: str) -> None:
        self._key = key
        self._label = label
        self._block = 0
        self._words: list[int] = []

    def below(self, n: int) -> int:
        """Return the next integer from 0 to n-1, each as likely.

        Args:
            n: from 1 to 2**64.

        Raises:
            ValueError: n is out of that range.
        """
        if not 1 <= n <= _WORD:
            raise ValueError(f"an integer below {n} cannot be drawn: give 1 to 2**64")
        while True:
            word = self._words.pop() if self._words else self._next()
            drawn = word % n
            # Words above the last whole multiple of n would make the low integers likelier.
            if word - drawn <= _WORD - n:
                return drawn

    def _next(self) -> int:
        """Return the first word of the next block, and keep the three after it in reverse."""
        block = hmac.digest(self._key, f"{self._label}:{self._block}".encode(), "sha256")
        self._block += 1
        first: int
        first, *rest = _FOUR_WORDS.unpack(block)
        self._words = rest[::-1]
        return first


def shuffled(items: Sequence[T], draw: Draw) -> tuple[T, ...]:
    """Return the items in the order that these draws give (Fisher–Yates, docs/formats.md §3).

    Args:
        items: in canonical order.
        draw: the source of chance; `Stream(key, label).below` for a shuffle of the log.
    """
    order = list(items)
    for last in range(len(order) - 1, 0, -1):
        other = draw(last + 1)
        order[last], order[other] = order[other], order[last]
    return tuple(order)


def deal(key: bytes) -> Callable[[Shuffle], Move]:
    """Return the dealer of a game, which turns a shuffle that is due into its move `shuffle LABEL CARD…`.

    Args:
        key: the key of the game.
    """

    def dealt(shuffle: Shuffle) -> Move:
        return Move("shuffle", (shuffle.label, *shuffled(shuffle.cards, Stream(key, shuffle.label).below)))

    return dealt


def clean_cut(text: str) -> str:
    """Return a cut exactly as typed, if it is a single line of 0 to 64 code points (docs/formats.md §3).

    Args:
        text: what the player typed.

    Raises:
        BadCut: it is too long or has control or line-separator characters.
    """
    if len(text) > LONGEST_CUT:
        raise BadCut(
            "A cut has at most %(most)s characters; this one has %(length)s.",
            most=LONGEST_CUT,
            length=len(text),
        )
    if any(unicodedata.category(sign) in _NOT_IN_A_CUT for sign in text):
        raise BadCut("A cut is one line of text without control characters.")
    return text
