"""The search bot: playouts from sampled states, with sequential halving of the candidate moves.

It samples states that fit its view (`Rules.sample_state`). In each it tries every remaining candidate and lets all
seats play on plausibly (`Rules.rollout_move`), for a number of moves or to the end. The value of a move is the share
of the win that it brings on average. The worse half of the candidates drops out again and again, so that most of the
budget goes to moves that are hard to tell apart. The last candidate is chosen if it beat the plausible move in the
same sampled states by more than chance explains; otherwise the plausible move is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, sqrt
from statistics import fmean, stdev
from typing import TypeAlias

from byzanz.chance import Draw, shuffled
from byzanz.moves import Move
from byzanz.rules import Rules, S, V

Budget: TypeAlias = Callable[[], float]
"""Returns the share of a bot's budget that is spent; from 1 on the bot must decide. Asked before each playout."""

_MOST_CANDIDATES = 24
_DEPTH = 6
"""The moves of each seat in a playout; a game that is still open then is evaluated."""
_SCALE = 2.0
"""A lead of this many points makes a win nearly three times as likely."""
_STANDARD_ERRORS = 1.0
"""By how many standard errors a move must beat the plausible one to be chosen in its place."""


def search_move(
    rules: Rules[S, V], view: V, seat: int, moves: Sequence[Move], draw: Draw, budget: Budget
) -> Move:
    """Return the move that does best in playouts.

    Args:
        rules: the game.
        view: of the seat.
        seat: that decides, from 0.
        moves: at least one; a single one is returned without search.
        draw: the source of chance.
        budget: how much is spent; if all of it is, the plausible move is returned.
    """
    if len(moves) == 1:
        return moves[0]
    plausible, *running = _candidates(rules, view, seat, moves, draw)
    results: dict[Move, list[float]] = {move: [] for move in (plausible, *running)}
    halvings = len(running).bit_length()
    for halving in range(1, halvings + 1):
        tried = {move: results[move] for move in (plausible, *running)}
        _run_playouts(rules, view, seat, tried, draw, halving / halvings, budget)
        running.sort(key=lambda move: fmean(results[move] or (0.0,)), reverse=True)
        del running[(len(running) + 1) // 2 :]
    return max([plausible, *running], key=lambda move: _sure_gain(results[move], results[plausible]))


def imagined_state(rules: Rules[S, V], view: V, seat: int, draw: Draw) -> S:
    """Return a sampled state in which the sealed choices of others are plausible; `sample_state` makes any legal ones.

    Args:
        rules: the game.
        view: of the seat.
        seat: that decides, from 0.
        draw: the source of chance.
    """
    state = rules.sample_state(view, draw)
    for other in range(len(rules.scores(state))):
        sealed = [move for move in rules.out_of_turn_moves(state, other) if move.verb in rules.sealed]
        if other != seat and sealed:
            state = rules.apply(state, other, rules.rollout_move(state, other, draw))
    return state


def _candidates(rules: Rules[S, V], view: V, seat: int, moves: Sequence[Move], draw: Draw) -> list[Move]:
    """Return the plausible move first, then what looks best one move ahead in one sampled state."""
    state = imagined_state(rules, view, seat, draw)
    plausible = rules.rollout_move(state, seat, draw)

    def looks(move: Move) -> tuple[bool, float]:
        return move == plausible, rules.evaluate(rules.view(rules.apply(state, seat, move), seat))

    return sorted(moves, key=looks, reverse=True)[:_MOST_CANDIDATES]


def _sure_gain(shares: list[float], plausible: list[float]) -> float:
    """Return by how much a move beats the plausible one in the same states, less what may be chance; 0 for itself."""
    gains = [share - other for share, other in zip(shares, plausible, strict=False)]
    if len(gains) < 2:
        return 0.0
    return fmean(gains) - _STANDARD_ERRORS * stdev(gains) / sqrt(len(gains))


def _run_playouts(
    rules: Rules[S, V],
    view: V,
    seat: int,
    results: dict[Move, list[float]],
    draw: Draw,
    until: float,
    budget: Budget,
) -> None:
    """Try all moves in one sampled state after another until this share of the budget is spent."""
    while True:
        state = imagined_state(rules, view, seat, draw)
        for move, shares in results.items():
            if budget() >= until:
                return
            shares.append(_playout(rules, rules.apply(state, seat, move), seat, draw))


def _playout(rules: Rules[S, V], state: S, seat: int, draw: Draw) -> float:
    """Play on and return the share of the win that a seat has, or may hope for, in the end."""
    seats = range(len(rules.scores(state)))
    for _ in range(_DEPTH * len(seats)):
        if rules.outcome(state) is not None:
            break
        if (shuffle := rules.chance(state)) is not None:
            order = shuffled(shuffle.cards, draw)
            state = rules.apply(state, None, Move("shuffle", (shuffle.label, *order)))
        else:
            mover = min(rules.awaited(state))
            state = rules.apply(state, mover, rules.rollout_move(state, mover, draw))
    outcome = rules.outcome(state)
    if outcome is not None:
        return outcome.winners.count(seat) / len(outcome.winners)
    prospects = [rules.evaluate(rules.view(state, other)) for other in seats]
    return 1 / sum([exp(min(50.0, (other - prospects[seat]) / _SCALE)) for other in prospects])
