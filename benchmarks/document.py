"""The tables and the plot of docs/benchmarks.md: what was measured when, and what has changed since."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from html import escape
from itertools import groupby
from math import log10
from pathlib import Path
from typing import TypeAlias

from benchmarks.report import HEADER, ROWS, YARDSTICKS, Figures, Paths, Row, mark, said
from benchmarks.rows import OTHERS
from benchmarks.servers import ROOT

DOCUMENT = ROOT / "docs" / "benchmarks.md"
IMAGE = ROOT / "docs" / "images" / "benchmarks.svg"
KEPT = ROOT / "docs" / "benchmarks.json"
"""The newest value of each row; a row that is not measured again keeps its value, commit and date."""
COMMAND = "python3 dev.py bench"
STALE = ", **stale**"
"""How the tables mark a row whose paths have changed since it was measured."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The newest value of a row.

    Args:
        text: the value with the figures behind it.
        value: the same as a number.
        command: with which it was measured.
        commit: at which it was measured.
        date: on which it was measured.
        machine: on which it was measured.
        digest: of the contents of the row's paths at that moment; empty if that is not known.
    """

    text: str
    value: float
    command: str
    commit: str
    date: str
    machine: str
    digest: str


@dataclass(slots=True)
class Store:
    """What docs/benchmarks.json holds.

    Args:
        rows: by their keys.
        lines: the points of the lines of the plot.
    """

    rows: dict[str, Kept] = field(default_factory=dict)
    lines: dict[str, list[list[float]]] = field(default_factory=dict)


def read() -> Store:
    """Read what was measured before."""
    if not KEPT.exists():
        return Store()
    found = json.loads(KEPT.read_text())
    return Store({key: Kept(**row) for key, row in found["rows"].items()}, found["lines"])


def write(figures: Figures, names: Iterable[str], machine: Mapping[str, str], date: str) -> list[Path]:
    """Replace the rows that some sections or benchmarks have measured, in the JSON file, the tables and the plot.

    Args:
        figures: that were measured.
        names: of the sections or of the benchmark.
        machine: on which they were measured, with the commit.
        date: of today.

    Returns:
        The files.
    """
    store, names = read(), set(names)
    about = dict(machine)
    commit = about.pop("commit")
    on = ", ".join(f"{name} {value}" for name, value in about.items())
    for row in (*ROWS, *YARDSTICKS, *OTHERS):
        text, value = row.shown(figures), row.measured(figures)
        if row.command in names and text is not None and value is not None:
            command = f"{COMMAND} {row.command}"
            store.rows[key(row)] = Kept(text, value, command, commit, date, on, digest(row.paths))
    for name, pattern in LINES.items():
        if points := _points(figures, pattern):
            store.lines[name] = points
    known = {key(row) for row in (*ROWS, *YARDSTICKS, *OTHERS)}
    rows = {name: asdict(kept) for name, kept in sorted(store.rows.items()) if name in known}
    KEPT.write_text(json.dumps({"lines": store.lines, "rows": rows}, indent=1, ensure_ascii=False) + "\n")
    return [KEPT, *draw()]


def draw() -> list[Path]:
    """Write the tables between their marks and the plot from what is kept; return the files."""
    store, text = read(), DOCUMENT.read_text()
    for name, section in (("measured", table(store)), ("others", others(store))):
        begin, end = f"<!-- begin: {name} -->", f"<!-- end: {name} -->"
        before, opened, rest = text.partition(begin)
        _, closed, after = rest.partition(end)
        if not (opened and closed):
            raise ValueError(f"{DOCUMENT.name} does not contain {begin} and {end}")
        text = f"{before}{begin}\n{section}\n{end}{after}"
    DOCUMENT.write_text(text)
    IMAGE.write_text(plot(store.lines))
    return [DOCUMENT, IMAGE]


def key(row: Row) -> str:
    """Return the name under which the value of a row is kept; its wording may change."""
    return f"{row.command}: {row.figure}" + (f" ÷ {row.over}" if row.over else "")


# What has changed.


def stale() -> list[str]:
    """Return a line for each row whose paths have changed since it was measured."""
    store = read()
    return [
        f"{row.what}: {kept.text}, measured at {kept.commit} on {kept.date}; depends on {', '.join(row.paths)}"
        for row in (*ROWS, *YARDSTICKS, *OTHERS)
        if (kept := store.rows.get(key(row))) and is_stale(row, kept)
    ]


def is_stale(row: Row, kept: Kept) -> bool:
    """Whether a path of a row has changed since its value was measured, as far as is known."""
    return not kept.digest or kept.digest != digest(row.paths)


@lru_cache
def digest(paths: Paths) -> str:
    """Return what stands for the contents of files and folders, as far as git knows them; empty without git.

    It outlives a commit that is rebased or squashed, as the commit's own name would not.
    """
    names = [name for name in said("git", "ls-files", "-z", "--", *paths).split("\0") if name]
    found = hashlib.sha256()
    for name in sorted(names):
        path = ROOT / name
        found.update(
            name.encode() + b"\0" + hashlib.sha256(path.read_bytes() if path.exists() else b"").digest()
        )
    return found.hexdigest()[:16] if names else ""


# The tables.


def table(store: Store) -> str:
    """Return the main table, its plot and the figures behind it."""
    rows = [
        (row.what, _text(row, store), *row.limits(), mark(row.reaches(_value(row, store))), _when(row, store))
        for row in ROWS
    ]
    behind = [(row.what, _text(row, store), _when(row, store)) for row in YARDSTICKS]
    machines = {kept.machine for row in (*ROWS, *YARDSTICKS) if (kept := store.rows.get(key(row)))}
    return "\n\n".join(
        (
            f"`{COMMAND} --write` wrote this. Measured on: {'; '.join(sorted(machines))}.",
            _markdown((*HEADER, "", "commit and date"), rows),
            f"![Cost against the length of the log and the number of games](images/{IMAGE.name})",
            "The figures behind it:",
            _markdown(("what", "measured", "commit and date"), behind),
        )
    )


def others(store: Store) -> str:
    """Return a table for each of the other benchmarks."""
    return "\n\n".join(
        _markdown(
            (f"`{COMMAND} {command}`", "measured", "commit and date"),
            [(row.what, _text(row, store), _when(row, store)) for row in rows],
        )
        for command, rows in groupby(OTHERS, lambda row: row.command)
    )


def _value(row: Row, store: Store) -> float | None:
    kept = store.rows.get(key(row))
    return kept.value if kept else None


def _text(row: Row, store: Store) -> str:
    kept = store.rows.get(key(row))
    return kept.text if kept else "not measured"


def _when(row: Row, store: Store) -> str:
    kept = store.rows.get(key(row))
    return f"{kept.commit}, {kept.date}{STALE if is_stale(row, kept) else ''}" if kept else ""


def _markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


# The plot: cost against the length of the log and the number of running games, as SVG.

WIDTH, HEIGHT = 400, 268
LEFT, RIGHT, TOP, BOTTOM = 48, 44, 56, 42
COLOURS = ("#1f5fa8", "#b3541e", "#3d7a3d")
Points: TypeAlias = Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True)
class Panel:
    """One of the two diagrams.

    Args:
        title: above it.
        x: what the horizontal axis counts, on a logarithmic scale.
        lines: the points of each line, by its name; all costs are in milliseconds.
    """

    title: str
    x: str
    lines: Mapping[str, Points]


LINES = {
    "a turn page": r"milliseconds_a_page_at_(\d+)",
    "a move": r"milliseconds_a_move_at_(\d+)",
    "all jobs of the scheduler, idle": r"idle_jobs_milliseconds_of_\w+_at_(\d+)",
}
"""The lines by their names, with the names of the figures that they draw."""


def plot(lines: Mapping[str, Points]) -> str:
    """Return the plot of these lines."""
    by_length, by_games = (
        {name: lines[name] for name in names if name in lines}
        for names in (("a turn page", "a move"), ("all jobs of the scheduler, idle",))
    )
    panels = [
        Panel("Milliseconds by the length of the log", "entries", by_length),
        Panel("Milliseconds by the number of running games", "running games", by_games),
    ]
    inner = "".join(
        f'<g transform="translate({at * WIDTH} 0)">{_panel(each)}</g>' for at, each in enumerate(panels)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH * len(panels)} {HEIGHT}" role="img"'
        ' font-family="sans-serif" font-size="12">'
        f'<rect width="100%" height="100%" fill="#fff"/>{inner}</svg>\n'
    )


def _points(figures: Figures, pattern: str) -> list[list[float]]:
    """Return the sum of all figures whose names match, by the number in the name."""
    found: dict[float, float] = {}
    for name in figures.rounds:
        if (match := re.fullmatch(pattern, name)) and (value := figures.median(name)) is not None:
            at = float(match[1])
            found[at] = found.get(at, 0.0) + value
    return sorted([at, round(value, 4)] for at, value in found.items())


def _panel(panel: Panel) -> str:
    points = [point for line in panel.lines.values() for point in line]
    parts = [_svg_text(LEFT, 20, panel.title, "font-weight='bold'")]
    if not points:
        return "".join([*parts, _svg_text(LEFT, HEIGHT / 2, "not measured")])
    low, high = min(x for x, _ in points), max(x for x, _ in points)
    top = _round_up(max(y for _, y in points))

    def place(x: float, y: float) -> tuple[float, float]:
        share = log10(x / low) / log10(high / low) if high > low else 0.5
        across = LEFT + share * (WIDTH - LEFT - RIGHT)
        return round(across, 1), round(HEIGHT - BOTTOM - y / top * (HEIGHT - TOP - BOTTOM), 1)

    for step in range(5):
        _, y = place(low, top * step / 4)
        parts.append(f'<path d="M{LEFT} {y}H{WIDTH - RIGHT}" stroke="#ccc"/>')
        parts.append(_svg_text(LEFT - 6, y + 4, f"{top * step / 4:g}", 'text-anchor="end"'))
    for each in sorted({x for x, _ in points}):
        parts.append(
            _svg_text(place(each, 0)[0], HEIGHT - BOTTOM + 16, f"{each:,.0f}", 'text-anchor="middle"')
        )
    parts.append(_svg_text(WIDTH / 2, HEIGHT - 8, panel.x, 'text-anchor="middle"'))
    for number, (name, line) in enumerate(panel.lines.items()):
        parts.append(_line(name, [place(*point) for point in line], COLOURS[number], 36 + 14 * number))
    return "".join(parts)


def _line(name: str, points: Points, colour: str, label: float) -> str:
    path = " ".join(f"{x},{y}" for x, y in points)
    dots = "".join(f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in points)
    drawn = f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>{dots}'
    return drawn + _svg_text(WIDTH - RIGHT, label, name, f'text-anchor="end" fill="{colour}"')


def _svg_text(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" {more}>{escape(text)}</text>'


def _round_up(value: float) -> float:
    """Return the next larger of 1, 2, 4 and 8 times a power of ten."""
    power = 10.0 ** int(log10(value) // 1) if value > 0 else 1.0
    return next(power * factor for factor in (1, 2, 4, 8, 10) if power * factor >= value)
