"""Bots: each decides for a seat from its view and its moves alone, with a source of chance handed to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from byzanz.rules import BadSetup, Draw, Move, Rules, S, V

Decider: TypeAlias = Callable[[Rules[Any, Any], Any, tuple[Move, ...], Draw], Move]
"""What chooses one of `moves`, from a view of the seat that is asked."""

_LOOKED_AT = 40
"""A bot that weighs moves weighs at most so many: a full hand of Byzanz can bid in over a hundred ways."""


class UnknownBot(BadSetup):
    """There is no bot of this name."""


def random_bot(rules: Rules[S, V], view: V, moves: tuple[Move, ...], draw: Draw) -> Move:
    """Any move, each as likely as the other; see `decide` for the arguments."""
    return moves[draw(len(moves))]


def greedy_bot(rules: Rules[S, V], view: V, moves: tuple[Move, ...], draw: Draw) -> Move:
    """The move after which the seat's prospects look best in one world that fits its view; see `decide`.

    Of equal moves it makes the first. Of many moves it weighs the first and some drawn at random.
    """
    if not isinstance(view.viewer, int):
        raise ValueError("a bot decides from the view of a seat")
    world, seat = rules.worlds(view, draw), view.viewer

    def prospects(move: Move) -> float:
        return rules.appraise(rules.view(rules.apply(world, seat, move), seat))

    return max(_some(moves, draw), key=prospects)


def _some(moves: tuple[Move, ...], draw: Draw) -> tuple[Move, ...]:
    chosen = list(range(len(moves)))
    while len(chosen) > _LOOKED_AT:
        chosen.pop(1 + draw(len(chosen) - 1))  # the first binds to least (`pass`), so it is always weighed
    return tuple(moves[at] for at in chosen)


BOTS: dict[str, Decider] = {"random": random_bot, "greedy": greedy_bot}
"""The bots by the names that players call them."""


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


def decide(name: str, rules: Rules[S, V], view: V, moves: tuple[Move, ...], draw: Draw) -> Move:
    """The move that the bot of this name makes.

    Args:
        name: a key of `BOTS`.
        rules: the game.
        view: of the seat that is asked.
        moves: what it may do, at least one: its answers, and its asides if it should use them.
        draw: the bot's source of chance.

    Raises:
        UnknownBot: no such bot.
    """
    return known_bot(name)(rules, view, moves, draw)
