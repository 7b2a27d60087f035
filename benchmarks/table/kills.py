"""Acknowledged moves lost while servers are killed again and again: the torture run `kill9`."""

from __future__ import annotations

import re
import subprocess
import sys

from benchmarks.clients import ROOT
from benchmarks.table.figures import Figures, Size

REPORT = re.compile(r"kill -9 on (\w+): n = (\d+);.*: (?:nothing wrong|(\d+) FAULTS)$", re.MULTILINE)


def measure(size: Size, figures: Figures) -> None:
    """Run the torture and add how many kills there were and what its checker found."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.torture", "kill9", "--kills", str(size.kills)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    read(done.stdout, figures)
    if "kills" not in figures.rounds:
        raise RuntimeError(f"the torture run reported nothing: {done.stderr[-500:]}")


def read(report: str, figures: Figures) -> None:
    """Read the report of a torture run, one line for each kind of database."""
    found = REPORT.findall(report)
    if found:
        figures.add("kills", sum(int(kills) for _, kills, _ in found))
        figures.add("faults_after_kills", sum(int(faults or 0) for *_, faults in found))
