"""Headings, charts and highlights of Byzantium: its rounds, their points, and how the hands emptied."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import le

from byzanz.charts import Chart, Heading, Highlight, Row, chart, seats, turning_point
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


def highlights(views: Sequence[View], winners: Sequence[int]) -> list[Highlight]:
    """Return the round in which a seat did best against all others, the one in which a seat (if possible, one
    alone) did worst, and the turning point.

    The first numbers are the round; then come the cards left and the fewest that another seat kept, and the leads.

    Args:
        views: as for `charts`.
        winners: of the game.
    """
    ends = [(view.round, at, view) for at, view in enumerate(views) if view.step != "put" and view.shown]
    best: list[Highlight] = []
    worst: list[Highlight] = []
    most = 0, False
    for number, at, view in ends:
        left = [len(hand) for hand in view.shown[-1]]
        ahead = left.index(min(left))
        fewest = min(count for seat, count in enumerate(left) if seat != ahead)
        if not best or fewest - min(left) > best[0].numbers[2] - best[0].numbers[1]:
            best = [Highlight("best round", at, ahead, (number, min(left), fewest))]
        behind = left.index(max(left))
        alone = left.count(max(left)) == 1
        if (max(left), alone) > most:
            most = max(left), alone
            worst = [Highlight("worst round", at, behind, (number, max(left)), view.shown[-1][behind])]
    steps = [(number, at, [-points for points in view.scores]) for number, at, view in ends]
    return best + worst + turning_point(steps, winners)
