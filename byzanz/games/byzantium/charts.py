"""What a game of Byzantium tells about itself: its rounds, their points, and how the hands became empty."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import le
from typing import TYPE_CHECKING

from byzanz.charts import Chart, Heading, Row, chart, seats

if TYPE_CHECKING:
    from byzanz.games.byzantium.rules import View


def heading(view: View) -> Heading:
    """The round."""
    return (f"round {view.round}",) if view.round else ()


def charts(views: Sequence[View]) -> tuple[Chart, ...]:
    """Points of each round, and the cards left in each hand after everybody's first, second … turn of a round.

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
        if view.step != "put":  # the cards of the round that is over still lie there
            yield heading(view), place, [len(hand) for hand in view.shown[-1]]


def _left(views: Sequence[View]) -> Iterator[Row]:
    """What each hand was down to when all who still could had their first, second … turn of a round."""
    places = range(len(views))
    for _, same in groupby(places, key=lambda place: views[place].round):
        played = list(same)
        dealt, final = (views[played[at]].hand_sizes for at in (0, -1))
        for turn in range(1, dealt[0] - min(final) + 1):
            sizes = [max(dealt[0] - turn, left) for left in final]
            place = next(place for place in played if all(map(le, views[place].hand_sizes, sizes)))
            yield (*heading(views[place]), f"turn {turn}"), place, sizes
