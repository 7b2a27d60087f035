"""What a run has measured, the rows of the table that it fills, and both as text and as JSON."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TypeAlias

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


# The rows of the table: what each measures, from which figures, what it depends on, and the value to reach.

Paths: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table.

    Args:
        what: is measured, in words.
        figure: that is shown.
        command: the name of the section or benchmark that measures it.
        paths: the files and folders of which a change may change the value.
        target: to reach, if there is one.
        over: the figure by which it is divided, if the row is a ratio.
        stretch: what would be better still.
        at_least: whether more is better; otherwise the target is an upper limit.
        unit: of the two figures of a ratio.
        detail: more about the value, as a format string with names of figures.
    """

    what: str
    figure: str
    command: str
    paths: Paths
    target: float | None = None
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
        return self.reaches(self.measured(figures))

    def reaches(self, value: float | None) -> bool | None:
        """Whether a value is good enough; None if there is no value or no target."""
        if value is None or self.target is None:
            return None
        return value >= self.target if self.at_least else value <= self.target

    def shown(self, figures: Figures) -> str | None:
        """Return the value as text, with the figures behind it; None if it was not measured."""
        value = self.measured(figures)
        return None if value is None else f"{three_digits(value)}{self._detail(figures)}"

    def limits(self) -> tuple[str, str]:
        """Return target and stretch as text."""
        return self._limit(self.target), self._limit(self.stretch)

    def cells(self, figures: Figures) -> tuple[str, str, str, str]:
        """Return the row as text: what, measured, target, stretch."""
        return self.what, self.shown(figures) or "not measured", *self.limits()

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


MEASURING = ("benchmarks/load.py", "benchmarks/measure.py", "benchmarks/servers.py", "requirements.txt")
MOVE: Paths = (*MEASURING, "byzanz", "server/ops/serve.py", "server/play", "server/store", "server/web")
PAGE: Paths = (*MOVE, "server/i18n", "templates")
BESIDE: Paths = (*PAGE, "benchmarks/beside.py", "benchmarks/checkout.py")
MAIL: Paths = (
    *(*MEASURING, "benchmarks/beside.py", "benchmarks/checkout.py"),
    *("byzanz", "server/i18n", "server/mail", "server/play", "server/store"),
    "templates/mail",
)
JOBS: Paths = (
    *("benchmarks/load.py", "migrations", "requirements.txt", "server/accounts", "server/community"),
    *("server/lobby", "server/mail", "server/play", "server/scheduler", "server/store"),
)
STORAGE: Paths = (*MEASURING, "byzanz", "migrations", "server/mail", "server/play", "server/store")
KILLS: Paths = (*STORAGE, "server/scheduler", "server/web", "tests/torture")
PEERS: Paths = (*MEASURING, "benchmarks/peers", "requirements-bench.txt")

