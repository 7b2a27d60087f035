"""The view of each viewer of a game of Byzanz."""

from __future__ import annotations

from dataclasses import dataclass

from byzanz.games.byzanz.cards import GROUPS, TABLES, Names, groups_in, names, of_group, total
from byzanz.games.byzanz.state import Lot, State, lot_card, questions, scores
from byzanz.rules import ALL, Viewer


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
