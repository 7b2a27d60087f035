"""The cross of Byzantium: where cards lie, what may be placed where, and why a card does not fit.

A cross is the card on each slot, in the order of SLOTS. Lengths are in tenths of the short side of a card, x to the
east and y to the south, from the middle (docs/rules/byzantium.md "Slots").
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from byzanz.games.byzantium.cards import ARMS, NAME, SLOT, SLOTS, SUIT, Cards
from byzanz.moves import IllegalMove

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
