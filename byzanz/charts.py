"""Headings for the history of a game, and charts and highlights of a finished one.

All are optional: a game without them has a history without headings and an end without charts or highlights.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from byzanz.moves import Message

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


@dataclass(frozen=True, slots=True)
class Highlight:
    """A moment of a finished game that is worth telling.

    Args:
        name: what it is; the game's templates turn it into words.
        place: the index of the view that shows it, among the views of the game.
        seat: whose moment it is.
        numbers: what the words tell, such as a price.
        cards: to be drawn beside the words, by name.
        followed: what followed then, in sentences of `Rules.followed`.
    """

    name: str
    place: int
    seat: int
    numbers: tuple[int, ...] = ()
    cards: tuple[str, ...] = ()
    followed: tuple[Message, ...] = ()


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


def turning_point(steps: Iterable[tuple[int, int, Sequence[int]]], winners: Sequence[int]) -> list[Highlight]:
    """Return the step with which the winner took the lead for good, or gained most if they led from the start.

    Its numbers are the part of the game, and the lead before and after it, negative for a seat that was behind.

    Args:
        steps: in order of time: the number of a part of the game, the index of the view that ends it, and the scores
            then, of which the highest wins.
        winners: of the game; empty if nobody won.

    Returns:
        One highlight, or none if no step changed the lead in favour of a single winner.
    """
    if len(winners) != 1:
        return []
    [winner] = winners
    found: list[Highlight] = []
    taken: list[Highlight] = []
    most = lead = 0
    behind = False
    for part, place, scores in steps:
        before, lead = (
            lead,
            scores[winner] - max(score for seat, score in enumerate(scores) if seat != winner),
        )
        step = [Highlight("turning point", place, winner, (part, before, lead))]
        if lead - before > most:
            most = lead - before
            found = step
        if behind and before <= 0 < lead:
            taken = step
        behind = behind or lead <= 0
    return taken if lead > 0 and taken else found
