"""What a move does to the table of Empire, checked: choices under seal, responses, the battle, the end of a year.

A choice takes a state, the seat that makes it and the words after the verb, and gives the next state or an
IllegalMove with the reason (rules/empire.md "A turn").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from byzanz.games.empire.cards import (
    BYZANTINES,
    CARDS,
    FOES,
    KIND,
    LIMITS,
    MOST_REDRAWN,
    NUMBER,
    YEARS,
    Cards,
    Names,
    broken_limit,
    force,
    in_order,
    legacy,
    minus,
    names,
    numbers,
    plus,
)
from byzanz.games.empire.state import (
    AFTERWARDS,
    SEALED,
    Batch,
    State,
    ask,
    deck_of,
    emperor_of,
    known_of,
    onward,
    put,
)
from byzanz.moves import IllegalMove, Move, NotAwaited

DECLINE = Move("decline")
RESPONSES = ("defend", "negotiate", "buy-off")
"""Responses to open melds, in their order; `replace` follows a negotiation."""
START, HIGHEST, LEGACY_AT_START, FALLEN = 10, 20, 10, 3
"""Territory at the start and at most; legacy of each at the start; what a fallen Emperor loses of it."""


# Who may move


def asked(state: State) -> tuple[int, ...]:
    """The seats that owe an answer."""
    if state.step in SEALED:
        return tuple([seat for seat in choosers(state) if state.chosen[seat] is None])
    if state.step in ("defend", "replace"):
        return (1 - emperor_of(state.year),)
    return (emperor_of(state.year),) if state.step in ("negotiate", "buy-off") else ()


def choosers(state: State) -> tuple[int, ...]:
    """The seats that choose under seal in this step: all, but who has no card has none to keep."""
    return tuple([seat for seat in (0, 1) if state.step != "keep" or state.hands[seat]])


def check_asked(state: State, seat: int, verb: str) -> None:
    """Refuse a seat that may not move now, and a verb that does not answer the question."""
    if seat not in (0, 1):
        raise NotAwaited("There is no seat %(seat)s at this table.", seat=seat)
    if state.step == "over":
        raise NotAwaited("The game is over.")
    if state.step in AFTERWARDS:
        raise NotAwaited("The cards are not shuffled yet.")
    if state.step in SEALED:
        if seat not in choosers(state):
            raise NotAwaited("You have no card to keep.")
        if verb != state.step:
            raise IllegalMove("Both players are asked to %(verb)s now.", verb=state.step)
    elif seat not in asked(state):
        raise NotAwaited("It is not your turn: the other player may %(verb)s now.", verb=state.step)
    elif verb not in (state.step, "decline"):
        raise IllegalMove("You are asked to %(verb)s a card or to decline.", verb=state.step)


def _cards_of(state: State, seat: int, words: Names) -> Cards:
    """The cards of a move, which must be in hand and in canonical order."""
    hand = names(state.hands[seat])
    for word in words:
        if words.count(word) > hand.count(word):
            raise IllegalMove("Of %(card)s you hold only %(count)s.", card=word[:30], count=hand.count(word))
    if words != in_order(words):
        raise IllegalMove("Write the cards in this order: %(cards)s.", cards=" ".join(in_order(words)))
    return numbers(deck_of(seat, state.year), words)


# Choices under seal


def _redraw(state: State, seat: int, words: Names) -> State:
    if len(words) > MOST_REDRAWN:
        raise IllegalMove("Redraw at most %(most)s cards.", most=MOST_REDRAWN)
    return _sealed(state, seat, _cards_of(state, seat, words))


def _meld(state: State, seat: int, words: Names) -> State:
    cards = _cards_of(state, seat, words)
    kind = broken_limit(cards)
    if kind is not None:
        raise IllegalMove("At most %(limit)s of kind %(kind)s in a meld.", limit=LIMITS[kind], kind=kind)
    return _sealed(state, seat, cards)


def _keep(state: State, seat: int, words: Names) -> State:
    if len(words) != 1:
        raise IllegalMove("Keep exactly one card; it is passed to the other player.")
    return _sealed(state, seat, _cards_of(state, seat, words))


def _sealed(state: State, seat: int, cards: Cards) -> State:
    """A choice is laid under seal, perhaps in place of an earlier one; once all are in, they happen."""
    after = replace(state, chosen=put(state.chosen, seat, cards))
    if asked(after):
        return after
    return _OPENED[state.step](replace(after, chosen=(None, None)), *[each or () for each in after.chosen])


def _all_redraw(state: State, first: Cards, second: Cards) -> State:
    """Both bury what they throw away, then draw as many (rules/empire.md "A turn", 3)."""
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
    return _respond(replace(state, hands=hands, melds=(first, second), played=(first, second)), 0)


def _all_keep(state: State, first: Cards, second: Cards) -> State:
    """What is not kept is discarded, the kept cards change hands, the next year begins."""
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
    """Of this year's cards thrown away, the other seat has worked out those that it saw drawn and not again."""
    year, seat, cards, _ = batch
    if year != state.year:
        return batch
    return year, seat, cards, minus(known_of(state, seat, True), state.hands[seat])