ROWS = (
    Row(
        "durable moves/s ÷ boardgame.io FlatFile (which is not durable), 8 clients at 8 tables",
        figure="byzanz_moves_per_second",
        command="rates",
        paths=MOVE,
        over="flatfile_moves_per_second",
        target=1.3,
        at_least=True,
    ),
    Row(
        "server CPU per move ÷ FlatFile",
        figure="byzanz_cpu_milliseconds_a_move",
        command="rates",
        paths=MOVE,
        over="flatfile_cpu_milliseconds_a_move",
        target=0.75,
        unit=" ms",
    ),
    Row(
        "CPU per move ÷ empty Flask application with one insert, same server",
        figure="byzanz_cpu_milliseconds_a_move",
        command="rates",
        paths=MOVE,
        over="flask_cpu_milliseconds_a_move",
        target=2,
        unit=" ms",
    ),
    Row(
        "moves/s by a page's form, its redirect and the next page ÷ the other checkout",
        figure="browser_moves_per_second",
        command="beside",
        paths=BESIDE,
        over="other_browser_moves_per_second",
        target=1.8,
        at_least=True,
    ),
    Row(
        "moves/s of two processes ÷ one (PostgreSQL, 16 games)",
        figure="moves_per_second_of_2_on_postgresql",
        command="workers",
        paths=MOVE,
        over="moves_per_second_of_1_on_postgresql",
        target=1.5,
        at_least=True,
    ),
    Row(
        "move at 5,000 entries ÷ at 100",
        figure="milliseconds_a_move_at_5000",
        command="lengths",
        paths=MOVE,
        over="milliseconds_a_move_at_100",
        target=1.05,
        unit=" ms",
    ),
    Row(
        "CPU of a turn page after a new entry by another seat ÷ the other checkout",
        figure="cpu_milliseconds_a_cold_page",
        command="beside",
        paths=BESIDE,
        over="other_cpu_milliseconds_a_cold_page",
        target=0.6,
        unit=" ms",
    ),
    Row(
        "CPU of an email of a new turn, composed and sent ÷ the other checkout",
        figure="cpu_milliseconds_a_mail",
        command="beside",
        paths=MAIL,
        over="other_cpu_milliseconds_a_mail",
        target=0.5,
        unit=" ms",
    ),
    Row(
        "CPU of an email, composed and sent, in ms",
        figure="cpu_milliseconds_a_mail",
        command="beside",
        paths=MAIL,
        target=6,
    ),
    Row(
        "turn page/s ÷ hello/s, same server",
        figure="turn_pages_per_second",
        command="rates",
        paths=PAGE,
        over="hello_pages_per_second",
        target=0.08,
        stretch=0.12,
        at_least=True,
    ),
    Row(
        "turn page at 5,000 entries ÷ at 50",
        figure="milliseconds_a_page_at_5000",
        command="lengths",
        paths=PAGE,
        over="milliseconds_a_page_at_50",
        target=1.05,
        unit=" ms",
    ),
    Row(
        "statements of the signed-in front page, 200 games ÷ 1 game",
        figure="front_page_statements_with_many_games",
        command="front",
        paths=PAGE,
        over="front_page_statements_with_one_game",
        target=1,
    ),
    Row(
        "the idle job that grows most, 1,000,000 running games ÷ 1,000",
        figure="idle_jobs_ratio",
        command="tick",
        paths=JOBS,
        target=1.1,
        detail="with {idle_jobs_games:,.0f}; the job that counts all games every ten minutes apart:"
        " {idle_jobs_milliseconds_of_counting_all:,.0f} ms",
    ),
    Row("bytes a move, all tables", figure="bytes_a_move", command="storage", paths=STORAGE, target=330),
    Row(
        "rows left in the outbox for each move, 31 days after the end",
        figure="outbox_rows_left_a_move",
        command="storage",
        paths=STORAGE,
        target=0,
    ),
    Row(
        "acknowledged moves lost in 100 kill -9 on each database",
        figure="faults_after_kills",
        command="kills",
        paths=KILLS,
        target=0,
        detail="{kills:.0f} kills",
    ),
    Row(
        "memory of `web` with the two processes of the first rows (sum of PSS), in MB",
        figure="megabytes_of_2_workers",
        command="rates",
        paths=PAGE,
        target=260,
    ),
)

