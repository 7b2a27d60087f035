"""The state of a game of Empire, the seats to move, and automatic changes: shuffling, drawing, ageing.

A year is one of the twelve turns. A pair by deck has the Foes before the Byzantines; a pair by player is in seat
order (docs/rules/empire.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

from byzanz.games.empire.cards import (
    BYZANTINES,
    CARDS,
    DECKS,
    FOES,
    PACK,
    Cards,
    age_of,
    hand_size,
    minus,
    names,
    numbers,
    plus,
    usable,
)
from byzanz.moves import IllegalMove, Move, NotAwaited, Question, Shuffle

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
