"""Headings for the history of a game, and charts of a finished one.

Both are optional: a game without them has a history without headings and an end without charts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Heading: TypeAlias = tuple[str, ...]
"""The part of a game that a moment belongs to, from coarse to fine, each word a kind and perhaps a number:
`("round 3", "lot 5")`.
Empty before the first part begins. The game's templates turn it into words."""
Row: TypeAlias = tuple[Heading, int, Sequence["int | None"]]
"""The heading and the view of a step, and the value of each line."""
Kind: TypeAlias = Literal["lines", "rows", "bars", "points"]
"""How to draw a chart: `lines` connect the steps; `rows` are profiles, one below the other; `bars` stand side by side
at each step; `points` show at each step the one line that has a value, and that value."""


@dataclass(frozen=True, slots=True)
class ChartStep:
    """A moment at which a chart has values.

    Args:
        heading: of the part of the game, and a last word if the part has several steps.
        place: the index of the view that shows it, among the views that the chart was made of.
    """

    heading: Heading
    place: int


@dataclass(frozen=True, slots=True)
class Line:
    """The values of one seat or one thing.

    Args:
        of: `seat 2`, or a name that the game's templates turn into words, such as `cloth`.
        values: one a step, from 0 up; None where there is none.
    """

    of: str
    values: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """Numbers of a game, to be drawn and to be listed in a table.

    Args:
        name: what it shows; the game's templates turn it into words.
        kind: how to draw it.
        steps: in order of time.
        lines: at most seven.
    """

    name: str
    kind: Kind
    steps: tuple[ChartStep, ...]
    lines: tuple[Line, ...]


def chart(name: str, kind: Kind, of: Sequence[str], rows: Iterable[Row]) -> Chart:
    """Make a chart of the rows found in the views of a game.

    Args:
        name, kind: see `Chart`.
        of: the seat or thing that each line shows.
        rows: in order of time.
    """
    found = tuple(rows)
    steps = tuple(ChartStep(heading, place) for heading, place, _ in found)
    lines = tuple(Line(name, tuple(values[at] for *_, values in found)) for at, name in enumerate(of))
    return Chart(name, kind, steps, lines)


def seats(count: int) -> tuple[str, ...]:
    """Return the names of lines that show seats: `seat 0`, `seat 1` …"""
    return tuple(f"seat {seat}" for seat in range(count))
