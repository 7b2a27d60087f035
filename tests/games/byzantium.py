"""What tests of every game must be told about Byzantium; see tests/support/game_data.py."""

from __future__ import annotations

MISTAKES = ("put 7r on e", "put kb on n", "put 2b on sfl", "pass")
"""Moves of which some are refused for a reason that could reveal too much."""
TICKED = ("put", "ab#0")
"""A verb and a card, as a form sends them, that are never a move."""
FORESEEN = ("put any", "put 7r on e, 8r on ef, kb on n then ask", "put 2b on s, qr on w then any")
"""Standing orders whose answers can be foreseen."""
YEAR_ORDER = "put any always"
"""A standing order that can be placed at any time."""
