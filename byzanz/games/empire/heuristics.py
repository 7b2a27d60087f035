"""Estimates for bots: the best meld of a hand, what a battle is likely to bring, and a plausible move."""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from math import exp, tanh

from byzanz.games.empire.battle import DECLINE, FALLEN, HIGHEST, RESPONSES, responses
from byzanz.games.empire.cards import (
    BONUS,
    BYZANTINES,
    FOES,
    FORCE,
    KIND,
    LEGACY,
    LIMITS,
    MATCHING,
    MOST_REDRAWN,
    NUMBER,
    YEARS,
    Cards,
    bonus,
    force,
    hand_size,
    kept_worth,
    legacy,
    minus,
    names,
    numbers,
    plus,
)
from byzanz.games.empire.state import State, deck_of, emperor_of
from byzanz.games.empire.view import HIDDEN, View
from byzanz.moves import Move

_TYPICAL = {"E": (16, 20), "M": (18, 19), "L": (19, 16)}
"""The force of a good meld of the Foe and of the Emperor in each age, as simulated games show it."""
_REDRAWN = 1.5
"""The force that a card still to be drawn adds to a meld, on average."""
_GIFT = 0.05
"""The legacy that each point of worth in the card passed to the other seat costs."""
_WEAK = 3
"""A card that adds at most this force to a meld is redrawn; a point of legacy counts as four of force."""


# Melds


@lru_cache(maxsize=4096)
def strongest(hand: Cards) -> Cards:
    """The strongest meld of a hand, of equal ones one with the most legacy, found without trying them all.

    The troops that go with a northern and a southern card are those with the most force and bonus.
    """
    north, south, troops = _of(hand, "northern"), _of(hand, "southern"), _of(hand, "troop")
    melds = [_with_troops(pair, troops) for pair in product({*north, -1}, {*south, -1})]
    meld = max(melds, key=force) + _disasters(hand)
    for kind in ("leader", "recovery", "negotiation", "legacy"):
        meld += _of(hand, kind)[: LIMITS[kind]]
    return tuple(sorted(meld))


def _of(hand: Cards, *kinds: str) -> Cards:
    """The cards of these kinds, the best first."""
    found = [card for card in hand if KIND[card] in kinds]
    return tuple(sorted(found, key=lambda card: FORCE[card] + LEGACY[card], reverse=True))


def _with_troops(pair: Cards, troops: Cards) -> Cards:
    """The northern and southern card there are (-1 for none), with the troops that are best beside them."""
    peoples = tuple([card for card in pair if card >= 0])

    def adds(troop: int) -> int:
        return FORCE[troop] + sum([BONUS[card] for card in peoples if troop in MATCHING[card]])

    return peoples + tuple(sorted(troops, key=adds, reverse=True)[: LIMITS["troop"]])


def _disasters(hand: Cards) -> Cards:
    """The two worst disasters, one of them natural at most."""
    natural, other = _of(hand, "natural-disaster")[:1], _of(hand, "disaster")
    return tuple(sorted(natural + other, key=FORCE.__getitem__)[-LIMITS["disaster"] :])


# Plausible moves


def rollout_move(state: State, seat: int) -> Move:
    """Choose the answer of a player who wants force and legacy.

    Args:
        state: an imagined one.
        seat: one that is asked.
    """
    hand = state.hands[seat]
    if state.step == "redraw":
        return Move("redraw", names(_thrown(hand)))
    if state.step == "meld":
        return Move("meld", names(strongest(hand)))
    if state.step == "keep":
        return Move("keep", names((min(hand, key=kept_worth),)))
    emperor = emperor_of(state.year)
    own, theirs = state.melds[emperor], state.melds[1 - emperor]
    return max(responses(state), key=lambda move: swing(own, theirs, move))


def _thrown(hand: Cards) -> Cards:
    """Return the cards to redraw: the worst outside the strongest meld, then those that add little to it."""
    meld = strongest(hand)

    def adds(card: int) -> int:
        helped = sum([BONUS[other] for other in meld if card in MATCHING[other]])
        return FORCE[card] + 4 * LEGACY[card] + bonus(card, meld) + helped

    weak = sorted([card for card in meld if adds(card) <= _WEAK], key=adds)
    worst = sorted(minus(hand, meld), key=kept_worth) + weak
    return tuple(sorted(worst[:MOST_REDRAWN]))


