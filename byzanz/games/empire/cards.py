"""The cards of Empire: what there is, what a meld may hold and is worth, and how a player's line is read.

Inside a state a card is its number in `empire-cards.csv`, from 0, Foes before Byzantines; copies share a number.
Sorted tuples of numbers are the one form of a hand, a meld or a pile of discards (docs/rules/empire.md). A card's name
alone may stand for two cards, one of each deck (`light-cavalry`): whoever holds a name knows its deck.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib.resources import files
from itertools import combinations, product
from typing import NamedTuple, TypeAlias

from byzanz.moves import Move, UnreadableMove
from byzanz.parsing import completed, move_words, read_verb

Cards: TypeAlias = tuple[int, ...]
"""Cards as numbers, ascending (draw piles and the first cards drawn alone stand in their own order)."""
Names: TypeAlias = tuple[str, ...]
"""Cards of one deck by their names, in canonical order."""


class Card(NamedTuple):
    """A line of `empire-cards.csv`.

    Args:
        deck: `foes` or `byzantines`.
        card: its name in moves; name: for people.
        copies: how many there are.
        unique: once melded it leaves the game.
        kind: `troop`, `northern`, `southern`, `disaster` or `natural-disaster` of the Foes; `troop`, `leader`,
            `recovery`, `negotiation` or `legacy` of the Byzantines.
        force: printed on it.
        ages: letters of the ages in which it is usable, E, M and L, the first one first.
        trait: `bought-off`, `defence` or nothing.
        bonus_troop: the troop that each adds `bonus` to its force, `any-cavalry` for both kinds, or nothing.
        legacy: what it adds to the Emperor's legacy.
    """

    deck: str
    card: str
    name: str
    copies: int
    unique: bool
    kind: str
    force: int
    ages: str
    trait: str
    bonus_troop: str
    bonus: int
    legacy: int


def _card(row: dict[str, str]) -> Card:
    return Card(
        deck=row["deck"],
        card=row["card"],
        name=row["name"],
        copies=int(row["copies"]),
        unique=row["unique"] == "yes",
        kind=row["kind"],
        force=int(row["force"]),
        ages=row["ages"],
        trait=row["trait"],
        bonus_troop=row["bonus_troop"],
        bonus=int(row["bonus"] or 0),
        legacy=int(row["legacy"] or 0),
    )


_SHEET = files("byzanz.games.empire").joinpath("empire-cards.csv").read_text("utf-8")
CARDS = tuple(map(_card, csv.DictReader(_SHEET.splitlines())))
DECKS = ("foes", "byzantines")
FOES, BYZANTINES = 0, 1
"""The decks by number: the Foe draws from the one, the Emperor from the other."""
NUMBER = tuple(
    {card.card: at for at, card in enumerate(CARDS) if card.deck == DECKS[deck]}
    for deck in (FOES, BYZANTINES)
)
PACK = tuple(
    tuple(at for at in NUMBER[deck].values() for _ in range(CARDS[at].copies)) for deck in (FOES, BYZANTINES)
)
"""All cards of each deck, copies together."""
AGES = "EML"
YEARS = 12
LIMITS = {
    "northern": 1,
    "southern": 1,
    "disaster": 2,
    "natural-disaster": 1,
    "troop": 4,
    "leader": 1,
    "recovery": 2,
    "negotiation": 1,
    "legacy": 2,
}
"""How many cards of a kind a meld may hold; natural disasters count as disasters, too."""
MOST_REDRAWN = 4
VERBS = ("redraw", "meld", "defend", "decline", "negotiate", "replace", "buy-off", "keep")

NAME = tuple(card.card for card in CARDS)
_WORDS = tuple(dict.fromkeys(NAME))
_SHEET_ORDER = {word: at for at, word in enumerate(_WORDS)}
KIND = tuple(card.kind for card in CARDS)
FORCE = tuple(card.force for card in CARDS)
BONUS = tuple(card.bonus for card in CARDS)
LEGACY = tuple(card.legacy for card in CARDS)


def _matching(card: Card) -> Cards:
    """The troops that a card adds its bonus for."""
    cavalry = ("heavy-cavalry", "light-cavalry")
    troops = cavalry if card.bonus_troop == "any-cavalry" else (card.bonus_troop,)
    return tuple(NUMBER[FOES][troop] for troop in troops if troop)


MATCHING = tuple(map(_matching, CARDS))
"""The troops that each card adds its bonus for."""


def age_of(year: int) -> str:
    """Return the letter of the age of a year from 1 to 12."""
    return AGES[(year - 1) // 4]


def usable(card: int, year: int) -> bool:
    """Return whether a card may be held and melded in this year."""
    return age_of(year) in CARDS[card].ages


def hand_size(deck: int, year: int) -> int:
    """Return how many cards a hand of this deck is filled to (docs/rules/empire.md "A turn", 1)."""
    return 8 if deck == FOES else 9 - AGES.index(age_of(year))


def names(cards: Iterable[int]) -> Names:
    """Return the names of cards."""
    return tuple([NAME[card] for card in cards])


def numbers(deck: int, cards: Iterable[str]) -> Cards:
    """Return the cards of one deck with these names, in the order given."""
    return tuple([NUMBER[deck][name] for name in cards])


def plus(cards: Cards, more: Cards) -> Cards:
    """Return both together."""
    return tuple(sorted(cards + more)) if more else cards


def minus(cards: Cards, gone: Cards) -> Cards:
    """Return the cards without those gone, as far as they are there."""
    rest = list(cards)
    for card in gone:
        if card in rest:
            rest.remove(card)
    return tuple(rest)


def bonus(card: int, meld: Cards) -> int:
    """Return what a card gains in a meld: its bonus for each matching troop (docs/rules/empire.md "A turn")."""
    return BONUS[card] * sum(map(meld.count, MATCHING[card])) if BONUS[card] else 0


def force(meld: Cards) -> int:
    """Return the force of a meld, bonuses included."""
    return sum([FORCE[card] + bonus(card, meld) for card in meld])


def kept_worth(card: int) -> int:
    """Return a kept card's worth to its next owner: force, and twice legacy (docs/rules/empire.md "Default moves")."""
    return FORCE[card] + 2 * LEGACY[card]


