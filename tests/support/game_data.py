"""What tests of every game must be told about one game: a module in tests/games/, named by the game's slug.

A game without such a module, or with one that lacks a name, is tested with what holds for every game.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from byzanz.games import latest

SEATS = {rules.slug: min(3, max(rules.seats)) for rules in latest()}
"""How many sit in a game of which any number of seats will do."""


def of(slug: str, name: str, default: Any) -> Any:
    """Return what a game's module says under a name, or else the default."""
    module = f"tests.games.{slug}"
    return getattr(import_module(module), name, default) if find_spec(module) else default


def of_all(name: str) -> dict[str, Any]:
    """Return what the modules of the games say under a name, by slug, without those that say nothing."""
    found = {rules.slug: of(rules.slug, name, None) for rules in latest()}
    return {slug: value for slug, value in found.items() if value is not None}
