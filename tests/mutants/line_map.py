"""The record of which test runs which line of the product, and of how long each test takes."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path, PurePosixPath

from coverage import CoverageData

from tests.mutants.copies import Copy
from tests.mutants.mutations import Mutant
from tests.mutants.recorder import RESULTS, SUBPROCESS_TEST

TESTS = ("tests/byzanz", "tests/server", "tests/leaks", "tests/records", "tests/whole")
"""The tests that are recorded unless others are named: all that need no browser and break no machine."""
POSTGRESQL = "[postgresql"
"""What names of tests on PostgreSQL contain. They come last, because starting it takes seconds for each mutant."""
MOST_TESTS = 60
"""How many tests try to kill one mutant."""
MOST_SECONDS = 60.0
"""How long they may take together, as they were recorded."""
SETTINGS = """\
[run]
source =
    byzanz
    server
relative_files = true
parallel = true
patch = subprocess
sigterm = true
core = ctrace
context = ${%s-}
data_file = %s
"""


class LineMap:
    """The record of a run of the tests.

    Args:
        folder: holds `lines` (data of coverage.py, a context for each test), `tests.json` (the seconds of each test
            that passed) and `product.json` (the fingerprints of the modules).
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def exists(self) -> bool:
        """Whether there is a record."""
        return (self.folder / "product.json").exists()

    @cached_property
    def seconds(self) -> dict[str, float]:
        """How long each test takes."""
        return dict(json.loads((self.folder / "tests.json").read_text()))

    @cached_property
    def product(self) -> dict[str, str]:
        """The fingerprint of each module when the tests were recorded."""
        return dict(json.loads((self.folder / "product.json").read_text()))

    @cached_property
    def data(self) -> CoverageData:
        """The lines that each test runs."""
        data = CoverageData(str(self.folder / "lines"))
        data.read()
        return data

    def changed(self, root: Path) -> set[str]:
        """Return the modules whose lines are not those that were recorded."""
        now = fingerprints(root)
        return {path for path in now | self.product if now.get(path) != self.product.get(path)}

    def lines(self, path: str) -> dict[int, set[str]]:
        """Return the tests that run each line of a module; "" stands for its import."""
        name = next((file for file in self.data.measured_files() if file == path), None)
        contexts = self.data.contexts_by_lineno(name) if name else {}
        return {line: set(tests) for line, tests in contexts.items()}

    def covering(self, mutant: Mutant, root: Path, importers: Mapping[str, set[str]]) -> dict[str, float]:
        """Return the tests that run a mutant's code, with their seconds.

        What runs only when a module is imported concerns the tests that run a line with a name that it binds, in this
        module or in one that imports it; if there are none, every test that uses these modules."""
        lines = self.lines(mutant.path)
        found = lines.get(mutant.line) or lines.get(mutant.statement) or set()
        if found and (mutant.at_import or found == {""}):
            names = bound((root / mutant.path).read_text(), mutant.line)
            named, users = set[str](), set[str]()
            for path in (mutant.path, *importers.get(mutant.path, ())):
                recorded = self.lines(path)
                users = users.union(*recorded.values())
                for line, text in enumerate((root / path).read_text().splitlines(), 1):
                    if names.intersection(re.findall(r"\w+", text)):
                        named |= recorded.get(line, set())
            found = named - {""} or users
        return {test: self.seconds[test] for test in found if test in self.seconds}

    def record(self, root: Path, tests: Sequence[str] = ()) -> int:
        """Run tests on a copy of the checkout and record them; return pytest's exit code.

        Named tests are added to the record if it is of the same product; all tests replace it.
        Tests that fail there are left out, because their failures would say nothing about a mutant."""
        keeps = bool(tests) and self.exists and not self.changed(root)
        self.folder.mkdir(exist_ok=True)
        with Copy(root) as copy:
            settings, results, raw = (copy.root / name for name in (".cov.ini", ".results.json", ".lines"))
            settings.write_text(SETTINGS % (SUBPROCESS_TEST, raw))
            words = [
                "-m",
                "coverage",
                "run",
                f"--rcfile={settings}",
                "-m",
                "pytest",
                "-q",
                "-p",
                "no:cacheprovider",
            ]
            words += ["-p", "tests.mutants.recorder", "--nightly", *(tests or TESTS)]
            environment = copy.environment | {RESULTS: str(results)}
            code = subprocess.run(
                [sys.executable, *words], cwd=copy.root, env=environment, check=False
            ).returncode
            self.add(copy.root.glob(".lines.*"), json.loads(results.read_text()), keeps)
        (self.folder / "product.json").write_text(json.dumps(fingerprints(root), indent=0, sort_keys=True))
        return code

    def add(self, raw: Iterable[Path], seconds: Mapping[str, float], keeps: bool) -> None:
        """Store what a run measured: one file of lines for each process, and the seconds of the tests."""
        kept = self.seconds if keeps else {}
        data = CoverageData(str(self.folder / "lines"))
        if keeps:
            data.read()  # otherwise the first line written replaces the file
        for file in raw:
            one = CoverageData(str(file))
            one.read()
            data.update(one)
        data.write()
        (self.folder / "tests.json").write_text(json.dumps(kept | dict(seconds), indent=0, sort_keys=True))
        for name in ("seconds", "product", "data"):
            self.__dict__.pop(name, None)


