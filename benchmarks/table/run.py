"""Measuring the table: its sections one after another; one that fails is named and the run goes on."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable, Mapping
from typing import TypeAlias

from benchmarks.table import front, jobs, kills, lengths, mails, memory, rates, storage, workers
from benchmarks.table.figures import Figures, Size

Section: TypeAlias = Callable[[Size, Figures], None]
SECTIONS: dict[str, Section] = {
    "rates": rates.measure,
    "workers": workers.measure,
    "lengths": lengths.measure,
    "mails": mails.measure,
    "front": front.measure,
    "storage": storage.measure,
    "memory": memory.measure,
    "kills": kills.measure,
    "jobs": jobs.measure,
}
"""What measures the figures of the rows, by name."""


def run(size: Size, sections: Mapping[str, Section] = SECTIONS) -> Figures:
    """Measure; progress and what fails are told on standard error."""
    figures = Figures()
    for name, section in sections.items():
        print(f"{name} …", end=" ", file=sys.stderr, flush=True)
        start = time.monotonic()
        try:
            section(size, figures)
        except Exception as fault:
            traceback.print_exc()
            figures.missing[name] = f"failed: {type(fault).__name__}: {fault}"
        spent = time.monotonic() - start
        figures.add(f"seconds_of_{name}", spent)
        print(f"{spent:.0f} s", file=sys.stderr, flush=True)
    return figures
