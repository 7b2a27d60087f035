"""The game Byzantium."""

from __future__ import annotations

from byzanz.games.byzantium.rules import Byzantium

__all__ = ["Byzantium"]
