"""A game's settings in a form, and its time control: what it offers, and what it says."""

from __future__ import annotations

from typing import Any

import flask

from server import config, validation
from server.errors import InvalidInput
from server.lobby import settings
from server.lobby.settings import TimeControl
from server.store.models import Game, GameSettings
from server.web import submissions

ALLOWANCES = (600, 3600, 2 * 3600, 6 * 3600, 12 * 3600, 86400, 2 * 86400, 3 * 86400, 7 * 86400)
"""Seconds for a decision, as the form offers them."""
BANKS = (0, 3600, 4 * 3600, 12 * 3600, 86400, 2 * 86400, 4 * 86400, 7 * 86400, 14 * 86400)
"""Seconds beyond them, for a whole game."""


def fields_of(chosen: GameSettings) -> dict[str, str]:
    """Return what the form for a new game says with these settings; its options have no field."""
    own = TimeControl.of(chosen)
    return {
        "game": chosen.slug,
        "pace": next((name for name, preset in settings.PRESETS.items() if preset == own), "own"),
        "allowance": str(chosen.allowance),
        "bank": str(chosen.bank),
        **{f"day_{day}": "off" for day in chosen.days_off},
        "time_zone": chosen.time_zone,
        "listed": "yes" if chosen.listed else "",
        "asks": str(chosen.asks),
        "keep_going": "yes" if chosen.keep_going else "",
        "talk": "yes" if chosen.talk else "",
    }


def read_settings(before: GameSettings | None) -> GameSettings:
    """Return the settings that the form for a new game says.

    Args:
        before: those of the finished game that it follows; the same game has the same options again.

    Raises:
        InvalidInput: as in `read_time_control`, or the percentage is not a whole number.
    """
    fields = flask.request.form
    slug = fields.get("game", config.offered_games()[0].slug)
    return GameSettings(
        slug,
        *read_time_control(),
        options=before.options if before and before.slug == slug else "{}",
        time_zone=fields.get("time_zone", "UTC"),
        listed="listed" in fields,
        asks=read_number("asks", 0),
        keep_going="keep_going" in fields,
        talk="talk" in fields,
    )


def read_time_control() -> TimeControl:
    """Return the time control of the form: a preset, or its own values.

    Raises:
        InvalidInput: it names no preset, or a time is not a whole number.
    """
    fields = flask.request.form
    chosen = fields.get("pace", "own")
    if chosen in settings.PRESETS:
        return settings.PRESETS[chosen]
    if chosen != "own":
        raise InvalidInput(
            "“%(text)s” is not one of the time controls on offer.",
            field="pace",
            text=validation.excerpt(chosen),
        )
    allowance = read_number("allowance", 86400)
    days_off = "".join(day for day in "1234567" if f"day_{day}" in fields)
    return TimeControl(allowance, read_number("bank", settings.default_bank(allowance)), days_off)


def changed(game: Game) -> TimeControl:
    """Return the time control of a game with what was changed in the form.

    Raises:
        InvalidInput: as in `read_time_control`. ChangedMeanwhile: it was changed elsewhere, too.
    """
    chosen = read_time_control()
    typed = {name: str(getattr(chosen, name)) for name in _stored(game)}
    new = submissions.settled(typed, _stored(game))
    return TimeControl(int(new["allowance"]), int(new["bank"]), new["days_off"])


def _stored(game: Game) -> dict[str, str]:
    own = TimeControl.of(GameSettings.of(game))
    return {name: str(value) for name, value in own._asdict().items()}


def read_number(name: str, absent: int, field: str | None = None) -> int:
    """Return a whole number from the form.

    Args:
        absent: what an empty field means.
        field: the field to name if the number is invalid; `name` if None.

    Raises:
        InvalidInput: it is no whole number.
    """
    text = flask.request.form.get(name, "") or str(absent)
    number = validation.whole_number(text, 9_999_999)
    if number is None:
        raise InvalidInput(
            "“%(text)s” must be a whole number.", field=field or name, text=validation.excerpt(text)
        )
    return number


def context(game: Game, *, refused: bool) -> dict[str, Any]:
    """Return what `lobby/times.html` needs to change the time control of a game.

    Args:
        refused: the form has just been refused, so its fields are shown again.
    """
    now: dict[str, str] = {"allowance": str(game.allowance), "bank": str(game.bank)}
    now |= {f"day_{day}": "off" for day in game.days_off}
    return {
        "stored": _stored(game),
        "fields": flask.request.form.to_dict() if refused else now,
        "allowances": sorted({*ALLOWANCES, game.allowance}),
        "banks": sorted({*BANKS, game.bank}),
    }
