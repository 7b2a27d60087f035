"""The state of a game of Byzanz, and what can be read off it without making a move."""

from __future__ import annotations

from dataclasses import dataclass

from byzanz.games.byzanz.cards import PACK, PROFIT, TABLES, Cards
from byzanz.moves import Question

QUESTION_KINDS = {"bid": "bid", "tax": "tax", "limit": "limit", "market": "take", "end": "end"}
"""The kind of question each step asks."""


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


def scores(state: State) -> tuple[int, ...]:
    """Return the profit of each seat."""
    return tuple(sum(PROFIT[card] for card in pile) for pile in state.kept)
