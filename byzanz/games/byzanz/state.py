"""The cards of Byzanz, and the state of a game (docs/rules/byzanz.md).

In a state, a card is a number from 0 to 24 in canonical order (goods by name, then by value, merchants last), so a
sorted tuple of numbers is the only form of a hand, a bid or a lot.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple, TypeAlias

from byzanz.moves import AmbiguousMove, Move, Question, UnreadableMove
from byzanz.parsing import completed, move_words, read_verb

Cards: TypeAlias = tuple[int, ...]
"""Cards as numbers, ascending (only the deck has an order of its own)."""
Names: TypeAlias = tuple[str, ...]
"""Cards by name, in canonical order."""


class Table(NamedTuple):
    """Quantities that depend on the number of players.

    Args:
        lots: the sizes of the lots of a round, in order.
        removed: how many cards are removed unseen.
        rounds: how many rounds are played.
    """

    lots: tuple[int, ...]
    removed: int
    rounds: int


TABLES = {
    3: Table((6, 4, 2), 4, 8),
    4: Table((5, 4, 3, 2), 12, 6),
    5: Table((5, 4, 3, 2, 1), 2, 6),
    6: Table((6, 5, 4, 3, 2, 1), 4, 4),
}
GROUPS = ("cloth", "grain", "olive", "spice", "wine", "wood", "merchant")
GOODS = GROUPS[:6]
MERCHANT = 24
NAME = (*(f"{good}{value}" for good in GOODS for value in (1, 2, 3, 4)), "merchant")
CARD = {name: card for card, name in enumerate(NAME)}
VALUE = (1, 2, 3, 4) * 6 + (0,)
PROFIT = (1, 2, 3, 4) * 6 + (5,)
COPIES = (6, 5, 3, 2) * 6 + (16,)
PACK: Cards = tuple(card for card, copies in enumerate(COPIES) for _ in range(copies))
PASS = Move("pass")
DONE = Move("done")
VERBS = ("bid", "pass", "tax", "take", "sell", "discard", "done")


def names(cards: Iterable[int]) -> Names:
    """Return the names of cards."""
    return tuple([NAME[card] for card in cards])


def numbers(cards: Iterable[str]) -> Cards:
    """Return the cards with these names, in the order given."""
    return tuple([CARD[name] for name in cards])


def total(cards: Cards) -> int:
    """Return the value of cards in a bid."""
    return sum([VALUE[card] for card in cards])


def groups_in(cards: Cards) -> Cards:
    """Return the groups among cards, ascending: 0 to 5 for the goods, 6 for merchants."""
    return tuple(dict.fromkeys([card // 4 for card in cards]))


def of_group(cards: Cards, group: int) -> Cards:
    """Return the cards of one group."""
    return tuple([card for card in cards if card // 4 == group])


def plus(cards: Cards, more: Cards) -> Cards:
    """Return both piles as one."""
    return tuple(sorted(cards + more))


def minus(cards: Cards, gone: Cards) -> Cards:
    """Return the cards without those gone, ignoring any that are not there."""
    rest = list(cards)
    for card in gone:
        if card in rest:
            rest.remove(card)
    return tuple(rest)


def put(piles: tuple[Cards, ...], seat: int, pile: Cards) -> tuple[Cards, ...]:
    """Return the piles of all seats, with one seat's pile replaced."""
    return (*piles[:seat], pile, *piles[seat + 1 :])


# Sets and sales


