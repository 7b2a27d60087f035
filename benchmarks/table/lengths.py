"""Moves and turn pages of one client, in games whose logs have different lengths, taking turns."""

from __future__ import annotations

from contextlib import ExitStack
from statistics import median

from benchmarks import clients
from benchmarks.clients import Plan
from benchmarks.fixtures import environment, lengthen, script, start_game, temporary_server, tokens_of
from benchmarks.peers import programs
from benchmarks.table import rates
from benchmarks.table.figures import Figures, Size

GAMES = 2
"""Games of each length in each round: a single one might have dearer moves than others."""
MOVES = 100
"""Of each game, at most: no game is shorter."""


def measure(size: Size, figures: Figures) -> None:
    """Make moves and open pages, at all lengths alternately; a first round warms the server up."""
    with ExitStack() as stack:
        stack.enter_context(temporary_server())
        server = stack.enter_context(programs.byzanz_web(environment(), 1))
        for number in range(size.rounds + 1):
            into = figures if number else Figures()
            games = [[_game(number, n, length) for length in size.lengths] for n in range(GAMES)]
            _pages(server.port, [[path for path, _ in each] for each in games], size, into)
            _moves(server.port, [[moves for _, moves in each] for each in games], size, into)


def _game(number: int, n: int, length: int) -> tuple[str, list[str]]:
    """Return the page of a game whose log has this length, and the requests that make moves in it."""
    game_id = start_game(f"length{length}-{number}-{n}")
    seat = lengthen(game_id, length)
    return f"/t/{tokens_of(game_id)[seat]}", rates.requests(script(game_id, MOVES))


def _moves(port: int, games: list[list[list[str]]], size: Size, figures: Figures) -> None:
    calls = [
        call
        for by_length in games
        for turn in list(zip(*by_length, strict=True))[: size.repeats]
        for call in turn
    ]
    _add("milliseconds_a_move", clients.run(Plan(port, [calls], status=201)).took[0], size, figures)


def _pages(port: int, games: list[list[str]], size: Size, figures: Figures) -> None:
    calls = [clients.get(path) for paths in games for _ in range(size.repeats) for path in paths]
    _add("milliseconds_a_page", clients.run(Plan(port, [calls])).took[0], size, figures)


def _add(name: str, took: list[float], size: Size, figures: Figures) -> None:
    """Add the median of each length; the answers come in the order of the lengths, again and again."""
    for index, length in enumerate(size.lengths):
        figures.add(f"{name}_at_{length}", median(took[index :: len(size.lengths)]) * 1000)
