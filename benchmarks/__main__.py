"""`python3 dev.py bench`: each benchmark is a module with `measure() -> Figures`, which returns figures by name."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from benchmarks import bots, moves, page, standing_orders, submit, tick

Figures: TypeAlias = Mapping[str, float | None]
"""A figure is None if what it measures is not installed."""
BENCHES: dict[str, Callable[[], Figures]] = {
    "moves": moves.measure,
    "submit": submit.measure,
    "page": page.measure,
    "tick": tick.measure,
    "waits": standing_orders.measure,
    "bots": bots.measure,
}


def main(words: Sequence[str] | None = None) -> int:
    """Run one benchmark, or all, and print the figures.

    Args:
        words: the arguments, those of this process if None.
    """
    parser = argparse.ArgumentParser(prog="dev.py bench", description="Run one benchmark, or all.")
    parser.add_argument(
        "name", nargs="?", metavar="NAME", choices=BENCHES, help=f"{', '.join(BENCHES)}; default: all"
    )
    parser.add_argument("--json", action="store_true", dest="as_json", help="print one JSON object")
    args = parser.parse_args(words)
    measured = {}
    for each in [args.name] if args.name else BENCHES:
        measured[each] = BENCHES[each]()
        if not args.as_json:
            _print(each, measured[each])
    if args.as_json:
        print(json.dumps(measured, indent=2))
    return 0


def _print(name: str, figures: Figures) -> None:
    for what, figure in figures.items():
        text = "not installed" if figure is None else f"{figure:,.4g}"
        print(f"{name:8}{what.replace('_', ' '):44}{text:>14}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
