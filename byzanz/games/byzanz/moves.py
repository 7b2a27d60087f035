"""The effect of each move of Byzanz on the state: bidding, tax, market, hand limit, sales, the end.

Each function in `ANSWERS` takes a state, the seat to move and the words after the verb, and returns the next state or
raises an IllegalMove with the reason.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from byzanz.games.byzanz.state import (
    CARD,
    GROUPS,
    MERCHANT,
    PACK,
    TABLES,
    Cards,
    Names,
    State,
    groups_in,
    is_set,
    lot_card,
    minus,
    names,
    numbers,
    of_group,
    plus,
    profit_card,
    put,
    total,
    with_bid,
    with_lot,
    with_winner,
)
from byzanz.moves import IllegalMove, Move, NotAwaited

START_HAND = 4
HAND_LIMIT = 7
PACK_NAMES = sorted(names(PACK))


def deal(state: State, move: Move) -> State:
    """Deal from the front of the shuffled pack: the hands, the cards removed unseen, the deck."""
    if state.step != "deal" or move.verb != "shuffle":
        raise IllegalMove("Nothing is to be shuffled now.")
    if move.args[:1] != ("deal",) or sorted(move.args[1:]) != PACK_NAMES:
        raise IllegalMove(
            "The shuffle must be “deal” followed by all %(cards)s cards of the pack.", cards=len(PACK)
        )
    cards = numbers(move.args[1:])
    seats = len(state.won)
    in_hands = START_HAND * seats
    dealt = in_hands + TABLES[seats].removed
    return _start_auction(
        replace(
            state,
            hands=tuple(tuple(sorted(cards[at : at + START_HAND])) for at in range(0, in_hands, START_HAND)),
            removed=tuple(sorted(cards[in_hands:dealt])),
            deck=cards[dealt:],
        ),
        starter=0,
    )


# Checks


def check_running(state: State, seat: int) -> None:
    """Refuse a seat that does not exist, and every move before the deal and after the end."""
    if not 0 <= seat < len(state.won):
        raise NotAwaited("There is no seat %(seat)s at this table.", seat=seat)
    if state.step == "deal":
        raise NotAwaited("The cards have not been dealt yet.")
    if state.step == "over":
        raise NotAwaited("The game is over.")


def check_asked(state: State, seat: int, verb: str) -> None:
    """Refuse a seat that is not to move, and a verb that does not answer its question."""
    if seat != state.turn or seat < 0:
        check_running(state, seat)
        if state.step != "end":
            raise NotAwaited("It is not your turn. Until it is, you can only sell sets.")
        if state.done[seat]:
            raise NotAwaited("You have already finished selling. The game is waiting for the others.")
    if (state.step, verb) in ANSWERS:
        return
    if state.step == "bid":
        raise IllegalMove("It is your turn to bid. Bid goods from your hand, or pass.")
    if state.step == "tax":
        raise IllegalMove("You won the lot. Pay one of its cards as tax first.")
    if state.step == "market":
        raise IllegalMove("It is your turn at the market. Take one group.")
    if state.step == "limit":
        raise IllegalMove(
            "You hold more than %(limit)s cards. Sell a set or discard first.", limit=HAND_LIMIT
        )
    raise IllegalMove("The last round is over. Sell your sets, then play done.")


def check_no_cards(words: Names) -> None:
    """Refuse cards after `pass` and `done`."""
    if words:
        raise IllegalMove("This move takes no cards.")


def parse_cards(words: Names) -> Cards:
    """Return the cards of a move, refusing any but the canonical order."""
    try:
        cards = [CARD[word] for word in words]
    except KeyError as unknown:
        word = str(unknown.args[0])[:20]
        raise IllegalMove("There is no card %(word)s in this game.", word=word) from None
    ordered = sorted(cards)
    if cards != ordered:
        raise IllegalMove("Write the cards in this order: %(cards)s.", cards=" ".join(names(ordered)))
    return tuple(cards)


def _hand_without(state: State, seat: int, cards: Cards) -> Cards:
    """Return a seat's hand without these cards, refusing cards that are not in it."""
    rest = list(state.hands[seat])
    try:
        for card in cards:
            rest.remove(card)
    except ValueError:
        missing = minus(cards, state.hands[seat])
        shown = " ".join(names(missing))
        if minus(missing, state.bids[seat]):
            raise IllegalMove("You do not hold %(cards)s.", cards=shown) from None
        raise IllegalMove("These cards are already in your bid: %(cards)s.", cards=shown) from None
    return tuple(rest)


