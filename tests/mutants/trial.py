"""Drawing a sample of mutants and trying each against the tests that run its line."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.copies import FAILED, PASSED, Copy
from tests.mutants.line_map import LineMap, chosen, importers, modules
from tests.mutants.mutations import TRANSLATED, Mutant, compiles, mutants

AREAS = {
    "rules": ("byzanz/",),
    "store": ("server/store/", "server/accounts/"),
    "turns": ("server/play/", "server/scheduler/"),
    "mail": ("server/mail/",),
    "pages": ("server/web/", "server/lobby/"),
    "rest": ("server/",),
}
"""The areas of the score with the folders of each; a module belongs to the first that fits."""
GONE = re.compile(r"^ERROR: not found: \S*?/(tests/\S+)$", re.MULTILINE)
"""What pytest prints for a test that it cannot find; it leaves out the parameters."""


def area_of(path: str) -> str:
    """Return the area of a module."""
    return next(area for area, folders in AREAS.items() if path.startswith(folders))


@dataclass(frozen=True)
class Planted:
    """A mutant that was drawn, with the text of its module.

    Args:
        rank: its place in the draw, a hash of the seed and the change: a change elsewhere does not redraw it.
    """

    mutant: Mutant
    text: str
    rank: str

    def __str__(self) -> str:
        return f"{self.mutant.path}:{self.mutant.line}: {self.mutant.kind}: {self.mutant.diff(self.text)}"


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant.

    Args:
        how: "killed", "timed out", "survived" or "not executed".
        tests: how many were tried; covering: how many run the line.
    """

    planted: Planted
    how: str
    tests: int = 0
    covering: int = 0

    @property
    def survived(self) -> bool:
        """Whether no test noticed the mutant."""
        return self.how in ("survived", "not executed")

    def __str__(self) -> str:
        tried = f" ({self.tests} of {self.covering} tests)" if self.how == "survived" else ""
        return f"{self.how}{tried}: {self.planted}"


def every_mutant(root: Path, translated: Set[str] = TRANSLATED, seed: int = 0) -> Iterator[Planted]:
    """Return all mutants of the product."""
    for file in modules(root):
        path, text = file.relative_to(root).as_posix(), file.read_text()
        seen: Counter[str] = Counter()
        for mutant in mutants(path, text, translated):
            change = f"{seed} {path} {mutant.kind} {mutant.diff(text)}"
            seen[change] += 1
            rank = hashlib.sha256(f"{change} {seen[change]}".encode()).hexdigest()
            yield Planted(mutant, text, rank)


def sample(all_mutants: Iterable[Planted], size: int) -> list[Planted]:
    """Return up to `size` mutants of each area, the same for the same seed, in the order of the draw."""
    drawn: dict[str, list[Planted]] = {area: [] for area in AREAS}
    for planted in sorted(all_mutants, key=lambda each: each.rank):
        of_area = drawn[area_of(planted.mutant.path)]
        if len(of_area) < size and compiles(planted.mutant, planted.text):
            of_area.append(planted)
    return [planted for of_area in drawn.values() for planted in of_area]


def try_all(
    drawn: Sequence[Planted], root: Path, lines: LineMap, most_tests: int, workers: int
) -> Iterator[Verdict]:
    """Try mutants in copies of the checkout, one copy for each worker, and yield the verdicts in order."""
    users = importers(root)
    copies: SimpleQueue[Copy] = SimpleQueue()

    def judge(planted: Planted, tests: Sequence[str], covering: Mapping[str, float]) -> Verdict:
        copy = copies.get()
        try:
            return try_one(planted, copy, tests, covering)
        finally:
            copies.put(copy)

    made = [Copy(root).__enter__() for _ in range(workers)]
    try:
        for copy in made:
            copies.put(copy)
        with ThreadPoolExecutor(workers) as pool:
            covers = [lines.covering(planted.mutant, root, users) for planted in drawn]
            picks = [
                chosen(planted.mutant.path, tests, most_tests)
                for planted, tests in zip(drawn, covers, strict=True)
            ]
            yield from pool.map(judge, drawn, picks, covers)
    finally:
        for copy in made:
            copy.__exit__()


def try_one(planted: Planted, copy: Copy, tests: Sequence[str], covering: Mapping[str, float]) -> Verdict:
    """Plant a mutant in a copy, run tests, and take it out again."""
    if not tests:
        return Verdict(planted, "not executed")
    copy.write(planted.mutant.path, planted.mutant.applied(planted.text))
    try:
        seconds = sum(covering[test] for test in tests)
        code, output = copy.run(tests, seconds)
        gone = {test for test in tests if test.partition("[")[0] in missing(output)}
        if code not in (PASSED, FAILED, None) and gone:  # renamed since they were recorded
            tests = [test for test in tests if test not in gone]
            code, output = copy.run(tests, seconds) if tests else (PASSED, "")
    finally:
        copy.write(planted.mutant.path, planted.text)
    how = {None: "timed out", PASSED: "survived"}.get(code, "killed")
    return Verdict(planted, how, len(tests), len(covering))


def missing(output: str) -> set[str]:
    """Return the tests that pytest did not find, without their parameters."""
    return set(GONE.findall(output))


def table(verdicts: Iterable[Verdict]) -> str:
    """Return the score by area as a Markdown table."""
    counts: dict[str, Counter[str]] = {}
    for verdict in verdicts:
        for area in (area_of(verdict.planted.mutant.path), "all"):
            counts.setdefault(area, Counter())[verdict.how] += 1
    rows = ["| area | mutants | killed | of them by time-out | survived | of them not executed | score |"]
    rows.append("|---|---|---|---|---|---|---|")
    for area in (*AREAS, "all"):
        if area in counts:
            how = counts[area]
            killed, total = how["killed"] + how["timed out"], how.total()
            cells = (area, total, killed, how["timed out"], total - killed, how["not executed"])
            rows.append(f"| {' | '.join(map(str, cells))} | {100 * killed / total:.0f} % |")
    return "\n".join(rows)