def is_set(cards: Cards) -> bool:
    """Whether cards can be sold: three of one good, merchants substituting, or three merchants."""
    return len(cards) == 3 and (cards[0] == MERCHANT or cards[0] // 4 == profit_card(cards) // 4)


def profit_card(cards: Cards) -> int:
    """Return the card of a set that becomes profit: its highest good, else a merchant."""
    return max([card for card in cards if card != MERCHANT], default=MERCHANT)


def sale_profit(sale: Move) -> int:
    """Return the profit of a sale."""
    return PROFIT[profit_card(numbers(sale.args))]


def best_sale(sales: Iterable[Move]) -> Move | None:
    """Return the sale with the most profit, of equal ones the one with the fewest merchants, then the first listed."""
    return max(sales, key=lambda sale: (sale_profit(sale), -sale.args.count("merchant")), default=None)


def hand_profit(hand: Cards) -> int:
    """Return what a hand brings when its sets are sold one after another, the best first."""
    profit = 0
    while sale := best_sale(sales_from(hand)):
        hand = minus(hand, numbers(sale.args))
        profit += sale_profit(sale)
    return profit


# The moves a hand allows


@lru_cache(maxsize=1 << 12)
def sales_from(hand: Cards) -> tuple[Move, ...]:
    """Return every set a hand can sell, in canonical order."""
    merchants = of_group(hand, MERCHANT // 4)
    sets: set[Cards] = set(combinations(merchants, 3))
    for group in groups_in(hand):
        if group != MERCHANT // 4:
            sets.update(combinations(of_group(hand, group) + merchants[:2], 3))
    return tuple([Move("sell", names(cards)) for cards in sorted(sets)])


def singles_from(verb: str, cards: Cards) -> tuple[Move, ...]:
    """Return the moves of this verb with one of the cards, in canonical order."""
    return tuple([Move(verb, (NAME[card],)) for card in dict.fromkeys(cards)])


def takes_from(market: Cards) -> tuple[Move, ...]:
    """Return the moves that take a group from the market, in canonical order."""
    return tuple([Move("take", (GROUPS[group],)) for group in groups_in(market)])


@lru_cache(maxsize=1 << 6)
def bids_from(hand: Cards, least: int) -> tuple[Move, ...]:
    """Return `pass` and every bid of at least this value, by value and then in canonical order."""
    return (PASS, *[Move("bid", names(cards)) for cards in raises_from(hand, least)])


def raises_from(hand: Cards, least: int) -> list[Cards]:
    """Return the cards of every bid of at least this value, by value and then in canonical order."""
    goods = tuple([card for card in hand if card != MERCHANT])
    return [cards for value, cards in _choices(goods) if value >= least]


@lru_cache(maxsize=1 << 9)
def _choices(goods: Cards) -> list[tuple[int, Cards]]:
    """Return every distinct choice of goods with its value, by value and then in canonical order."""
    choices = {cards for size in range(1, len(goods) + 1) for cards in combinations(goods, size)}
    return sorted([(total(cards), cards) for cards in choices])


# Reading a player's line


def read_move(text: str) -> Move:
    """Read a move in any letter case, spacing, card order and unambiguous abbreviation.

    Args:
        text: such as `b sp2 c4`, `TAKE wi` or `sell m cloth1 cloth1`.

    Raises:
        UnreadableMove, AmbiguousMove: the line is not one move; the message says what to write.
    """
    words = move_words(text)
    if not words:
        raise UnreadableMove("Write a move, such as pass or bid cloth2 wood1.")
    verb, args = read_verb(words[0], VERBS), words[1:]
    _check_count(verb, len(args))
    if verb == "take":
        return Move(verb, (_read_good(args[0], GROUPS),))
    return Move(verb, names(sorted(map(read_card, args))))


def read_card(word: str) -> int:
    """Read a card: `cloth2`, `c2`, `merchant`, `m`.

    Raises:
        UnreadableMove, AmbiguousMove: the word is not one card.
    """
    good = word.rstrip("0123456789")
    value = word[len(good) :]
    if good and not value and "merchant".startswith(good):
        return MERCHANT
    if not good or "merchant".startswith(good):
        raise UnreadableMove(
            "There is no card %(word)s. Write a good and its value, such as cloth2.", word=word[:20]
        )
    good = _read_good(good, GOODS)
    if not value:
        raise AmbiguousMove("Add a value to %(good)s, from %(good)s1 to %(good)s4.", good=good)
    if value not in ("1", "2", "3", "4"):
        raise UnreadableMove("There is no card %(word)s. Values go from 1 to 4.", word=word[:20])
    return CARD[good + value]


def _read_good(word: str, among: Sequence[str]) -> str:
    good = completed(word, among)
    if not good:
        known = ", ".join(among)
        raise UnreadableMove(
            "There is no good %(word)s; the goods are %(known)s.", word=word[:20], known=known
        )
    return good


def _check_count(verb: str, count: int) -> None:
    if verb in ("pass", "done") and count:
        raise UnreadableMove("%(verb)s takes no cards.", verb=verb)
    if verb in ("bid", "discard") and not count:
        raise UnreadableMove("Name one or more cards after %(verb)s.", verb=verb)
    if verb == "tax" and count != 1:
        raise UnreadableMove("Name one card of the lot after tax.")
    if verb == "take" and count != 1:
        raise UnreadableMove("Name one group of the market after take: a good or merchant.")
    if verb == "sell" and count != 3:
        raise UnreadableMove("Name the three cards of the set after sell.")


# ---- the state ----

QUESTION_KINDS = {"bid": "bid", "tax": "tax", "limit": "limit", "market": "take", "end": "end"}
"""The kind of question each step asks."""


class Lot(NamedTuple):
    """An auction as everyone saw it, with cards by name.

    Args:
        size: of the lot card.
        cards: the whole lot.
        bids: each seat that bid, with the cards that it added (`0 cloth2 wine1`), or passed (`0`), in order.
        winner: -1 while it is undecided.
        tax: empty until it is paid, and for a lot that nobody wanted.
    """

    size: int
    cards: Names
    bids: tuple[str, ...]
    winner: int
    tax: Names

    def bid(self, seat: int) -> Names:
        """Return all cards that a seat bid, in canonical order."""
        added = [bid.split(" ") for bid in self.bids]
        return names(
            sorted([CARD[card] for bidder, *cards in added if bidder == str(seat) for card in cards])
        )

    @property
    def bidders(self) -> tuple[int, ...]:
        """The seats that bid or passed, in the order in which they first did."""
        return tuple(dict.fromkeys(int(bid.partition(" ")[0]) for bid in self.bids))

    @property
    def others(self) -> tuple[tuple[int, int], ...]:
        """The bidders who did not win, each with all that they bid; 0 for those who only passed."""
        return tuple([(seat, total(numbers(self.bid(seat)))) for seat in self.bidders if seat != self.winner])

    @property
    def price(self) -> int:
        """The winning bid; 0 for a lot that cost nothing."""
        return total(numbers(self.bid(self.winner)))

    @property
    def taken(self) -> Names:
        """The cards that the winner took, or is to take: all but the tax."""
        rest = list(self.cards)
        for card in self.tax:
            rest.remove(card)
        return tuple(rest)


@dataclass(frozen=True)
class State:
    """A moment of a game. Every tuple with one item per seat is in seat order.

    Args:
        step: `deal`, `bid`, `tax`, `limit`, `market`, `end` or `over`.
        number: how many decisions have been opened so far.
        round: from 1.
        turn: the seat to move; -1 when no seat or every seat is.
        starter: the seat that started this auction.
        deck: in the order in which cards are drawn.
        removed: the cards removed unseen before the game.
        lot: the cards on auction.
        hands, bids, kept: the cards of each seat; a bid is not in the hand, `kept` is the profit pile.
        known: the cards of each hand that everyone saw arrive and has not seen leave.
        passed: the seats out of this auction, in the order in which they passed.
        won: the lot card of each seat this round, 0 for none.
        market, gone: the cards in the market, and those that left the game face up.
        taken: how many seats have taken from this round's market.
        done: which seats have finished selling at the end.
        lots: the latest auctions, as many as a round has and the one that runs; players look back at them.
        takes: each seat that took from the latest market, with the cards by name; in order.
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
    lots: tuple[Lot, ...]
    takes: tuple[tuple[int, Names], ...]


def undealt(seats: int) -> State:
    """Return the state before the deal: the whole pack in the deck."""
    empty: tuple[Cards, ...] = ((),) * seats
    return State(
        step="deal",
        number=0,
        round=1,
        turn=-1,
        starter=0,
        deck=PACK,
        removed=(),
        lot=(),
        hands=empty,
        bids=empty,
        known=empty,
        passed=(),
        won=(0,) * seats,
        market=(),
        taken=0,
        kept=empty,
        gone=(),
        done=(False,) * seats,
        lots=(),
        takes=(),
    )


def questions(state: State) -> dict[int, Question]:
    """Return the question of each seat to move: one seat, or at the end every seat still selling."""
    if state.turn >= 0:
        return {state.turn: Question(QUESTION_KINDS[state.step], state.number)}
    if state.step != "end":
        return {}
    question = Question("end", state.number)
    return {seat: question for seat, done in enumerate(state.done) if not done}


def lot_card(state: State) -> int:
    """Return the size of the lot on auction; each seat that has won took a larger lot card."""
    return TABLES[len(state.won)].lots[len(state.won) - state.won.count(0)]


def with_lot(state: State, size: int, cards: Cards) -> tuple[Lot, ...]:
    """Return the latest auctions with the next one begun."""
    return (*state.lots[-len(state.won) :], Lot(size, names(cards), (), -1, ()))


def with_bid(state: State, seat: int, cards: Cards) -> tuple[Lot, ...]:
    """Return the latest auctions with these cards added to a seat's bid; none for a pass."""
    lot = state.lots[-1]
    return (*state.lots[:-1], lot._replace(bids=(*lot.bids, " ".join((str(seat), *names(cards))))))


def with_winner(state: State, seat: int, tax: Cards) -> tuple[Lot, ...]:
    """Return the latest auctions with the winner of the last one."""
    return (*state.lots[:-1], state.lots[-1]._replace(winner=seat, tax=names(tax)))


def scores(state: State) -> tuple[int, ...]:
    """Return the profit of each seat."""
    return tuple(sum(PROFIT[card] for card in pile) for pile in state.kept)
