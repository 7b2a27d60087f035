"""The cards and slots of Byzantium, and how a player's line is read.

Inside a state a card is a number from 0 to 23 in canonical order (`2r` … `kr`, `2b` … `kb`), and a slot is one from 0
to 51 in the order of the names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import product
from typing import TypeAlias

from byzanz.moves import Move, UnreadableMove
from byzanz.parsing import completed, move_words, read_verb

Cards: TypeAlias = tuple[int, ...]
"""Cards as numbers, ascending."""
Names: TypeAlias = tuple[str, ...]
"""Cards by their names, in canonical order."""

RANKS = ("2", "3", "4", "5", "6", "7", "8", "9", "10", "j", "q", "k")
NAME = (*(f"{rank}r" for rank in RANKS), *(f"{rank}b" for rank in RANKS))
CARD = {name: card for card, name in enumerate(NAME)}
PACK: Cards = tuple(range(len(NAME)))
ACES = ("ab", "ar")
"""The Aces, crossed in the middle: the black one below, upright, and the red one across it."""
SUIT = {"e": PACK[:12], "n": PACK[12:], "s": PACK[12:], "w": PACK[:12]}
"""The cards that may go on an arm."""
ARMS = tuple(SUIT)
SLOTS = tuple(
    sorted("".join(steps) for depth in range(3) for steps in product(ARMS, *[("f", "l", "r")] * depth))
)
"""All slots in canonical order, which is that of their names as words: `e`, `ef`, `eff` … `el` … `w`, `wf` … `wrr`.

The rules name no order; of equal placements the fallback takes the first card and of that the first slot in this one.
"""
SLOT = {name: slot for slot, name in enumerate(SLOTS)}
_NUMBERED = re.compile(r"(\bon\s+)(\d{1,2})\b", re.IGNORECASE)
PASS = Move("pass")
VERBS = ("put", "pass")


def with_slots(line: str) -> str:
    """Return a line of a reply with the names of the slots that it numbers: `put 7r on 14` as `put 7r on el`.

    Args:
        line: a move or an order; the slots are numbered from 1 in canonical order, as turn emails show them.
    """
    return _NUMBERED.sub(
        lambda found: found[1] + (SLOTS[int(found[2]) - 1] if 0 < int(found[2]) <= len(SLOTS) else found[2]),
        line,
    )


def names(cards: Iterable[int]) -> Names:
    """Return the names of cards."""
    return tuple([NAME[card] for card in cards])


def numbers(cards: Iterable[str]) -> Cards:
    """Return the cards with these names, in the order given."""
    return tuple([CARD[name] for name in cards])


def read_move(text: str) -> Move:
    """Read a move in any letter case, spacing and unambiguous abbreviation (docs/formats.md §1).

    Args:
        text: such as `put 7r on el`, `PU kb ON n` or `pas`; slots and `on` are written in full.

    Raises:
        UnreadableMove, AmbiguousMove: it is not one move; the message says what would be.
    """
    words = move_words(text)
    if not words:
        raise UnreadableMove("Write a move, such as put 7r on el.")
    if read_verb(words[0], VERBS) == "put":
        return _read_put(words[1:])
    if words[1:]:
        raise UnreadableMove("Write pass alone, without a card.")
    return PASS


def _read_put(words: list[str]) -> Move:
    if len(words) != 3 or words[1] != "on":
        raise UnreadableMove("Write put, a card, on and a slot, such as put 7r on el.")
    if words[0] in ACES:
        raise UnreadableMove("The Aces lie in the middle from the start.")
    card = completed(words[0], NAME)
    if not card:
        raise UnreadableMove(
            "There is no card %(word)s; a card is a rank and a colour, such as 7r, 10b or kr.",
            word=words[0][:20],
        )
    if words[2] not in SLOT:
        raise UnreadableMove(
            "There is no slot %(word)s; a slot is an arm (e, n, s or w) and up to two steps (f, l or r).",
            word=words[2][:20],
        )
    return Move("put", (card, "on", words[2]))
