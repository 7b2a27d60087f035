"""Headings and charts of Empire: its years, territory, and the legacy of both players."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from byzanz.charts import Chart, Heading, chart, seats
from byzanz.games.empire.view import View


def heading(view: View) -> Heading:
    """Return the year."""
    return (f"year {view.year}",)


def charts(views: Sequence[View]) -> tuple[Chart, ...]:
    """Chart territory and legacy after the battle of each year.

    Args:
        views: of the public, after each move that counts, from the first shuffle on.
    """
    fought = list(_battles(views))
    territory = ((where, place, [max(0, views[place].territory)]) for where, place in fought)
    legacy = ((where, place, views[place].legacy) for where, place in fought)
    return (
        chart("territory", "lines", ("territory",), territory),
        chart("legacy", "lines", seats(2), legacy),
    )


def _battles(views: Sequence[View]) -> Iterator[tuple[Heading, int]]:
    """Yield the year of each battle, with the place of the view that shows its result."""
    for place, (before, after) in enumerate(pairwise(views), start=1):
        if after.battle and after.battle != before.battle:
            yield (f"year {after.battle.year}",), place
