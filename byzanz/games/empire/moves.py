"""The moves of Empire and Foes and the battle: what each does to the state (docs/rules/empire.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from byzanz.games.empire.state import (
    BYZANTINES,
    CARDS,
    FOES,
    HIGHEST,
    KIND,
    LIMITS,
    MOST_REDRAWN,
    NUMBER,
    SEALED,
    YEARS,
    Batch,
    Cards,
    Names,
    State,
    ask,
    asked,
    broken_limit,
    check_asked,
    deck_of,
    emperor_of,
    force,
    in_order,
    known_of,
    legacy,
    melds_from,
    minus,
    names,
    numbers,
    onward,
    plus,
    put,
    redraws_from,
    shuffle,
)
from byzanz.moves import IllegalMove, Move

# ---- the battle ----

DECLINE = Move("decline")
RESPONSES = ("defend", "negotiate", "buy-off")
"""Responses to open melds, in their order; `replace` follows a negotiation."""
FALLEN = 3
"""The legacy that an Emperor loses when the Empire falls."""


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


# ---- the moves ----
# A choice takes a state, the seat that makes it and the words after the verb, and returns the next state or raises an
# IllegalMove with the reason.


def legal_moves(state: State, seat: int) -> tuple[Move, ...]:
    """Return the answers: small redraws first, strong melds first, cards to keep, or `decline` and responses."""
    if seat not in asked(state):
        return ()
    return _choices(state, seat) if state.step in SEALED else responses(state)


def replacements(state: State, seat: int) -> tuple[Move, ...]:
    """Return the choices that may replace the one that a seat has sealed (docs/formats.md §1)."""
    return _choices(state, seat) if has_sealed(state, seat) else ()


def has_sealed(state: State, seat: int) -> bool:
    """Return whether a seat has sealed a choice in this step."""
    return state.step in SEALED and seat in (0, 1) and state.chosen[seat] is not None


def apply(state: State, seat: int | None, move: Move) -> State:
    """Return the state after a move in canonical form.

    Raises:
        IllegalMove, NotAwaited: docs/rules/empire.md does not allow it.
    """
    if seat is None:
        return shuffle(state, move)
    check_asked(state, seat, move.verb)
    if state.step in SEALED:
        return _CHOICES[move.verb](state, seat, move.args)
    return answer(state, move)


def _choices(state: State, seat: int) -> tuple[Move, ...]:
    """Return all sealed choices of a seat."""
    hand = state.hands[seat]
    if state.step == "redraw":
        return redraws_from(hand)
    if state.step == "meld":
        return melds_from(hand)
    return tuple([Move("keep", names((card,))) for card in sorted(set(hand))])


def _cards_of(state: State, seat: int, words: Names) -> Cards:
    """Return the cards of a move, which must be in hand and in canonical order."""
    hand = names(state.hands[seat])
    for word in words:
        held = hand.count(word)
        if not held:
            raise IllegalMove("You do not hold %(card)s.", card=word[:30])
        if words.count(word) > held:
            raise IllegalMove("You hold only %(count)s of %(card)s.", card=word[:30], count=held)
    if words != in_order(words):
        raise IllegalMove("Write the cards in this order: %(cards)s.", cards=" ".join(in_order(words)))
    return numbers(deck_of(seat, state.year), words)


# Sealed choices


def _redraw(state: State, seat: int, words: Names) -> State:
    if len(words) > MOST_REDRAWN:
        raise IllegalMove("Redraw at most %(most)s cards.", most=MOST_REDRAWN)
    return _sealed(state, seat, _cards_of(state, seat, words))


def _meld(state: State, seat: int, words: Names) -> State:
    cards = _cards_of(state, seat, words)
    kind = broken_limit(cards)
    if kind is not None:
        raise IllegalMove(
            "A meld may have at most %(limit)s of kind %(kind)s.", limit=LIMITS[kind], kind=kind
        )
    return _sealed(state, seat, cards)


def _keep(state: State, seat: int, words: Names) -> State:
    if len(words) != 1:
        raise IllegalMove("Keep exactly one card; it is passed to the other player.")
    return _sealed(state, seat, _cards_of(state, seat, words))


def _sealed(state: State, seat: int, cards: Cards) -> State:
    """Seal a choice, perhaps in place of an earlier one; once all are in, carry them out."""
    after = replace(state, chosen=put(state.chosen, seat, cards))
    if asked(after):
        return after
    return _OPENED[state.step](replace(after, chosen=(None, None)), *[each or () for each in after.chosen])


def _all_redraw(state: State, first: Cards, second: Cards) -> State:
    """Both put what they throw away face down and draw as many cards (docs/rules/empire.md "A turn", 3)."""
    thrown = (first, second)
    batches = tuple([(state.year, seat, thrown[seat], ()) for seat in (0, 1) if thrown[seat]])
    return onward(
        replace(
            state,
            step="redrawing",
            hands=(minus(state.hands[0], first), minus(state.hands[1], second)),
            buried=state.buried + batches,
            redrawn=(len(first), len(second)),
        )
    )


def _all_meld(state: State, first: Cards, second: Cards) -> State:
    hands = (minus(state.hands[0], first), minus(state.hands[1], second))
    return ask_response(replace(state, hands=hands, melds=(first, second), played=(first, second)), 0)


_CHOICES = {"redraw": _redraw, "meld": _meld, "keep": _keep}
_OPENED: dict[str, Callable[[State, Cards, Cards], State]] = {
    "redraw": _all_redraw,
    "meld": _all_meld,
    "keep": end_year,
}
