"""The cards of Byzanz: what there is, what a hand can bid and sell, and how a player's line is read.

Inside a state a card is a number from 0 to 24 in canonical order (goods by name, then value, then merchants), so
that sorted tuples of numbers are the one form of a hand, a bid or a lot (rules/byzanz.md "Cards").
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import combinations
from operator import itemgetter
from typing import NamedTuple, TypeAlias, overload

from byzanz.moves import AmbiguousMove, Move, UnreadableMove
from byzanz.parsing import completed

Cards: TypeAlias = tuple[int, ...]
"""Cards as numbers, ascending (the deck alone stands in its own order)."""
Names: TypeAlias = tuple[str, ...]
"""Cards by their names, in canonical order."""


class Table(NamedTuple):
    """What the number of players decides.

    Args:
        lots: the sizes of the lots of a round, in order.
        removed: how many cards are put aside unseen.
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
GROUP = tuple(card // 4 for card in range(len(NAME)))
VALUE = (1, 2, 3, 4) * 6 + (0,)
PROFIT = (1, 2, 3, 4) * 6 + (5,)
COPIES = (6, 5, 3, 2) * 6 + (16,)
PACK: Cards = tuple(card for card, copies in enumerate(COPIES) for _ in range(copies))
LONGEST = 1000
PASS = Move("pass")
TAKES = tuple([Move("take", (group,)) for group in GROUPS])
SINGLES = {verb: tuple([Move(verb, (name,)) for name in NAME]) for verb in ("tax", "discard")}
_asked_again = lru_cache(maxsize=8)
"""For lists of moves: whoever looks for forced moves and whoever then chooses ask for the same one."""
_sum = itemgetter(0)
_value = VALUE.__getitem__
VERBS = ("bid", "pass", "tax", "take", "sell", "discard", "done")


def names(cards: Iterable[int]) -> Names:
    """The names of cards."""
    return tuple([NAME[card] for card in cards])


def numbers(cards: Iterable[str]) -> Cards:
    """The cards of these names, in the order given."""
    return tuple([CARD[name] for name in cards])


def total(cards: Cards) -> int:
    """What cards are worth in a bid."""
    return sum(map(_value, cards))


def groups_in(cards: Cards) -> Cards:
    """The groups among cards: 0 to 5 for the goods, 6 for merchants, ascending."""
    return tuple(dict.fromkeys([GROUP[card] for card in cards]))


def of_group(cards: Cards, group: int) -> Cards:
    """The cards of one group."""
    return cards[bisect_left(cards, 4 * group) : bisect_left(cards, 4 * group + 4)]


def plus(cards: Cards, more: Cards) -> Cards:
    """Both together."""
    return tuple(sorted(cards + more)) if more else cards


def minus(cards: Cards, gone: Cards) -> Cards:
    """The cards without those gone, as far as they are there."""
    if not cards:
        return cards
    rest = list(cards)
    for card in gone:
        if card in rest:
            rest.remove(card)
    return tuple(rest)


def put(piles: tuple[Cards, ...], seat: int, pile: Cards) -> tuple[Cards, ...]:
    """The piles of all seats, with another pile for one."""
    table = list(piles)
    table[seat] = pile
    return tuple(table)


def is_set(cards: Cards) -> bool:
    """Whether cards can be sold: three of one good where merchants may stand in, or three merchants."""
    return len(cards) == 3 and (cards[0] == MERCHANT or cards[0] // 4 == kept_of(cards) // 4)


def kept_of(cards: Cards) -> int:
    """The card of a set that becomes profit: its highest good, else a merchant."""
    return cards[-1 - cards.count(MERCHANT) % len(cards)]


@lru_cache(maxsize=1 << 14)
def sales_from(hand: Cards) -> tuple[Move, ...]:
    """All sets that a hand can sell, in canonical order: those of its first group, then those of the rest."""
    if len(hand) < 3:
        return ()
    size = bisect_left(hand, hand[0] // 4 * 4 + 4)
    helpers = min(hand.count(MERCHANT), 2) if hand[0] != MERCHANT else 0
    rest = sales_from(hand[size:])
    return _sets(hand[:size], helpers) + rest if size + helpers >= 3 else rest


@lru_cache(maxsize=1 << 12)
def _sets(cards: Cards, merchants: int) -> tuple[Move, ...]:
    found = set(combinations(cards + (MERCHANT,) * merchants, 3))
    return tuple([Move("sell", names(each)) for each in sorted(found)])


@_asked_again
def singles_from(verb: str, cards: Cards) -> tuple[Move, ...]:
    """The moves of this verb with one of the cards, in canonical order."""
    moves = SINGLES[verb]
    return tuple([moves[card] for card in dict.fromkeys(cards)])


@_asked_again
def takes_from(market: Cards) -> tuple[Move, ...]:
    """What can be taken from a market, in canonical order."""
    return tuple([TAKES[group] for group in groups_in(market)])


class Bidding(Sequence[Move]):
    """`pass`, and some bids of a hand, each made when it is asked for; equal to the tuple of the same moves.

    A full hand can bid in over a hundred ways, of which a player chooses one, and the umpire only wants to know
    whether there are any.

    Args:
        goods: the cards that can be bid.
        ways: which of them each answer lays down, the first by 1, the second by 2, the third by 4 …; 0 is `pass`.
    """

    __slots__ = ("_goods", "_ways")

    def __init__(self, goods: Cards, ways: tuple[int, ...]) -> None:
        self._goods, self._ways = goods, ways

    def __len__(self) -> int:
        return len(self._ways)

    @overload
    def __getitem__(self, at: int) -> Move: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Move, ...]: ...
    def __getitem__(self, at: int | slice) -> Move | tuple[Move, ...]:
        if isinstance(at, slice):
            return tuple([self[each] for each in range(len(self))[at]])
        goods, way = self._goods, self._ways[at]
        return Move("bid", tuple([NAME[goods[place]] for place in _places(way)])) if way else PASS

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bidding | tuple) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


@_asked_again
def bids_from(hand: Cards, least: int) -> Sequence[Move]:
    """`pass`, and all bids that a hand holds, by their sums and then in canonical order.

    Args:
        hand: merchants among them or not.
        least: what a bid must make at least, from 1.
    """
    if total(hand) < least:
        return (PASS,)
    goods = hand[: -hand.count(MERCHANT) or None]
    twins = zip(goods, (*goods[1:], MERCHANT), strict=True)
    sums, ways = _ways(tuple([VALUE[card] if card != after else -VALUE[card] for card, after in twins]))
    return Bidding(goods, (0, *ways[bisect_left(sums, least) :]))


@lru_cache(maxsize=1 << 14)
def _ways(values: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """All ways to choose from goods, as `Bidding` has them: their sums, ascending, and the ways in canonical order.

    Args:
        values: of the goods, which stand in canonical order; negative where the next is the same card.
    """
    choices: list[tuple[int, int]] = []
    others = choices
    for at in reversed(range(len(values))):
        if values[at] > 0:  # from here on, choices without this card are those found so far
            others = choices
        value, way = abs(values[at]), 1 << at
        choices = [(value, way), *[(value + more, way | ways) for more, ways in choices], *others]
    choices.sort(key=_sum)  # keeps the canonical order where sums are equal
    return tuple([each for each, _ in choices]), tuple([way for _, way in choices])


@cache
def _places(way: int) -> tuple[int, ...]:
    return tuple([at for at in range(way.bit_length()) if way >> at & 1])


def read_move(text: str) -> Move:
    """Read a line in any letter case, spacing, card order and unambiguous abbreviation (formats.md §1).

    Args:
        text: such as `b sp2 c4`, `TAKE wi` or `sell m cloth1 cloth1`.

    Raises:
        UnreadableMove, AmbiguousMove: it is not one move; the sentence says what would be.
    """
    if len(text) > LONGEST:
        raise UnreadableMove("A move is one line of at most %(longest)s characters.", longest=LONGEST)
    line = text.strip().replace("\t", " ")
    if not line:
        raise UnreadableMove("Write a move, such as pass or bid cloth2 wood1.")
    if not line.isascii() or not line.isprintable():
        raise UnreadableMove("A move is one line of plain letters, digits and spaces.")
    first, *words = line.lower().split()
    verb = _verb(first)
    _check_count(verb, len(words))
    if verb == "take":
        return Move(verb, (_good(words[0], GROUPS),))
    return Move(verb, names(sorted(map(read_card, words))))


def _verb(word: str) -> str:
    fits = completed(word, VERBS)
    if not fits:
        known = ", ".join(VERBS)
        raise UnreadableMove(
            "There is no move %(word)s; the moves are %(known)s.", word=word[:20], known=known
        )
    return fits


def _good(word: str, among: Sequence[str]) -> str:
    fits = completed(word, among)
    if not fits:
        known = ", ".join(among)
        raise UnreadableMove(
            "There is no good %(word)s; the goods are %(known)s.", word=word[:20], known=known
        )
    return fits


def _check_count(verb: str, count: int) -> None:
    if verb in ("pass", "done") and count:
        raise UnreadableMove("%(verb)s stands alone, without any card.", verb=verb)
    if verb in ("bid", "discard") and not count:
        raise UnreadableMove("Name the cards: %(verb)s and then one card or more.", verb=verb)
    if verb == "tax" and count != 1:
        raise UnreadableMove("Name one card of the lot: tax and then the card.")
    if verb == "take" and count != 1:
        raise UnreadableMove("Name one group of the market: take and then a good or merchant.")
    if verb == "sell" and count != 3:
        raise UnreadableMove("Name three cards: sell and then the cards of the set.")


def read_card(word: str) -> int:
    """The card that a player means: `cloth2`, `c2`, `merchant`, `m`.

    Raises:
        UnreadableMove, AmbiguousMove: it is not one card.
    """
    good = word.rstrip("0123456789")
    value = word[len(good) :]
    if good and not value and "merchant".startswith(good):
        return MERCHANT
    if not good or "merchant".startswith(good):
        raise UnreadableMove("There is no card %(word)s; a card is a good and its value.", word=word[:20])
    good = _good(good, GOODS)
    if not value:
        raise AmbiguousMove("%(good)s lacks its value: write %(good)s1, 2, 3 or 4.", good=good)
    if value not in ("1", "2", "3", "4"):
        raise UnreadableMove("There is no card %(word)s: values go from 1 to 4.", word=word[:20])
    return CARD[good + value]
