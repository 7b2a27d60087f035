"""Finished games whose people may play again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from datetime import datetime
from typing import Any

from hypothesis import strategies as st

from byzanz import games
from server import play
from server.store import engine, people
from server.store.models import Block, Game, GameSettings
from tests.conftest import NOW, Table
from tests.support.ticks import give_to_bots

MODERATOR = "mia@example.org"


CHOICES: dict[str, tuple[Any, ...]] = {
    "slug": tuple(rules.slug for rules in games.latest() if {3, 4} <= set(rules.seats)),
    "allowance": (3600, 86400, 100_000),
    "bank": (0, 7, 172_800),
    "days_off": ("", "67", "135"),
    "options": ("{}", '{"short": true}'),
    "time_zone": ("UTC", "Asia/Kathmandu"),
    "listed": (False, True),
    "asks": (0, 90, 98),
    "keep_going": (False, True),
    "talk": (False, True),
}
"""Values of each setting, for games of three and of four."""


def any_settings() -> st.SearchStrategy[GameSettings]:
    """Return a strategy for the settings of a game; a setting without two values here fails."""
    assert {name for name, values in CHOICES.items() if len(values) > 1} == {
        field.name for field in fields(GameSettings)
    }
    return st.builds(GameSettings, **{name: st.sampled_from(values) for name, values in CHOICES.items()})


def moderator() -> int:
    """Return the id of a moderator who does not play."""
    with engine.transaction() as session:
        mia = people.get_or_create(session, MODERATOR, "Mia", NOW)
        mia.moderator = True
        return mia.id


def end(game: Table, now: datetime = NOW) -> None:
    """Let a moderator end a game."""
    play.moderate(game.id, "!abandon", reason="Enough", person_id=moderator(), now=now)


def ended(begin: Callable[..., Table], n: int = 3, bots: tuple[str, ...] = (), **more: object) -> Table:
    """Start a game and end it.

    Args:
        bots: the kinds of those on the last seats.
        more: columns of the game.
    """
    game = begin(n, **more)
    for seat, bot in enumerate(bots, n - len(bots)):
        give_to_bots(game, range(seat, seat + 1), bot)
    end(game)
    return game


def block(person_id: int, other_id: int) -> None:
    """Let a person block another."""
    with engine.transaction() as session:
        session.add(Block(person_id=person_id, other_id=other_id, at=NOW))


def set_game(game_id: str, **values: object) -> None:
    """Change columns of a game."""
    with engine.transaction() as session:
        game = session.get_one(Game, game_id)
        for name, value in values.items():
            setattr(game, name, value)
