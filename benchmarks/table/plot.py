"""The plot of docs/benchmarks.md: cost against the length of the log and the number of running games, as SVG."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import log10

from benchmarks.table.figures import Figures

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


def draw(figures: Figures) -> str:
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
