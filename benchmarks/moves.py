"""Moves per second: whole random games, every move listed, checked and settled, beside other engines in one run.

Seconds are CPU time of this process. The engines take turns in short rounds, so that a temporarily slower machine
slows all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from itertools import count
from pathlib import Path
from random import Random
from runpy import run_path
from time import process_time
from typing import Any

from benchmarks import baselines
from byzanz import chance, umpire
from byzanz.games import rules_of

EXAMPLE = Path(__file__).parents[1] / "examples" / "goofspiel" / "goofspiel.py"
ROUNDS = 20
SEATS = 4


def measure(seconds: float = 5.0) -> dict[str, float | None]:
    """Play Byzanz and Goofspiel with four seats, and each baseline that is installed.

    Args:
        seconds: for each engine; a game that has begun is played to its end.

    Returns:
        Moves made by seats (including forced ones, not chance) per second; None for a baseline that is not
        installed; the time to copy a position, relative to one `apply`.
    """
    random = Random(2026).random  # noqa: S311 - chooses moves, keeps nothing secret

    def pick(items: Sequence[Any]) -> Any:
        return items[int(random() * len(items))]

    games = {"byzanz": byzanz(pick), "goofspiel": goofspiel(pick), **baselines.installed(pick)}
    speeds = _speeds(games, seconds)
    figures: dict[str, float | None] = {
        "moves_per_second": speeds["byzanz"],
        "goofspiel_moves_per_second": speeds["goofspiel"],
    }
    for name in baselines.BASELINES:
        ours = speeds["goofspiel" if "goofspiel" in name else "byzanz"]
        figures[f"{name}_moves_per_second"] = speed = speeds.get(name)
        figures[f"ratio_to_{name}"] = speed and ours / speed
    return figures | _copies(pick, seconds / 10)


def byzanz(pick: baselines.Pick) -> baselines.Game:
    """Play Byzanz through the umpire, choosing among answers and out-of-turn moves; only the chosen bid is built."""
    rules, numbers = rules_of("byzanz"), count()

    def game() -> int:
        deal = chance.deal(chance.key(f"bench{next(numbers)}", bytes(32), "abcd"))
        state, steps = umpire.settle(rules, rules.setup(SEATS, {}), deal)
        made = len(steps) - 1  # the shuffle is nobody's move
        while awaited := rules.awaited(state):
            seat = min(awaited)
            answers, out_of_turn_moves = rules.moves(state, seat), rules.out_of_turn_moves(state, seat)
            at = pick(
                range(-len(answers), len(out_of_turn_moves))
            )  # negative indexes count answers from the end
            move = answers[at] if at < 0 else out_of_turn_moves[at]
            state, steps = umpire.settle(rules, umpire.play(rules, state, seat, move), deal)
            made += 1 + len(steps)
        return made

    return game


def goofspiel(pick: baselines.Pick) -> baselines.Game:
    """Play the example game Goofspiel with four seats by its rules alone, with a view for each move, as bots do."""
    rules, numbers = run_path(str(EXAMPLE), run_name="goofspiel")["Goofspiel"](), count()

    def game() -> int:
        deal = chance.deal(chance.key(f"bench{next(numbers)}", bytes(32), "abcd"))
        state, made = rules.setup(SEATS, {}), 0
        state = rules.apply(state, None, deal(rules.chance(state)))
        while awaited := rules.awaited(state):
            seat = min(awaited)
            rules.view(state, seat)
            state = rules.apply(state, seat, pick(rules.moves(state, seat)))
            made += 1
        return made

    return game


def _speeds(games: Mapping[str, baselines.Game], seconds: float) -> dict[str, float]:
    made, spent = dict.fromkeys(games, 0), dict.fromkeys(games, 0.0)
    for _ in range(ROUNDS):
        for name, game in games.items():
            start = process_time()
            while (passed := process_time() - start) < seconds / ROUNDS:
                made[name] += game()
            spent[name] += passed
    return {name: made[name] / spent[name] for name in games}


def _copies(pick: baselines.Pick, seconds: float) -> dict[str, float | None]:
    """Measure the cost of copying a position, relative to one `apply` at the same positions.

    States are frozen, so nobody needs a copy to keep one: sharing it costs nothing. A clone here is another state
    with the same fields; written and read is one that shares nothing with the first.
    """
    rules, positions = rules_of("byzanz"), _positions(pick)
    costs: dict[str, Callable[[Any, int, Any], Any]] = {
        "apply": rules.apply,
        "clone": lambda state, *_: copy(state),
        "written_and_read": lambda state, *_: rules.decode(rules.encode(state)),
    }

    def once(cost: Callable[[Any, int, Any], Any]) -> baselines.Game:
        def game() -> int:
            for position in positions:
                cost(*position)
            return len(positions)

        return game

    speeds = _speeds({name: once(cost) for name, cost in costs.items()}, seconds)
    return {
        "microseconds_per_apply": 1e6 / speeds["apply"],
        "clone_to_apply": speeds["apply"] / speeds["clone"],
        "written_and_read_to_apply": speeds["apply"] / speeds["written_and_read"],
    }


def _positions(pick: baselines.Pick) -> list[tuple[Any, int, Any]]:
    """Return all positions of a game in which a seat chose: the state, the seat and the move."""
    rules, deal = rules_of("byzanz"), chance.deal(bytes(32))
    state, _ = umpire.settle(rules, rules.setup(SEATS, {}), deal)
    positions = []
    while rules.outcome(state) is None:
        seat = min(rules.awaited(state))
        positions.append((state, seat, pick(rules.moves(state, seat))))
        state, _ = umpire.settle(rules, umpire.play(rules, *positions[-1]), deal)
    return positions
