"""The benchmarks: each a module with `measure() -> Figures`, figures by name, units in the names."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TypeAlias

from server.bench import bots, moves, page, submit, tick, waits
from server.config import ConfigError

Figures: TypeAlias = Mapping[str, float | None]
"""None: not measured, because what it measures is not installed."""
BENCHES: dict[str, Callable[[], Figures]] = {
    "moves": moves.measure,
    "submit": submit.measure,
    "page": page.measure,
    "tick": tick.measure,
    "waits": waits.measure,
    "bots": bots.measure,
}


def run(name: str | None, *, as_json: bool) -> None:
    """Run one benchmark, or all, and print what was measured.

    Raises:
        ConfigError: there is no benchmark of this name.
    """
    if name is not None and name not in BENCHES:
        raise ConfigError(f"there is no benchmark {name!r}; there are {', '.join(BENCHES)}")
    measured = {}
    for each in BENCHES if name is None else [name]:
        measured[each] = BENCHES[each]()
        if not as_json:
            _print(each, measured[each])
    if as_json:
        print(json.dumps(measured, indent=2))


def _print(name: str, figures: Figures) -> None:
    for what, figure in figures.items():
        shown = "not installed" if figure is None else f"{figure:,.4g}"
        print(f"{name:8}{what.replace('_', ' '):44}{shown:>14}", flush=True)
