"""What a run has measured, the rows of the table that it fills, and both as text, as JSON and in docs/benchmarks.md."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from math import log10
from pathlib import Path
from statistics import median

from benchmarks.servers import ROOT


@dataclass(frozen=True, slots=True)
class Size:
    """How much to measure.

    Args:
        rounds: in which all contenders take turns.
        moves: of each client in each round, at most 110: every game is longer.
        postgres_moves: the same on PostgreSQL.
        pages: opened by each client in each round.
        page_moves: in each of the games whose pages are opened after each move, in each round.
        commits: of the yardstick that only commits, in each round.
        lengths: entries of a log at which moves and pages are measured.
        repeats: of a move and of a page at each length in each round.
        mails: composed and sent in each round.
        games: running games, while the scheduler's jobs find nothing to do.
        front: games of a person whose front page is opened, besides one.
        whole_games: played to their end, to see what they leave in the database.
        kills: of a server while people play.
        memory_pages: opened before the memory is read.
    """

    rounds: int = 3
    moves: int = 100
    postgres_moves: int = 60
    pages: int = 60
    page_moves: int = 40
    commits: int = 400
    lengths: tuple[int, ...] = (50, 100, 500, 5_000)
    repeats: int = 60
    mails: int = 40
    games: int = 1_000_000
    front: int = 200
    whole_games: int = 6
    kills: int = 100
    memory_pages: int = 10_000


QUICK = Size(
    rounds=1,
    moves=10,
    postgres_moves=10,
    pages=5,
    page_moves=5,
    commits=50,
    repeats=5,
    mails=4,
    games=2_000,
    front=5,
    whole_games=1,
    kills=3,
    memory_pages=100,
)
"""As little as shows that everything works."""


@dataclass(slots=True)
class Figures:
    """What was measured.

    Args:
        rounds: the values of each figure, one for each round.
        missing: what could not be measured, with the reason.
    """

    rounds: dict[str, list[float]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, value: float) -> None:
        """Add the value of one round."""
        self.rounds.setdefault(name, []).append(value)

    def median(self, name: str) -> float | None:
        """Return the median of a figure's rounds; None if it was not measured."""
        found = self.rounds.get(name)
        return median(found) if found else None

    def ratio(self, name: str, other: str) -> float | None:
        """Return the median of one figure divided by another of the same round, or by its median if it has others."""
        ours, theirs = self.rounds.get(name), self.rounds.get(other)
        if not ours or not theirs:
            return None
        if len(ours) != len(theirs):
            return median(ours) / median(theirs)
        return median(one / another for one, another in zip(ours, theirs, strict=True))


