"""The table as text, as JSON, and in docs/benchmarks.md with its plot."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.clients import ROOT
from benchmarks.table import plot
from benchmarks.table.figures import Figures
from benchmarks.table.rows import ROWS, YARDSTICKS, number

DOCUMENT = ROOT / "docs" / "benchmarks.md"
IMAGE = ROOT / "docs" / "images" / "benchmarks.svg"
BEGIN, END = "<!-- begin: measured -->", "<!-- end: measured -->"
HEADER = ("what", "measured", "target", "stretch")


def as_text(figures: Figures, machine: Mapping[str, str]) -> str:
    """Return the table in columns, with what is missing and the machine."""
    cells = [HEADER, *(row.cells(figures) for row in ROWS)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEADER))]
    marks = ["", *(_mark(row.reached(figures)) for row in ROWS)]
    lines = [
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)) + f"  {mark}"
        for line, mark in zip(cells, marks, strict=True)
    ]
    lines.append("")
    lines += [f"{what}: {value}" for what, value in _yardsticks(figures)]
    lines += [f"missing: {name}: {why}" for name, why in figures.missing.items()]
    lines.append("; ".join(f"{name}: {value}" for name, value in machine.items()))
    return "\n".join(line.rstrip() for line in lines)


def as_json(figures: Figures, machine: Mapping[str, str]) -> dict[str, object]:
    """Return everything as one object: the rows, all figures with their rounds, and what is missing."""
    rows = [
        {
            "what": row.what,
            "measured": row.measured(figures),
            "target": row.target,
            "stretch": row.stretch,
            "reached": row.reached(figures),
        }
        for row in ROWS
    ]
    return {
        "machine": dict(machine),
        "rows": rows,
        "figures": {name: figures.median(name) for name in figures.rounds},
        "rounds": figures.rounds,
        "missing": figures.missing,
    }


def as_markdown(figures: Figures, machine: Mapping[str, str], command: str) -> str:
    """Return the section of docs/benchmarks.md.

    Args:
        command: with which all of it was measured.
    """
    marks = [_mark(row.reached(figures)) for row in ROWS]
    rows = [(*row.cells(figures), mark) for row, mark in zip(ROWS, marks, strict=True)]
    parts = [
        f"`{command}` measured this on {_sentence(machine)}.",
        _markdown((*HEADER, ""), rows),
        f"![Cost against the length of the log and the number of games](images/{IMAGE.name})",
        "The figures behind it:",
        _markdown(("what", "measured"), _yardsticks(figures)),
    ]
    if figures.missing:
        parts.append("\n".join(f"- Missing: {name}: {why}" for name, why in figures.missing.items()))
    return "\n\n".join(parts)


def write(figures: Figures, machine: Mapping[str, str], command: str) -> list[Path]:
    """Write the section between its marks in docs/benchmarks.md, and the plot; return the files."""
    text = DOCUMENT.read_text()
    section = f"{BEGIN}\n{as_markdown(figures, machine, command)}\n{END}"
    pattern = re.compile(f"{re.escape(BEGIN)}.*{re.escape(END)}", re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"{DOCUMENT.name} does not contain {BEGIN} and {END}")
    DOCUMENT.write_text(pattern.sub(lambda _: section, text))
    IMAGE.write_text(plot.draw(figures))
    return [DOCUMENT, IMAGE]


def _mark(reached: bool | None) -> str:
    return {True: "reached", False: "not reached", None: ""}[reached]


def _yardsticks(figures: Figures) -> list[tuple[str, str]]:
    values = {what: figures.median(name) for name, what in YARDSTICKS.items()}
    return [(what, "not measured" if value is None else number(value)) for what, value in values.items()]


def _sentence(machine: Mapping[str, str]) -> str:
    known = dict(machine)
    commit = known.pop("commit", "unknown")
    return ", ".join(f"{name} {value}" for name, value in known.items()) + f", at commit {commit}"


def _markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
