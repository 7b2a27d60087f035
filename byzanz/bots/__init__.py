"""Bots, their search, and whole games without a server."""

from __future__ import annotations

from byzanz.bots.players import (
    BOTS,
    Bot,
    UnknownBot,
    decide,
    find_bot,
    greedy_bot,
    no_budget,
    playout_budget,
    random_bot,
    search_bot,
    time_budget,
)

__all__ = [
    "BOTS",
    "Bot",
    "UnknownBot",
    "decide",
    "find_bot",
    "greedy_bot",
    "no_budget",
    "playout_budget",
    "random_bot",
    "search_bot",
    "time_budget",
]
