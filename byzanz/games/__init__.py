"""The available games, by slug and version of their rules."""

from __future__ import annotations

from typing import Any

from byzanz.games.byzantium import Byzantium
from byzanz.games.byzanz import Byzanz
from byzanz.games.empire import Empire
from byzanz.moves import BadSetup
from byzanz.rules import Rules

_GAMES: tuple[Rules[Any, Any], ...] = (Byzanz(), Empire(), Byzantium())
"""In the order of lists for people; the versions of one game from the earliest on."""


def rules_of(slug: str, version: int | None = None) -> Rules[Any, Any]:
    """Return the rules of a game.

    Args:
        slug: the game's name, such as `byzanz`.
        version: of its rules; the latest if None. Old versions stay so that old records replay.

    Raises:
        BadSetup: there is no such game, or no such version of it.
    """
    versions = {rules.version: rules for rules in _GAMES if rules.slug == slug}
    if not versions:
        known = ", ".join(rules.slug for rules in latest())
        raise BadSetup("There is no game “%(slug)s”; the games are: %(known)s.", slug=slug, known=known)
    if version is not None and version not in versions:
        known = ", ".join(map(str, sorted(versions)))
        raise BadSetup(
            "There is no version %(version)s of the rules of %(slug)s; the versions are: %(known)s.",
            version=version,
            slug=slug,
            known=known,
        )
    return versions[max(versions) if version is None else version]


def latest() -> tuple[Rules[Any, Any], ...]:
    """Return the latest rules of every game, Byzanz first."""
    return tuple({rules.slug: rules for rules in _GAMES}.values())