_OPENED: dict[str, Callable[[State, Cards, Cards], State]] = {
    "redraw": _all_redraw,
    "meld": _all_meld,
    "keep": _all_keep,
}


# Responses to the open melds


def responses(state: State) -> tuple[Move, ...]:
    """What the asked seat may answer: `decline` first, then its cards (rules/empire.md "A turn", 4)."""
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


def _respond(state: State, start: int) -> State:
    """Ask for the next response that the open melds give cause for; after the last one the battle is fought."""
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


def _answer(state: State, move: Move) -> State:
    """A response that is listed; `decline` leaves all as it lies."""
    if move not in responses(state):
        raise _why_not(state.step)
    if move.verb != "decline":
        state = _RESPONSES[move.verb](state, move.args)
    if move.verb == "negotiate":
        return ask(state, "replace")
    answered = "negotiate" if state.step == "replace" else state.step
    return _respond(state, RESPONSES.index(answered) + 1)


def _why_not(response: str) -> IllegalMove:
    """What a response must be."""
    match response:
        case "defend":
            return IllegalMove("Defend with one card of your hand that plays in defence, or decline.")
        case "negotiate":
            return IllegalMove("Remove one northern or southern card of the Foe's meld, or decline.")
        case "replace":
            return IllegalMove(
                "Put one northern or southern card of your hand in its place, within the limits, or decline."
            )
    return IllegalMove(
        "Name a card of the Foe's meld that can be bought off, with, and a card of your meld, or decline."
    )


def _laid(state: State, card: int) -> State:
    """The Foe lays a card from hand to the meld."""
    foe = 1 - emperor_of(state.year)
    return replace(
        state,
        hands=put(state.hands, foe, minus(state.hands[foe], (card,))),
        melds=put(state.melds, foe, plus(state.melds[foe], (card,))),
        played=put(state.played, foe, plus(state.played[foe], (card,))),
    )


def _removed(state: State, seat: int, card: int) -> State:
    """A card leaves a meld: to the discards of its deck, a unique one out of the game."""
    melds = put(state.melds, seat, minus(state.melds[seat], (card,)))
    return _put_away(replace(state, melds=melds), deck_of(seat, state.year), (card,))


def _put_away(state: State, deck: int, cards: Cards) -> State:
    """Melded cards go to the discards, unique ones out of the game."""
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
    """Force against force, territory, legacy; then the end of the year or of the game."""
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
    return ask(fought, "keep") if any(fought.hands) else _all_keep(fought, (), ())


def make(state: State, seat: int, move: Move) -> State:
    """The state after a move that `check_asked` let pass."""
    if state.step in SEALED:
        return _CHOICES[move.verb](state, seat, move.args)
    return _answer(state, move)


_CHOICES = {"redraw": _redraw, "meld": _meld, "keep": _keep}
