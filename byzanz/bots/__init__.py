"""The bots, and the search of those that look ahead.

The search samples states that fit its view (`Rules.sample_state`). In each it tries every remaining candidate and lets
all seats play on plausibly (`Rules.rollout_move`), for a share of the game or to the end. The value of a move is the
share of the win that it brings on average. The worse half of the candidates drops out again and again, so that most of
the budget goes to moves that are hard to tell apart. The last candidate is chosen if it beat the plausible move in the
same sampled states by more than chance explains; otherwise the plausible move is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from math import exp, sqrt
from statistics import fmean, stdev
from typing import Any, NamedTuple, TypeAlias

from byzanz.chance import Draw, shuffled
from byzanz.moves import BadSetup, Move
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
_CLEARLY_BETTER = 1.0
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
    return fmean(gains) - _CLEARLY_BETTER * stdev(gains) / sqrt(len(gains))


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


# ---- bots ----

Bot: TypeAlias = Callable[[Rules[Any, Any], Any, Sequence[Move], Draw, Budget], Move]
"""Chooses one of the moves from a view of the seat to move; see `decide` for the arguments."""

_SEALED_STATES = 8
"""The greedy bot weighs a sealed choice in this many sampled states."""
_MOST_EVALUATED = 40
"""The greedy bot evaluates at most this many moves: a full hand of Byzanz has over a hundred bids."""
_AS_GOOD = 2.0
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
    """Choose the move that does best in playouts (`search_move`); see `decide` for the arguments."""
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
    most = {move: _AS_GOOD * stdev(values) / sqrt(len(values)) for move, values in behind.items()}
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
