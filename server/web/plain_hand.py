"""The hand in the plain form: cards to tap or to tick, and what is left of the legal moves as buttons or lists."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import comb

FEW = 60
"""So many moves of a verb are a button each; more are a list to choose from, or cards to tick."""
_WORD = re.compile(r"[a-z0-9-]{1,40}")
"""What the form posts as a card."""


@dataclass(frozen=True, slots=True)
class Held:
    """A card of the hand.

    Args:
        card: its name.
        value: of its box: the name, and its place in the hand.
        move: that tapping it makes; empty if cards are ticked, or if it cannot be played now.
        is_open: whether it can be played now.
    """

    card: str
    value: str
    move: str
    is_open: bool


@dataclass(frozen=True, slots=True)
class Pick:
    """A verb that takes ticked cards.

    Args:
        verb: of the move.
        least, most: how many cards.
    """

    verb: str
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Hand:
    """What a seat can do, sorted for the form.

    Args:
        cards: of the hand, each of them once.
        picks: verbs for which cards are ticked.
        taps: the verb whose moves the cards themselves make; empty if there is none.
        rest: the other moves by verb.
    """

    cards: tuple[Held, ...]
    picks: tuple[Pick, ...]
    taps: str
    rest: Mapping[str, Sequence[str]]


def hand(cards: Sequence[str], texts: Iterable[str]) -> Hand:
    """Return what can be done with a hand and besides.

    Args:
        cards: of the hand.
        texts: the legal moves in canonical form.
    """
    moves: dict[str, list[str]] = {}
    for text in texts:
        moves.setdefault(text.split(" ")[0], []).append(text)
    args = {verb: [tuple(text.split(" ")[1:]) for text in own] for verb, own in moves.items()}
    of_hand = {verb: each for verb, each in args.items() if _are_of_hand(each, cards)}
    single = [verb for verb, each in of_hand.items() if all(len(words) == 1 for words in each)]
    several = [verb for verb, each in of_hand.items() if verb not in single and _is_any_choice(each)]
    order = next((it for it in _orders(cards, of_hand.values()) if _fits(it, of_hand, several)), None)
    if order is None:
        several, order = [], cards
    taps = single[0] if len(single) == 1 and not several else ""
    ticked = [verb for verb in moves if verb in (*single, *several)] if not taps else []
    places = {card: [at for at, other in enumerate(cards) if other == card] for card in cards}
    open_cards = {card for verb in (taps, *ticked) for words in of_hand.get(verb, ()) for card in words}
    return Hand(
        tuple(
            [
                Held(
                    card,
                    f"{card}#{places[card].pop(0)}",
                    f"{taps} {card}" if taps and card in open_cards else "",
                    card in open_cards,
                )
                for card in order
            ]
        ),
        tuple([Pick(verb, min(map(len, args[verb])), max(map(len, args[verb]))) for verb in ticked]),
        taps,
        {verb: own for verb, own in moves.items() if verb != taps and verb not in ticked},
    )


def _are_of_hand(moves: Iterable[Sequence[str]], cards: Sequence[str]) -> bool:
    """Return whether all these moves name cards of the hand, and nothing else."""
    held = Counter(cards)
    return all(words and not Counter(words) - held and all(map(_WORD.fullmatch, words)) for words in moves)


def _is_any_choice(moves: Sequence[Sequence[str]]) -> bool:
    """Return whether any cards may be chosen, or so many that a button for each choice would not help."""
    used = {card for words in moves for card in words}
    every = sum(comb(len(used), number) for number in set(map(len, moves)))
    return len(moves) > FEW or len(moves) == every


def _orders(cards: Sequence[str], moves: Iterable[Sequence[Sequence[str]]]) -> list[Sequence[str]]:
    """Return the orders in which the hand could be drawn: as it is, and as the moves name its cards."""
    named = list(dict.fromkeys(card for each in moves for words in each for card in words))
    rank = {card: at for at, card in enumerate(named)}
    return [cards, sorted(cards, key=lambda card: rank.get(card, len(rank)))]


def _fits(order: Sequence[str], moves: Mapping[str, Sequence[Sequence[str]]], verbs: Iterable[str]) -> bool:
    """Return whether the moves of these verbs name their cards in this order, as a form with boxes does."""
    return all(_is_in(order, words) for verb in verbs for words in moves[verb])


def _is_in(order: Sequence[str], words: Iterable[str]) -> bool:
    left = iter(order)
    return all(word in left for word in words)
