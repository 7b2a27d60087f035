"""Bots: each decides for a seat from its view and its moves alone, with chance and a measure of its time handed in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, TypeAlias

from byzanz.bots.search import Spent, searched
from byzanz.chance import Draw
from byzanz.moves import BadSetup, Move
from byzanz.rules import Rules, S, V

Decider: TypeAlias = Callable[[Rules[Any, Any], Any, Sequence[Move], Draw, Spent], Move]
"""What chooses one of `moves`, from a view of the seat that is asked."""

_LOOKED_AT = 40
"""A bot that weighs moves weighs at most so many: a full hand of Byzanz can bid in over a hundred ways."""


class UnknownBot(BadSetup):
    """There is no bot of this name."""


def at_once() -> float:
    """No time to think: a bot makes the move that comes to mind first."""
    return 1.0


def within(seconds: float, clock: Callable[[], float]) -> Spent:
    """Time to think by a clock, from now on.

    Args:
        seconds: how long; more than 0.
        clock: gives seconds, never goes back; a server's shows the time of day passing, a bench's the work done.
    """
    start = clock()
    return lambda: (clock() - start) / seconds


def imagined(games: int) -> Spent:
    """Time to think counted in imagined games, so that the same seed gives the same move on every machine.

    Args:
        games: how many, over all moves together; more than 0.
    """
    played = count()
    return lambda: next(played) / games


def random_bot(rules: Rules[S, V], view: V, moves: Sequence[Move], draw: Draw, spent: Spent) -> Move:
    """Any move, each as likely as the other; see `decide` for the arguments."""
    return moves[draw(len(moves))]


def greedy_bot(rules: Rules[S, V], view: V, moves: Sequence[Move], draw: Draw, spent: Spent) -> Move:
    """The move after which the seat's prospects look best in one world that fits its view; see `decide`.

    Of equal moves it makes the first. Of many moves it weighs the first and some drawn at random.
    """
    seat = _seat(view.viewer)
    world = rules.sample_state(view, draw)

    def prospects(move: Move) -> float:
        return rules.evaluate(rules.view(rules.apply(world, seat, move), seat))

    return max(_some(moves, draw), key=prospects)


def search_bot(rules: Rules[S, V], view: V, moves: Sequence[Move], draw: Draw, spent: Spent) -> Move:
    """The move that does best in the games that it imagines from its view (`search.searched`); see `decide`."""
    return searched(rules, view, _seat(view.viewer), moves, draw, spent)


def _seat(viewer: object) -> int:
    if not isinstance(viewer, int):
        raise ValueError("a bot decides from the view of a seat")
    return viewer


def _some(moves: Sequence[Move], draw: Draw) -> tuple[Move, ...]:
    chosen = list(range(len(moves)))
    while len(chosen) > _LOOKED_AT:
        chosen.pop(1 + draw(len(chosen) - 1))  # the first binds to least (`pass`), so it is always weighed
    return tuple(moves[at] for at in chosen)


BOTS: dict[str, Decider] = {"random": random_bot, "greedy": greedy_bot, "search": search_bot}
"""The bots by the names that players call them, the weakest first."""


def known_bot(name: str) -> Decider:
    """The bot of this name.

    Args:
        name: a key of `BOTS`.

    Raises:
        UnknownBot: no such bot; the sentence names those there are.
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
    spent: Spent = at_once,
) -> Move:
    """The move that the bot of this name makes.

    Args:
        name: a key of `BOTS`.
        rules: the game.
        view: of the seat that is asked.
        moves: what it may do, at least one: its answers, and its out_of_turn_moves if it should use them.
        draw: the bot's source of chance.
        spent: measures its time to think: `within`, `imagined` or `at_once`; only `search` asks.

    Raises:
        UnknownBot: no such bot.
    """
    return known_bot(name)(rules, view, moves, draw, spent)
