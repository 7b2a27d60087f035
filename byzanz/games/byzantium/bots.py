"""What bots think about Byzantium: estimates of a view, and sampled states that fit it."""

from __future__ import annotations

from byzanz.chance import Draw
from byzanz.games.byzantium.moves import PUTS
from byzanz.games.byzantium.state import PACK, PASS, State, numbers, openings, playable
from byzanz.games.byzantium.view import View, cross_of
from byzanz.moves import Move


def evaluate(view: View) -> float:
    """Return minus the points so far, and minus a share for each card in hand: the fewer slots, the larger."""
    if not isinstance(view.viewer, int):
        return 0.0
    score = -float(view.scores[view.viewer])
    if view.step != "put":
        return score
    slots = playable(cross_of(view))
    return score - sum(1 / (1 + slots.get(card, 0)) for card in numbers(view.hand or ()))


def rollout_move(state: State, seat: int, draw: Draw) -> Move:
    """Place one of the cards that fit on the fewest slots, on any of them."""
    fits = {
        card: [slot for slot, cards in openings(state.cross).items() if card in cards]
        for card in state.hands[seat]
    }
    fewest = min(map(len, filter(None, fits.values())), default=0)
    if not fewest:
        return PASS
    choices = [(card, slot) for card, slots in fits.items() if len(slots) == fewest for slot in slots]
    return PUTS[choices[draw(len(choices))]]


# ---- sampled states ----


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
