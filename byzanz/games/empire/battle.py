"""Responses to the open melds of Empire, the battle, and the end of a year (docs/rules/empire.md "A turn", 4 to 6)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from byzanz.games.empire.cards import (
    BYZANTINES,
    CARDS,
    FOES,
    KIND,
    NUMBER,
    YEARS,
    Cards,
    Names,
    broken_limit,
    force,
    legacy,
    minus,
    names,
    plus,
)
from byzanz.games.empire.state import Batch, State, ask, deck_of, emperor_of, known_of, onward, put
from byzanz.moves import IllegalMove, Move

DECLINE = Move("decline")
RESPONSES = ("defend", "negotiate", "buy-off")
"""Responses to open melds, in their order; `replace` follows a negotiation."""
HIGHEST, FALLEN = 20, 3
"""The highest territory; the legacy that an Emperor loses when the Empire falls."""


def responses(state: State) -> tuple[Move, ...]:
    """Return the responses of the seat to move: `decline` first, then its cards (docs/rules/empire.md "A turn", 4)."""
    emperor = emperor_of(state.year)
    own, theirs = [sorted(set(state.melds[seat])) for seat in (emperor, 1 - emperor)]
    hand = sorted(set(state.hands[1 - emperor]))
    if state.step == "defend":
        answers = [(card,) for card in hand if CARDS[card].trait == "defence"]
    elif state.step == "negotiate":
        answers = [(card,) for card in theirs if _is_people(card)]
    elif state.step == "replace":
        counted = minus(state.melds[1 - emperor], state.added)
        answers = [(card,) for card in hand if _is_people(card) and not broken_limit((*counted, card))]
    else:
        bought = [card for card in theirs if CARDS[card].trait == "bought-off"]
        bargains = [(names((card,)), names((paid,))) for card in bought for paid in own]
        return (DECLINE, *[Move("buy-off", (*card, "with", *paid)) for card, paid in bargains])
    return (DECLINE, *[Move(state.step, names(cards)) for cards in answers])


def _is_people(card: int) -> bool:
    return KIND[card] in ("northern", "southern")


def ask_response(state: State, start: int) -> State:
    """Ask for the next response that the open melds allow; fight the battle after the last one."""
    emperor = emperor_of(state.year)
    own, theirs = state.melds[emperor], state.melds[1 - emperor]
    causes = (
        any(KIND[card] == "leader" for card in own),
        any(KIND[card] == "negotiation" for card in own),
        any(CARDS[card].trait == "bought-off" for card in theirs),
    )
    for at in range(start, len(RESPONSES)):
        if causes[at]:
            return ask(state, RESPONSES[at])
    return _fight(state)


def answer(state: State, move: Move) -> State:
    """Carry out a legal response; `decline` changes nothing on the table."""
    if move not in responses(state):
        raise _why_not(state.step)
    if move.verb != "decline":
        state = _RESPONSES[move.verb](state, move.args)
    if move.verb == "negotiate":
        return ask(state, "replace")
    answered = "negotiate" if state.step == "replace" else state.step
    return ask_response(state, RESPONSES.index(answered) + 1)


def _why_not(response: str) -> IllegalMove:
    """Return the error that says what a response must be."""
    match response:
        case "defend":
            return IllegalMove("Defend with one card from your hand that plays in defence, or decline.")
        case "negotiate":
            return IllegalMove("Remove one northern or southern card from the Foe's meld, or decline.")
        case "replace":
            return IllegalMove(
                "Replace it with one northern or southern card from your hand, within the limits, or decline."
            )
    return IllegalMove(
        "Write buy-off, a card in the Foe's meld that can be bought off, with, and a card in your meld, or decline."
    )


def _laid(state: State, card: int) -> State:
    """Move a card from the Foe's hand to the Foe's meld."""
    foe = 1 - emperor_of(state.year)
    return replace(
        state,
        hands=put(state.hands, foe, minus(state.hands[foe], (card,))),
        melds=put(state.melds, foe, plus(state.melds[foe], (card,))),
        played=put(state.played, foe, plus(state.played[foe], (card,))),
    )


def _removed(state: State, seat: int, card: int) -> State:
    """Remove a card from a meld: to the discards of its deck or, if unique, out of the game."""
    melds = put(state.melds, seat, minus(state.melds[seat], (card,)))
    return _put_away(replace(state, melds=melds), deck_of(seat, state.year), (card,))


def _put_away(state: State, deck: int, cards: Cards) -> State:
    """Put melded cards on the discards, and unique ones out of the game."""
    unique = tuple([card for card in cards if CARDS[card].unique])
    return replace(
        state,
        discards=put(state.discards, deck, plus(state.discards[deck], minus(cards, unique))),
        out=put(state.out, deck, plus(state.out[deck], unique)),
    )


def _defend(state: State, words: Names) -> State:
    card = NUMBER[FOES][words[0]]
    return replace(_laid(state, card), added=(card,))


def _negotiate(state: State, words: Names) -> State:
    card = NUMBER[FOES][words[0]]
    after = _removed(state, 1 - emperor_of(state.year), card)
    return replace(after, added=minus(state.added, (card,)))


def _replace(state: State, words: Names) -> State:
    return _laid(state, NUMBER[FOES][words[0]])


def _buy_off(state: State, words: Names) -> State:
    emperor = emperor_of(state.year)
    paid = _removed(state, emperor, NUMBER[BYZANTINES][words[2]])
    return _removed(paid, 1 - emperor, NUMBER[FOES][words[0]])


_RESPONSES: dict[str, Callable[[State, Names], State]] = {
    "defend": _defend,
    "negotiate": _negotiate,
    "replace": _replace,
    "buy-off": _buy_off,
}


# The battle and the end of the year


def _fight(state: State) -> State:
    """Compare the forces, change territory and legacy, and go on to the end of the year or of the game."""
    emperor = emperor_of(state.year)
    own, theirs = state.melds[emperor], state.melds[1 - emperor]
    before = state.territory
    after = min(HIGHEST, before + force(own) - force(theirs))
    change = -FALLEN if after <= 0 else (after > before) - (after < before) + legacy(own)
    for seat in (0, 1):
        state = _put_away(state, deck_of(seat, state.year), state.melds[seat])
    fought = replace(
        state,
        territory=after,
        legacy=put(state.legacy, emperor, state.legacy[emperor] + change),
        melds=((), ()),
        added=(),
        battle=(own, theirs, (state.year, before, after, change)),
    )
    if after <= 0 or state.year == YEARS:
        return replace(fought, step="over")
    return ask(fought, "keep") if any(fought.hands) else end_year(fought, (), ())


def end_year(state: State, first: Cards, second: Cards) -> State:
    """Discard all cards but the kept ones, exchange those, and begin the next year."""
    discards = state.discards
    for seat, kept in enumerate((first, second)):
        deck = deck_of(seat, state.year)
        discards = put(discards, deck, plus(discards[deck], minus(state.hands[seat], kept)))
    return onward(
        replace(
            state,
            step="begin",
            year=state.year + 1,
            discards=discards,
            buried=tuple([_remembered(state, batch) for batch in state.buried]),
            hands=(second, first),
            shown=((), ()),
            received=(second[0] if second else -1, first[0] if first else -1),
            redrawn=(0, 0),
            played=((), ()),
        )
    )


def _remembered(state: State, batch: Batch) -> Batch:
    """Note which of this year's redrawn cards the other seat can infer: it saw them drawn and never again."""
    year, seat, cards, _ = batch
    if year != state.year:
        return batch
    return year, seat, cards, minus(known_of(state, seat, True), state.hands[seat])
