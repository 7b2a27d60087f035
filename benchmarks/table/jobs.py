"""The scheduler's jobs with nothing to do, with few and with many running games: the benchmark `tick`."""

from __future__ import annotations

from benchmarks import tick
from benchmarks.table.figures import Figures, Size


def measure(size: Size, figures: Figures) -> None:
    """Run the benchmark; `ratio` is that of the job that grows most."""
    for name, value in tick.measure(many=size.games).items():
        figures.add(f"idle_jobs_{name}", value)
    figures.add("idle_jobs_games", size.games)
