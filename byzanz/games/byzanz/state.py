"""The table of Byzanz and what a move does to it, checked: bidding, tax, market, hand limit, sales, the end.

Each function of `ANSWERS` takes a state, the seat that moves and the words after the verb, and gives the next
state or an IllegalMove with the reason (rules/byzanz.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from byzanz.games.byzanz.cards import (
    CARD,
    GROUPS,
    MERCHANT,
    PACK,
    TABLES,
    Cards,
    Names,
    groups_in,
    is_set,
    kept_of,
    minus,
    names,
    numbers,
    of_group,
    plus,
    put,
    total,
)
from byzanz.moves import IllegalMove, Move, NotAwaited

if TYPE_CHECKING:
    from dataclasses import replace as but

HANDFUL = 4
LIMIT = 7
CLOCKWISE: dict[int, list[tuple[int, ...]]] = {
    n: [(*range(seat + 1, n), *range(seat)) for seat in range(n)] for n in TABLES
}
"""The other seats, as they follow each seat, by the number of seats."""
_ALL_NAMES = sorted(names(PACK))


@dataclass(frozen=True)
class State:
    """A moment of a game. Every tuple with one item a seat is in seat order.

    Args:
        step: `deal`, `bid`, `tax`, `limit`, `market`, `end` or `over`.
        number: how many decisions have been opened so far.
        round: from 1.
        turn: the seat that bids, taxes, is over the limit or takes; -1 when it is nobody or everybody.
        starter: who started this auction.
        deck: front first.
        removed: the cards put aside unseen.
        lot: on auction now.
        hands, bids, kept: cards of each seat; bids are not in hand, kept is the profit pile.
        known: the cards of each hand that everybody saw go there and has not seen leave.
        passed: seats out of this auction, in the order of passing.
        won: the lot card of each seat this round, 0 for none.
        market, gone: cards in the market, and out of the game in the open.
        taken: how many seats have taken at this round's market.
        done: who has finished selling at the end.
    """

    step: str
    number: int
    round: int
    turn: int
    starter: int
    deck: Cards
    removed: Cards
    lot: Cards
    hands: tuple[Cards, ...]
    bids: tuple[Cards, ...]
    known: tuple[Cards, ...]
    passed: tuple[int, ...]
    won: tuple[int, ...]
    market: Cards
    taken: int
    kept: tuple[Cards, ...]
    gone: Cards
    done: tuple[bool, ...]

    def __post_init__(self) -> None:
        # A dictionary that shares no keys with other states is read in half the time, and so is each made of it.
        object.__setattr__(self, "__dict__", {**self.__dict__})


if not TYPE_CHECKING:
    _new, _set = object.__new__, object.__setattr__

    def but(state: State, **changes: Any) -> State:
        """The state but for these fields: `dataclasses.replace` in a sixth of its time."""
        other = _new(State)
        _set(other, "__dict__", state.__dict__ | changes)
        return other


def check_running(state: State, seat: int) -> None:
    """Refuse a seat that does not exist, and every move before the deal and after the end."""
    if not 0 <= seat < len(state.won):
        raise NotAwaited("There is no seat %(seat)s at this table.", seat=seat)
    if state.step == "deal":
        raise NotAwaited("The cards are not dealt yet.")
    if state.step == "over":
        raise NotAwaited("The game is over.")


def check_asked(state: State, seat: int, verb: str) -> None:
    """Refuse a seat that is asked nothing, and a verb that does not answer its question."""
    if seat != state.turn or seat < 0:
        check_running(state, seat)
        if state.step != "end":
            raise NotAwaited("It is not your turn; until then you can only sell.")
        if state.done[seat]:
            raise NotAwaited("You are done already; the game waits for others.")
    if (state.step, verb) in ANSWERS:
        return
    if state.step == "bid":
        raise IllegalMove("You are asked to bid: lay down cards or pass.")
    if state.step == "tax":
        raise IllegalMove("You won the lot: first pay one card of it as tax.")
    if state.step == "market":
        raise IllegalMove("It is your turn at the market: take one group.")
    if state.step == "limit":
        raise IllegalMove("You hold more than %(limit)s cards: first sell a set or discard.", limit=LIMIT)
    raise IllegalMove("The last round is over: sell your sets, then say done.")


def cards_of(words: Names) -> Cards:
    """The cards of a move, which must stand in canonical order."""
    try:
        cards = [CARD[word] for word in words]
    except KeyError as unknown:
        word = str(unknown.args[0])[:20]
        raise IllegalMove("There is no card %(word)s in this game.", word=word) from None
    ordered = sorted(cards)
    if cards != ordered:
        raise IllegalMove("Write the cards in this order: %(cards)s.", cards=" ".join(names(ordered)))
    return tuple(cards)


def _left_in_hand(state: State, seat: int, cards: Cards) -> Cards:
    """What is left of a hand without these cards, which must be in it."""
    hand = state.hands[seat]
    rest = list(hand)
    try:
        for card in cards:
            rest.remove(card)
    except ValueError:
        missing = " ".join(names(minus(cards, hand)))
        if minus(cards, hand + state.bids[seat]):
            raise IllegalMove("You do not hold %(cards)s.", cards=missing) from None
        raise IllegalMove("What you have laid down is not in your hand: %(cards)s.", cards=missing) from None
    return tuple(rest)


def _alone(words: Names) -> None:
    if words:
        raise IllegalMove("This move stands alone, without any card.")


def deal(state: State, move: Move) -> State:
    """Deal from the front: the hands, the cards removed unseen, the deck (rules/byzanz.md "Setup")."""
    if state.step != "deal" or move.verb != "shuffle":
        raise IllegalMove("Nothing is to be shuffled now.")
    if move.args[:1] != ("deal",) or sorted(move.args[1:]) != _ALL_NAMES:
        raise IllegalMove(
            "The shuffle is “deal” and then the whole pack of %(cards)s cards.", cards=len(PACK)
        )
    cards = numbers(move.args[1:])
    seats = len(state.won)
    aside = HANDFUL * seats
    front = aside + TABLES[seats].removed
    hands = tuple(tuple(sorted(cards[at : at + HANDFUL])) for at in range(0, aside, HANDFUL))
    dealt = but(state, hands=hands, removed=tuple(sorted(cards[aside:front])), deck=cards[front:])
    return _auction(dealt, 0)


@lru_cache(maxsize=8)
def highest(bids: tuple[Cards, ...]) -> int:
    """The highest bid, by its sum; 0 without any. Who lists bids and who checks one ask for the same."""
    return max(map(total, bids))


def lot_card(state: State) -> int:
    """The size of the lot on auction: as many lot cards of this round are gone as seats have won."""
    return TABLES[len(state.won)].lots[len(state.won) - state.won.count(0)]


def needed(state: State, seat: int) -> int:
    """What a seat must add at least to outbid all."""
    return highest(state.bids) - total(state.bids[seat]) + 1


def _auction(state: State, starter: int) -> State:
    """The next lot is revealed; the last seat without a lot card gets it without bidding."""
    size = lot_card(state)
    return but(
        state,
        step="bid" if state.won.count(0) > 1 else "tax",
        number=state.number + 1,
        turn=starter,
        starter=starter,
        lot=tuple(sorted(state.deck[:size])),
        deck=state.deck[size:],
    )


def _next(state: State, seat: int, passed: tuple[int, ...]) -> int:
    """The first seat clockwise after this one that is still in the auction; this one if it is alone."""
    won = state.won
    for other in CLOCKWISE[len(won)][seat]:
        if not won[other] and other not in passed:
            return other
    return seat


def _bid(state: State, seat: int, words: Names) -> State:
    cards = cards_of(words)
    if not cards or MERCHANT in cards:
        raise IllegalMove("A bid is one good or more; merchants cannot be bid.")
    hand = _left_in_hand(state, seat, cards)
    if total(cards) < needed(state, seat):
        raise IllegalMove(
            "The bid must be above %(highest)s; these cards make %(total)s with what you have laid down.",
            highest=highest(state.bids),
            total=total(state.bids[seat]) + total(cards),
        )
    raised = but(
        state,
        number=state.number + 1,
        turn=_next(state, seat, state.passed),
        hands=put(state.hands, seat, hand),
        known=put(state.known, seat, minus(state.known[seat], cards)),
        bids=put(state.bids, seat, plus(state.bids[seat], cards)),
    )
    return _won(raised) if raised.turn == seat else raised


def _pass(state: State, seat: int, words: Names) -> State:
    _alone(words)
    passed = (*state.passed, seat)
    after = but(
        _taken_back(state, seat) if state.bids[seat] else state,
        number=state.number + 1,
        turn=_next(state, seat, passed),
        passed=passed,
    )
    left = state.won.count(0) - len(passed)
    if not left:
        return _receive(after, passed[0], state.lot)
    return _won(after) if left == 1 and after.bids[after.turn] else after


def _taken_back(state: State, seat: int) -> State:
    """The own bid returns to hand; all saw it lie there."""
    bid = state.bids[seat]
    return but(
        state,
        hands=put(state.hands, seat, plus(state.hands[seat], bid)),
        known=put(state.known, seat, plus(state.known[seat], bid)),
        bids=put(state.bids, seat, ()),
    )


def _won(state: State) -> State:
    """The bid of the one seat left has won: it goes to the market, and the winner is to pay the tax."""
    market = plus(state.market, state.bids[state.turn])
    return but(state, step="tax", market=market, bids=put(state.bids, state.turn, ()), passed=())


def _tax(state: State, seat: int, words: Names) -> State:
    cards = cards_of(words)
    if len(cards) != 1 or cards[0] not in state.lot:
        raise IllegalMove("The tax is one card of the lot: %(lot)s.", lot=" ".join(names(state.lot)))
    return _receive(state, seat, minus(state.lot, cards), market=plus(state.market, cards))


def _receive(state: State, seat: int, cards: Cards, **changes: Any) -> State:
    """The winner takes cards of the lot into hand, and the lot card."""
    won = (*state.won[:seat], lot_card(state), *state.won[seat + 1 :])
    return _arrive(state, seat, cards, won=won, lot=(), passed=(), **changes)


def _take(state: State, seat: int, words: Names) -> State:
    group = GROUPS.index(words[0]) if len(words) == 1 and words[0] in GROUPS else -1
    cards = of_group(state.market, group)
    if not cards:
        known = " ".join(GROUPS[group] for group in groups_in(state.market))
        raise IllegalMove("Take one of the groups in the market: %(groups)s.", groups=known)
    return _arrive(state, seat, cards, market=minus(state.market, cards), taken=state.taken + 1)


def _arrive(state: State, seat: int, cards: Cards, **changes: Any) -> State:
    """Cards come to a hand in the open; then the hand limit, before anything else goes on."""
    hand = plus(state.hands[seat], cards)
    known = plus(state.known[seat], cards)
    changes |= {"hands": put(state.hands, seat, hand), "known": put(state.known, seat, known)}
    if len(hand) > LIMIT:
        return but(state, step="limit", number=state.number + 1, turn=seat, **changes)
    return _onward(but(state, **changes))


def _onward(state: State) -> State:
    """The next auction, the next seat at the market, or the next round: the lot cards tell which."""
    won = state.won
    if 0 in won:
        last = won.index(min(filter(None, won)))
        return _auction(state, _next(state, last, ()))
    if state.market and state.taken < len(won):
        return but(state, step="market", number=state.number + 1, turn=won.index(sorted(won)[state.taken]))
    gone = plus(state.gone, state.market)
    closed = but(state, won=(0,) * len(won), taken=0, market=(), gone=gone)
    if state.round == TABLES[len(won)].rounds:
        return but(closed, step="end", number=state.number + 1, turn=-1)
    return _auction(but(closed, round=state.round + 1), won.index(min(won)))


def _leave(state: State, seat: int, cards: Cards, kept: Cards) -> State:
    """Cards leave a hand, one of them perhaps for the profit pile; the game goes on after the limit."""
    hand = _left_in_hand(state, seat, cards)
    lighter = but(
        state,
        hands=put(state.hands, seat, hand),
        known=put(state.known, seat, minus(state.known[seat], cards)),
        kept=put(state.kept, seat, plus(state.kept[seat], kept)),
        gone=plus(state.gone, minus(cards, kept)),
    )
    freed = state.step == "limit" and seat == state.turn and len(hand) <= LIMIT
    return _onward(lighter) if freed else lighter


def sell(state: State, seat: int, words: Names) -> State:
    """One card of a set is kept as profit, two leave the game (rules/byzanz.md "Selling")."""
    check_running(state, seat)
    cards = cards_of(words)
    if state.done[seat]:
        raise IllegalMove("You are done: what you still hold is no longer for sale.")
    if not is_set(cards):
        raise IllegalMove("A set is three cards of one good, merchants standing in, or three merchants.")
    return _leave(state, seat, cards, (kept_of(cards),))


def _discard(state: State, seat: int, words: Names) -> State:
    cards = cards_of(words)
    spare = len(state.hands[seat]) - LIMIT
    if not 1 <= len(cards) <= spare:
        raise IllegalMove("Discard from 1 to %(spare)s cards, down to %(limit)s.", spare=spare, limit=LIMIT)
    return _leave(state, seat, cards, ())


def _done(state: State, seat: int, words: Names) -> State:
    _alone(words)
    done = (*state.done[:seat], True, *state.done[seat + 1 :])
    return but(state, done=done, step="over" if all(done) else "end")


ANSWERS = {
    ("bid", "bid"): _bid,
    ("bid", "pass"): _pass,
    ("tax", "tax"): _tax,
    ("market", "take"): _take,
    ("limit", "discard"): _discard,
    ("end", "done"): _done,
}
"""What answers the question of a step, sales apart."""
