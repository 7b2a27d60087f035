"""Charts of a finished game: the geometry of each line, bar and point, and a table of the numbers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from byzanz.charts import Chart, Heading

# ---- short names ----


def short_names(names: Sequence[str], most: int = 9) -> tuple[str, ...]:
    """Return names of at most so many characters, of which no two look alike; one without such a form stays whole.

    Args:
        names: of which no two are equal.
    """
    whole = {name for name in names if len(name) <= most}
    forms = {
        name: (
            name.split()[0],
            f"{name[: most - 1]}…",
            f"{name[: most - 4]}…{name[-3:]}",
            f"{name[: most - 2]}…{number}",
        )
        for number, name in enumerate(names, start=1)
        if name not in whole
    }
    return tuple(
        name
        if name in whole
        else next((form for form in forms[name] if _is_clear(form, name, whole, forms, most)), name)
        for name in names
    )


def _is_clear(
    form: str, name: str, whole: Collection[str], forms: Mapping[str, Sequence[str]], most: int
) -> bool:
    """Whether a form of a name is short enough and cannot be mistaken for another name."""
    others = (form in theirs for other, theirs in forms.items() if other != name)
    return len(form) <= most and form not in whole and not any(others)


# ---- charts ----
# Pure geometry, x to the right and y down, with room for the larger text of a phone; partials/charts.html draws it.

WIDTH, TOP, PLOT, BELOW = 400.0, 12.0, 150.0, 22.0
"""The drawing's width, the margin above, the height of the plot, the margin below for the steps."""
ROW, ROW_GAP = 27.0, 6.0
"""The height of a row, and what of it stays empty."""
BAND = 0.86
"""The part of a step that its bars fill, and of a bar's share that the bar fills."""
LABEL = 15.0
"""The least distance between two labels."""
MARK, LETTER = 16.0, 8.0
"""The room for the mark before a name beside the lines, and for each of its letters."""
NAME = 9
"""The letters of a name for which there is room by default."""


@dataclass(frozen=True, slots=True)
class Stroke:
    """A line, or the profile of a row.

    Args:
        of: whom or what it shows, see `byzanz.charts.Line`.
        path: an SVG path.
        marks: the position of each value.
        label: the y of its label.
        last: its last value.
    """

    of: str
    path: str
    marks: tuple[tuple[float, float], ...]
    label: float
    last: int | None


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar, or the stem of a point, which is at its top.

    Args:
        line: the number of its line, from 0.
        x, y: its upper left corner, or the point on the stem.
    """

    line: int
    x: float
    y: float
    width: float
    height: float
    value: int


@dataclass(frozen=True, slots=True)
class Cell:
    """A number of the table; `of` says whose where the column does not, `seq` is the log entry that shows it."""

    value: int | None
    of: str = ""
    seq: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table.

    Args:
        part: of the game.
        seq: the log entry after which it holds; 0 where each cell has its own.
    """

    heading: Heading
    seq: int
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Drawing:
    """A chart, ready to be drawn.

    Args:
        name, kind: of the chart.
        lines: whom or what each line shows.
        left, right: where the plot begins and ends; base: the y of its lowest value.
        least, most: the lowest and the highest value on the scale.
        ticks: of the scale: the y of each value.
        stops: the x and the label of each large part of the game.
        walls: the x between two large parts.
        strokes: of lines and rows; bars: of bars and points.
        columns: of the table: lines, or for points the names of the smaller parts.
        rows: of the table.
    """

    name: str
    kind: str
    lines: tuple[str, ...]
    height: float
    left: float
    right: float
    base: float
    least: int
    most: int
    ticks: tuple[tuple[float, int], ...]
    stops: tuple[tuple[float, str], ...]
    walls: tuple[float, ...]
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    strokes: tuple[Stroke, ...]
    bars: tuple[Bar, ...]


