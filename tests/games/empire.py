"""What tests of every game must be told about Empire and Foes; see tests/support/game_data.py."""

from __future__ import annotations

MISTAKES = (
    "redraw",
    "redraw huns crisis taxes trade treaty",
    "meld siege",
    "meld reforms trade",
    "keep taxes",
    "decline",
    "buy-off huns with taxes",
)
"""Moves of which some are refused for a reason that could reveal too much."""
TICKED = ("decline", "no-such-card#0")
"""A verb and a card, as a form sends them, that are never a move."""
FORESEEN = (
    "redraw none",
    "redraw infantry",
    "meld most",
    "meld none",
    "meld infantry",
    "keep least",
    "keep trade most",
    "keep science",
)
"""Standing orders whose answers can be foreseen."""
ORDER = "keep least always"
"""A standing order that can be placed at any time."""
ORDER_AHEAD = "keep most always"
"""A standing order of a player who is not asked about it now."""
ORDER_KINDS = {"redraw", "meld", "defend", "negotiate", "replace", "buy-off", "keep"}
"""The first words of its standing orders."""
QUESTIONS = {"redraw": 0, "meld": 0, "defend": 24, "negotiate": 19, "replace": 59, "buy-off": 1, "keep": 0}
"""Every question, with the random seed that leads to it in the game of its name."""
DEALS = "e"
"""What the names of these games begin with."""
UNDER_WAY = 6
"""The number of moves after which a game is under way."""
NOT_HELD = ("meld huns", "You do not hold Huns.")
"""A move with cards that are not in the hand, and why it is refused."""
CHARTS = ["territory", "legacy"]
"""The charts of a finished game."""
PAIRS_WITH_LEAKS = (35, 16, 39, 28, 20)
"""Pairs of worlds for planted leaks, for a seat to move and for a spectator."""
