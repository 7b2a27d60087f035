"""What each viewer of Byzanz sees, the headings and charts of its history, and what followed from moves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from byzanz.charts import Chart, Heading, Highlight, Row, chart, seats, turning_point
from byzanz.games.byzanz.state import (
    CARD,
    GROUPS,
    TABLES,
    VALUE,
    Lot,
    Names,
    State,
    groups_in,
    lot_card,
    names,
    numbers,
    of_group,
    questions,
    scores,
    total,
)
from byzanz.moves import Message
from byzanz.rules import ALL, Viewer


@dataclass(frozen=True, slots=True)
class Bidder:
    """A seat as the table shows it; fields named as in `View` are its own.

    Args:
        own: whether it is the viewer's.
        auction: whether a lot is up, or its tax is to be paid.
        paid: the bid with which it has won the lot, while its tax is to be paid.
        out: whether it has left the auction, or lost it; passed: the same, while nobody has won it by a bid.
    """

    own: bool
    awaited: bool
    auction: bool
    bids: Names
    total: int
    leads: bool
    won: int | None
    paid: Names
    out: bool
    passed: bool
    done: bool
    hand_size: int
    profit: int
    hand: Names | None


@dataclass(frozen=True, slots=True)
class View:
    """A moment as one viewer sees it; fields named as in `State` mean the same, with cards by name.

    Args:
        viewer: a seat, `public` or `all`.
        lot_cards: the sizes of the lots of a round, in order; lot_card: the one on auction.
        awaited: the seats to move; question: what the viewer is asked.
        turn: None when no seat or every seat is to move.
        highest, leader: the highest bid and its seat, 0 and None without one; totals: the value of each bid.
        won: None for a seat without a lot card this round.
        market: each group in the market with its cards.
        hands: None where the viewer may not look; profits: the points of each profit pile.
        deck, removed: None unless the viewer is ALL.
    """

    viewer: Viewer
    seats: int
    step: str
    number: int
    round: int
    rounds: int
    lot_cards: tuple[int, ...]
    lot_card: int | None
    lot: Names
    awaited: tuple[int, ...]
    question: str | None
    turn: int | None
    starter: int
    highest: int
    leader: int | None
    bids: tuple[Names, ...]
    totals: tuple[int, ...]
    passed: tuple[int, ...]
    won: tuple[int | None, ...]
    market: tuple[tuple[str, Names], ...]
    taken: int
    hands: tuple[Names | None, ...]
    hand_sizes: tuple[int, ...]
    known: tuple[Names, ...]
    kept: tuple[Names, ...]
    profits: tuple[int, ...]
    gone: Names
    deck_size: int
    removed_size: int
    deck: Names | None
    removed: Names | None
    done: tuple[bool, ...]
    lots: tuple[Lot, ...]
    takes: tuple[tuple[int, Names], ...]

    @property
    def hand(self) -> Names | None:
        """The viewer's own hand; None for a viewer without a seat."""
        return self.hands[self.viewer] if isinstance(self.viewer, int) else None

    @property
    def bidders(self) -> tuple[Bidder, ...]:
        """The seats as the table shows them."""
        taxed = self.step == "tax" and self.awaited
        paid = self.lots[-1].bid(self.awaited[0]) if taxed else ()
        return tuple(
            Bidder(
                own=seat == self.viewer,
                awaited=seat in self.awaited,
                auction=self.step in ("bid", "tax"),
                bids=self.bids[seat],
                total=self.totals[seat],
                leads=seat == self.leader,
                won=self.won[seat],
                paid=paid if paid and seat == self.awaited[0] else (),
                out=seat in self.passed or bool(paid and seat != self.awaited[0]),
                passed=seat in self.passed and not paid,
                done=self.done[seat] and self.step != "over",
                hand_size=self.hand_sizes[seat],
                profit=self.profits[seat],
                hand=self.hands[seat],
            )
            for seat in range(self.seats)
        )