class Frame(NamedTuple):
    """The plot area of a drawing and its scale.

    Args:
        left, right: where the plot begins and ends; there is room for names beside it.
        band: the width of a step.
        base: the y of the lowest value.
        least, step, most: of the scale.
    """

    left: float
    right: float
    band: float
    base: float
    least: int
    step: int
    most: int

    def y(self, value: int) -> float:
        """Return the y of a value."""
        return round(self.base - PLOT * (value - self.least) / (self.most - self.least), 1)

    def x(self, at: float) -> float:
        """Return the x at which a step begins, or, with a half, its middle."""
        return round(self.left + at * self.band, 1)


def draw(chart: Chart, seqs: Sequence[int], letters: int = NAME) -> Drawing:
    """Return the drawing of a chart and its table.

    Args:
        chart: with one step or more.
        seqs: for each step the log entry that shows it.
        letters: of the longest name beside a line.
    """
    frame = _frame(chart, letters)
    bare = chart.kind == "rows"
    values = () if bare else range(frame.least, frame.most + 1, frame.step)
    stops, walls = _stops(chart, frame)
    columns, rows = _matrix(chart, seqs) if chart.kind == "points" else _table(chart, seqs)
    upright = chart.kind in ("bars", "points")
    return Drawing(
        name=chart.name,
        kind=chart.kind,
        lines=tuple(line.of for line in chart.lines),
        height=frame.base + BELOW,
        left=frame.left,
        right=frame.right,
        base=frame.base,
        least=frame.least,
        most=frame.most,
        ticks=tuple((frame.y(value), value) for value in values),
        stops=stops,
        walls=walls,
        columns=columns,
        rows=rows,
        strokes=() if upright else _profiles(chart, frame) if bare else _strokes(chart, frame),
        bars=_bars(chart, frame) if upright else (),
    )


def _frame(chart: Chart, letters: int) -> Frame:
    lines = 4 if len(chart.lines) == 1 else MARK + LETTER * letters  # the title names a single line
    left, right = {"lines": (26.0, WIDTH - lines), "rows": (86.0, WIDTH - 4)}.get(
        chart.kind, (26.0, WIDTH - 4)
    )
    base = TOP + (len(chart.lines) * ROW if chart.kind == "rows" else PLOT)
    return Frame(left, right, (right - left) / len(chart.steps), base, *scale(chart))


def _strokes(chart: Chart, frame: Frame) -> tuple[Stroke, ...]:
    """Draw lines between the middles of the steps, with their names at the end."""
    marks = [
        tuple((frame.x(at + 0.5), frame.y(v)) for at, v in enumerate(line.values) if v is not None)
        for line in chart.lines
    ]
    labels = spread_labels([each[-1][1] if each else frame.base for each in marks], TOP, frame.base)
    paths = ["M" + "L".join(f"{x:g} {y:g}" for x, y in each) if each else "" for each in marks]
    return tuple(
        Stroke(line.of, path, each, label, line.values[-1])
        for line, path, each, label in zip(chart.lines, paths, marks, labels, strict=True)
    )


def _profiles(chart: Chart, frame: Frame) -> tuple[Stroke, ...]:
    """Draw a row of steps for each line, all on the same scale."""
    unit = (ROW - ROW_GAP) / frame.most
    found = []
    for number, line in enumerate(chart.lines, start=1):
        base = TOP + number * ROW
        tops = [round(base - (value or 0) * unit, 1) for value in line.values]
        steps = "".join(f"V{top:g}H{frame.x(at):g}" for at, top in enumerate(tops, start=1))
        path = f"M{frame.left:g} {base:g}{steps}V{base:g}Z"
        marks = tuple((frame.x(at + 0.5), top) for at, top in enumerate(tops))
        found.append(Stroke(line.of, path, marks, base - 5, line.values[-1]))
    return tuple(found)


