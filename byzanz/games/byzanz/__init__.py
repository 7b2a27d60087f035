"""The game Byzanz."""

from __future__ import annotations

from byzanz.games.byzanz.rules import Byzanz

__all__ = ["Byzanz"]
