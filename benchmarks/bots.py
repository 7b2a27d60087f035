"""How often each bot beats the next weaker one: matches in every game, each deal played from every seat.

One seat is the stronger bot's, all others the weaker one's. Its share of the win is measured: a draw for two is half a
win, and winners of a larger table share evenly. Shares come with a 95 % Wilson interval; a bot is clearly better (1,
else 0) if the whole interval lies above the even share, one divided by the number of seats. The thinking time of
`search` is CPU time of its own thread, so that a busy machine does not distort it.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from math import sqrt
from multiprocessing import get_context
from time import thread_time
from typing import NamedTuple

from byzanz import bots, chance, umpire
from byzanz.games import rules_of


class Match(NamedTuple):
    """Games of one bot against others of another kind.

    Args:
        game: its slug.
        seats: at the table.
        bot: on one seat.
        other: on all other seats.
        games: how many are played.
    """

    game: str
    seats: int
    bot: str
    other: str
    games: int


MATCHES = (
    Match("byzanz", 6, "search", "greedy", 36),
    Match("empire", 2, "search", "greedy", 80),
    Match("byzantium", 2, "search", "greedy", 40),
    Match("byzantium", 4, "search", "greedy", 48),
    Match("byzanz", 6, "greedy", "random", 60),
    Match("empire", 2, "greedy", "random", 60),
    Match("byzantium", 2, "greedy", "random", 60),
    Match("byzantium", 4, "greedy", "random", 60),
)
"""Byzanz at its largest table; Empire is for two."""
SURE = 1.96
"""Standard deviations to each side that hold 95 % of a normal distribution."""


def measure(milliseconds: float = 200, most: int | None = None, processes: int = 2) -> dict[str, float]:
    """Play all matches.

    Args:
        milliseconds: that `search` has for a move.
        most: games of each match at most; all if None.
        processes: that play at once.
    """
    tasks = [
        (match, number)
        for match in MATCHES
        for number in range(match.games if most is None else min(most, match.games))
    ]
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        shares = list(pool.map(_share, *zip(*tasks, strict=True), repeat(milliseconds / 1000)))
    figures: dict[str, float] = {}
    for match in MATCHES:
        won = [share for (each, _), share in zip(tasks, shares, strict=True) if each == match]
        figures |= _figures(match, won)
    return figures


def _figures(match: Match, won: list[float]) -> dict[str, float]:
    low, high = interval(sum(won), len(won))
    even = 1 / match.seats
    found = {
        "share": sum(won) / len(won),
        "from": low,
        "to": high,
        "even": even,
        "clearly_better": float(low > even),
        "games": len(won),
    }
    name = f"{match.game}_{match.seats}_{match.bot}_v_{match.other}"
    return {f"{name}_{what}": figure for what, figure in found.items()}


def interval(wins: float, games: int) -> tuple[float, float]:
    """Return the 95 % interval of the true share of wins (Wilson score interval).

    Args:
        wins: may include shares.
        games: at least one.
    """
    share, spread = wins / games, SURE**2 / games
    middle = (share + spread / 2) / (1 + spread)
    half = SURE * sqrt(share * (1 - share) / games + spread / (4 * games)) / (1 + spread)
    return middle - half, middle + half


def _share(match: Match, number: int, seconds: float) -> float:
    """Return the bot's share of the win in one game; each deal is played from every seat."""
    rules, one = rules_of(match.game), number % match.seats
    key = chance.key(f"bots{number // match.seats}", bytes(32), [])
    deal = chance.deal(key)
    draws = [chance.Stream(key, f"bot:{seat}").below for seat in range(match.seats)]
    state, _ = umpire.settle(rules, rules.setup(match.seats, {}), deal)
    while (outcome := rules.outcome(state)) is None:
        seat = min(rules.awaited(state))
        moves = (*rules.moves(state, seat), *rules.out_of_turn_moves(state, seat))
        name, spent = match.bot if seat == one else match.other, bots.time_budget(seconds, thread_time)
        move = bots.decide(name, rules, rules.view(state, seat), moves, draws[seat], spent)
        state, _ = umpire.settle(rules, umpire.play(rules, state, seat, move), deal)
    return outcome.winners.count(one) / len(outcome.winners)