# Auctions


def minimum_raise(state: State, seat: int) -> int:
    """Return the least a seat must add to its bid to become the highest bidder."""
    return max(map(total, state.bids)) - total(state.bids[seat]) + 1


def _start_auction(state: State, starter: int) -> State:
    """Reveal the next lot; the last seat without a lot card gets it without bidding."""
    size = lot_card(state)
    lot = tuple(sorted(state.deck[:size]))
    return replace(
        state,
        step="bid" if state.won.count(0) > 1 else "tax",
        number=state.number + 1,
        turn=starter,
        starter=starter,
        lot=lot,
        lots=with_lot(state, size, lot),
        deck=state.deck[size:],
    )


def _next_bidder(state: State, seat: int, passed: tuple[int, ...]) -> int:
    """Return the first seat clockwise after this one that is still in the auction, or this one if there is none."""
    seats = len(state.won)
    clockwise = [(seat + step) % seats for step in range(1, seats)]
    return next((other for other in clockwise if not state.won[other] and other not in passed), seat)


def _bid(state: State, seat: int, words: Names) -> State:
    cards = parse_cards(words)
    if not cards or MERCHANT in cards:
        raise IllegalMove("A bid is one or more goods. Merchants cannot be bid.")
    hand = _hand_without(state, seat, cards)
    if total(cards) < minimum_raise(state, seat):
        raise IllegalMove(
            "You must bid more than %(highest)s. With these cards your bid would be %(total)s.",
            highest=max(map(total, state.bids)),
            total=total(state.bids[seat]) + total(cards),
        )
    raised = replace(
        state,
        number=state.number + 1,
        turn=_next_bidder(state, seat, state.passed),
        hands=put(state.hands, seat, hand),
        known=put(state.known, seat, minus(state.known[seat], cards)),
        bids=put(state.bids, seat, plus(state.bids[seat], cards)),
        lots=with_bid(state, seat, cards),
    )
    return _win_auction(raised) if raised.turn == seat else raised


def _pass(state: State, seat: int, words: Names) -> State:
    """Return the seat's bid to its hand in the open, and go on without it."""
    check_no_cards(words)
    passed, bid = (*state.passed, seat), state.bids[seat]
    after = replace(
        state,
        number=state.number + 1,
        turn=_next_bidder(state, seat, passed),
        passed=passed,
        hands=put(state.hands, seat, plus(state.hands[seat], bid)),
        known=put(state.known, seat, plus(state.known[seat], bid)),
        bids=put(state.bids, seat, ()),
        lots=with_bid(state, seat, ()),
    )
    left = state.won.count(0) - len(passed)
    if not left:
        return _award_lot(after, passed[0], state.lot)
    return _win_auction(after) if left == 1 and after.bids[after.turn] else after


def _win_auction(state: State) -> State:
    """Move the last bidder's bid to the market and ask for the tax."""
    market = plus(state.market, state.bids[state.turn])
    return replace(state, step="tax", market=market, bids=put(state.bids, state.turn, ()), passed=())


def _tax(state: State, seat: int, words: Names) -> State:
    cards = parse_cards(words)
    if len(cards) != 1 or cards[0] not in state.lot:
        raise IllegalMove("Pay one card of the lot as tax: %(lot)s.", lot=" ".join(names(state.lot)))
    return _award_lot(state, seat, minus(state.lot, cards), market=plus(state.market, cards))


def _award_lot(state: State, seat: int, cards: Cards, **changes: Any) -> State:
    """Give a seat these cards of the lot, and the lot card."""
    won = (*state.won[:seat], lot_card(state), *state.won[seat + 1 :])
    lots = with_winner(state, seat, minus(state.lot, cards))
    return _add_to_hand(state, seat, cards, won=won, lot=(), lots=lots, passed=(), **changes)