# The rows of the table: what each measures, from which figures, and the value to reach.


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table.

    Args:
        what: is measured, in words.
        figure: that is shown.
        target: to reach.
        over: the figure by which it is divided, if the row is a ratio.
        stretch: what would be better still.
        at_least: whether more is better; otherwise the target is an upper limit.
        unit: of the two figures of a ratio.
        detail: more about the value, as a format string with names of figures.
    """

    what: str
    figure: str
    target: float
    over: str | None = None
    stretch: float | None = None
    at_least: bool = False
    unit: str = ""
    detail: str = ""

    def measured(self, figures: Figures) -> float | None:
        """Return the value of the row; None if a figure of it was not measured."""
        if self.over is None:
            return figures.median(self.figure)
        return figures.ratio(self.figure, self.over)

    def reached(self, figures: Figures) -> bool | None:
        """Whether the target is reached; None if the row was not measured."""
        value = self.measured(figures)
        if value is None:
            return None
        return value >= self.target if self.at_least else value <= self.target

    def cells(self, figures: Figures) -> tuple[str, str, str, str]:
        """Return the row as text: what, measured, target, stretch."""
        value = self.measured(figures)
        measured = "not measured" if value is None else f"{three_digits(value)}{self._detail(figures)}"
        return self.what, measured, self._limit(self.target), self._limit(self.stretch)

    def _limit(self, value: float | None) -> str:
        return "" if value is None else f"{'≥' if self.at_least else '≤'} {three_digits(value)}"

    def _detail(self, figures: Figures) -> str:
        medians = {name: figures.median(name) or 0 for name in figures.rounds}
        if self.over is not None:
            return f" ({three_digits(medians[self.figure])} ÷ {three_digits(medians[self.over])}{self.unit})"
        return f" ({self.detail.format_map(medians)})" if self.detail else ""


def three_digits(value: float) -> str:
    """Return a number with three significant digits, or all of a larger whole one."""
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


ROWS = (
    Row(
        "durable moves/s ÷ boardgame.io FlatFile (which is not durable), 8 clients at 8 tables",
        figure="byzanz_moves_per_second",
        over="flatfile_moves_per_second",
        target=0.8,
        stretch=1.3,
        at_least=True,
    ),
    Row(
        "server CPU per move ÷ FlatFile",
        figure="byzanz_cpu_milliseconds_a_move",
        over="flatfile_cpu_milliseconds_a_move",
        target=1.1,
        stretch=0.75,
        unit=" ms",
    ),
    Row(
        "CPU per move ÷ empty Flask application with one insert, same server",
        figure="byzanz_cpu_milliseconds_a_move",
        over="flask_cpu_milliseconds_a_move",
        target=4,
        stretch=2.5,
        unit=" ms",
    ),
    Row(
        "moves/s ÷ raw SQLite commits/s (synchronous=FULL)",
        figure="byzanz_moves_per_second",
        over="raw_commits_per_second",
        target=0.1,
        stretch=0.12,
        at_least=True,
    ),
    Row(
        "moves/s of two processes ÷ one (PostgreSQL, 16 games)",
        figure="moves_per_second_of_2_on_postgresql",
        over="moves_per_second_of_1_on_postgresql",
        target=1.6,
        stretch=1.8,
        at_least=True,
    ),
    Row(
        "move at 2,000 entries ÷ at 100",
        figure="milliseconds_a_move_at_2000",
        over="milliseconds_a_move_at_100",
        target=1.05,
        unit=" ms",
    ),
    Row(
        "CPU of an email, composed and sent ÷ CPU of a move",
        figure="cpu_milliseconds_a_mail",
        over="byzanz_cpu_milliseconds_a_move",
        target=2.5,
        unit=" ms",
    ),
    Row("CPU of an email, composed and sent, in ms", figure="cpu_milliseconds_a_mail", target=6),
    Row(
        "turn page/s ÷ hello/s, same server",
        figure="turn_pages_per_second",
        over="hello_pages_per_second",
        target=0.08,
        stretch=0.12,
        at_least=True,
    ),
    Row(
        "turn page at 2,000 entries ÷ at 50",
        figure="milliseconds_a_page_at_2000",
        over="milliseconds_a_page_at_50",
        target=1.05,
        unit=" ms",
    ),
    Row(
        "statements of the signed-in front page, 200 games ÷ 1 game",
        figure="front_page_statements_with_many_games",
        over="front_page_statements_with_one_game",
        target=1,
    ),
    Row(
        "the idle job that grows most, 1,000,000 running games ÷ 1,000",
        figure="idle_jobs_ratio",
        target=1.1,
        detail="with {idle_jobs_games:,.0f}",
    ),
    Row("bytes a move, all tables", figure="bytes_a_move", target=330),
    Row(
        "rows left in the outbox for each move, 31 days after the end",
        figure="outbox_rows_left_a_move",
        target=0,
    ),
    Row(
        "acknowledged moves lost in 100 kill -9",
        figure="faults_after_kills",
        target=0,
        detail="{kills:.0f} kills",
    ),
    Row(
        "memory of `web` with 4 workers (sum of PSS) after 10,000 pages, in MB",
        figure="megabytes_after_pages",
        target=260,
        detail="{memory_pages:,.0f} pages",
    ),
)

YARDSTICKS = {
    "byzanz_moves_per_second": "moves of Byzanz a second",
    "flatfile_moves_per_second": "moves of boardgame.io FlatFile a second",
    "minimal_moves_per_second": "moves of a minimal server on better-sqlite3 a second",
    "flask_moves_per_second": "inserts of an empty Flask application a second",
    "raw_commits_per_second": "raw SQLite commits a second",
    "hello_pages_per_second": "hello pages a second",
    "byzanz_cpu_milliseconds_a_move": "CPU of a move of Byzanz, in ms",
    "flatfile_cpu_milliseconds_a_move": "CPU of a move of boardgame.io FlatFile, in ms",
    "minimal_cpu_milliseconds_a_move": "CPU of a move of the minimal server, in ms",
    "flask_cpu_milliseconds_a_move": "CPU of an insert of the empty Flask application, in ms",
    "cpu_milliseconds_a_turn_page": "CPU of a turn page, in ms",
    "cpu_milliseconds_a_ready_mail": "CPU of an email whose bytes are ready (smtplib), in ms",
}
"""Figures that are told besides, with their names."""


# The plot: cost against the length of the log and the number of running games, as SVG.

WIDTH, HEIGHT = 400, 268
LEFT, RIGHT, TOP, BOTTOM = 48, 44, 56, 42
COLOURS = ("#1f5fa8", "#b3541e", "#3d7a3d")
Points = Sequence[tuple[float, float]]


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


def plot(figures: Figures) -> str:
    """Return the plot."""
    panels = [
        Panel(
            "Milliseconds by the length of the log",
            "entries",
            {
                "a turn page": _points(figures, r"milliseconds_a_page_at_(\d+)"),
                "a move": _points(figures, r"milliseconds_a_move_at_(\d+)"),
            },
        ),
        Panel(
            "Milliseconds by the number of running games",
            "running games",
            {"all jobs of the scheduler, idle": _points(figures, r"idle_jobs_milliseconds_of_\w+_at_(\d+)")},
        ),
    ]
    inner = "".join(
        f'<g transform="translate({at * WIDTH} 0)">{_panel(each)}</g>' for at, each in enumerate(panels)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH * len(panels)} {HEIGHT}" role="img"'
        ' font-family="sans-serif" font-size="12">'
        f'<rect width="100%" height="100%" fill="#fff"/>{inner}</svg>\n'
    )


def _points(figures: Figures, pattern: str) -> Points:
    """Return the sum of all figures whose names match, by the number in the name."""
    found: dict[float, float] = {}
    for name in figures.rounds:
        if (match := re.fullmatch(pattern, name)) and (value := figures.median(name)) is not None:
            at = float(match[1])
            found[at] = found.get(at, 0.0) + value
    return sorted(found.items())


def _panel(panel: Panel) -> str:
    points = [point for line in panel.lines.values() for point in line]
    parts = [_text(LEFT, 20, panel.title, "font-weight='bold'")]
    if not points:
        return "".join([*parts, _text(LEFT, HEIGHT / 2, "not measured")])
    low, high = min(x for x, _ in points), max(x for x, _ in points)
    top = _round_up(max(y for _, y in points))

    def place(x: float, y: float) -> tuple[float, float]:
        share = log10(x / low) / log10(high / low) if high > low else 0.5
        across = LEFT + share * (WIDTH - LEFT - RIGHT)
        return round(across, 1), round(HEIGHT - BOTTOM - y / top * (HEIGHT - TOP - BOTTOM), 1)

    for step in range(5):
        _, y = place(low, top * step / 4)
        parts.append(f'<path d="M{LEFT} {y}H{WIDTH - RIGHT}" stroke="#ccc"/>')
        parts.append(_text(LEFT - 6, y + 4, f"{top * step / 4:g}", 'text-anchor="end"'))
    for each in sorted({x for x, _ in points}):
        parts.append(_text(place(each, 0)[0], HEIGHT - BOTTOM + 16, f"{each:,.0f}", 'text-anchor="middle"'))
    parts.append(_text(WIDTH / 2, HEIGHT - 8, panel.x, 'text-anchor="middle"'))
    for number, (name, line) in enumerate(panel.lines.items()):
        parts.append(_line(name, [place(*point) for point in line], COLOURS[number], 36 + 14 * number))
    return "".join(parts)


def _line(name: str, points: Points, colour: str, label: float) -> str:
    path = " ".join(f"{x},{y}" for x, y in points)
    dots = "".join(f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in points)
    drawn = f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>{dots}'
    return drawn + _text(WIDTH - RIGHT, label, name, f'text-anchor="end" fill="{colour}"')


def _text(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" {more}>{escape(text)}</text>'


def _round_up(value: float) -> float:
    """Return the next larger of 1, 2, 4 and 8 times a power of ten."""
    power = 10.0 ** int(log10(value) // 1) if value > 0 else 1.0
    return next(power * factor for factor in (1, 2, 4, 8, 10) if power * factor >= value)


# What a run was measured on: the machine and the commit.

CPUINFO = Path("/proc/cpuinfo")


def machine() -> dict[str, str]:
    """Return the processor, its cores, the kernel, the versions of what runs, and the commit."""
    return {
        "processor": processor(),
        "cores": str(os.cpu_count()),
        "kernel": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
        "SQLite": sqlite3.sqlite_version,
        "Node.js": _said("node", "--version") or "not installed",
        "commit": commit(),
    }


def processor() -> str:
    """Return the model of the processor."""
    lines = CPUINFO.read_text().splitlines() if CPUINFO.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def commit() -> str:
    """Return the commit of this checkout, and whether files have changed since."""
    known = _said("git", "rev-parse", "--short=12", "HEAD")
    if not known:
        return "unknown"
    return f"{known} with changes" if _said("git", "status", "--porcelain", "-uno") else known


def _said(program: str, *words: str) -> str:
    """Return what a program prints; nothing if it is missing or fails."""
    path = shutil.which(program)
    if path is None:
        return ""
    done = subprocess.run([path, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


# The table as text, as JSON, and in docs/benchmarks.md with its plot.

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
    IMAGE.write_text(plot(figures))
    return [DOCUMENT, IMAGE]


def _mark(reached: bool | None) -> str:
    return {True: "reached", False: "not reached", None: ""}[reached]


def _yardsticks(figures: Figures) -> list[tuple[str, str]]:
    values = {what: figures.median(name) for name, what in YARDSTICKS.items()}
    return [
        (what, "not measured" if value is None else three_digits(value)) for what, value in values.items()
    ]


def _sentence(machine: Mapping[str, str]) -> str:
    known = dict(machine)
    commit = known.pop("commit", "unknown")
    return ", ".join(f"{name} {value}" for name, value in known.items()) + f", at commit {commit}"


def _markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