def _bars(chart: Chart, frame: Frame) -> tuple[Bar, ...]:
    """Draw the bars of each step side by side; for points only the stems."""
    found = []
    for at in range(len(chart.steps)):
        values = [(number, line.values[at]) for number, line in enumerate(chart.lines)]
        there = [(number, value) for number, value in values if value is not None]
        share = BAND / max(1, len(there))
        for place, (number, value) in enumerate(there):
            x, y = frame.x(at + (1 - BAND) / 2 + place * share), frame.y(value)
            width = round(share * BAND * frame.band, 1)
            if chart.kind == "points":
                x, width = frame.x(at + 0.5), 0.0
            found.append(Bar(number, x, y, width, round(frame.base - y, 1), value))
    return tuple(found)


def scale(chart: Chart) -> tuple[int, int, int]:
    """Return the lowest value of the scale, its step and its highest value, at least every value and 1.

    Both ends are multiples of the step. The scale begins at 0, except for lines that stay far above it.
    """
    values = [value for line in chart.lines for value in line.values if value is not None] or [0]
    lowest, highest = min(values), max(values)
    if chart.kind == "rows":
        return 0, max(1, highest), max(1, highest)
    if chart.kind != "lines" or len(chart.lines) == 1 or lowest * 2 < highest:
        lowest = 0
    units = (unit * ten for ten in (1, 10, 100, 1000) for unit in (1, 2, 5))
    step = next(unit for unit in units if -(-highest // unit) - lowest // unit <= 5)
    least = lowest // step * step
    return least, step, max(least + step, -(-highest // step) * step)


def _stops(chart: Chart, frame: Frame) -> tuple[tuple[tuple[float, str], ...], tuple[float, ...]]:
    """Return where the large parts of the game are labelled, in the middle of each, and what separates them."""
    firsts = [
        (next(same), word)
        for word, same in groupby(range(len(chart.steps)), key=lambda at: chart.steps[at].heading[0])
    ]
    ends = [*(at for at, _ in firsts[1:]), len(chart.steps)]
    stops = [(frame.x((at + end) / 2), word) for (at, word), end in zip(firsts, ends, strict=True)]
    return tuple(stops), tuple(frame.x(at) for at in ends[:-1] if len(firsts) < len(chart.steps))


def spread_labels(wanted: Sequence[float], top: float, bottom: float) -> list[float]:
    """Place labels in order so that none overlap, as close as possible to the wanted positions.

    Args:
        wanted: the y of each.
        top, bottom: the available room, which holds them all.
    """
    order = sorted(range(len(wanted)), key=lambda at: wanted[at])
    placed = [0.0] * len(wanted)
    free = top
    for at in order:
        placed[at] = max(wanted[at], free)
        free = placed[at] + LABEL
    free = bottom
    for at in reversed(order):
        placed[at] = round(min(placed[at], free), 1)
        free = placed[at] - LABEL
    return placed


def _table(chart: Chart, seqs: Sequence[int]) -> tuple[tuple[str, ...], tuple[Row, ...]]:
    """Make a column for each line and a row for each step."""
    rows = [
        Row(step.heading, seq, tuple(Cell(line.values[at]) for line in chart.lines))
        for at, (step, seq) in enumerate(zip(chart.steps, seqs, strict=True))
    ]
    return tuple(line.of for line in chart.lines), tuple(rows)


def _matrix(chart: Chart, seqs: Sequence[int]) -> tuple[tuple[str, ...], tuple[Row, ...]]:
    """Make a row for each large part of the game and a column for each smaller part that they share."""
    found: dict[Heading, Cell] = {}
    for at, (step, seq) in enumerate(zip(chart.steps, seqs, strict=True)):
        line = next(line for line in chart.lines if line.values[at] is not None)
        found[step.heading] = Cell(line.values[at], line.of, seq)
    columns = tuple(dict.fromkeys(step.heading[-1] for step in chart.steps))
    heads = dict.fromkeys(step.heading[:1] for step in chart.steps)
    rows = [Row(head, 0, tuple(found.get((*head, word), Cell(None)) for word in columns)) for head in heads]
    return columns, tuple(rows)
