"""What the latest moves of Byzanz did, for the log in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from byzanz.games.byzanz.cards import numbers, total
from byzanz.games.byzanz.view import View


def news(view: View, moves: Sequence[str]) -> list[Any]:
    """Return for each bid what it raised and to what, for a tax its lot, for a take its cards, else None.

    A pass that leaves a lot to the first who passed has that lot.
    """
    told: dict[str, list[Any]] = {
        "bid": [],
        "pass": [],
        "tax": [],
        "take": [cards for _, cards in view.takes],
    }
    for lot in view.lots:
        bid = [0] * view.seats
        for text in lot.bids:
            bidder, *cards = text.split(" ")
            seat = int(bidder)
            before = bid[seat]
            bid[seat] += total(numbers(cards))
            told["bid" if cards else "pass"].append((before, bid[seat]) if cards else None)
        if lot.tax:
            told["tax"].append(lot)
        elif lot.winner >= 0:
            told["pass"][-1] = lot
    found = []
    for move in reversed(moves):
        kept = told.get(move.partition(" ")[0])
        found.append(kept.pop() if kept else None)
    return found[::-1]
