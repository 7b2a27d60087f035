"""The charts and history headings of a game of Byzanz."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from byzanz.charts import Chart, Heading, Row, chart, seats
from byzanz.games.byzanz.cards import CARD, GROUPS, VALUE
from byzanz.games.byzanz.view import View

END: Heading = ("end",)


def heading(view: View) -> Heading:
    """Return the round with its lot card, or with `market`; `end` after the last round."""
    if view.step == "deal":
        return ()
    if view.step in ("end", "over"):
        return END
    lot = view.lot_card
    if view.step == "limit" and not view.taken:  # the last lot, the smallest so far, brought too many cards
        lot = min(filter(None, view.won))
    return f"round {view.round}", f"lot {lot}" if lot else "market"


def charts(views: Sequence[View]) -> tuple[Chart, ...]:
    """Return the prices by lot, the profit by round, the market after each lot, and the hand sizes throughout.

    Args:
        views: of the public, after each move that counts, from the deal on.
    """
    ends = list(_part_ends(views))
    lots = [(part, at) for part, at in ends if part[-1].startswith("lot")]
    rounds = [(part[:1], at) for part, at in ends if part[-1] in ("market", "end")]
    players = seats(views[-1].seats)
    return (
        chart("prices", "points", players, _prices(views)),
        chart("profit", "lines", players, ((part, at, views[at].profits) for part, at in rounds)),
        chart("market", "rows", GROUPS, ((part, at, _market_sizes(views[at])) for part, at in lots)),
        chart("hands", "rows", players, ((part, at, views[at].hand_sizes) for part, at in ends)),
    )


def _part_ends(views: Sequence[View]) -> Iterator[tuple[Heading, int]]:
    """Yield each lot, each market and the last sales, with the index of the first view after it."""
    parts = [heading(view) for view in views]
    for at, (part, following) in enumerate(pairwise(parts), start=1):
        if part != following:
            yield part, at
    if views[-1].step == "over":
        yield END, len(views) - 1


def _prices(views: Sequence[View]) -> Iterator[Row]:
    """Yield each lot with the winning bid, 0 where nobody bid."""
    price = 0
    for at, (before, after) in enumerate(pairwise(views), start=1):
        if (before.step, after.step) == ("bid", "tax") and after.lot == before.lot:
            price = _market_value(after) - _market_value(before)
        for seat, (had, has) in enumerate(zip(before.won, after.won, strict=True)):
            if has and not had:
                paid = [price if other == seat else None for other in range(after.seats)]
                yield (f"round {after.round}", f"lot {has}"), at, paid
                price = 0


def _market_sizes(view: View) -> tuple[int, ...]:
    market = dict(view.market)
    return tuple(len(market.get(group, ())) for group in GROUPS)


def _market_value(view: View) -> int:
    return sum(VALUE[CARD[name]] for _, cards in view.market for name in cards)