def laid(view: View, seat: int) -> Cards:
    """Return the meld of a seat as it lies on the table."""
    deck = BYZANTINES if seat == view.emperor else FOES
    return numbers(deck, [melded.card for melded in view.melds[seat].cards])


def swing(own: Cards, theirs: Cards, move: Move) -> int:
    """Return how much a response improves the difference of the forces for the seat that makes it.

    Args:
        own: the Emperor's meld.
        theirs: the Foe's.
        move: a response.
    """
    if move.verb in ("defend", "replace"):
        return force(plus(theirs, numbers(FOES, move.args))) - force(theirs)
    if move == DECLINE:
        return 0
    gained = force(theirs) - force(minus(theirs, numbers(FOES, move.args[:1])))
    lost = force(own) - force(minus(own, numbers(BYZANTINES, move.args[2:])))
    return gained - lost


# Prospects


def evaluate(view: View, me: int) -> float:
    """Return the lead in legacy, with the prospects of this year's battle and the threat of a low territory."""
    lead = float(view.legacy[me] - view.legacy[1 - me])
    return lead if view.step == "over" else lead + _prospects(view, me) + _gifts(view, me)


def _prospects(view: View, me: int) -> float:
    """Return the legacy that a seat may expect of this year's battle and of the threat to the next Emperor."""
    side = 1 if me == view.emperor else -1
    if view.step == "keep":
        return side * _threat(view.territory)
    is_open = view.step in (*RESPONSES, "replace")
    own, theirs, cards = _forces(view, me, is_open)
    room = HIGHEST - view.territory
    after = view.territory + min(room, own - theirs)
    fall = _chance(-after / (0.3 if is_open else 2.5))
    gain = min(room, tanh((own - theirs) / (0.5 if is_open else 4.0))) + cards
    next_year = _threat(after) if view.year < YEARS else 0.0
    return side * ((1 - fall) * (gain + next_year) - fall * FALLEN)


def _forces(view: View, me: int, is_open: bool) -> tuple[float, float, int]:
    """Return the forces of the Emperor and of the Foe, and the legacy of the Emperor's cards."""
    if is_open:
        return view.melds[view.emperor].force, view.melds[view.foe].force, legacy(laid(view, view.emperor))
    foe, emperor = _TYPICAL[view.age]
    strength, cards = _planned(view, me)
    return (strength, foe, cards) if me == view.emperor else (emperor, strength, 0)


def _planned(view: View, me: int) -> tuple[float, int]:
    """Return force and legacy of the meld that a seat has sealed, or of the best it can hope for."""
    deck = BYZANTINES if me == view.emperor else FOES
    hand, chosen = numbers(deck, view.hands[me] or ()), numbers(deck, view.chosen[me] or ())
    if view.step == "meld" and view.sealed[me]:
        return force(chosen), legacy(chosen)
    rest = minus(hand, chosen)
    best = strongest(rest)
    return force(best) + _REDRAWN * (hand_size(deck, view.year) - len(rest)), legacy(best)


def _threat(territory: float) -> float:
    """Return the legacy that the next Emperor is likely to lose because the Empire falls."""
    return FALLEN * _chance(-(territory + 1) / 3)


def _chance(odds: float) -> float:
    return 1 / (1 + exp(-max(-50.0, min(50.0, odds))))


def _gifts(view: View, me: int) -> float:
    """Return the cost of the card that the other seat was passed, or will be."""
    if view.step == "keep":
        return -_GIFT * sum(
            [kept_worth(NUMBER[deck_of(me, view.year)][card]) for card in view.chosen[me] or ()]
        )
    passed = view.received[1 - me]
    return (
        -_GIFT * kept_worth(NUMBER[deck_of(1 - me, view.year)][passed])
        if passed not in (None, HIDDEN)
        else 0.0
    )
