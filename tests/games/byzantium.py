"""What tests of every game must be told about Byzantium; see tests/support/game_data.py."""

from __future__ import annotations

MISTAKES = ("put 7r on e", "put kb on n", "put 2b on sfl", "pass")
"""Moves of which some are refused for a reason that could reveal too much."""
TICKED = ("put", "ab#0")
"""A verb and a card, as a form sends them, that are never a move."""
FORESEEN = ("put any", "put 7r on e, 8r on ef, kb on n then ask", "put 2b on s, qr on w then any")
"""Standing orders whose answers can be foreseen."""
ORDER = "put any always"
"""A standing order that can be placed at any time."""
ORDER_AHEAD = "put any always"
"""A standing order of a player who is not asked about it now."""
ORDER_KINDS = {"put"}
"""The first words of its standing orders."""
QUESTIONS = {"put": 1}
"""Every question, with the random seed that leads to it in the game of its name."""
NOT_HELD = ("put 9r on el", "You do not hold red 9.")
"""A move with cards that are not in the hand, and why it is refused."""
CHARTS = ["points", "left"]
"""The charts of a finished game."""
PAIRS_WITH_LEAKS = (0, 3, 13)
"""Pairs of worlds for planted leaks, for a seat to move and for a spectator."""