YARDSTICKS = (
    Row("moves of Byzanz a second", figure="byzanz_moves_per_second", command="rates", paths=MOVE),
    Row(
        "moves of boardgame.io FlatFile a second",
        figure="flatfile_moves_per_second",
        command="rates",
        paths=PEERS,
    ),
    Row(
        "moves of a minimal server on better-sqlite3 a second",
        figure="minimal_moves_per_second",
        command="rates",
        paths=PEERS,
    ),
    Row(
        "inserts of an empty Flask application a second",
        figure="flask_moves_per_second",
        command="rates",
        paths=PEERS,
    ),
    Row("raw SQLite commits a second", figure="raw_commits_per_second", command="rates", paths=PEERS),
    Row("hello pages a second", figure="hello_pages_per_second", command="rates", paths=PEERS),
    Row(
        "CPU of a move of Byzanz, in ms", figure="byzanz_cpu_milliseconds_a_move", command="rates", paths=MOVE
    ),
    Row(
        "CPU of a move of boardgame.io FlatFile, in ms",
        figure="flatfile_cpu_milliseconds_a_move",
        command="rates",
        paths=PEERS,
    ),
    Row(
        "CPU of a move of the minimal server, in ms",
        figure="minimal_cpu_milliseconds_a_move",
        command="rates",
        paths=PEERS,
    ),
    Row(
        "CPU of an insert of the empty Flask application, in ms",
        figure="flask_cpu_milliseconds_a_move",
        command="rates",
        paths=PEERS,
    ),
    Row("CPU of a turn page, in ms", figure="cpu_milliseconds_a_turn_page", command="rates", paths=PAGE),
    Row(
        "CPU of a move by a page's form, its redirect and the next page, in ms",
        figure="cpu_milliseconds_a_browser_move",
        command="beside",
        paths=BESIDE,
    ),
    Row(
        "CPU of a turn page that is opened again ÷ the other checkout",
        figure="cpu_milliseconds_a_warm_page",
        command="beside",
        paths=BESIDE,
        over="other_cpu_milliseconds_a_warm_page",
        unit=" ms",
    ),
    Row(
        "CPU of an email whose bytes are ready (smtplib), in ms",
        figure="cpu_milliseconds_a_ready_mail",
        command="beside",
        paths=PEERS,
    ),
    *(
        Row(
            f"CPU of a move on PostgreSQL in the {what}; web processes: {n}, in ms",
            figure=f"cpu_milliseconds_a_move_in_{where}_of_{n}",
            command="workers",
            paths=MOVE,
        )
        for n in (1, 2)
        for where, what in (("web", "web processes"), ("postgresql", "database"))
    ),
    Row(
        "memory of `web` with 4 workers (sum of PSS) after 10,000 pages, in MB",
        figure="megabytes_after_pages",
        command="memory",
        paths=PAGE,
        detail="{memory_pages:,.0f} pages",
    ),
)
"""Figures that are told besides."""


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
        "Node.js": said("node", "--version") or "not installed",
        "commit": commit(),
    }


def processor() -> str:
    """Return the model of the processor."""
    lines = CPUINFO.read_text().splitlines() if CPUINFO.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def commit(folder: Path = ROOT) -> str:
    """Return the commit of a checkout, and whether files have changed since."""
    known = said("git", "rev-parse", "--short=12", "HEAD", folder=folder)
    if not known:
        return "unknown"
    return f"{known} with changes" if said("git", "status", "--porcelain", "-uno", folder=folder) else known


def said(program: str, *words: str, folder: Path = ROOT) -> str:
    """Return what a program prints, run in a checkout; nothing if it is missing or fails."""
    path = shutil.which(program)
    if path is None:
        return ""
    done = subprocess.run([path, *words], cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


# The table as text and as JSON.

HEADER = ("what", "measured", "target", "stretch")


def as_text(figures: Figures, machine: Mapping[str, str]) -> str:
    """Return the table in columns, with what is missing and the machine."""
    cells = [HEADER, *(row.cells(figures) for row in ROWS)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEADER))]
    marks = ["", *(mark(row.reached(figures)) for row in ROWS)]
    lines = [
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)) + f"  {end}"
        for line, end in zip(cells, marks, strict=True)
    ]
    lines.append("")
    lines += [f"{row.what}: {row.shown(figures) or 'not measured'}" for row in YARDSTICKS]
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


def mark(reached: bool | None) -> str:
    """Return whether a target is reached, in words."""
    return {True: "reached", False: "not reached", None: ""}[reached]
