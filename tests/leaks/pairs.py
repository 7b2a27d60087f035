"""Pairs of games with the same public events that differ only in what one viewer may not know.

A game is played at random up to some moment. From the viewer's eyes `Rules.worlds` gives another state of that
moment; the deal that leads to it by the same moves is worked out, and everything is played over again with it.
A pair is dropped where a forced move of the one game is a real choice in the other: whether a move came at once
is a public event.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from byzanz.games.byzanz import Byzanz, State
from byzanz.games.byzanz_cards import NAME, PACK
from byzanz.games.byzanz_play import HANDFUL
from byzanz.rules import PUBLIC, Move, Viewer
from byzanz.umpire import forced
from tests.byzanz.positions import choices

RULES = Byzanz()
MOMENTS = ("bid", "bid", "tax", "market", "limit", "bid", "end", "bid")
"""The kinds of moment at which the pairs of one seed after another are compared."""
DRAWS = 60
"""Worlds that are tried before a moment is given up."""
GAMES = 6
"""Games that are tried before any moment at which somebody bids will do: late ones may hide nothing any more."""
Deal = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One move of both games; `forced` if it was the only one."""

    seat: int
    move: str
    forced: bool


@dataclass(frozen=True, slots=True)
class Pair:
    """Two deals and the moves that were made after either.

    Args:
        viewer: from whose eyes both games are the same at each moment.
        deals: the pack in two orders.
        dropped: worlds drawn in vain, because a forced move of the one was a choice in the other.
    """

    seed: int
    seats: int
    viewer: Viewer
    deals: tuple[Deal, Deal]
    steps: tuple[Step, ...]
    dropped: int