def modules(root: Path) -> Iterator[Path]:
    """Return the modules of the product."""
    for package in ("byzanz", "server"):
        yield from sorted((root / package).rglob("*.py"))


def fingerprints(root: Path) -> dict[str, str]:
    """Return a hash of the text of each module."""
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        for path in modules(root)
    }


def bound(text: str, line: int) -> set[str]:
    """Return the names that an assignment in this line binds and those of the classes around it; none in a function."""
    names = set[str]()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0):
            if isinstance(node, ast.FunctionDef):
                return set()
            if isinstance(node, ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                found = (each for each in ast.walk(node) if isinstance(each, ast.Name))
                names.update(each.id for each in found if isinstance(each.ctx, ast.Store))
    return names


def importers(root: Path) -> dict[str, set[str]]:
    """Return for each module those that import it; what a package imports counts for those who import the package."""
    direct: dict[str, set[str]] = defaultdict(set)
    for path in modules(root):
        name = path.relative_to(root).as_posix()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                for target in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                    place = target.replace(".", "/")
                    for file in (f"{place}.py", f"{place}/__init__.py"):
                        if (root / file).exists():
                            direct[file].add(name)
    found: dict[str, set[str]] = {}
    for name, users in direct.items():
        package = str(PurePosixPath(name).with_name("__init__.py"))
        found[name] = users | (direct[package] if package in users else set()) - {name}
    return found


def chosen(path: str, tests: Mapping[str, float], most: int = MOST_TESTS) -> list[str]:
    """Return the tests to try on a mutant of a module, fastest first.

    Up to two thirds are from the folder that mirrors the module's, those of its own file before the others; the rest is
    spread over all files, so that no file with many quick tests crowds out the others."""
    module = PurePosixPath(path)
    near = f"tests/{module.parent}/"
    own = [test for test in tests if test.startswith(f"{near}test_{module.stem}.py::")]
    beside = [test for test in tests if test.startswith(near) and test not in own]
    picked = [*_spread(own, tests), *_spread(beside, tests)][: most * 2 // 3]
    others = _spread([test for test in tests if test not in picked], tests)
    found: list[str] = []
    together = 0.0
    for test in sorted(
        [*picked, *others[: most - len(picked)]], key=lambda test: (POSTGRESQL in test, tests[test])
    ):
        together += tests[test]
        if found and together > MOST_SECONDS:
            break
        found.append(test)
    return found


def _spread(names: Iterable[str], tests: Mapping[str, float]) -> list[str]:
    """Sort tests so that each file's first come first, then each file's second, and so on.

    A file's first are the fastest case of each of its tests, before their other cases: one test with many cases would
    otherwise stand for the whole file."""
    cases: dict[str, int] = defaultdict(int)
    by_case = []
    for test in sorted(names, key=lambda test: (tests[test], test)):
        name = test.partition("[")[0]
        by_case.append((cases[name], tests[test], test))
        cases[name] += 1
    turns: dict[str, int] = defaultdict(int)
    order = []
    for _case, seconds, test in sorted(by_case):
        file = test.partition("::")[0]
        order.append((turns[file], seconds, test))
        turns[file] += 1
    return [test for _turn, _seconds, test in sorted(order)]