# The market, the hand limit and sales


def _take(state: State, seat: int, words: Names) -> State:
    group = GROUPS.index(words[0]) if len(words) == 1 and words[0] in GROUPS else -1
    cards = of_group(state.market, group)
    if not cards:
        known = " ".join(GROUPS[group] for group in groups_in(state.market))
        raise IllegalMove("Take one of the groups in the market: %(groups)s.", groups=known)
    takes = (*(state.takes if state.taken else ()), (seat, names(cards)))
    market = minus(state.market, cards)
    return _add_to_hand(state, seat, cards, market=market, taken=state.taken + 1, takes=takes)


def _add_to_hand(state: State, seat: int, cards: Cards, **changes: Any) -> State:
    """Add cards to a hand in the open; a seat over the hand limit is asked to reduce it first."""
    hand = plus(state.hands[seat], cards)
    known = plus(state.known[seat], cards)
    changes |= {"hands": put(state.hands, seat, hand), "known": put(state.known, seat, known)}
    if len(hand) > HAND_LIMIT:
        return replace(state, step="limit", number=state.number + 1, turn=seat, **changes)
    return _advance(replace(state, **changes))


def _advance(state: State) -> State:
    """Go on to the next auction, the next seat at the market, the next round or the last sales."""
    won = state.won
    if 0 in won:
        last = won.index(min(filter(None, won)))
        return _start_auction(state, _next_bidder(state, last, ()))
    if state.market and state.taken < len(won):
        taker = won.index(sorted(won)[state.taken])
        return replace(state, step="market", number=state.number + 1, turn=taker)
    gone = plus(state.gone, state.market)
    closed = replace(state, won=(0,) * len(won), taken=0, market=(), gone=gone)
    if state.round == TABLES[len(won)].rounds:
        return replace(closed, step="end", number=state.number + 1, turn=-1)
    return _start_auction(replace(closed, round=state.round + 1), won.index(min(won)))


def sell(state: State, seat: int, words: Names) -> State:
    """Sell a set: one card of it is kept as profit, two leave the game."""
    check_running(state, seat)
    cards = parse_cards(words)
    if state.done[seat]:
        raise IllegalMove("You have finished selling. You cannot sell any more cards.")
    if not is_set(cards):
        raise IllegalMove(
            "A set is three cards of one good, with merchants as substitutes, or three merchants."
        )
    return _remove_from_hand(state, seat, cards, (profit_card(cards),))


def _discard(state: State, seat: int, words: Names) -> State:
    cards = parse_cards(words)
    excess = len(state.hands[seat]) - HAND_LIMIT
    if not 1 <= len(cards) <= excess:
        raise IllegalMove(
            "Discard from 1 to %(excess)s cards. The hand limit is %(limit)s.",
            excess=excess,
            limit=HAND_LIMIT,
        )
    return _remove_from_hand(state, seat, cards, ())


def _remove_from_hand(state: State, seat: int, cards: Cards, kept: Cards) -> State:
    """Remove cards from a hand, keeping some as profit; the game goes on once the seat is within the hand limit."""
    hand = _hand_without(state, seat, cards)
    after = replace(
        state,
        hands=put(state.hands, seat, hand),
        known=put(state.known, seat, minus(state.known[seat], cards)),
        kept=put(state.kept, seat, plus(state.kept[seat], kept)),
        gone=plus(state.gone, minus(cards, kept)),
    )
    within_limit = state.step == "limit" and seat == state.turn and len(hand) <= HAND_LIMIT
    return _advance(after) if within_limit else after


def _done(state: State, seat: int, words: Names) -> State:
    check_no_cards(words)
    done = (*state.done[:seat], True, *state.done[seat + 1 :])
    return replace(state, done=done, step="over" if all(done) else "end")


ANSWERS = {
    ("bid", "bid"): _bid,
    ("bid", "pass"): _pass,
    ("tax", "tax"): _tax,
    ("market", "take"): _take,
    ("limit", "discard"): _discard,
    ("end", "done"): _done,
}
"""The moves that answer the question of each step, apart from sales."""
