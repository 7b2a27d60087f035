"""The games that can be started: all installed ones, or those of BYZANZ_GAMES in its order.

Games that run already go on, whether they are offered or not.
"""

from __future__ import annotations

import re

from flask import has_app_context

from byzanz import games
from byzanz.games import AnyRules
from server import config
from server.config import Settings


def offered() -> tuple[AnyRules, ...]:
    """Return the latest rules of the games that can be started; all if the setting names none that is installed."""
    known = {rules.slug: rules for rules in games.latest()}
    named = _named(config.settings()) if has_app_context() else ()
    return tuple(known[slug] for slug in named if slug in known) or tuple(known.values())


def warnings(settings: Settings) -> list[str]:
    """Return lines about installed packages whose games cannot be played, and about unknown games in the setting."""
    slugs = {rules.slug for rules in games.latest()}
    lines = [f"the game {it.name} of {it.package} cannot be played: {it.reason}" for it in games.broken()]
    missing = [slug for slug in _named(settings) if slug not in slugs]
    if missing:
        lines.append(f"BYZANZ_GAMES names games that are not installed: {', '.join(missing)}")
    return lines


def _named(settings: Settings) -> tuple[str, ...]:
    return tuple(dict.fromkeys(re.findall(r"[^\s,]+", settings.games.lower())))
