"""`python3 dev.py mutants`: plant small faults in the product, one at a time, and see whether the tests notice.

python3 dev.py mutants                          try 30 mutants of each area
python3 dev.py mutants --area mail --sample 60  try 60 mutants of one area; --seed 2 draws others
python3 dev.py mutants --path server/i18n/__init__.py    try mutants of these modules or folders only
python3 dev.py mutants --list                   only print the mutants
python3 dev.py mutants --map                    record again which test runs which line
python3 dev.py mutants --map --tests tests/x    record these tests and add them to the record
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.mutants.line_map import MOST_TESTS, LineMap
from tests.mutants.mutations import TRANSLATED
from tests.mutants.trial import AREAS, Planted, Verdict, area_of, every_mutant, sample, table, try_all
from tests.support.folders import ROOT
from tests.words.found import KEEPING, refusals

FOLDER = ROOT / ".mutants"


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    assert __doc__ is not None
    shape = argparse.RawDescriptionHelpFormatter
    made = argparse.ArgumentParser(prog="dev.py mutants", description=__doc__, formatter_class=shape)
    made.add_argument("--area", choices=list(AREAS), action="append", help="only this area; may be repeated")
    made.add_argument("--path", nargs="+", help="only these modules or folders")
    made.add_argument("--sample", type=int, default=30, help="how many of each area (default: 30)")
    made.add_argument("--seed", type=int, default=1, help="which mutants are drawn (default: 1)")
    made.add_argument("--list", action="store_true", help="print the mutants, try none")
    made.add_argument("--survivors", type=Path, metavar="FILE", help="write the survivors to this file too")
    made.add_argument("--map", action="store_true", help="record which test runs which line, try no mutant")
    made.add_argument("--tests", nargs="+", default=[], help="with --map: only these tests")
    made.add_argument("--most-tests", type=int, default=MOST_TESTS, help=f"for a mutant ({MOST_TESTS})")
    made.add_argument(
        "--workers", type=int, default=min(2, os.cpu_count() or 1), help="mutants tried at once"
    )
    return made


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; return 1 if the tests could not be recorded, or not since the product changed."""
    options = parser().parse_args(words)
    lines = LineMap(FOLDER)
    if options.map:
        return record(lines, options.tests)
    translated = TRANSLATED | refusals() | set(KEEPING)
    wanted = [each for each in every_mutant(ROOT, translated, options.seed) if is_wanted(each, options)]
    drawn = sample(wanted, options.sample)
    if options.list:
        print("\n".join(map(str, drawn)))
        return 0
    if not lines.exists:
        print("dev.py mutants: recording which test runs which line; this takes a while.", file=sys.stderr)
        if record(lines):
            return 1
    stale = {planted.mutant.path for planted in drawn} & lines.changed(ROOT)
    if stale:
        print(
            f"dev.py mutants: changed since the tests were recorded: {', '.join(sorted(stale))}",
            file=sys.stderr,
        )
        print("dev.py mutants: run `python3 dev.py mutants --map` first.", file=sys.stderr)
        return 1
    verdicts = []
    for verdict in try_all(drawn, ROOT, lines, options.most_tests, options.workers):
        verdicts.append(verdict)
        tell(verdict, f"{len(verdicts)}/{len(drawn)}", options.survivors)
    print(f"\nseed {options.seed}, {len(wanted)} mutants to draw from\n\n{table(verdicts)}")
    return 0


def record(lines: LineMap, tests: Sequence[str] = ()) -> int:
    """Record tests; return 1 if pytest could not run them. Those that fail are left out, which is no failure."""
    return int(lines.record(ROOT, tests) > 1)


def is_wanted(planted: Planted, options: argparse.Namespace) -> bool:
    """Whether a mutant is in the areas and paths that were asked for."""
    path = planted.mutant.path
    here = options.path is None or any(
        path == each or path.startswith(f"{each.rstrip('/')}/") for each in options.path
    )
    return here and (options.area is None or area_of(path) in options.area)


def tell(verdict: Verdict, progress: str, survivors: Path | None) -> None:
    """Print a verdict, and keep that of a survivor in the file."""
    print(f"{progress} {verdict}", flush=True)
    if survivors and verdict.survived:
        with survivors.open("a") as file:
            file.write(f"{verdict}\n")


if __name__ == "__main__":
    sys.exit(main())
