"""The game Empire."""

from __future__ import annotations

from byzanz.games.empire.rules import Empire

__all__ = ["Empire"]
