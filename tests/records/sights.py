"""Rare events in the recorded games: endings, moves, table acts; README.md says which game shows which."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from byzanz.record import Record
from tests.records.moments import Moment, ended, made_by, moments, of_move
from tests.support import game_data


def _takes_back_shuffle(record: Record) -> bool:
    """Whether a shuffle was voided and came again."""
    shuffles = [entry.move for entry in record.entries if entry.by == "chance"]
    return len(set(shuffles)) < len(shuffles)


def _reaches_behind(record: Record) -> bool:
    """Whether a later void takes back more than an earlier one."""
    targets = [int(entry.move.split()[1]) for entry in record.entries if entry.move.startswith("!void")]
    return any(later < earlier for earlier, later in pairwise(targets))


def _of_each_game(name: str) -> dict[tuple[str, str], Callable[..., bool]]:
    return {
        (slug, what): shows for slug, told in game_data.of_all(name).items() for what, shows in told.items()
    }


MOMENTS: dict[tuple[str, str], Callable[[Moment], bool]] = {
    **_of_each_game("RARE_MOMENTS"),
    ("any", "a fallback, for a seat that did not answer"): made_by("clock"),
    ("any", "a seat on autopilot"): made_by("autopilot"),
    ("any", "a standing order"): made_by("order"),
    ("any", "a seat replaced"): of_move("!replace"),
    ("any", "time added: !extend, !bank, !credit"): of_move(("!extend", "!bank", "!credit")),
    ("any", "a note"): of_move("!note"),
    ("any", "a look at hidden hands"): of_move("!look"),
    ("any", "an act that nobody knows yet"): of_move("!dance"),
}
"""Events of an entry, by the slug of the game; `any` for all games."""
GAMES: dict[tuple[str, str], Callable[[Record], bool]] = {
    **_of_each_game("RARE_GAMES"),
    ("any", "abandoned"): lambda game: ended(game).reason == "abandoned",
    ("any", "seats that were not asked to cut"): lambda game: bool(game.header.uncut),
    ("any", "a void"): lambda game: any(entry.move.startswith("!void") for entry in game.entries),
    ("any", "a void of a shuffle, which comes again"): _takes_back_shuffle,
    ("any", "a void that reaches behind an earlier one"): _reaches_behind,
}
"""Events of a whole game."""


def sights(record: Record) -> set[tuple[str, str]]:
    """Return the events of this game among all in MOMENTS and GAMES."""
    mine = (record.header.game, "any")
    all_moments = moments(record)
    found = {what for what, shows in GAMES.items() if what[0] in mine and shows(record)}
    return found | {
        what for what, shows in MOMENTS.items() if what[0] in mine and any(map(shows, all_moments))
    }
