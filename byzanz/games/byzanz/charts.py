"""What a game of Byzanz tells about itself: rounds and lots, profit, prices, the flow of the market, hands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from byzanz.charts import Chart, Heading, Row, chart, seats
from byzanz.games.byzanz.cards import CARD, GROUPS, VALUE

if TYPE_CHECKING:
    from byzanz.games.byzanz.rules import View

END: Heading = ("end",)


def heading(view: View) -> Heading:
    """The round and the lot, named by its lot card, or the round and its market; `end` after the last one."""
    if view.step == "deal":
        return ()
    if view.step in ("end", "over"):
        return END
    lot = view.lot_card
    if view.step == "limit" and not view.taken:  # too many cards came with the last lot, the smallest so far
        lot = min(filter(None, view.won))
    return f"round {view.round}", f"lot {lot}" if lot else "market"


def charts(views: Sequence[View]) -> tuple[Chart, ...]:
    """Prices by lot, profit by round, what lay in the market after each lot, and the hands all along.

    Args:
        views: of the public, after each move that counts, from the deal on.
    """
    ends = list(_ends(views))
    lots = [(where, place) for where, place in ends if where[-1].startswith("lot")]
    rounds = [(where[:1], place) for where, place in ends if where[-1] in ("market", "end")]
    players = seats(views[-1].seats)
    return (
        chart("prices", "points", players, _prices(views)),
        chart("profit", "lines", players, ((*end, views[end[1]].profits) for end in rounds)),
        chart("market", "rows", GROUPS, ((*end, _lying(views[end[1]])) for end in lots)),
        chart("hands", "rows", players, ((*end, views[end[1]].hand_sizes) for end in ends)),
    )


def _ends(views: Sequence[View]) -> Iterator[tuple[Heading, int]]:
    """Each lot, each market and the last sales, with the place of the view in which it is over."""
    parts = [heading(view) for view in views]
    for place, (now, after) in enumerate(pairwise(parts), start=1):
        if now != after:
            yield now, place
    if views[-1].step == "over":
        yield END, len(views) - 1


def _prices(views: Sequence[View]) -> Iterator[Row]:
    """Who won which lot and what came to the market for it: the bid; nothing where nobody had bid."""
    price = 0
    for place, (before, after) in enumerate(pairwise(views), start=1):
        if (before.step, after.step) == ("bid", "tax") and after.lot == before.lot:
            price = _worth(after) - _worth(before)
        for seat, (had, has) in enumerate(zip(before.won, after.won, strict=True)):
            if has and not had:
                paid = [price if other == seat else None for other in range(after.seats)]
                yield (f"round {after.round}", f"lot {has}"), place, paid
                price = 0


def _lying(view: View) -> tuple[int, ...]:
    market = dict(view.market)
    return tuple(len(market.get(group, ())) for group in GROUPS)


def _worth(view: View) -> int:
    return sum(VALUE[CARD[name]] for _, cards in view.market for name in cards)
