"""The cards of Byzantium, the cross, and the state of a game (docs/rules/byzantium.md).

Inside a state a card is a number from 0 to 23 in canonical order (`2r` … `kr`, `2b` … `kb`), and a slot is one from 0
to 51 in the order of the names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import NamedTuple, TypeAlias

from byzanz.moves import IllegalMove, Move, Question, UnreadableMove
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


# ---- the cross ----
# A cross is the card on each slot, in the order of SLOTS. Lengths are in tenths of the short side of a card, x to the
# east and y to the south, from the middle (docs/rules/byzantium.md "Slots").

Cross: TypeAlias = tuple[int, ...]
"""The card on each slot, EMPTY where none lies."""
EMPTY = -1
NO_CARDS: Cross = (EMPTY,) * len(SLOTS)
HALF_SHORT, HALF_LONG = 5, 7
OUTWARD = {"e": (1, 0), "n": (0, -1), "s": (0, 1), "w": (-1, 0)}


class Spot(NamedTuple):
    """Where a card lies: its centre, and the direction in which its long side points."""

    x: int
    y: int
    dx: int
    dy: int


class Box(NamedTuple):
    """The edges of a card on the table."""

    left: int
    top: int
    right: int
    bottom: int


def spot(slot: str, half_short: int = HALF_SHORT, half_long: int = HALF_LONG) -> Spot:
    """Return where a card on this slot lies (docs/rules/byzantium.md "Slots").

    Args:
        slot: its name.
        half_short: half the short side of a card, the unit being anything.
        half_long: half the long side.
    """
    dx, dy = OUTWARD[slot[0]]
    x, y = 2 * half_long * dx, 2 * half_long * dy
    for step in slot[1:]:
        if step != "f":
            dx, dy = (dy, -dx) if step == "l" else (-dy, dx)
        stride = 2 * half_long if step == "f" else half_short + half_long
        x, y = x + stride * dx, y + stride * dy
    return Spot(x, y, dx, dy)


def box(card: Spot, half_short: int = HALF_SHORT, half_long: int = HALF_LONG) -> Box:
    """Return the edges of a card that lies there."""
    wide, high = (half_long, half_short) if card.dx else (half_short, half_long)
    return Box(card.x - wide, card.y - high, card.x + wide, card.y + high)


def touch(one: Box, other: Box) -> bool:
    """Return whether two cards overlap or share a point of an edge."""
    across = one.left <= other.right and other.left <= one.right
    return across and one.top <= other.bottom and other.top <= one.bottom


def kin(one: str, other: str) -> bool:
    """Return whether one of two slots hangs on the other, or both are the same."""
    return one[:-1] == other or other[:-1] == one or one == other


_BOX = {name: box(spot(name)) for name in SLOTS}
_ACE = {"ar": box(Spot(0, 0, *OUTWARD["e"])), "ab": box(Spot(0, 0, *OUTWARD["n"]))}
_OTHER_ACE = {"e": "ab", "n": "ar", "s": "ar", "w": "ab"}
DEAD = frozenset(name for name in SLOTS if touch(_BOX[name], _ACE[_OTHER_ACE[name[0]]]))
"""Slots on which a card would touch the Ace of the other colour."""
RIVALS = tuple(
    tuple(
        SLOT[other]
        for other in SLOTS
        if not {name, other} & DEAD and not kin(name, other) and touch(_BOX[name], _BOX[other])
    )
    for name in SLOTS
)
"""The slots whose cards a card on this slot would touch, besides those it hangs on or that hang on it."""
_PARENT = tuple(SLOT.get(name[:-1], EMPTY) for name in SLOTS)
_USABLE = tuple(slot for slot, name in enumerate(SLOTS) if name not in DEAD)
_SECOND = {arm: tuple(SLOT[arm + step] for step in "flr") for arm in ARMS}


def direction(cross: Cross, arm: str) -> int:
    """Return 1 if the steps of an arm rise, -1 if they fall, 0 while no card on it hangs on another."""
    for slot in _SECOND[arm]:
        if cross[slot] != EMPTY:
            return 1 if cross[slot] > cross[SLOT[arm]] else -1
    return 0


def placed(cross: Cross, slot: int, card: int) -> Cross:
    """Return the cross with a card on one more slot."""
    return (*cross[:slot], card, *cross[slot + 1 :])


def rival(cross: Cross, slot: int) -> int:
    """Return a slot with a card that a card on this slot would touch, or EMPTY."""
    for other in RIVALS[slot]:
        if cross[other] != EMPTY:
            return other
    return EMPTY


@lru_cache(maxsize=1 << 11)
def openings(cross: Cross) -> Mapping[int, Cards]:
    """Return the slots that are open now, with all cards off the cross that fit there.

    A slot that hangs on no card, is taken or is closed is left out (docs/rules/byzantium.md "Play").
    """
    found: dict[int, Cards] = {}
    lying = set(cross)
    for slot in _USABLE:
        parent = _PARENT[slot]
        hangs = parent == EMPTY or cross[parent] != EMPTY
        if hangs and cross[slot] == EMPTY and rival(cross, slot) == EMPTY:
            found[slot] = tuple([card for card in _beyond(cross, slot) if card not in lying])
    return found


def _beyond(cross: Cross, slot: int) -> Cards:
    """Return the cards of the arm that continue its direction from the card that the slot hangs on."""
    arm, parent = SLOTS[slot][0], _PARENT[slot]
    way = 0 if parent == EMPTY else direction(cross, arm)
    if way == 0:
        return SUIT[arm]
    at = SUIT[arm].index(cross[parent])
    return SUIT[arm][at + 1 :] if way > 0 else SUIT[arm][:at]


@lru_cache(maxsize=1 << 11)
def playable(cross: Cross) -> Mapping[int, int]:
    """Return the cards that could be placed now, ascending, each with the number of slots it fits on."""
    found: dict[int, int] = {}
    for cards in openings(cross).values():
        for card in cards:
            found[card] = found.get(card, 0) + 1
    return dict(sorted(found.items()))


def conditions(cross: Cross) -> dict[str, str]:
    """Return of each slot whether it is `taken`, `open`, `waiting`, `closed` or `dead`; parents come first."""
    states = {"": "taken"}
    for slot, name in enumerate(SLOTS):
        if cross[slot] != EMPTY:
            states[name] = "taken"
        elif name in DEAD:
            states[name] = "dead"
        elif rival(cross, slot) != EMPTY or states[name[:-1]] == "closed":
            states[name] = "closed"
        else:
            states[name] = "open" if states[name[:-1]] == "taken" else "waiting"
    return states


def refusal(cross: Cross, slot: int, card: int) -> IllegalMove:
    """Return the error that says why a card does not fit on a slot."""
    name, arm = SLOTS[slot], SLOTS[slot][0]
    if name in DEAD:
        return IllegalMove("No card can be placed on %(slot)s: it would touch the other Ace.", slot=name)
    if card not in SUIT[arm]:
        if card in SUIT["n"]:
            return IllegalMove("%(card)s is black: place it on arm n or s.", card=NAME[card])
        return IllegalMove("%(card)s is red: place it on arm e or w.", card=NAME[card])
    if cross[slot] != EMPTY:
        return IllegalMove("%(slot)s is taken: %(card)s lies there.", slot=name, card=NAME[cross[slot]])
    other = rival(cross, slot)
    if other != EMPTY:
        return IllegalMove(
            "%(slot)s is closed: a card there would touch %(card)s on %(other)s.",
            slot=name,
            card=NAME[cross[other]],
            other=SLOTS[other],
        )
    parent = _PARENT[slot]
    if cross[parent] == EMPTY:
        return IllegalMove(
            "%(slot)s is not open yet: no card lies on %(parent)s.", slot=name, parent=name[:-1]
        )
    places = {"arm": arm, "slot": name, "card": NAME[cross[parent]]}
    if direction(cross, arm) > 0:
        return IllegalMove("Arm %(arm)s is rising: place a card higher than %(card)s on %(slot)s.", **places)
    return IllegalMove("Arm %(arm)s is falling: place a card lower than %(card)s on %(slot)s.", **places)


# ---- the state ----

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
