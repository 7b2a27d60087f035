"""`python3 dev.py bench`: the table of docs/benchmarks.md, or one benchmark by its name."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeAlias

from benchmarks import beside, document, measure, people, postgres, report, rules, web_servers
from benchmarks.report import QUICK, Figures, Size

Values: TypeAlias = Mapping[str, float | None]
"""A figure is None if what it measures is not installed."""
BENCHES: dict[str, Callable[[], Values]] = {
    "moves": rules.measure_moves,
    "submit": measure.submit,
    "page": measure.page,
    "waits": people.measure,
    "bots": rules.measure_bots,
    "seats": rules.measure_seats,
    "servers": web_servers.measure,
    "fleet": postgres.fleet,
    "partitions": postgres.partitions,
}
"""Benchmarks of their own, by name; each returns figures."""
Section: TypeAlias = Callable[[Size, Figures], None]
SECTIONS: dict[str, Section] = {
    "rates": measure.rates,
    "workers": measure.workers,
    "lengths": measure.lengths,
    "beside": beside.beside,
    "front": measure.front,
    "storage": measure.storage,
    "memory": measure.memory,
    "kills": measure.kills,
    "tick": measure.idle_jobs,
}
"""What measures the figures of the rows, by name."""
ALL = "table"


def main(words: Sequence[str] | None = None) -> int:
    """Measure the table, or run one benchmark, and print the figures; return 1 if something failed.

    Args:
        words: the arguments, those of this process if None.
    """
    parser = _parser()
    args = parser.parse_args(words)
    size = QUICK if args.quick else Size()
    chosen = {"games": args.games, "kills": args.kills}
    size = replace(size, **{name: value for name, value in chosen.items() if value})
    if args.write and size != Size():
        parser.error("--write needs the full size")
    if args.stale:
        return _stale(write=args.write)
    if args.name in BENCHES:
        return _one(args.name, as_json=args.as_json, write=args.write)
    sections = dict(SECTIONS) if args.name == ALL else {args.name: SECTIONS[args.name]}
    if args.beside and "beside" in sections:
        sections["beside"] = partial(beside.beside, other=args.beside.resolve())
    return _table(size, sections, other=args.beside, as_json=args.as_json, write=args.write)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dev.py bench", description="Measure Byzanz beside its peers.")
    names = (ALL, *SECTIONS, *BENCHES)
    parser.add_argument(
        "name",
        nargs="?",
        metavar="NAME",
        choices=names,
        default=ALL,
        help=f"the whole {ALL} (default), a section of it ({', '.join(SECTIONS)}),"
        f" or another benchmark ({', '.join(BENCHES)})",
    )
    parser.add_argument("--json", action="store_true", dest="as_json", help="print one JSON object")
    parser.add_argument(
        "--write",
        action="store_true",
        help="write the rows that were measured, with commit and date, into docs/benchmarks.md",
    )
    parser.add_argument(
        "--stale",
        action="store_true",
        help="measure nothing; list the rows of docs/benchmarks.md whose code has changed since they were measured;"
        " with --write, mark them there",
    )
    parser.add_argument(
        "--beside",
        type=Path,
        metavar="FOLDER",
        help="another checkout, set up by its own dev.py, with which pages, emails and moves by forms are compared",
    )
    parser.add_argument("--quick", action="store_true", help="measure as little as shows that all works")
    parser.add_argument("--games", type=int, metavar="N", help="running games while the jobs are idle")
    parser.add_argument("--kills", type=int, metavar="N", help="how often a server is killed")
    return parser


def _table(
    size: Size, sections: Mapping[str, Section], *, other: Path | None, as_json: bool, write: bool
) -> int:
    measured_on = report.machine()  # first: somebody may commit meanwhile
    if other is not None:
        measured_on["the other checkout's commit"] = report.commit(other)
    figures = run(size, sections)
    if as_json:
        print(json.dumps(report.as_json(figures, measured_on), indent=2))
    elif len(sections) < len(SECTIONS):
        _print(*sections, figures={name: figures.median(name) for name in figures.rounds})
    else:
        print(report.as_text(figures, measured_on))
    if write:
        _write(figures, sections, measured_on)
    return any(why.startswith("failed") for why in figures.missing.values())


def _one(name: str, *, as_json: bool, write: bool) -> int:
    measured_on, values = report.machine(), BENCHES[name]()
    if as_json:
        print(json.dumps({name: values}, indent=2))
    else:
        _print(name, figures=values)
    if write:
        figures = Figures({what: [value] for what, value in values.items() if value is not None})
        _write(figures, (name,), measured_on)
    return 0


def _write(figures: Figures, names: Iterable[str], machine: Mapping[str, str]) -> None:
    for path in document.write(figures, names, machine, f"{datetime.now(UTC):%Y-%m-%d}"):
        print(f"wrote {path.name}", file=sys.stderr)


def _stale(*, write: bool) -> int:
    for line in document.stale():
        print(line)
    if write:
        document.draw()
    return 0


def _print(name: str, *, figures: Values) -> None:
    for what, figure in figures.items():
        text = "not installed" if figure is None else f"{figure:,.4g}"
        print(f"{name:8}{what.replace('_', ' '):70}{text:>14}", flush=True)


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


if __name__ == "__main__":
    warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR")  # a folder that is not used
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that servers are stopped and folders deleted
    sys.exit(main())