def view_of(state: State, viewer: Viewer) -> View:
    """Return everything but others' hands, the deck and the removed cards, which only ALL sees."""
    everything = viewer == ALL
    table = TABLES[len(state.won)]
    asked = questions(state)
    question = asked.get(viewer) if isinstance(viewer, int) else None
    totals = tuple(map(total, state.bids))
    highest = max(totals)
    return View(
        viewer=viewer,
        seats=len(state.won),
        step=state.step,
        number=state.number,
        round=state.round,
        rounds=table.rounds,
        lot_cards=table.lots,
        lot_card=lot_card(state) if state.step in ("bid", "tax") else None,
        lot=names(state.lot),
        awaited=tuple(asked),
        question=str(question) if question else None,
        turn=state.turn if state.turn >= 0 else None,
        starter=state.starter,
        highest=highest,
        leader=totals.index(highest) if highest else None,
        bids=tuple(map(names, state.bids)),
        totals=totals,
        passed=state.passed,
        won=tuple(size or None for size in state.won),
        market=tuple(
            (GROUPS[group], names(of_group(state.market, group))) for group in groups_in(state.market)
        ),
        taken=state.taken,
        hands=tuple(
            names(hand) if everything or seat == viewer else None for seat, hand in enumerate(state.hands)
        ),
        hand_sizes=tuple(map(len, state.hands)),
        known=tuple(map(names, state.known)),
        kept=tuple(map(names, state.kept)),
        profits=scores(state),
        gone=names(state.gone),
        deck_size=len(state.deck),
        removed_size=len(state.removed),
        deck=names(state.deck) if everything else None,
        removed=names(state.removed) if everything else None,
        done=state.done,
        lots=state.lots,
        takes=state.takes,
    )


# ---- headings and charts ----

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


# ---- what followed from moves ----


def followed(before: View, after: View) -> tuple[Message, ...]:
    """Return what a bid adds up to, who got a lot and for what, or which cards were taken from the market."""
    if (before.step, before.number) == (after.step, after.number):  # a sale
        return ()
    if before.step == "market":
        return (_took(*after.takes[-1]),)
    if before.step not in ("bid", "tax"):
        return ()
    has_begun = after.lots[-1].bids or after.lots[-1].winner >= 0
    lot = after.lots[-1] if has_begun else after.lots[-2]
    if lot.winner >= 0:
        return (_won(lot),)
    seat, *cards = lot.bids[-1].split(" ") if before.step == "bid" else ("",)
    return (_bid(int(seat), before.totals[int(seat)], cards),) if cards else ()


def _bid(seat: int, had: int, cards: Sequence[str]) -> Message:
    places, name = {"total": had + total(numbers(cards)), "cards": " ".join(cards)}, {"name": seat}
    if had:
        return Message(
            "%(name)s raises to %(total)s with %(cards)s.",
            places,
            name,
            "You raise to %(total)s with %(cards)s.",
        )
    return Message("%(name)s bids %(total)s: %(cards)s.", places, name, "You bid %(total)s: %(cards)s.")


def _took(seat: int, cards: Names) -> Message:
    return Message(
        "%(name)s takes %(cards)s from the market.",
        {"cards": " ".join(cards)},
        {"name": seat},
        "You take %(cards)s from the market.",
    )


def _won(lot: Lot) -> Message:
    """Return how a lot went; to be drawn: what goes to market, and what the others bid."""
    places = {
        "size": lot.size,
        "price": lot.price,
        "tax": " ".join(lot.tax),
        "cards": " ".join(lot.taken),
        "market": " ".join((*lot.bid(lot.winner), *lot.tax)),
        "others": lot.others,
    }
    name = {"name": lot.winner}
    if not lot.tax:
        return Message(
            "%(name)s gets the whole lot of %(size)s for free: %(cards)s.",
            places,
            name,
            "You get the whole lot of %(size)s for free: %(cards)s.",
        )
    if not lot.taken:
        return Message(
            "%(name)s gets the lot of 1, but its only card goes to market as tax: %(tax)s.",
            places,
            name,
            "You get the lot of 1, but its only card goes to market as tax: %(tax)s.",
        )
    if not lot.price:
        return Message(
            "%(name)s takes the last lot (of %(size)s) without bidding: "
            "%(tax)s goes to market, %(name)s takes %(cards)s.",
            places,
            name,
            "You take the last lot (of %(size)s) without bidding: "
            "%(tax)s goes to market, you take %(cards)s.",
        )
    return Message(
        "%(name)s wins the lot of %(size)s for %(price)s: %(tax)s goes to market, %(name)s takes %(cards)s.",
        places,
        name,
        "You win the lot of %(size)s for %(price)s: %(tax)s goes to market, you take %(cards)s.",
    )
