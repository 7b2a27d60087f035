"""The memory of `byzanz web` with four workers, before and after many turn pages."""

from __future__ import annotations

from contextlib import ExitStack

from benchmarks import clients
from benchmarks.clients import Plan
from benchmarks.fixtures import environment, script, start_game, temporary_server
from benchmarks.peers import programs
from benchmarks.table.figures import Figures, Size

WORKERS = 4
CLIENTS = 8


def measure(size: Size, figures: Figures) -> None:
    """Open turn pages of eight games, over and over, and add up the memory of all processes."""
    with ExitStack() as stack:
        stack.enter_context(temporary_server())
        tokens = [script(start_game(f"memory{number}"), 1)[0].token for number in range(CLIENTS)]
        server = stack.enter_context(programs.byzanz_web(environment(), WORKERS))
        figures.add("megabytes_at_the_start", server.pss_megabytes())
        each = -(-size.memory_pages // CLIENTS)
        clients.run(Plan(server.port, [[clients.get(f"/t/{token}")] * each for token in tokens]))
        figures.add("megabytes_after_pages", server.pss_megabytes())
        figures.add("memory_pages", each * CLIENTS)
