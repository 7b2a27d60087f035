"""Bots: each decides for a seat from its view and its legal moves alone, with a source of chance and a budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from statistics import fmean
from typing import Any, TypeAlias

from byzanz.bots.search import Budget, imagined_state, search_move
from byzanz.chance import Draw
from byzanz.moves import BadSetup, Move
from byzanz.rules import Rules, S, V

Bot: TypeAlias = Callable[[Rules[Any, Any], Any, Sequence[Move], Draw, Budget], Move]
"""Chooses one of the moves from a view of the seat to move; see `decide` for the arguments."""

_SEALED_STATES = 8
"""The greedy bot weighs a sealed choice in this many sampled states."""
_MOST_EVALUATED = 40
"""The greedy bot evaluates at most this many moves: a full hand of Byzanz has over a hundred bids."""


_NEAR = 0.02
"""Sealed choices that differ by this share of what lies between best and worst are equal to the greedy bot."""


class UnknownBot(BadSetup):
    """There is no bot of this name."""


def no_budget() -> float:
    """Allow no time to think: the bot makes the first move that it would consider."""
    return 1.0


def time_budget(seconds: float, clock: Callable[[], float]) -> Budget:
    """Allow time by a clock, from now on.

    Args:
        seconds: more than 0.
        clock: gives seconds and never goes back: the monotonic clock on a server, CPU time in a benchmark.
    """
    start = clock()
    return lambda: (clock() - start) / seconds


def playout_budget(playouts: int) -> Budget:
    """Allow a number of playouts, so that the same seed gives the same move on every machine.

    Args:
        playouts: over all moves together; more than 0.
    """
    played = count()
    return lambda: next(played) / playouts


def random_bot(_rules: Rules[S, V], _view: V, moves: Sequence[Move], draw: Draw, _budget: Budget) -> Move:
    """Choose any move, each as likely; see `decide` for the arguments."""
    return moves[draw(len(moves))]


def greedy_bot(rules: Rules[S, V], view: V, moves: Sequence[Move], draw: Draw, _budget: Budget) -> Move:
    """Choose the move with the best prospects in sampled states, the first of equals; see `decide`.

    Of many moves it evaluates the first and a random selection of the others. Among sealed choices that are nearly
    equal it draws one: bots that all took the first would tie for ever.
    """
    seat = _seat(view.viewer)
    # One imagined choice of another would be taken for the truth, so several are weighed where choices are sealed.
    sealed = moves[0].verb in rules.sealed
    states = [imagined_state(rules, view, seat, draw) for _ in range(_SEALED_STATES if sealed else 1)]
    if sealed:  # one's own choice is then the last, so that all are weighed by what they lead to
        states = [_with_others_chosen(rules, state, seat, draw) for state in states]

    def prospects(move: Move) -> float:
        return fmean([rules.evaluate(rules.view(rules.apply(state, seat, move), seat)) for state in states])

    found = [(prospects(move), move) for move in _selection(moves, draw)]
    best, worst = max(value for value, _ in found), min(value for value, _ in found)
    least = best - _NEAR * (best - worst) if sealed else best
    good = [move for value, move in found if value >= least]
    return good[draw(len(good))] if sealed else good[0]


def search_bot(rules: Rules[S, V], view: V, moves: Sequence[Move], draw: Draw, budget: Budget) -> Move:
    """Choose the move that does best in playouts (`search.search_move`); see `decide` for the arguments."""
    return search_move(rules, view, _seat(view.viewer), moves, draw, budget)


def _with_others_chosen(rules: Rules[S, V], state: S, seat: int, draw: Draw) -> S:
    for other in rules.awaited(state):
        if other != seat:
            state = rules.apply(state, other, rules.rollout_move(state, other, draw))
    return state


def _seat(viewer: object) -> int:
    if not isinstance(viewer, int):
        raise ValueError("a bot decides from the view of a seat")
    return viewer


def _selection(moves: Sequence[Move], draw: Draw) -> tuple[Move, ...]:
    chosen = list(range(len(moves)))
    while len(chosen) > _MOST_EVALUATED:
        chosen.pop(1 + draw(len(chosen) - 1))  # the first commits to least (`pass`), so it always stays
    return tuple(moves[at] for at in chosen)


BOTS: dict[str, Bot] = {"random": random_bot, "greedy": greedy_bot, "search": search_bot}
"""The bots by the names that players see, the weakest first."""


def find_bot(name: str) -> Bot:
    """Return the bot of this name.

    Args:
        name: a key of `BOTS`.

    Raises:
        UnknownBot: there is none; the message names those there are.
    """
    if name not in BOTS:
        raise UnknownBot(
            "There is no bot “%(name)s”; the bots are: %(known)s.", name=name, known=", ".join(sorted(BOTS))
        )
    return BOTS[name]


def decide(
    name: str,
    rules: Rules[S, V],
    view: V,
    moves: Sequence[Move],
    draw: Draw,
    budget: Budget = no_budget,
) -> Move:
    """Return the move that the bot of this name chooses.

    Args:
        name: a key of `BOTS`.
        rules: the game.
        view: of the seat to move.
        moves: at least one: the seat's legal answers, and its out-of-turn moves if it should consider them.
        draw: the bot's source of chance.
        budget: `time_budget`, `playout_budget` or `no_budget`; only the search bot asks.

    Raises:
        UnknownBot: there is no such bot.
    """
    return find_bot(name)(rules, view, moves, draw, budget)
