"""The umpire: plays a checked move, settles shuffles and forced moves, says what followed, and replays a log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from byzanz.moves import IllegalMove, Message, Move, Shuffle, UnreadableMove
from byzanz.parsing import read_json, written
from byzanz.rules import Rules, S, V


@dataclass(frozen=True, slots=True)
class Step:
    """A shuffle or a forced move.

    Args:
        seat: who moved, None for chance.
        by: `chance` or `rules`, as in the log (docs/formats.md §2).
        move: that was made.
    """

    seat: int | None
    by: str
    move: Move


def play(rules: Rules[S, V], state: S, seat: int, move: Move) -> S:
    """Return the state after a seat's move, before anything is settled.

    Args:
        rules: the game.
        state: settled, so no shuffle is due.
        seat: from 0.
        move: an answer to the seat's question, or an out-of-turn move.

    Raises:
        RulesError: the seat does not exist, the game is over, or the rules refuse the move.
    """
    if rules.outcome(state) is not None:
        raise IllegalMove("The game is over.")
    return rules.apply(state, seat, move)


def forced_move(rules: Rules[S, V], state: S) -> tuple[int, Move] | None:
    """Return the lowest seat to move that has only one legal move, with that move; or None (docs/formats.md §1).

    Args:
        rules: the game.
        state: any; before a shuffle and after the end no seat is to move.
    """
    for seat in rules.awaited(state):
        moves = rules.moves(state, seat)
        if len(moves) == 1:
            return seat, moves[0]
    return None


def settle(rules: Rules[S, V], state: S, deal: Callable[[Shuffle], Move]) -> tuple[S, tuple[Step, ...]]:
    """Make shuffles and forced moves until a seat has a real choice or the game is over.

    Args:
        rules: the game.
        state: any state.
        deal: returns the move of a shuffle, see `chance.deal`.

    Returns:
        The settled state and the steps that led to it, in order.
    """
    steps: list[Step] = []
    while True:
        if (only := forced_move(rules, state)) is not None:
            step = Step(only[0], "rules", only[1])
        elif (shuffle := rules.chance(state)) is not None:  # then no seat is to move
            step = Step(None, "chance", deal(shuffle))
        else:
            return state, tuple(steps)
        state = rules.apply(state, step.seat, step.move)
        steps.append(step)


def followed(rules: Rules[S, V], before: V, after: V) -> str:
    """Return what followed from a move as a line of JSON, which can be kept; empty if nothing did.

    Args:
        rules: the game.
        before: PUBLIC's view before one move or shuffle.
        after: PUBLIC's view after it.

    Raises:
        Exception: the game fails to say it, or a sentence lacks one of its places.
    """
    messages = rules.followed(before, after)
    for message in messages:
        for sentence in (message.text, message.you):
            sentence % {**message.places, **message.seats}
    return written(list(messages)) if messages else ""


@lru_cache(4096)
def read_followed(line: str) -> tuple[Message, ...]:
    """Return the sentences of a line that `followed` made."""
    return tuple([Message(*each) for each in read_json(line)]) if line else ()


def replay(
    rules: Rules[S, V], seats: int, options: Mapping[str, Any], moves: Iterable[tuple[int | None, Move]]
) -> S:
    """Return the state after these moves. A log is trusted: it was checked when it was written.

    Args:
        rules: the game, in the version it was played with.
        seats: the number of players.
        options: of this game.
        moves: in order, with their seats (None for chance), including shuffles and forced moves.

    Raises:
        RulesError: the log is not one of this game.
    """
    state = rules.setup(seats, options)
    for seat, move in moves:
        state = rules.apply(state, seat, move)
    return state


def read_logged(rules: Rules[S, V], text: str) -> Move:
    """Read a move from the log, where it is in canonical form.

    Args:
        rules: the game.
        text: `pass`, `bid cloth2 wood4`, `shuffle deal CARD…`.

    Raises:
        UnreadableMove: it is not in canonical form.
    """
    words = text.split(" ")
    if words != text.split() or text != text.lower() or not text.isascii():
        raise UnreadableMove(
            "“%(text)s” is not the canonical form of a move of %(game)s.", text=text, game=rules.title
        )
    return Move(words[0], tuple(words[1:]))
