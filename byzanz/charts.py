"""What a game can tell about itself: in which part of it a moment lies, and the numbers that charts are drawn of.

A game that tells neither is played just as well; its history has no headings then, and its end no charts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Part: TypeAlias = tuple[str, ...]
"""Where in a game something happened, from the coarse to the fine, each word a kind and perhaps a number, such as
`("round 3", "lot 5")`.
Empty before the first part begins. The templates of the game say it in words."""
Row: TypeAlias = tuple[Part, int, Sequence["int | None"]]
"""A step and the place of its view, with the value of each line."""
Kind: TypeAlias = Literal["lines", "rows", "bars", "points"]
"""How a chart is drawn: `lines` go from step to step; `rows` are profiles, one below the other; `bars` stand side by
side at each step; of `points` each step has one: who, and how much."""


@dataclass(frozen=True, slots=True)
class Step:
    """A moment at which a chart has values.

    Args:
        part: of the game, and what tells the steps within a part apart.
        place: of the view that shows it, in the views that the chart was made of, from 0.
    """

    part: Part
    place: int


@dataclass(frozen=True, slots=True)
class Line:
    """The values of one seat, or of one thing.

    Args:
        of: `seat 2`, or a name that the templates of the game say in words, such as `cloth`.
        values: one a step, from 0 up; None where there is none.
    """

    of: str
    values: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """Numbers of a game that can be drawn, and the table of the same numbers.

    Args:
        name: what it shows; the templates of the game say it in words.
        kind: how it is drawn.
        steps: in the order of time.
        lines: at most seven.
    """

    name: str
    kind: Kind
    steps: tuple[Step, ...]
    lines: tuple[Line, ...]


def chart(name: str, kind: Kind, of: Sequence[str], rows: Iterable[Row]) -> Chart:
    """A chart of what was found while going through the views.

    Args:
        name, kind: see `Chart`.
        of: whom or what each line is of.
        rows: in the order of time.
    """
    found = tuple(rows)
    steps = tuple(Step(part, place) for part, place, _ in found)
    return Chart(
        name,
        kind,
        steps,
        tuple(Line(name, tuple(values[at] for *_, values in found)) for at, name in enumerate(of)),
    )


def seats(count: int) -> tuple[str, ...]:
    """The names under which lines are of seats: `seat 0`, `seat 1` …"""
    return tuple(f"seat {seat}" for seat in range(count))
