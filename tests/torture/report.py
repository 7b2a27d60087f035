"""The figures and faults of one torture run."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.torture import journal


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a run.

    Args:
        name: of the test, and its database.
        n: how often the promise was tried.
        figures: what was done, for people.
        faults: what is broken, one line each.
    """

    name: str
    n: int
    figures: str
    faults: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.n:
            object.__setattr__(self, "faults", (*self.faults, "nothing was tried"))

    def __str__(self) -> str:
        ending = "nothing wrong" if not self.faults else f"{len(self.faults)} FAULTS"
        lines = [f"{self.name}: n = {self.n}; {self.figures}: {ending}", *self.faults[:20]]
        return "\n    ".join(lines)


def judge(url: str, path: Path, of: str = "games") -> tuple[str, ...]:
    """Run the checker as a separate program; return what it finds wrong with a database and a journal."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.torture.checker", url, str(path), of],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    if done.returncode not in (0, 1):
        return (f"the checker itself failed: {done.stderr[-2000:]}",)
    return tuple(done.stdout.splitlines()) + (
        () if done.returncode == 0 or done.stdout else (done.stderr[-2000:],)
    )


def complaints(log: Path) -> tuple[str, ...]:
    """Return log lines that a server should never write: that something failed, or that its database was locked."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    bad = [line for line in lines if "database is locked" in line or " ERROR " in line or "Error:" in line]
    return tuple(f"the server said: {line[:300]}" for line in bad[:10])


def count(path: Path, what: str, *statuses: int) -> int:
    """Return how many journal lines have this kind, with one of these statuses."""
    lines = [line for line in journal.read(path) if line["what"] == what]
    return sum(not statuses or line["status"] in statuses for line in lines)