def pair(seed: int) -> Pair:
    """The pair of this number: player counts, viewers and kinds of moment take turns."""
    rng = random.Random(f"pair {seed}")
    seats = 3 + seed % 4
    wanted = MOMENTS[seed // 4 % len(MOMENTS)]
    dropped = 0
    for tried in count():
        deal = list(PACK)
        rng.shuffle(deal)
        played = _some_game(seats, tuple(deal), rng, hoards=rng.random() < 0.7)
        for steps in _moments(played, wanted if tried < GAMES else "bid", rng):
            viewer = _viewer(played[len(steps)][0], rng)
            other, vain = _other_deal(seats, tuple(deal), steps, viewer, rng)
            dropped += vain
            if other is not None:
                return Pair(seed, seats, viewer, (tuple(deal), other), tuple(steps), dropped)
    raise AssertionError("count() never ends")


def _some_game(seats: int, deal: Deal, rng: random.Random, hoards: bool) -> list[tuple[State, Step | None]]:
    """A whole game: each moment, and the move made then.

    Where players hoard, they part with no card that others have not seen, so that secrets last to the end.
    """
    state = after_deal(seats, deal)
    played: list[tuple[State, Step | None]] = []
    while RULES.outcome(state) is None:
        step = _next(state, rng, hoards)
        played.append((state, step))
        state = _after(state, step)
    return [*played, (state, None)]


def after_deal(seats: int, deal: Deal) -> State:
    """The first moment of a game dealt from cards in this order."""
    return RULES.apply(RULES.setup(seats, {}), None, shuffle(deal))


def shuffle(deal: Deal) -> Move:
    """The entry of chance that deals in this order."""
    return Move("shuffle", ("deal", *(NAME[card] for card in deal)))


def _next(state: State, rng: random.Random, hoards: bool) -> Step:
    only = forced(RULES, state)
    if only is not None:
        return Step(only[0], str(only[1]), forced=True)
    seat, move = choices(state, rng)
    for _ in range(10 if hoards else 0):
        if not _shows_a_secret(state, seat, move):
            break
        seat, move = choices(state, rng)
    if (
        state.step == "bid" and move.verb == "bid" and rng.random() < 0.3
    ):  # else every auction goes to the limit
        move = Move("pass")
    return Step(seat, str(move), forced=False)


def _shows_a_secret(state: State, seat: int, move: Move) -> bool:
    """Whether a card leaves the hand of which nobody else knew that it was there."""
    if move.verb not in ("bid", "sell", "discard"):
        return False
    return bool(Counter(move.args) - Counter(NAME[card] for card in state.known[seat]))


def _after(state: State, step: Step) -> State:
    verb, *args = step.move.split(" ")
    return RULES.apply(state, step.seat, Move(verb, tuple(args)))


def _moments(
    played: list[tuple[State, Step | None]], wanted: str, rng: random.Random
) -> Sequence[tuple[Step, ...]]:
    """The moves before some moments of the wanted kind at which somebody has a real choice."""
    steps = tuple(step for _, step in played if step is not None)
    found = [
        at for at, (state, step) in enumerate(played) if state.step == wanted and step and not step.forced
    ]
    rng.shuffle(found)
    return [steps[:at] for at in found[:3]]


def _viewer(state: State, rng: random.Random) -> Viewer:
    """Whose eyes: mostly somebody who is asked, else anybody, or the public."""
    asked = [*RULES.awaited(state)]
    return rng.choice([*asked, *asked, *range(len(state.hands)), PUBLIC])


def _other_deal(
    seats: int, deal: Deal, steps: Sequence[Step], viewer: Viewer, rng: random.Random
) -> tuple[Deal | None, int]:
    """A deal that looks the same to the viewer, or None; and how many were drawn in vain."""
    first = state = after_deal(seats, deal)
    for step in steps:
        state = _after(state, step)
    shown = len(first.deck) - len(state.deck)
    view = RULES.view(state, viewer)
    vain = 0
    for drawn in range(DRAWS):
        redealt = RULES.worlds(view, rng.randrange)
        if redealt.hands == state.hands and (redealt.removed == state.removed or drawn < DRAWS // 2):
            continue
        other = _deal_of(first, state, redealt, shown, rng)
        if _comes_out(seats, other, steps, redealt):
            return other, vain
        vain += 1
    return None, vain


def _deal_of(first: State, state: State, redealt: State, shown: int, rng: random.Random) -> Deal:
    """The deal that leads to `redealt` by the moves that lead from `first` to `state`.

    Within a hand, within the removed cards and within each lot the order in which they were dealt is new, too.
    """
    order: list[int] = []
    for was, is_now, becomes in zip(first.hands, state.hands, redealt.hands, strict=True):
        hand = Counter(was)
        hand.subtract(Counter(is_now))
        hand.update(Counter(becomes))
        assert min(hand.values()) >= 0, "worlds gives a hand that cannot have played like this"
        order += _mixed(list(hand.elements()), rng)
    assert len(order) == HANDFUL * len(first.hands)
    order += _mixed(list(redealt.removed), rng)
    order += _lots(first, shown, rng)
    return (*order, *redealt.deck)


def _mixed(cards: list[int], rng: random.Random) -> list[int]:
    rng.shuffle(cards)
    return cards


def _lots(first: State, shown: int, rng: random.Random) -> list[int]:
    """The cards revealed so far, lot by lot."""
    cards = [*first.lot, *first.deck[:shown]]
    sizes = RULES.view(first, PUBLIC).lot_cards
    lots: list[int] = []
    while len(lots) < len(cards):
        for size in sizes:
            lots += _mixed(cards[len(lots) : len(lots) + size], rng)
    return lots


def _comes_out(seats: int, deal: Deal, steps: Sequence[Step], redealt: State) -> bool:
    """Whether the same moves are forced after this deal; that they are legal and lead there is a law."""
    state = after_deal(seats, deal)
    for step in steps:
        only = forced(RULES, state)
        if (only is not None) != step.forced or (only and (only[0], str(only[1])) != (step.seat, step.move)):
            return False
        state = _after(state, step)
    assert state == redealt, "the same moves after this deal lead elsewhere"
    return forced(RULES, state) is None