def legacy(meld: Cards) -> int:
    """Return the worth of the legacy cards in a meld."""
    return sum([LEGACY[card] for card in meld])


def broken_limit(meld: Cards) -> str | None:
    """Return the first kind with more cards than a meld may hold, or None."""
    kinds = [KIND[card] for card in meld]
    kinds += ["disaster"] * kinds.count("natural-disaster")
    return next((kind for kind in kinds if kinds.count(kind) > LIMITS[kind]), None)


@lru_cache(maxsize=256)
def redraws_from(hand: Cards) -> tuple[Move, ...]:
    """Return all redraws of a hand, few cards first, then in canonical order."""
    choices = [sorted(set(combinations(hand, count))) for count in range(MOST_REDRAWN + 1)]
    return tuple([Move("redraw", names(cards)) for same in choices for cards in same])


@lru_cache(maxsize=256)
def melds_from(hand: Cards) -> tuple[Move, ...]:
    """Return all legal melds of a hand by force, then by legacy, highest first, then in canonical order."""
    parts = [_parts(tuple([card for card in hand if KIND[card] in kinds])) for kinds in _GROUPS]
    melds = [tuple(sorted(sum(chosen, ()))) for chosen in product(*parts)]
    ranked = sorted([(-force(meld), -legacy(meld), meld) for meld in melds])
    return tuple([Move("meld", names(meld)) for _, _, meld in ranked])


_GROUPS = (
    ("northern",),
    ("southern",),
    ("disaster", "natural-disaster"),
    ("troop",),
    ("leader",),
    ("recovery",),
    ("negotiation",),
    ("legacy",),
)
"""Groups of kinds whose limits are independent."""


def _parts(cards: Cards) -> list[Cards]:
    """Return all that a meld may hold of these cards, which are of one group of kinds."""
    most = max((LIMITS[KIND[card]] for card in cards), default=0)
    found = {part for count in range(most + 1) for part in combinations(cards, count)}
    return [part for part in sorted(found) if broken_limit(part) is None]


# Reading a line


def read_move(text: str) -> Move:
    """Read a move in any letter case, spacing, card order and unambiguous abbreviation (docs/formats.md §1).

    Args:
        text: such as `meld basil trade mil`, `DEFEND vandals` or `buy huns with tax`.

    Raises:
        UnreadableMove, AmbiguousMove: it is not one move; the message says what would be.
    """
    words = move_words(text)
    if not words:
        raise UnreadableMove("Write a move, such as redraw or meld basil trade.")
    verb, words = read_verb(words[0], VERBS), words[1:]
    if verb == "buy-off":
        return Move(verb, _bargain(words))
    _check_count(verb, len(words))
    return Move(verb, in_order(tuple(map(named, words))))


def in_order(cards: Names) -> Names:
    """Return cards in the canonical order of their deck, or in the order of the sheet if they are of both decks."""
    for order in (*NUMBER, _SHEET_ORDER):
        if all(name in order for name in cards):
            return tuple(sorted(cards, key=order.__getitem__))
    return cards


def _bargain(words: Sequence[str]) -> Names:
    if len(words) != 3 or words[1] != "with":
        raise UnreadableMove("Write buy-off, a card of the Foe, with, and a card of your own meld.")
    return (named(words[0]), "with", named(words[2]))


def _check_count(verb: str, count: int) -> None:
    if verb == "decline" and count:
        raise UnreadableMove("Write decline alone, without a card.")
    if verb not in ("redraw", "meld", "decline") and count != 1:
        raise UnreadableMove("Name one card: %(verb)s and then the card.", verb=verb)


def named(word: str) -> str:
    """Return the card of either deck that a word is or abbreviates.

    Raises:
        UnreadableMove, AmbiguousMove: it is not one card.
    """
    name = completed(word, _WORDS)
    if not name:
        raise UnreadableMove("There is no card %(word)s in this game.", word=word[:20])
    return name
