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
YEAR_ORDER = "keep least always"
"""A standing order that can be placed at any time."""
