"""Whether some seat is better: games of the search bot against itself in every game and size, and who wins them.

Games go on where an earlier run has stopped: each finished one is a line of `seats.jsonl`. The table that has had the
least time is played next, so short games are played more often. The bots think with a number of playouts for each move,
not for a time, so that the same games are played on every machine.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from time import monotonic, thread_time
from typing import Any

from benchmarks.bots import interval
from byzanz import bots, chance, umpire
from byzanz.games import latest
from byzanz.rules import Rules

FILE = Path(__file__).parents[1] / ".peers" / "seats.jsonl"
"""The games that were played so far; to begin anew, delete it."""
PLAYOUTS = 20
"""The playouts that a bot has for a move: few, so that there is time for many games."""


def measure(minutes: float = 30, playouts: int = PLAYOUTS, file: Path = FILE) -> dict[str, float]:
    """Play for some minutes, and return each seat's share of the wins in all games so far, with its 95 % interval.

    Args:
        minutes: of this run; a game that has begun is played to its end.
        playouts: that a bot has for a move.
        file: the games so far.
    """
    tables = {f"{rules.slug}_{seats}": (rules, seats) for rules in latest() for seats in rules.seats}
    file.parent.mkdir(exist_ok=True)
    file.touch()
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    played = [line for line in lines if line["table"] in tables and line.get("playouts") == playouts]
    until = monotonic() + 60 * minutes
    while monotonic() < until:
        spent = {name: sum(line["seconds"] for line in played if line["table"] == name) for name in tables}
        name = min(spent, key=lambda each: spent[each])
        number = sum(line["table"] == name for line in played)
        began = thread_time()
        shares = play(*tables[name], number, playouts)
        about = {"table": name, "number": number, "playouts": playouts}
        played.append(about | {"shares": shares, "seconds": thread_time() - began})
        with file.open("a") as kept:
            kept.write(json.dumps(played[-1]) + "\n")
    return {what: figure for name in tables for what, figure in _figures(name, played).items()}


def play(rules: Rules[Any, Any], seats: int, number: int, playouts: int) -> list[float]:
    """Play one game and return each seat's share of the win.

    Args:
        number: gives the deal.
        playouts: that a bot has for a move.
    """
    key = chance.key(f"seats{number}", bytes(32), [])
    deal = chance.deal(key)
    draws = [chance.Stream(key, f"bot:{seat}").below for seat in range(seats)]
    state, _ = umpire.settle(rules, rules.setup(seats, {}), deal)
    while (outcome := rules.outcome(state)) is None:
        seat = min(rules.awaited(state))
        moves = (*rules.moves(state, seat), *rules.out_of_turn_moves(state, seat))
        budget = bots.playout_budget(playouts)
        move = bots.decide("search", rules, rules.view(state, seat), moves, draws[seat], budget)
        state, _ = umpire.settle(rules, umpire.play(rules, state, seat, move), deal)
    return [outcome.winners.count(seat) / len(outcome.winners) for seat in range(seats)]


def _figures(name: str, played: list[Mapping[str, Any]]) -> dict[str, float]:
    games = [line["shares"] for line in played if line["table"] == name]
    found: dict[str, float] = {f"{name}_games": len(games)}
    for seat, shares in enumerate(zip(*games, strict=True)):
        low, high = interval(sum(shares), len(shares))
        figures = {"share": sum(shares) / len(shares), "from": low, "to": high}
        found |= {f"{name}_seat_{seat}_{what}": figure for what, figure in figures.items()}
    return found
