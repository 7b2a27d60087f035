"""The cards of Empire and Foes, and the state of a game (docs/rules/empire.md).

Inside a state a card is its number in `empire-cards.csv`, from 0, Foes before Byzantines; copies share a number.
Sorted tuples of numbers are the one form of a hand, a meld or a pile of discards (docs/rules/empire.md). A name may
stand for two cards, one of each deck (`light-cavalry`); it is only used where the deck is known.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from itertools import combinations, product
from typing import NamedTuple, TypeAlias, TypeVar

from byzanz.moves import IllegalMove, Move, NotAwaited, Question, Shuffle, UnreadableMove
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

    @property
    def figure(self) -> str:
        """What the card shows first: its force, or the legacy that it adds."""
        return f"+{self.legacy}" if self.legacy else str(self.force)


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
HIGHEST = 20
"""The highest territory."""
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


# ---- the state ----
# A year is one of the twelve turns. A pair by deck has the Foes before the Byzantines; a pair by player is in seat
# order (docs/rules/empire.md).

T = TypeVar("T")
Pair: TypeAlias = tuple[Cards, Cards]
"""Cards of two decks, or of two seats."""
Batch: TypeAlias = tuple[int, int, Cards, Cards]
"""Cards thrown away in a redraw, face down: the year, the seat, the cards, and those of them that the other seat
knows to lie there."""
TERRITORY_AT_START, LEGACY_AT_START = 10, 10
SEALED = ("redraw", "meld", "keep")
"""Steps in which both seats choose at once; the verb is the step."""


@dataclass(frozen=True, slots=True)
class State:
    """A moment of a game.

    Args:
        step: `begin`, `draw`, `age` or `redrawing` while a shuffle is due; `redraw`, `meld`, `defend`,
            `negotiate`, `replace`, `buy-off` or `keep` while a question is open; `over`.
        number: how many decisions have been opened so far.
        year: from 1 to 12.
        territory: 0 or less once the Empire has fallen.
        legacy: of each seat.
        aside: cards of each deck whose first age has not begun.
        piles: draw pile of each deck, top first.
        discards: of each deck, face up.
        buried: cards thrown away in redraws since their deck was last shuffled, oldest first.
        out: cards of each deck that left the game.
        shuffles: how often each deck was shuffled.
        hands: of each seat, what it has chosen under seal included.
        shown: the first four cards that each seat drew this year, as they came.
        received: the card that each seat was passed at the start of this year, -1 for none.
        redrawn: how many cards each seat has redrawn this year.
        played: the cards that each seat has laid open this year.
        chosen: what each seat has sealed in this step, None for nothing yet.
        melds: of each seat, as they lie on the table.
        added: the card of the Foe's meld that came by `defend`, if any.
        battle: the last one: the Emperor's meld, the Foe's, and its year, territory before and after, and the
            change of the Emperor's legacy; nothing before the first.
    """

    step: str
    number: int
    year: int
    territory: int
    legacy: tuple[int, int]
    aside: Pair
    piles: Pair
    discards: Pair
    buried: tuple[Batch, ...]
    out: Pair
    shuffles: tuple[int, int]
    hands: Pair
    shown: Pair
    received: tuple[int, int]
    redrawn: tuple[int, int]
    played: Pair
    chosen: tuple[Cards | None, Cards | None]
    melds: Pair
    added: Cards
    battle: tuple[Cards, ...]


def initial() -> State:
    """Return year 1 before the first shuffles, all cards aside."""
    nothing: Pair = ((), ())
    return State(
        step="begin",
        number=0,
        year=1,
        territory=TERRITORY_AT_START,
        legacy=(LEGACY_AT_START, LEGACY_AT_START),
        aside=(PACK[FOES], PACK[BYZANTINES]),
        piles=nothing,
        discards=nothing,
        buried=(),
        out=nothing,
        shuffles=(0, 0),
        hands=nothing,
        shown=nothing,
        received=(-1, -1),
        redrawn=(0, 0),
        played=nothing,
        chosen=(None, None),
        melds=nothing,
        added=(),
        battle=(),
    )


def emperor_of(year: int) -> int:
    """Return the seat of the Emperor: seat 0 in odd years."""
    return (year - 1) % 2


def seat_of(deck: int, year: int) -> int:
    """Return the seat that draws from a deck in a year; the Emperor draws from the Byzantines."""
    return emperor_of(year) if deck == BYZANTINES else 1 - emperor_of(year)


def deck_of(seat: int, year: int) -> int:
    """Return the deck of a seat in a year."""
    return BYZANTINES if seat == emperor_of(year) else FOES


def put(pair: tuple[T, T], at: int, item: T) -> tuple[T, T]:
    """Return the pair with another item in one place."""
    return (item, pair[1]) if at == 0 else (pair[0], item)


def known_of(state: State, seat: int, passed: bool) -> Cards:
    """Return the cards that others saw come to a hand this year and have not seen leave it.

    As many of them as the seat has redrawn may lie face down by now.

    Args:
        state: any moment.
        seat: whose hand.
        passed: whether to include the card that the seat was passed, which only the players know.
    """
    came = plus(tuple(sorted(state.shown[seat])), (state.received[seat],) if passed else ())
    return minus(tuple([card for card in came if card >= 0 and usable(card, state.year)]), state.played[seat])


# Who is to move


def asked(state: State) -> tuple[int, ...]:
    """Return the seats to move."""
    if state.step in SEALED:
        return tuple([seat for seat in choosers(state) if state.chosen[seat] is None])
    if state.step in ("defend", "replace"):
        return (1 - emperor_of(state.year),)
    return (emperor_of(state.year),) if state.step in ("negotiate", "buy-off") else ()


def choosers(state: State) -> tuple[int, ...]:
    """Return the seats that make a sealed choice in this step: both, but without a card there is none to keep."""
    return tuple([seat for seat in (0, 1) if state.step != "keep" or state.hands[seat]])


def awaited(state: State) -> dict[int, Question]:
    """Return the seats to move, with the question that they share."""
    return dict.fromkeys(asked(state), Question(state.step, state.number))


def check_asked(state: State, seat: int, verb: str) -> None:
    """Raise an error if this seat is not to move, or the verb does not answer its question."""
    if seat not in (0, 1):
        raise NotAwaited("There is no seat %(seat)s at this table.", seat=seat)
    if state.step == "over":
        raise NotAwaited("The game is over.")
    if state.step in AFTERWARDS:
        raise NotAwaited("The cards have not been shuffled yet.")
    if state.step in SEALED:
        if seat not in choosers(state):
            raise NotAwaited("You have no card to keep.")
        if verb != state.step:
            raise IllegalMove("Both players must %(verb)s now.", verb=state.step)
    elif seat not in asked(state):
        raise NotAwaited("It is not your turn: the other player may %(verb)s now.", verb=state.step)
    elif verb not in (state.step, "decline"):
        raise IllegalMove("Answer with %(verb)s or decline.", verb=state.step)


# Automatic changes: shuffles, drawing, ageing


def coming(state: State, deck: int) -> Cards:
    """Return the cards set aside whose first age has begun (docs/rules/empire.md "A turn")."""
    return tuple([card for card in state.aside[deck] if CARDS[card].ages[0] == age_of(state.year)])


def thrown(state: State, deck: int) -> Cards:
    """Return all discards of a deck, face up and face down."""
    batches = [cards for year, seat, cards, _ in state.buried if deck_of(seat, year) == deck]
    return plus(state.discards[deck], sum(batches, ()))


def due_shuffle(state: State) -> Shuffle | None:
    """Return the shuffle that must happen before anything else, or None."""
    doing, deck = _due(state)
    if doing != "shuffle":
        return None
    cards = plus(tuple(sorted(state.piles[deck])), _shuffled_in(state, deck))
    return Shuffle(f"{DECKS[deck]}:{state.shuffles[deck] + 1}", names(cards))


def _shuffled_in(state: State, deck: int) -> Cards:
    return coming(state, deck) if state.step == "begin" else thrown(state, deck)


def _due(state: State) -> tuple[str, int]:
    """Return the next automatic change (`shuffle`, `expire`, `draw` or nothing) and its deck; the Foes come first."""
    if state.step == "begin":
        return next((("shuffle", deck) for deck in (FOES, BYZANTINES) if coming(state, deck)), ("", 0))
    if state.step not in ("draw", "age", "redrawing"):
        return "", 0
    for deck in (FOES, BYZANTINES):
        hand = state.hands[seat_of(deck, state.year)]
        if state.step != "draw" and not all(usable(card, state.year) for card in hand):
            return "expire", deck
        if len(hand) < hand_size(deck, state.year) and (state.piles[deck] or thrown(state, deck)):
            return "draw" if state.piles[deck] else "shuffle", deck
    return "", 0


def shuffle(state: State, move: Move) -> State:
    """Put a shuffled deck in its new order, and go on to the next shuffle or question."""
    shuffle, (_, deck) = due_shuffle(state), _due(state)
    if shuffle is None:
        raise IllegalMove("Nothing is to be shuffled now.")
    order = move.args[1:]
    if move.verb != "shuffle" or move.args[:1] != (shuffle.label,) or sorted(order) != sorted(shuffle.cards):
        raise IllegalMove(
            "The shuffle that is due is %(label)s, with all its cards and no others.", label=shuffle.label
        )
    begins = state.step == "begin"
    kept = state.buried if begins else tuple([b for b in state.buried if deck_of(b[1], b[0]) != deck])
    return onward(
        replace(
            state,
            aside=put(state.aside, deck, minus(state.aside[deck], coming(state, deck))),
            piles=put(state.piles, deck, numbers(deck, order)),
            discards=state.discards if begins else put(state.discards, deck, ()),
            buried=kept,
            shuffles=put(state.shuffles, deck, state.shuffles[deck] + 1),
        )
    )


AFTERWARDS = {"begin": "draw", "draw": "age", "age": "redraw", "redrawing": "meld"}


def onward(state: State) -> State:
    """Carry out automatic changes up to the next shuffle or question."""
    while state.step in AFTERWARDS:
        doing, deck = _due(state)
        if doing == "shuffle":
            return state
        if doing == "expire":
            state = _expired(state, deck)
        elif doing == "draw":
            state = _drawn(state, deck)
        elif (step := AFTERWARDS[state.step]) in SEALED:
            state = ask(state, step)
        else:
            state = replace(state, step=step)
    return state


def _expired(state: State, deck: int) -> State:
    """Remove the cards of another age in a hand from the game."""
    seat = seat_of(deck, state.year)
    old = tuple([card for card in state.hands[seat] if not usable(card, state.year)])
    return replace(
        state,
        hands=put(state.hands, seat, minus(state.hands[seat], old)),
        out=put(state.out, deck, plus(state.out[deck], old)),
    )


def _drawn(state: State, deck: int) -> State:
    """Fill a hand as far as the pile goes; in the draw step the first four cards are shown."""
    seat, pile = seat_of(deck, state.year), state.piles[deck]
    hand, shown = state.hands[seat], state.shown[seat]
    cards = pile[: hand_size(deck, state.year) - len(hand)]
    seen = cards[: 4 - len(shown)] if state.step == "draw" else ()
    return replace(
        state,
        piles=put(state.piles, deck, pile[len(cards) :]),
        hands=put(state.hands, seat, plus(hand, cards)),
        shown=put(state.shown, seat, shown + seen),
    )


def ask(state: State, step: str) -> State:
    """Open a question."""
    return replace(state, step=step, number=state.number + 1)
