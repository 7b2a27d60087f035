"""The moves of Empire: which are legal, and what each does to the state, checked (docs/rules/empire.md "A turn").

A choice takes a state, the seat that makes it and the words after the verb, and returns the next state or raises an
IllegalMove with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from byzanz.games.empire.battle import answer, ask_response, end_year, responses
from byzanz.games.empire.cards import (
    LIMITS,
    MOST_REDRAWN,
    Cards,
    Names,
    broken_limit,
    in_order,
    melds_from,
    minus,
    names,
    numbers,
    redraws_from,
)
from byzanz.games.empire.state import (
    SEALED,
    State,
    asked,
    check_asked,
    deck_of,
    onward,
    put,
    shuffle,
)
from byzanz.moves import IllegalMove, Move


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
