"""All checks in their order, and running them on one game."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, TypeAlias

from byzanz.conformance import hidden, moves, states
from byzanz.conformance.bots import check_bots
from byzanz.conformance.game import Fault, Game
from byzanz.conformance.orders import check_orders
from byzanz.rules import Rules

Check: TypeAlias = Callable[[Game], None]
"""Raises a `Fault`, or whatever the game raises, where the game is wrong; `Game.at` is the position then."""
CHECKS: tuple[Check, ...] = (
    states.check_codecs,
    states.check_determinism,
    states.check_questions,
    states.check_shuffles,
    states.check_ending,
    moves.check_texts,
    moves.check_any_text,
    moves.check_listed_is_accepted,
    moves.check_refusals,
    moves.check_fallback,
    moves.check_rollout,
    hidden.check_views,
    hidden.check_census,
    hidden.check_worlds,
    hidden.check_deal,
    hidden.check_sealed,
    hidden.check_told,
    hidden.check_news,
    states.check_records,
    check_orders,
)
"""Checks of each game that is played."""
TABLE_CHECKS: tuple[Check, ...] = (states.check_setup, check_bots)
"""Checks that one game of each number of players is enough for."""


@dataclass(frozen=True, slots=True)
class Found:
    """A fault that a check found.

    Args:
        check: its name, such as `worlds`.
        says: what must be true.
        seats: the number of players.
        seed: of the game.
        at: the position in it.
        wrong: what is wrong there.
        error: what was raised.
    """

    check: str
    says: str
    seats: int
    seed: int
    at: int
    wrong: str
    error: Exception


def faults(game: Game, checks: Sequence[Check]) -> Iterator[Found]:
    """Play a game if that is still to be done, and yield the fault that each check finds.

    A game that cannot be played to its end is not checked further.

    Args:
        game: new, or played.
        checks: to be run, in this order.
    """
    if not game.states:
        failed = _fault(game, play)
        if failed is not None:
            yield failed
            return
    for check in checks:
        game.at = 0
        found = _fault(game, check)
        if found is not None:
            yield found


def play(game: Game) -> None:
    """A game of any legal moves comes to its end."""
    game.play()


def _fault(game: Game, check: Check) -> Found | None:
    try:
        check(game)
    except Exception as error:  # a game in the making may fail in any way
        wrong = str(error) if isinstance(error, Fault) else raised(game.rules, error)
        return Found(name_of(check), said_by(check), game.seats, game.seed, game.at, wrong, error)
    return None


def name_of(check: Callable[..., None]) -> str:
    """Return the name of a check for people."""
    return check.__name__.removeprefix("check_").replace("_", " ")


def said_by(check: Callable[..., None]) -> str:
    """Return what a check says: the first paragraph of its docstring, in one line."""
    return " ".join((check.__doc__ or "").split("\n\n")[0].split())


def raised(rules: Rules[Any, Any], error: Exception) -> str:
    """Return in a sentence what an exception is and which line of the game's code raised it."""
    module = type(rules).__module__
    own = module if module.count(".") < 2 else module.rpartition(".")[0]
    frames = list(traceback.walk_tb(error.__traceback__))
    names = [str(frame.f_globals.get("__name__", "")) for frame, _ in frames]
    ours = [at for at, name in enumerate(names) if f"{name}.".startswith(f"{own}.")]
    frame, line = frames[ours[-1] if ours else -1]
    where = f"{PurePath(frame.f_code.co_filename).name}, line {line}, in {frame.f_code.co_name}"
    return f"{type(error).__name__}: {error} ({where})"
