"""The thinking of the `search` bot: it imagines what it cannot see, and how games go on from each of its moves.

From its view it draws worlds that it could be sitting in (`Rules.worlds`). In each it tries every move that is still
in the running and lets all seats play on as players might (`Rules.likely`), for a while or to the end. A move is
as good as the share of the win that it brings on average; the worse half drops out again and again, so that most of
the time goes to moves that are hard to tell apart (sequential halving). The last one left is made if it did better
in the same worlds than the likely move by more than luck explains; else the likely move is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, sqrt
from statistics import fmean, stdev
from typing import TypeAlias

from byzanz.chance import Draw, shuffled
from byzanz.moves import Move
from byzanz.rules import Rules, S, V

Spent: TypeAlias = Callable[[], float]
"""The share of its time that a bot has spent, from 0; from 1 on it must decide. Asked before each imagined game."""

_WIDE = 24
"""At most so many moves are tried in imagined games."""
_FAR = 6
"""An imagined game goes on for so many moves a seat; what is still open then is appraised."""
_CLEAR = 2.0
"""A lead of so many points makes a win nearly three times as likely."""
_DOUBT = 1.0
"""How many standard errors better than the likely move another must be to be made in its place."""


def searched(rules: Rules[S, V], view: V, seat: int, moves: Sequence[Move], draw: Draw, spent: Spent) -> Move:
    """The move that does best in imagined games.

    Args:
        rules: the game.
        view: of the seat.
        seat: that decides, from 0.
        moves: what it may do, at least one; the only one is made without thinking.
        draw: the source of chance.
        spent: how far its time has run; without any time it makes the likely move.
    """
    if len(moves) == 1:
        return moves[0]
    first, *running = _promising(rules, view, seat, moves, draw)
    tries: dict[Move, list[float]] = {move: [] for move in (first, *running)}
    halvings = len(running).bit_length()
    for halving in range(1, halvings + 1):
        tried = {move: tries[move] for move in (first, *running)}
        _try_out(rules, view, seat, tried, draw, halving / halvings, spent)
        running.sort(key=lambda move: fmean(tries[move] or (0.0,)), reverse=True)
        del running[(len(running) + 1) // 2 :]
    return max([first, *running], key=lambda move: _surely_better(tries[move], tries[first]))


def _promising(rules: Rules[S, V], view: V, seat: int, moves: Sequence[Move], draw: Draw) -> list[Move]:
    """What the seat would likely do first, then what looks best one move ahead in one world."""
    world = rules.sample_state(view, draw)
    likely = rules.rollout_move(world, seat, draw)

    def looks(move: Move) -> tuple[bool, float]:
        return move == likely, rules.evaluate(rules.view(rules.apply(world, seat, move), seat))

    return sorted(moves, key=looks, reverse=True)[:_WIDE]


def _surely_better(shares: list[float], first: list[float]) -> float:
    """By how much a move is better than the first one in the same worlds, less what may be luck; 0 for the first."""
    gains = [share - other for share, other in zip(shares, first, strict=False)]
    if len(gains) < 2:
        return 0.0
    return fmean(gains) - _DOUBT * stdev(gains) / sqrt(len(gains))


def _try_out(
    rules: Rules[S, V],
    view: V,
    seat: int,
    tries: dict[Move, list[float]],
    draw: Draw,
    until: float,
    spent: Spent,
) -> None:
    """Try the moves in one world after another until that share of the time is spent."""
    while True:
        world = rules.sample_state(view, draw)
        for move, shares in tries.items():
            if spent() >= until:
                return
            shares.append(_win_share(rules, rules.apply(world, seat, move), seat, draw))


def _win_share(rules: Rules[S, V], state: S, seat: int, draw: Draw) -> float:
    """The share of the win that a seat has, or may hope for, when an imagined game has gone on."""
    seats = range(len(rules.scores(state)))
    for _ in range(_FAR * len(seats)):
        if rules.outcome(state) is not None:
            break
        if (shuffle := rules.chance(state)) is not None:
            order = shuffled(shuffle.cards, draw)
            state = rules.apply(state, None, Move("shuffle", (shuffle.label, *order)))
        else:
            asked = min(rules.awaited(state))
            state = rules.apply(state, asked, rules.rollout_move(state, asked, draw))
    outcome = rules.outcome(state)
    if outcome is not None:
        return outcome.winners.count(seat) / len(outcome.winners)
    hopes = [rules.evaluate(rules.view(state, other)) for other in seats]
    return 1 / sum([exp(min(50.0, (hope - hopes[seat]) / _CLEAR)) for hope in hopes])
