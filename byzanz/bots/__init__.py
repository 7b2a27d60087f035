"""Bots, their search, and whole games without a server."""

from __future__ import annotations

from byzanz.bots.players import (
    BOTS,
    Decider,
    UnknownBot,
    at_once,
    decide,
    greedy_bot,
    imagined,
    known_bot,
    random_bot,
    search_bot,
    within,
)

__all__ = [
    "BOTS",
    "Decider",
    "UnknownBot",
    "at_once",
    "decide",
    "greedy_bot",
    "imagined",
    "known_bot",
    "random_bot",
    "search_bot",
    "within",
]
