"""The rows of the table: what each measures, from which figures, and the value to reach."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.table.figures import Figures


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
        measured = "not measured" if value is None else f"{number(value)}{self._detail(figures)}"
        return self.what, measured, self._limit(self.target), self._limit(self.stretch)

    def _limit(self, value: float | None) -> str:
        return "" if value is None else f"{'≥' if self.at_least else '≤'} {number(value)}"

    def _detail(self, figures: Figures) -> str:
        medians = {name: figures.median(name) or 0 for name in figures.rounds}
        if self.over is not None:
            return f" ({number(medians[self.figure])} ÷ {number(medians[self.over])}{self.unit})"
        return f" ({self.detail.format_map(medians)})" if self.detail else ""


def number(value: float) -> str:
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
