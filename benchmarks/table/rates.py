"""Moves and pages of Byzanz beside those of its peers: eight clients at eight tables, in rounds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from benchmarks import clients, submit
from benchmarks.clients import Outcome, Plan
from benchmarks.fixtures import ScriptedMove, environment, script, start_game, temporary_server
from benchmarks.peers import programs
from benchmarks.processes import Server
from benchmarks.table.figures import Figures, Size

CLIENTS = 8
WORKERS = 2
"""Processes of `byzanz web`, which is its default."""
SETTLING = 0.2
"""Seconds in which a server may finish what it does after its last answer, before its CPU time is read."""

Contender: TypeAlias = Callable[[int, Figures], None]
"""Measures one round and adds its figures."""


def measure(size: Size, figures: Figures) -> None:
    """Let all contenders take turns; a first round warms them up and is not counted."""
    with ExitStack() as stack:
        _, folder = stack.enter_context(temporary_server())
        contenders = list(_contenders(size, folder, stack, figures))
        for number in range(size.rounds + 1):
            for contender in contenders:
                contender(number, figures if number else Figures())


def _contenders(size: Size, folder: Path, stack: ExitStack, figures: Figures) -> Iterator[Contender]:
    games = scripts(CLIENTS * (size.rounds + 1), size.moves + 1)
    ours = stack.enter_context(programs.byzanz_web(environment(), WORKERS))
    yield Moves("byzanz", ours, lambda number: move_plan(ours.port, _of_round(games, number)))
    yield Pages(ours, size.pages, lambda number: [lines[-1].token for lines in _of_round(games, number)])
    bare = stack.enter_context(programs.flask_apps(folder, WORKERS))
    posts = [clients.post("/moves", {"move": "bid Grain 1", "seen": n}) for n in range(size.moves)]
    yield Moves("flask", bare, lambda _: Plan(bare.port, [posts] * CLIENTS, status=201))
    yield Hello(bare, 5 * size.pages)
    yield lambda _, into: raw_commits(folder / "raw.db", size.commits, into)
    with _or_missing(figures, "boardgame.io FlatFile"):
        flat = stack.enter_context(programs.on_node(programs.FLATFILE, "flatfile.js", folder / "flatfile"))
        yield Moves("flatfile", flat, lambda number: match_plan(flat.port, number, size.moves))
    with _or_missing(figures, "minimal server on better-sqlite3"):
        least = stack.enter_context(programs.on_node(programs.MINIMAL, "minimal.js", folder / "minimal"))
        yield Moves("minimal", least, lambda number: minimal_plan(least.port, number, size.moves))


@contextmanager
def _or_missing(figures: Figures, name: str) -> Iterator[None]:
    try:
        yield
    except programs.MissingError as missing:
        figures.missing[name] = str(missing)


def _of_round(games: list[list[ScriptedMove]], number: int) -> list[list[ScriptedMove]]:
    return games[number * CLIENTS : (number + 1) * CLIENTS]


def scripts(games: int, moves: int) -> list[list[ScriptedMove]]:
    """Start games and return the first moves of each.

    Raises:
        ValueError: a game is over before so many moves.
    """
    found = [script(start_game(f"table{number}"), moves) for number in range(games)]
    if any(len(lines) < moves for lines in found):
        raise ValueError(f"a game is over before {moves} moves")
    return found


def move_plan(port: int, games: list[list[ScriptedMove]]) -> Plan:
    """Let one client at each table make all its moves but the last."""
    return Plan(port, [requests(lines[:-1]) for lines in games], status=201)


def requests(lines: list[ScriptedMove]) -> list[str]:
    """Return the calls of the API that make these moves."""
    return [
        clients.post(
            f"/api/v1/seats/{line.token}/moves",
            {"move": line.move, "seen": line.seen, "request_id": f"request-{line.seen}"},
        )
        for line in lines
    ]


def match_plan(port: int, number: int, moves: int) -> Plan:
    """Let one client in each new match of boardgame.io make moves."""
    return Plan(port, [[f"match{number}-{client}"] for client in range(CLIENTS)], moves=moves)


def minimal_plan(port: int, number: int, moves: int) -> Plan:
    """Let one client at each new table of the minimal server make moves."""
    calls = [
        [clients.post("/moves", {"game": f"game{number}-{client}", "at": at}) for at in range(moves)]
        for client in range(CLIENTS)
    ]
    return Plan(port, calls, status=201)


@dataclass(frozen=True, slots=True)
class Moves:
    """Moves through a server: how many in a second, and the CPU time of each.

    Args:
        name: of the server, with which its figures begin.
        server: running.
        plan: what the clients do in a round.
    """

    name: str
    server: Server
    plan: Callable[[int], Plan]

    def __call__(self, number: int, figures: Figures) -> None:
        """Measure one round."""
        outcome, cpu = costing(self.server, self.plan(number))
        figures.add(f"{self.name}_moves_per_second", outcome.per_second)
        figures.add(f"{self.name}_cpu_milliseconds_a_move", cpu * 1000 / outcome.answers)


@dataclass(frozen=True, slots=True)
class Pages:
    """Turn pages: how many in a second, and the CPU time of each.

    Args:
        server: running.
        pages: of each client.
        tokens: of the seats that are to move after a round's moves.
    """

    server: Server
    pages: int
    tokens: Callable[[int], list[str]]

    def __call__(self, number: int, figures: Figures) -> None:
        """Measure one round."""
        calls = [[clients.get(f"/t/{token}")] * self.pages for token in self.tokens(number)]
        outcome, cpu = costing(self.server, Plan(self.server.port, calls))
        figures.add("turn_pages_per_second", outcome.per_second)
        figures.add("cpu_milliseconds_a_turn_page", cpu * 1000 / outcome.answers)


@dataclass(frozen=True, slots=True)
class Hello:
    """Hello pages: how many in a second.

    Args:
        server: running.
        pages: of each client.
    """

    server: Server
    pages: int

    def __call__(self, _number: int, figures: Figures) -> None:
        """Measure one round."""
        outcome = clients.run(Plan(self.server.port, [[clients.get("/")] * self.pages] * CLIENTS))
        figures.add("hello_pages_per_second", outcome.per_second)


def raw_commits(database: Path, n: int, figures: Figures) -> None:
    """Commit one row after another and add how many a second took."""
    figures.add("raw_commits_per_second", n / sum(submit.raw_commits(database, n)))


def costing(server: Server, plan: Plan) -> tuple[Outcome, float]:
    """Let clients carry out a plan; return what they measured and the server's CPU seconds meanwhile."""
    before = server.cpu_seconds()
    outcome = clients.run(plan)
    time.sleep(SETTLING)
    return outcome, server.cpu_seconds() - before
