"""The umpire: checks a move, makes what nobody decides, and plays a log over again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from byzanz.moves import IllegalMove, Move, Shuffle, UnreadableMove
from byzanz.rules import Rules, S, V


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happened by itself.

    Args:
        seat: who moved, None for chance.
        by: `chance` or `rules`, as in the log (formats.md §2).
        move: what was made.
    """

    seat: int | None
    by: str
    move: Move


def play(rules: Rules[S, V], state: S, seat: int, move: Move) -> S:
    """The state after a move of a seat; nothing is settled yet.

    Args:
        rules: the game.
        state: settled, that is: no shuffle is due.
        seat: from 0.
        move: an answer to the seat's question or an aside.

    Raises:
        RulesError: the seat does not exist, the game is over, or the rules refuse the move.
    """
    if rules.outcome(state) is not None:
        raise IllegalMove("The game is over.")
    return rules.apply(state, seat, move)


def forced(rules: Rules[S, V], state: S) -> tuple[int, Move] | None:
    """The forced move that is due, or None: the lowest awaited seat with one legal move (formats.md §1).

    Args:
        rules: the game.
        state: any; before a shuffle and after the end nobody is awaited.
    """
    for seat in rules.awaited(state):
        moves = rules.moves(state, seat)
        if len(moves) == 1:
            return seat, moves[0]
    return None


def settle(rules: Rules[S, V], state: S, deal: Callable[[Shuffle], Move]) -> tuple[S, tuple[Step, ...]]:
    """Make all that nobody decides, chance before forced moves, until only real choices are left, or the end.

    Args:
        rules: the game.
        state: any state.
        deal: makes the move of a shuffle, see `chance.deal`.

    Returns:
        the settled state, and the steps that led to it, in order.
    """
    steps: list[Step] = []
    while True:
        if (only := forced(rules, state)) is not None:
            step = Step(only[0], "rules", only[1])
        elif (shuffle := rules.chance(state)) is not None:  # then nobody is awaited
            step = Step(None, "chance", deal(shuffle))
        else:
            return state, tuple(steps)
        state = rules.apply(state, step.seat, step.move)
        steps.append(step)


def replay(
    rules: Rules[S, V], seats: int, options: Mapping[str, Any], moves: Iterable[tuple[int | None, Move]]
) -> S:
    """The state after these moves, in their order; a log is trusted: it was checked when it was made.

    Args:
        rules: the game, in the version it was played with.
        seats: how many play.
        options: of this game.
        moves: seat (None for chance) and move, shuffles and forced moves among them.

    Raises:
        RulesError: the log is not one of this game.
    """
    state = rules.setup(seats, options)
    for seat, move in moves:
        state = rules.apply(state, seat, move)
    return state


def read_made(rules: Rules[S, V], text: str) -> Move:
    """A move as the log holds it: canonical, nothing abbreviated.

    Args:
        rules: the game.
        text: `pass`, `bid cloth2 wood4`, `shuffle deal CARD…`.

    Raises:
        UnreadableMove: not in canonical form.
    """
    words = text.split(" ")
    if words != text.split() or text != text.lower() or not text.isascii():
        raise UnreadableMove(
            "“%(text)s” is not the canonical form of a move of %(game)s.", text=text, game=rules.title
        )
    return Move(words[0], tuple(words[1:]))
