"""The state of a game of Byzanz, and what can be read off it without making a move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from byzanz.games.byzanz.cards import CARD, PACK, PROFIT, TABLES, Cards, Names, names, numbers, total
from byzanz.moves import Question

QUESTION_KINDS = {"bid": "bid", "tax": "tax", "limit": "limit", "market": "take", "end": "end"}
"""The kind of question each step asks."""


class Lot(NamedTuple):
    """An auction as everyone saw it, with cards by name.

    Args:
        size: of the lot card.
        cards: the whole lot.
        bids: each seat that bid, with the cards that it added (`0 cloth2 wine1`), or passed (`0`), in order.
        winner: -1 while it is undecided.
        tax: empty until it is paid, and for a lot that nobody wanted.
    """

    size: int
    cards: Names
    bids: tuple[str, ...]
    winner: int
    tax: Names

    def bid(self, seat: int) -> Names:
        """Return all cards that a seat bid, in canonical order."""
        added = [bid.split(" ") for bid in self.bids]
        return names(
            sorted([CARD[card] for bidder, *cards in added if bidder == str(seat) for card in cards])
        )

    @property
    def bidders(self) -> tuple[int, ...]:
        """The seats that bid or passed, in the order in which they first did."""
        return tuple(dict.fromkeys(int(bid.partition(" ")[0]) for bid in self.bids))

    @property
    def price(self) -> int:
        """The winning bid; 0 for a lot that cost nothing."""
        return total(numbers(self.bid(self.winner)))

    @property
    def taken(self) -> Names:
        """The cards that the winner took, or is to take: all but the tax."""
        rest = list(self.cards)
        for card in self.tax:
            rest.remove(card)
        return tuple(rest)


@dataclass(frozen=True)
class State:
    """A moment of a game. Every tuple with one item per seat is in seat order.

    Args:
        step: `deal`, `bid`, `tax`, `limit`, `market`, `end` or `over`.
        number: how many decisions have been opened so far.
        round: from 1.
        turn: the seat to move; -1 when no seat or every seat is.
        starter: the seat that started this auction.
        deck: in the order in which cards are drawn.
        removed: the cards removed unseen before the game.
        lot: the cards on auction.
        hands, bids, kept: the cards of each seat; a bid is not in the hand, `kept` is the profit pile.
        known: the cards of each hand that everyone saw arrive and has not seen leave.
        passed: the seats out of this auction, in the order in which they passed.
        won: the lot card of each seat this round, 0 for none.
        market, gone: the cards in the market, and those that left the game face up.
        taken: how many seats have taken from this round's market.
        done: which seats have finished selling at the end.
        lots: the latest auctions, as many as a round has and the one that runs; players look back at them.
        takes: each seat that took from the latest market, with the cards by name; in order.
    """

    step: str
    number: int
    round: int
    turn: int
    starter: int
    deck: Cards
    removed: Cards
    lot: Cards
    hands: tuple[Cards, ...]
    bids: tuple[Cards, ...]
    known: tuple[Cards, ...]
    passed: tuple[int, ...]
    won: tuple[int, ...]
    market: Cards
    taken: int
    kept: tuple[Cards, ...]
    gone: Cards
    done: tuple[bool, ...]
    lots: tuple[Lot, ...]
    takes: tuple[tuple[int, Names], ...]


def undealt(seats: int) -> State:
    """Return the state before the deal: the whole pack in the deck."""
    empty: tuple[Cards, ...] = ((),) * seats
    return State(
        step="deal",
        number=0,
        round=1,
        turn=-1,
        starter=0,
        deck=PACK,
        removed=(),
        lot=(),
        hands=empty,
        bids=empty,
        known=empty,
        passed=(),
        won=(0,) * seats,
        market=(),
        taken=0,
        kept=empty,
        gone=(),
        done=(False,) * seats,
        lots=(),
        takes=(),
    )


def questions(state: State) -> dict[int, Question]:
    """Return the question of each seat to move: one seat, or at the end every seat still selling."""
    if state.turn >= 0:
        return {state.turn: Question(QUESTION_KINDS[state.step], state.number)}
    if state.step != "end":
        return {}
    question = Question("end", state.number)
    return {seat: question for seat, done in enumerate(state.done) if not done}


def lot_card(state: State) -> int:
    """Return the size of the lot on auction; each seat that has won took a larger lot card."""
    return TABLES[len(state.won)].lots[len(state.won) - state.won.count(0)]


def with_lot(state: State, size: int, cards: Cards) -> tuple[Lot, ...]:
    """Return the latest auctions with the next one begun."""
    return (*state.lots[-len(state.won) :], Lot(size, names(cards), (), -1, ()))


def with_bid(state: State, seat: int, cards: Cards) -> tuple[Lot, ...]:
    """Return the latest auctions with these cards added to a seat's bid; none for a pass."""
    lot = state.lots[-1]
    return (*state.lots[:-1], lot._replace(bids=(*lot.bids, " ".join((str(seat), *names(cards))))))


def with_winner(state: State, seat: int, tax: Cards) -> tuple[Lot, ...]:
    """Return the latest auctions with the winner of the last one."""
    return (*state.lots[:-1], state.lots[-1]._replace(winner=seat, tax=names(tax)))


def scores(state: State) -> tuple[int, ...]:
    """Return the profit of each seat."""
    return tuple(sum(PROFIT[card] for card in pile) for pile in state.kept)
