"""The moves of Byzantium: which are legal, and what each does to the state (docs/rules/byzantium.md "Play")."""

from __future__ import annotations

from dataclasses import replace

from byzanz.games.byzantium.state import (
    CARD,
    EMPTY,
    HAND_SIZE,
    NAME,
    NO_CARDS,
    PACK,
    PASS,
    SLOT,
    SLOTS,
    SUIT,
    Names,
    State,
    numbers,
    openings,
    placed,
    playable,
    refusal,
)
from byzanz.moves import IllegalMove, Move, NotAwaited, Shuffle

PUTS = {
    (card, slot): Move("put", (NAME[card], "on", SLOTS[slot]))
    for slot in range(len(SLOTS))
    for card in SUIT[SLOTS[slot][0]]
}


def due_shuffle(state: State) -> Shuffle | None:
    """Return the shuffle before a round, of all cards but the Aces."""
    return Shuffle(f"deal:{state.round + 1}", NAME) if state.step == "deal" else None


def legal_moves(state: State, seat: int) -> tuple[Move, ...]:
    """Return the placements by card and then by slot, or `pass` if there is none."""
    if seat < 0 or seat != state.turn:
        return ()
    slots = sorted(openings(state.cross).items())
    found = [PUTS[card, slot] for card in state.hands[seat] for slot, cards in slots if card in cards]
    return tuple(found) or (PASS,)


def apply(state: State, seat: int | None, move: Move) -> State:
    """Return the state after a move in canonical form.

    Raises:
        IllegalMove, NotAwaited: docs/rules/byzantium.md does not allow it.
    """
    if seat is None:
        return _deal(state, move)
    _check_turn(state, seat)
    if move.verb == "put":
        return _put(state, seat, move.args)
    if move != PASS:
        raise IllegalMove("Place a card: write put, the card, on and the slot.")
    return _pass(state, seat)


def _check_turn(state: State, seat: int) -> None:
    if not 0 <= seat < len(state.hands):
        raise NotAwaited("There is no seat %(seat)s at this table.", seat=seat)
    if state.step == "deal":
        raise NotAwaited("The cards have not been dealt yet.")
    if state.step == "over":
        raise NotAwaited("The game is over.")
    if seat in state.passed or not state.hands[seat]:
        raise NotAwaited("You are out for this round.")
    if seat != state.turn:
        raise NotAwaited("It is not your turn.")


def _deal(state: State, move: Move) -> State:
    """Deal from the front, hand by hand from the dealer's left; the remaining cards are the kitty."""
    due = due_shuffle(state)
    if due is None or move.verb != "shuffle":
        raise IllegalMove("Nothing is to be shuffled now.")
    if move.args[:1] != (due.label,) or sorted(move.args[1:]) != sorted(NAME):
        raise IllegalMove(
            "The shuffle is “%(label)s”, followed by all %(cards)s cards but the Aces.",
            label=due.label,
            cards=len(PACK),
        )
    cards, seats = numbers(move.args[1:]), len(state.hands)
    size, starter = HAND_SIZE[seats], state.round % seats
    ends = [size * ((seat - starter) % seats + 1) for seat in range(seats)]
    return replace(
        state,
        step="put",
        number=state.number + 1,
        round=state.round + 1,
        turn=starter,
        kitty=tuple(sorted(cards[size * seats :])),
        hands=tuple(tuple(sorted(cards[end - size : end])) for end in ends),
        cross=NO_CARDS,
        passed=(),
        lacks=((),) * seats,
    )


def _put(state: State, seat: int, words: Names) -> State:
    if len(words) != 3 or words[1] != "on":
        raise IllegalMove("Write put, a card, on and a slot, such as put 7r on el.")
    if words[0] not in CARD:
        raise IllegalMove("There is no card %(word)s in this game.", word=words[0][:20])
    if words[2] not in SLOT:
        raise IllegalMove("There is no slot %(word)s on the cross.", word=words[2][:20])
    card, slot = CARD[words[0]], SLOT[words[2]]
    if card not in state.hands[seat]:
        raise IllegalMove("You do not hold %(card)s.", card=words[0])
    if card not in openings(state.cross).get(slot, ()):
        raise refusal(state.cross, slot, card)
    hand = tuple([other for other in state.hands[seat] if other != card])
    hands = (*state.hands[:seat], hand, *state.hands[seat + 1 :])
    return _onward(replace(state, hands=hands, cross=placed(state.cross, slot, card)), seat)


def _pass(state: State, seat: int) -> State:
    """Take a seat out for the round: a card once unplayable stays unplayable (docs/rules/byzantium.md "Play")."""
    can = playable(state.cross)
    card = next((card for card in state.hands[seat] if card in can), EMPTY)
    if card != EMPTY:
        raise IllegalMove("You can place %(card)s, so you may not pass.", card=NAME[card])
    lacks = (*state.lacks[:seat], tuple(can), *state.lacks[seat + 1 :])
    return _onward(replace(state, passed=(*state.passed, seat), lacks=lacks), seat)


def _onward(state: State, seat: int) -> State:
    """Pass the turn clockwise to the next seat that is not out; end the round if all are."""
    seats = len(state.hands)
    for step in range(1, seats + 1):
        other = (seat + step) % seats
        if state.hands[other] and other not in state.passed:
            return replace(state, turn=other, number=state.number + 1)
    last = state.round == seats
    return replace(state, step="over" if last else "deal", turn=-1, shown=(*state.shown, state.hands))
