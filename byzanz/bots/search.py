"""The search bot: playouts from sampled states, with sequential halving of the candidate moves.

It samples states that fit its view (`Rules.sample_state`). In each it tries every remaining candidate and lets all
seats play on plausibly (`Rules.rollout_move`), for a share of the game or to the end. The value of a move is the share
of the win that it brings on average. The worse half of the candidates drops out again and again, so that most of the
budget goes to moves that are hard to tell apart. The last candidate is chosen if it beat the plausible move in the
same sampled states by more than chance explains; otherwise the plausible move is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import exp, sqrt
from statistics import fmean, stdev
from typing import NamedTuple, TypeAlias

from byzanz.chance import Draw, shuffled
from byzanz.moves import Move
from byzanz.rules import Rules, S, V

Budget: TypeAlias = Callable[[], float]
"""Returns the share of a bot's budget that is spent; from 1 on the bot must decide. Asked before each playout."""

_MOST_CANDIDATES = 24
_HORIZON = 1 / 5
"""The share of a game that a playout goes on for; a game that is still open then is evaluated."""
_SHORTEST, _LONGEST = 6, 24
"""The fewest and the most moves of each seat in a playout."""
_SCALE = 1.0
"""A lead of this many spreads makes a win nearly three times as likely; a spread is how far the scores of the seats
usually lie apart (a standard deviation) at the end of a playout, so that it fits scores of any size."""
_STANDARD_ERRORS = 1.0
"""By how many standard errors a move must beat the plausible one to be chosen in its place."""


class End(NamedTuple):
    """What a playout led to.

    Args:
        won: the seat's share of the win; None if the game is still open.
        leads: how many points each seat is ahead of this one.
        spread: the standard deviation of the seats.
    """

    won: float | None
    leads: tuple[float, ...]
    spread: float


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
    ends: dict[Move, list[End]] = {move: [] for move in (plausible, *running)}
    shares: dict[Move, list[float]] = {}
    halvings = len(running).bit_length()
    for halving in range(1, halvings + 1):
        tried = {move: ends[move] for move in (plausible, *running)}
        _run_playouts(rules, view, seat, tried, draw, halving / halvings, budget)
        shares = _shares(ends)
        running.sort(key=lambda move: fmean(shares[move] or (0.0,)), reverse=True)
        del running[(len(running) + 1) // 2 :]
    return max([plausible, *running], key=lambda move: _sure_gain(shares[move], shares[plausible]))


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


def _shares(ends: Mapping[Move, Sequence[End]]) -> dict[Move, list[float]]:
    """Return for each playout the share of the win that it brings, or promises by the lead that it ends with."""
    spreads = [end.spread for found in ends.values() for end in found]
    scale = _SCALE * fmean(spreads or (0.0,)) or 1.0

    def share(end: End) -> float:
        if end.won is not None:
            return end.won
        return 1 / sum([exp(min(50.0, lead / scale)) for lead in end.leads])

    return {move: [share(end) for end in found] for move, found in ends.items()}


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
    ends: dict[Move, list[End]],
    draw: Draw,
    until: float,
    budget: Budget,
) -> None:
    """Try all moves in one sampled state after another until this share of the budget is spent."""
    while True:
        state = imagined_state(rules, view, seat, draw)
        for move, found in ends.items():
            if budget() >= until:
                return
            found.append(_playout(rules, rules.apply(state, seat, move), seat, draw))


def _horizon(rules: Rules[S, V]) -> int:
    """Return the most moves of each seat in a playout: more in a longer game, where as many decide less."""
    return max(_SHORTEST, min(_LONGEST, round(_HORIZON * rules.decisions)))


def _playout(rules: Rules[S, V], state: S, seat: int, draw: Draw) -> End:
    """Play on and return what it leads to for a seat."""
    seats = range(len(rules.scores(state)))
    for _ in range(_horizon(rules) * len(seats)):
        if rules.outcome(state) is not None:
            break
        if (shuffle := rules.chance(state)) is not None:
            order = shuffled(shuffle.cards, draw)
            state = rules.apply(state, None, Move("shuffle", (shuffle.label, *order)))
        else:
            mover = min(rules.awaited(state))
            state = rules.apply(state, mover, rules.rollout_move(state, mover, draw))
    outcome = rules.outcome(state)
    won = None if outcome is None else outcome.winners.count(seat) / len(outcome.winners)
    prospects = [rules.evaluate(rules.view(state, other)) for other in seats]
    leads = tuple([other - prospects[seat] for other in prospects])
    mean = sum(prospects) / len(prospects)
    return End(won, leads, sqrt(sum([(each - mean) ** 2 for each in prospects]) / len(prospects)))
