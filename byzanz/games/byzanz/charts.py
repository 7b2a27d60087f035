"""The charts, highlights and history headings of a game of Byzanz."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from byzanz.charts import Chart, Heading, Highlight, Row, chart, seats, turning_point
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


def highlights(views: Sequence[View], winners: Sequence[int]) -> list[Highlight]:
    """Return the dearest lot, the set sold for the most profit, and the turning point.

    The first numbers are the round; then come the price of the lot, the profit of the set, and the leads.
    The cards of the turning point are what the winner sold in that round; its last number is how many sets these were.

    Args:
        views: as for `charts`.
        winners: of the game.
    """
    found: dict[str, Highlight] = {}
    for at, (before, after) in enumerate(pairwise(views), start=1):
        price, gains = 0, [now - had for now, had in zip(after.profits, before.profits, strict=True)]
        if (before.step, after.step) == ("bid", "tax") and after.lot == before.lot:
            price = _market_value(after) - _market_value(before)
            told = Highlight("dearest lot", at, after.awaited[0], (after.round, price), after.lot)
        elif any(gains):
            price, seat = max(gains), gains.index(max(gains))
            told = Highlight("best set", at, seat, (after.round, price), _sold(before, after, seat))
        if price and (told.name not in found or found[told.name].numbers[1] < price):
            found[told.name] = told
    ends = [(part, at) for part, at in _part_ends(views) if part[-1] in ("market", "end")]
    steps = [(views[at - 1].round, at, views[at].profits) for _, at in ends]
    first = [found[name] for name in ("dearest lot", "best set") if name in found]
    starts = dict(pairwise((*(at for _, at in reversed(ends)), 0)))
    turns = turning_point(steps, winners)
    return first + [_with_sales(it, views[starts[it.place] : it.place + 1]) for it in turns]


def _with_sales(it: Highlight, views: Sequence[View]) -> Highlight:
    """Return a turning point with all sets that its seat sold meanwhile, and their number."""
    gains = [(b, a) for b, a in pairwise(views) if a.profits[it.seat] > b.profits[it.seat]]
    cards = tuple(card for before, after in gains for card in _sold(before, after, it.seat))
    return replace(it, numbers=(*it.numbers, len(gains)), cards=cards)


def _sold(before: View, after: View, seat: int) -> tuple[str, ...]:
    """Return the set that a seat sold, the card that it kept first; that card alone if the market was cleared, too."""
    kept = (Counter(after.kept[seat]) - Counter(before.kept[seat])).elements()
    gone = tuple((Counter(after.gone) - Counter(before.gone)).elements())
    return (*kept, *(gone if len(gone) == 2 else ()))
