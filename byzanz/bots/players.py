"""Bots: each decides for a seat from its view and its legal moves alone, with a source of chance and a budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from math import sqrt
from statistics import fmean, stdev
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
_STANDARD_ERRORS = 2.0
"""A sealed choice is as good as the best to the greedy bot if it is worse by at most this: that may be chance."""


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
    """Choose the move with the best prospects in a sampled state, the first of equals; see `decide`.

    Of many moves it evaluates the first and a random selection of the others. It weighs sealed choices against those
    that others may make at the same time.
    """
    seat, chosen = _seat(view.viewer), _selection(moves, draw)
    if moves[0].verb in rules.sealed:
        return _sealed_choice(rules, view, seat, chosen, draw)
    state = imagined_state(rules, view, seat, draw)
    return max(chosen, key=lambda move: _prospects(rules, state, seat, move))


def search_bot(rules: Rules[S, V], view: V, moves: Sequence[Move], draw: Draw, budget: Budget) -> Move:
    """Choose the move that does best in playouts (`search.search_move`); see `decide` for the arguments."""
    return search_move(rules, view, _seat(view.viewer), moves, draw, budget)


def _prospects(rules: Rules[S, V], state: S, seat: int, move: Move) -> float:
    return rules.evaluate(rules.view(rules.apply(state, seat, move), seat))


def _sealed_choice(rules: Rules[S, V], view: V, seat: int, moves: Sequence[Move], draw: Draw) -> Move:
    """Return the choice with the best prospects in several states; if others could make it too, one that is as good.

    Otherwise equal bots with the same cards would make the same choice again and again, and tie. In the second half of
    the states, the others choose as this bot would after the first.
    """
    found: dict[Move, list[float]] = {move: [] for move in moves}
    liked: list[Move] = []
    others_may: set[Move] = set()
    for number in range(_SEALED_STATES):
        if number == _SEALED_STATES // 2:
            liked = _as_good(found)
        state = imagined_state(rules, view, seat, draw)
        for other in range(len(rules.scores(state))):
            if other != seat and (options := _sealed_options(rules, state, other)):
                others_may.update(options)
                same = [move for move in options if move in liked]
                choice = same[draw(len(same))] if same else rules.rollout_move(state, other, draw)
                state = rules.apply(state, other, choice)
        # The bot's own choice completes the round, so each is weighed by what it leads to.
        for move, values in found.items():
            values.append(_prospects(rules, state, seat, move))
    best, *as_good = _as_good(found)
    return (best, *as_good)[draw(1 + len(as_good))] if best in others_may else best


def _sealed_options(rules: Rules[S, V], state: S, seat: int) -> Sequence[Move]:
    """Return the sealed choices that a seat may make, or put in the place of one that it has made."""
    moves = (*rules.moves(state, seat), *rules.out_of_turn_moves(state, seat))
    return [move for move in moves if move.verb in rules.sealed]


def _as_good(found: Mapping[Move, Sequence[float]]) -> list[Move]:
    """Return the best move first, then those that are worse by no more than chance explains."""
    best = max(found, key=lambda move: fmean(found[move]))
    behind = {
        move: [high - low for high, low in zip(found[best], found[move], strict=True)] for move in found
    }
    most = {move: _STANDARD_ERRORS * stdev(values) / sqrt(len(values)) for move, values in behind.items()}
    return [best, *(move for move in found if move != best and fmean(behind[move]) <= most[move])]


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
