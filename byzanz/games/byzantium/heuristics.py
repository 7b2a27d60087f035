"""Estimates for bots: how good a hand of Byzantium looks, and a plausible move."""

from __future__ import annotations

from byzanz.chance import Draw
from byzanz.games.byzantium.cards import PASS, numbers
from byzanz.games.byzantium.cross import openings, playable
from byzanz.games.byzantium.moves import PUTS
from byzanz.games.byzantium.state import State
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
