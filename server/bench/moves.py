"""Moves a second through the umpire: four seats play at random, every move is listed, checked and settled."""

from __future__ import annotations

from time import perf_counter

from byzanz import chance, umpire
from byzanz.games import rules_of


def measure(seconds: float = 5.0) -> dict[str, float]:
    """Play whole games of Byzanz.

    Args:
        seconds: for how long; the last game is played to its end.
    """
    rules, draw = rules_of("byzanz"), chance.Stream(bytes(32), "bench").below
    games = made = 0
    start = perf_counter()
    while perf_counter() - start < seconds:
        deal = chance.deal(chance.key(f"bench{games}", bytes(32), "abcd"))
        state, steps = umpire.settle(rules, rules.setup(4, {}), deal)
        made += len(steps)
        while rules.outcome(state) is None:
            seat = min(rules.awaited(state))
            choices = rules.moves(state, seat) + rules.asides(state, seat)
            state = umpire.play(rules, state, seat, choices[draw(len(choices))])
            state, steps = umpire.settle(rules, state, deal)
            made += 1 + len(steps)
        games += 1
    return {"games": games, "moves": made, "moves_per_second": made / (perf_counter() - start)}
