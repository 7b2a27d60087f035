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
ORDER = "finish"
"""A standing order that can be placed at any time."""
ORDER_AHEAD = "take wine most always"
"""A standing order of a player who is not asked about it now."""
ORDER_KINDS = {"ladder", "raise", "pass", "tax", "take", "limit", "finish"}
"""The first words of its standing orders."""
QUESTIONS = {"bid": 1, "tax": 1, "limit": 1, "take": 1, "end": 1}
"""Every question, with the random seed that leads to it in the game of its name."""
UNDER_WAY = 20
"""The number of moves after which a game is under way."""
NOT_HELD = ("bid wood3 wood3", "You do not hold 2× Wood 3.")
"""A move with cards that are not in the hand, and why it is refused."""
CHARTS = ["prices", "profit", "market", "hands"]
"""The charts of a finished game."""
PAIRS_WITH_LEAKS = (14, 7, 20, 37)
"""Pairs of worlds for planted leaks, for a seat to move and for a spectator."""
