"""Random states of Byzantium that give exactly a certain view: hidden cards are dealt anew."""

from __future__ import annotations

from byzanz.chance import Draw
from byzanz.games.byzantium.cards import PACK, numbers
from byzanz.games.byzantium.state import State
from byzanz.games.byzantium.view import View, cross_of


def sample_state(view: View, draw: Draw) -> State:
    """Return a state of this view, each as likely: no seat is dealt a card that it showed not to hold.

    A seat that passed early could have placed all that could be placed later. It has the least to choose from, so it
    is dealt first: whatever it gets leaves the later ones as many ways.
    """
    cross, lacks = cross_of(view), tuple(map(numbers, view.lacks))
    hands = [None if hand is None else numbers(hand) for hand in view.hands]
    kitty = numbers(view.kitty or ())
    seen = {*cross, *kitty}.union(*(hand or () for hand in hands))
    pool = [card for card in PACK if card not in seen]
    for seat in dict.fromkeys((*view.passed, *range(view.seats))):
        if hands[seat] is None:
            may_hold = [card for card in pool if card not in lacks[seat]]
            dealt = {may_hold.pop(draw(len(may_hold))) for _ in range(view.hand_sizes[seat])}
            hands[seat], pool = tuple(sorted(dealt)), [card for card in pool if card not in dealt]
    return State(
        step=view.step,
        number=view.number,
        round=view.round,
        turn=-1 if view.turn is None else view.turn,
        kitty=kitty + tuple(pool),
        hands=tuple(hand or () for hand in hands),
        cross=cross,
        passed=view.passed,
        lacks=lacks,
        shown=tuple(tuple(map(numbers, hands)) for hands in view.shown),
    )
