"""What tests of every game must be told about Byzanz; see tests/support/game_data.py."""

from __future__ import annotations

MISTAKES = (
    "bid cloth4",
    "sell merchant merchant merchant",
    "tax wine4",
    "take wood",
    "discard olive3",
    "done",
    "bid spice1 wood1",
)
"""Moves of which some are refused for a reason that could reveal too much."""
TICKED = ("bid", "merchant#0")
"""A verb and a card, as a form sends them, that are never a move."""
FORESEEN = (
    "raise upto 3",
    "raise upto 9 then ask",
    "ladder cloth1 grain1 wine2 wood3 upto 7",
    "pass",
    "tax best always",
    "tax lowest",
    "take wine best",
    "take most always",
    "limit sell lowest",
    "finish",
)
"""Standing orders whose answers can be foreseen."""
YEAR_ORDER = "finish"
"""A standing order that can be placed at any time."""
