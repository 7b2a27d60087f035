"""Headings and charts of Byzantium: its rounds, their points, and how the hands emptied."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import le

from byzanz.charts import Chart, Heading, Row, chart, seats
from byzanz.games.byzantium.view import View


def heading(view: View) -> Heading:
    """Return the round."""
    return (f"round {view.round}",) if view.round else ()


def charts(views: Sequence[View]) -> tuple[Chart, ...]:
    """Chart the points of each round, and the cards left in each hand after everybody's first, second … turn.

    Args:
        views: of the public, after each move that counts, from the first deal on.
    """
    players = seats(views[-1].seats)
    return (
        chart("points", "bars", players, _points(views)),
        chart("left", "rows", players, _left(views)),
    )


def _points(views: Sequence[View]) -> Iterator[Row]:
    for place, view in enumerate(views):
        if view.step != "put":  # the cards of the finished round still lie there
            yield heading(view), place, [len(hand) for hand in view.shown[-1]]


def _left(views: Sequence[View]) -> Iterator[Row]:
    """Yield what was left in each hand when all seats still in had taken their first, second … turn of a round."""
    places = range(len(views))
    for _, same in groupby(places, key=lambda place: views[place].round):
        played = list(same)
        dealt, final = (views[played[at]].hand_sizes for at in (0, -1))
        for turn in range(1, dealt[0] - min(final) + 1):
            sizes = [max(dealt[0] - turn, left) for left in final]
            place = next(place for place in played if all(map(le, views[place].hand_sizes, sizes)))
            yield (*heading(views[place]), f"turn {turn}"), place, sizes
