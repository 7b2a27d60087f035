"""Byzanz, version 1: an auction of goods for three to six players, exactly as rules/byzanz.md.

Inside a state a card is a small number in canonical order, so that hands are sorted tuples and compare at once; moves and
views call cards by their names. Nothing here knows a clock, a file or a generator of chance.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, pairwise
from typing import Any, ClassVar, NamedTuple, TypeAlias

from byzanz.rules import (
    ALL,
    AmbiguousMove,
    BadSetup,
    Draw,
    IllegalMove,
    Move,
    NotAwaited,
    Outcome,
    Question,
    Rules,
    Shuffle,
    UnreadableMove,
    Viewer,
)

Cards: TypeAlias = tuple[int, ...]
"""Cards as numbers, ascending, which is canonical order (the deck alone stands in its own order)."""
Names: TypeAlias = tuple[str, ...]
"""Cards by their names, in canonical order."""


class Table(NamedTuple):
    """What the number of players decides (rules/byzanz.md "Cards")."""

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
MERCHANT = 24
NAME = (*(f"{good}{value}" for good in GROUPS[:6] for value in (1, 2, 3, 4)), "merchant")
CARD = {name: card for card, name in enumerate(NAME)}
VALUE = (1, 2, 3, 4) * 6 + (0,)
PROFIT = (1, 2, 3, 4) * 6 + (5,)
COPIES = (6, 5, 3, 2) * 6 + (16,)
PACK: Cards = tuple(card for card in range(25) for _ in range(COPIES[card]))
HANDFUL = 4
LIMIT = 7
LONGEST = 1000
VERBS = ("bid", "pass", "tax", "take", "sell", "discard", "done")
KIND = {"bid": "bid", "tax": "tax", "limit": "limit", "market": "take", "end": "end"}
PASS = Move("pass")
DONE = Move("done")


@dataclass(frozen=True, slots=True)
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
        taken: how many seats have had their turn at this round's market.
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


@dataclass(frozen=True, slots=True)
class View:
    """What one viewer knows of a moment; field for field as `State` where the names agree, with cards by name.

    Args:
        viewer: a seat, `public` or `all`.
        lot_cards: the sizes of the lots of a round, in order; lot_card: the one on auction.
        awaited: the seats that are asked something; question: what the viewer is asked.
        highest, leader: the highest standing bid, 0 and None without one. totals: the sum of each bid.
        market: the groups there are, each good with its cards.
        hands: None where hidden from the viewer. profits: points of each profit pile.
        deck, removed: None unless the viewer is ALL.
    """

    viewer: Viewer
    seats: int
    step: str
    number: int
    round: int
    rounds: int
    lot_cards: tuple[int, ...]
    lot_card: int | None
    lot: Names
    awaited: tuple[int, ...]
    question: str | None
    turn: int | None
    starter: int
    highest: int
    leader: int | None
    bids: tuple[Names, ...]
    totals: tuple[int, ...]
    passed: tuple[int, ...]
    won: tuple[int | None, ...]
    market: tuple[tuple[str, Names], ...]
    taken: int
    hands: tuple[Names | None, ...]
    hand_sizes: tuple[int, ...]
    known: tuple[Names, ...]
    kept: tuple[Names, ...]
    profits: tuple[int, ...]
    gone: Names
    deck_size: int
    removed_size: int
    deck: Names | None
    removed: Names | None
    done: tuple[bool, ...]

    @property
    def hand(self) -> Names | None:
        """The viewer's own hand; None for one who holds none."""
        return self.hands[self.viewer] if isinstance(self.viewer, int) else None


class Byzanz(Rules[State, View]):
    """The rules of Byzanz (rules/byzanz.md)."""

    slug: ClassVar[str] = "byzanz"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Byzanz"
    seats: ClassVar[range] = range(3, 7)
    state_type: ClassVar[type] = State
    state_format: ClassVar[int] = 1

    def setup(self, seats: int, options: Mapping[str, Any]) -> State:
        """The undealt pack; Byzanz has no options."""
        if seats not in TABLES:
            raise BadSetup("Byzanz is for 3 to 6 players, not %(seats)s.", seats=seats)
        if options:
            raise BadSetup("Byzanz has no option %(option)s.", option=min(map(str, options)))
        none: tuple[Cards, ...] = ((),) * seats
        return State(
            "deal",
            0,
            1,
            -1,
            0,
            PACK,
            (),
            (),
            none,
            none,
            none,
            (),
            (0,) * seats,
            (),
            0,
            none,
            (),
            (False,) * seats,
        )

    def chance(self, state: State) -> Shuffle | None:
        """The one shuffle of the game, before everything else."""
        return Shuffle("deal", _names(PACK)) if state.step == "deal" else None

    def awaited(self, state: State) -> dict[int, Question]:
        """The seat whose turn it is; at the end all that have not said `done`."""
        if state.step == "end":
            return {seat: Question("end", state.number) for seat, done in enumerate(state.done) if not done}
        return {} if state.turn < 0 else {state.turn: Question(KIND[state.step], state.number)}

    def moves(self, state: State, seat: int) -> tuple[Move, ...]:
        """The answers, small first: `pass` and bids by their sum, taxes and groups in canonical order, sales before discards and `done`.

        A `discard` of several cards is legal where it stays at seven, and not listed.
        """
        if state.step == "end":
            return (
                (*_sales(state.hands[seat]), DONE)
                if 0 <= seat < len(state.done) and not state.done[seat]
                else ()
            )
        if seat != state.turn or seat < 0:
            return ()
        if state.step == "bid":
            totals, bids = _offers(state.hands[seat])
            return (PASS, *bids[bisect_left(totals, _needed(state, seat)) :])
        if state.step == "tax":
            return tuple(_TAXES[card] for card in sorted(set(state.lot)))
        if state.step == "market":
            return tuple(_TAKES[group] for group in sorted({card // 4 for card in state.market}))
        hand = state.hands[seat]
        return (*_sales(hand), *(_DISCARDS[card] for card in sorted(set(hand))))

    def asides(self, state: State, seat: int) -> tuple[Move, ...]:
        """Sales, whenever the game runs and they are not among the answers (rules/byzanz.md "Selling")."""
        if state.step in ("deal", "end", "over") or not 0 <= seat < len(state.hands):
            return ()
        return () if state.step == "limit" and seat == state.turn else _sales(state.hands[seat])

    def is_aside(self, state: State, seat: int, move: Move) -> bool:
        """A sale, unless the seat is over the limit or asked for its last sales."""
        question = self.awaited(state).get(seat)
        return move.verb == "sell" and (question is None or question.kind not in ("limit", "end"))

    def apply(self, state: State, seat: int | None, move: Move) -> State:
        """The state after a move; refuses whatever rules/byzanz.md does not allow, and words out of canonical form."""
        if seat is None:
            return _deal(state, move)
        _check_running(state, seat)
        if move.verb == "sell":
            return _sell(state, seat, _cards(move.args))
        _check_asked(state, seat)
        if (state.step, move.verb) not in _ANSWERS:
            raise _wrong_verb(state.step)
        return _ANSWERS[state.step, move.verb](state, seat, move.args)

    def view(self, state: State, viewer: Viewer) -> View:
        """What a viewer knows: hidden are the hands of others, the deck and the removed cards (rules/byzanz.md "Public and hidden")."""
        everything = viewer == ALL
        table = TABLES[len(state.won)]
        awaited = self.awaited(state)
        question = awaited.get(viewer) if isinstance(viewer, int) else None
        totals = tuple(map(_total, state.bids))
        highest = max(totals)
        on_auction = state.step in ("bid", "tax")
        return View(
            viewer=viewer,
            seats=len(state.won),
            step=state.step,
            number=state.number,
            round=state.round,
            rounds=table.rounds,
            lot_cards=table.lots,
            lot_card=table.lots[len(state.won) - state.won.count(0)] if on_auction else None,
            lot=_names(state.lot),
            awaited=tuple(awaited),
            question=str(question) if question else None,
            turn=state.turn if state.turn >= 0 else None,
            starter=state.starter,
            highest=highest,
            leader=totals.index(highest) if highest else None,
            bids=tuple(map(_names, state.bids)),
            totals=totals,
            passed=state.passed,
            won=tuple(size or None for size in state.won),
            market=tuple(
                (good, _names(cards))
                for group, good in enumerate(GROUPS)
                if (cards := _group(state.market, group))
            ),
            taken=state.taken,
            hands=tuple(
                _names(hand) if everything or seat == viewer else None
                for seat, hand in enumerate(state.hands)
            ),
            hand_sizes=tuple(map(len, state.hands)),
            known=tuple(map(_names, state.known)),
            kept=tuple(map(_names, state.kept)),
            profits=self.scores(state),
            gone=_names(state.gone),
            deck_size=len(state.deck),
            removed_size=len(state.removed),
            deck=_names(state.deck) if everything else None,
            removed=_names(state.removed) if everything else None,
            done=state.done,
        )

    def told(self, move: Move, seat: int | None, viewer: Viewer, settled: bool) -> str:
        """Every move is public except the order of the cards."""
        return "shuffle deal" if seat is None and viewer != ALL else str(move)

    def worlds(self, view: View, draw: Draw) -> State:
        """One state that gives this view: unseen cards are dealt anew to hidden hands beside what is known there, to the removed and the deck."""
        if view.step == "deal":
            return self.setup(view.seats, {})
        hands = [_read(view.known[seat] if hand is None else hand) for seat, hand in enumerate(view.hands)]
        deck, removed = _read(view.deck or ()), _read(view.removed or ())
        market = _read(name for _, cards in view.market for name in cards)
        in_sight = [market, *map(_read, (view.lot, view.gone, *view.bids, *view.kept)), *hands, deck, removed]
        pool = _shuffled(_minus(PACK, tuple(sorted(sum(in_sight, ())))), draw)
        for seat, hand in enumerate(hands):
            hands[seat] = tuple(
                sorted((*hand, *(pool.pop() for _ in range(view.hand_sizes[seat] - len(hand)))))
            )
        removed += tuple(pool.pop() for _ in range(view.removed_size - len(removed)))
        return State(
            step=view.step,
            number=view.number,
            round=view.round,
            turn=-1 if view.turn is None else view.turn,
            starter=view.starter,
            deck=deck + tuple(pool),
            removed=tuple(sorted(removed)),
            lot=_read(view.lot),
            hands=tuple(hands),
            bids=tuple(map(_read, view.bids)),
            known=tuple(map(_read, view.known)),
            passed=view.passed,
            won=tuple(size or 0 for size in view.won),
            market=market,
            taken=view.taken,
            kept=tuple(map(_read, view.kept)),
            gone=_read(view.gone),
            done=view.done,
        )

    def fallback(self, view: View, moves: tuple[Move, ...]) -> Move:
        """The careful move of rules/byzanz.md "What is played for a seat that does not answer"; ties go to the first in canonical order."""
        if view.step == "bid":
            return PASS
        if view.step == "tax":
            return min(moves, key=lambda move: VALUE[CARD[move.args[0]]] or 9)
        if view.step == "market":
            groups = dict(view.market)
            return max(moves, key=lambda move: sum(VALUE[CARD[name]] or 2 for name in groups[move.args[0]]))
        sales = [move for move in moves if move.verb == "sell"]
        if view.step == "limit" and sales:
            return max(sales, key=lambda move: PROFIT[_keep(_read(move.args))])
        if sales:
            return max(
                sales, key=lambda move: (PROFIT[_keep(_read(move.args))], -move.args.count("merchant"))
            )
        return DONE if view.step == "end" else min(moves, key=lambda move: VALUE[CARD[move.args[0]]] or 9)

    def appraise(self, view: View) -> float:
        """Profit so far, and what the cards in hand, in the bid and in a lot nearly won may still bring."""
        if not isinstance(view.viewer, int):
            return 0.0
        seat = view.viewer
        left = (view.rounds - view.round + 1) / view.rounds if view.step not in ("end", "over") else 0.0
        hand, bid, lot = _read(view.hand or ()), _read(view.bids[seat]), _read(view.lot)
        if view.won[seat] or view.step not in ("bid", "tax"):
            return view.profits[seat] + _worth(hand, left)
        waiting = [size for size in view.lot_cards if size < (view.lot_card or 0)]
        later = 0.7 * sum(waiting) / len(waiting) if waiting else 0.7
        lost = _worth(tuple(sorted(hand + bid)), left) + later * left
        if view.leader != seat:
            return view.profits[seat] + lost
        worst = min(lot, key=lambda card: VALUE[card] or 3)
        gained = _worth(tuple(sorted(hand + _minus(lot, (worst,)))), left)
        return view.profits[seat] + 0.5 * lost + 0.5 * gained

    def scores(self, state: State) -> tuple[int, ...]:
        """The profit of each seat."""
        return tuple(sum(PROFIT[card] for card in pile) for pile in state.kept)

    def outcome(self, state: State) -> Outcome | None:
        """Most profit wins, then most cards in hand, then the win is shared (rules/byzanz.md "End")."""
        if state.step != "over":
            return None
        scores = self.scores(state)
        ranks = [(score, len(hand)) for score, hand in zip(scores, state.hands, strict=True)]
        best = max(ranks)
        return Outcome(scores, tuple(seat for seat, rank in enumerate(ranks) if rank == best), "finished")

    def parse(self, text: str) -> Move:
        """Read a player's line: `b sp2 c4`, `TAKE w`, `sell m cloth1 cloth1`."""
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
        return Move(verb, _names(sorted(map(_card, words))))


# Cards


def _names(cards: Iterable[int]) -> Names:
    return tuple(NAME[card] for card in cards)


def _read(names: Iterable[str]) -> Cards:
    return tuple(CARD[name] for name in names)


def _total(cards: Cards) -> int:
    return sum(VALUE[card] for card in cards)


def _group(cards: Cards, group: int) -> Cards:
    return tuple(card for card in cards if card // 4 == group)


def _plus(cards: Cards, more: Cards) -> Cards:
    return tuple(sorted(cards + more))


def _minus(cards: Cards, gone: Cards) -> Cards:
    """The cards without those gone, as far as they are there."""
    rest = list(cards)
    for card in gone:
        if card in rest:
            rest.remove(card)
    return tuple(rest)


def _put(piles: tuple[Cards, ...], seat: int, pile: Cards) -> tuple[Cards, ...]:
    return (*piles[:seat], pile, *piles[seat + 1 :])


def _shuffled(cards: Cards, draw: Draw) -> list[int]:
    pool = list(cards)
    for last in range(len(pool) - 1, 0, -1):
        other = draw(last + 1)
        pool[last], pool[other] = pool[other], pool[last]
    return pool


_TAXES = tuple(Move("tax", (name,)) for name in NAME)
_TAKES = tuple(Move("take", (group,)) for group in GROUPS)
_DISCARDS = tuple(Move("discard", (name,)) for name in NAME)


@lru_cache(maxsize=1 << 15)
def _offers(hand: Cards) -> tuple[tuple[int, ...], tuple[Move, ...]]:
    """All bids that a hand can lay down, by their sums and then in canonical order; the sums apart."""
    goods = [card for card in hand if card != MERCHANT]
    distinct = {cards for size in range(1, len(goods) + 1) for cards in combinations(goods, size)}
    ranked = sorted((_total(cards), cards) for cards in distinct)
    return tuple(total for total, _ in ranked), tuple(Move("bid", _names(cards)) for _, cards in ranked)


@lru_cache(maxsize=1 << 15)
def _sales(hand: Cards) -> tuple[Move, ...]:
    """All sets that a hand can sell, in canonical order."""
    return tuple(
        Move("sell", _names(cards)) for cards in sorted(set(combinations(hand, 3))) if _is_set(cards)
    )


def _is_set(cards: Cards) -> bool:
    """Three of one good where merchants stand in, or three merchants; merchants come last in canonical order."""
    return len(cards) == 3 and len({card // 4 for card in cards if card != MERCHANT}) <= 1


def _keep(cards: Cards) -> int:
    """The card of a set that becomes profit: its highest good, else a merchant."""
    return max((card for card in cards if card != MERCHANT), default=MERCHANT)


@lru_cache(maxsize=1 << 16)
def _worth(hand: Cards, left: float) -> float:
    """A guess at what a hand will bring: its sets, and for the rest a share that shrinks with the time left."""
    sets = _sales(hand)
    rest = sorted((1.6 if card == MERCHANT else 0.2 + 0.25 * VALUE[card] for card in hand), reverse=True)
    loose = left * sum(rest[:LIMIT])
    if not sets:
        return loose + 0.01 * len(hand)
    best = max(
        map(_read, (move.args for move in sets)),
        key=lambda cards: (PROFIT[_keep(cards)], -cards.count(MERCHANT)),
    )
    return max(loose, 0.97 * PROFIT[_keep(best)] + _worth(_minus(hand, best), left))


# Reading


def _verb(word: str) -> str:
    fits = [verb for verb in VERBS if verb.startswith(word)]
    if not fits:
        raise UnreadableMove(
            "There is no move %(word)s; the moves are %(verbs)s.", word=word[:20], verbs=", ".join(VERBS)
        )
    if len(fits) > 1:
        raise AmbiguousMove(
            "%(word)s can mean %(meanings)s; write more letters.", word=word, meanings=" or ".join(fits)
        )
    return fits[0]


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


def _good(word: str, among: Sequence[str]) -> str:
    fits = [good for good in among if good.startswith(word)]
    if not fits:
        raise UnreadableMove(
            "There is no good %(word)s; the goods are %(goods)s.", word=word[:20], goods=", ".join(among)
        )
    if len(fits) > 1:
        raise AmbiguousMove(
            "%(word)s can mean %(meanings)s; write more letters.", word=word, meanings=" or ".join(fits)
        )
    return fits[0]


def _card(word: str) -> int:
    good, value = word.rstrip("0123456789"), word[len(word.rstrip("0123456789")) :]
    if not value and "merchant".startswith(good):
        return MERCHANT
    if not good or (value and "merchant".startswith(good)):
        raise UnreadableMove(
            "There is no card %(word)s; a card is a good and its value, or merchant.", word=word[:20]
        )
    good = _good(good, GROUPS[:6])
    if not value:
        raise AmbiguousMove("%(good)s lacks its value: write %(good)s1 to %(good)s4.", good=good)
    if value not in ("1", "2", "3", "4"):
        raise UnreadableMove("There is no card %(word)s; values go from 1 to 4.", word=word[:20])
    return CARD[good + value]


# Checking


def _check_running(state: State, seat: int) -> None:
    if not 0 <= seat < len(state.won):
        raise NotAwaited("There is no seat %(seat)s at this table.", seat=seat)
    if state.step == "deal":
        raise NotAwaited("The cards are not dealt yet.")
    if state.step == "over":
        raise NotAwaited("The game is over.")


def _check_asked(state: State, seat: int) -> None:
    if state.step == "end":
        if state.done[seat]:
            raise NotAwaited("You are done already; the game waits for others.")
    elif seat != state.turn:
        raise NotAwaited("It is not your turn; until then you can only sell.")


def _wrong_verb(step: str) -> IllegalMove:
    if step == "bid":
        return IllegalMove("You are asked to bid: lay down cards or pass.")
    if step == "tax":
        return IllegalMove("You won the lot: first pay one card of it as tax.")
    if step == "market":
        return IllegalMove("It is your turn at the market: take one group.")
    if step == "limit":
        return IllegalMove("You hold more than %(limit)s cards: first sell a set or discard.", limit=LIMIT)
    return IllegalMove("The last round is over: sell your sets, then say done.")


def _cards(words: Names) -> Cards:
    """The cards of a move, which stand in canonical order."""
    for word in words:
        if word not in CARD:
            raise IllegalMove("There is no card %(word)s in this game.", word=word[:20])
    cards = _read(words)
    if any(card > after for card, after in pairwise(cards)):
        raise IllegalMove("Write the cards in this order: %(cards)s.", cards=" ".join(_names(sorted(cards))))
    return cards


def _from_hand(state: State, seat: int, cards: Cards) -> Cards:
    """What is left of a hand without these cards, which must be in it."""
    hand = state.hands[seat]
    rest = _minus(hand, cards)
    if len(rest) != len(hand) - len(cards):
        missing = " ".join(_names(_minus(cards, hand)))
        if _minus(cards, _plus(hand, state.bids[seat])):
            raise IllegalMove("You do not hold %(cards)s.", cards=missing)
        raise IllegalMove("What you have laid down is no longer in your hand: %(cards)s.", cards=missing)
    return rest


# Playing


def _deal(state: State, move: Move) -> State:
    if state.step != "deal" or move.verb != "shuffle":
        raise IllegalMove("Nothing is to be shuffled now.")
    if move.args[:1] != ("deal",) or sorted(move.args[1:]) != sorted(_names(PACK)):
        raise IllegalMove(
            "The deal is shuffle deal and then the whole pack of %(cards)s cards.", cards=len(PACK)
        )
    cards = _read(move.args[1:])
    seats = len(state.won)
    aside = HANDFUL * seats
    front = aside + TABLES[seats].removed
    hands = tuple(tuple(sorted(cards[HANDFUL * seat : HANDFUL * (seat + 1)])) for seat in range(seats))
    dealt = replace(state, hands=hands, removed=tuple(sorted(cards[aside:front])), deck=cards[front:])
    return _auction(dealt, 0)


def _auction(state: State, starter: int) -> State:
    """The next lot is revealed; the last seat without a lot card gets it without bidding."""
    size = TABLES[len(state.won)].lots[len(state.won) - state.won.count(0)]
    return replace(
        state,
        step="bid" if state.won.count(0) > 1 else "tax",
        number=state.number + 1,
        turn=starter,
        starter=starter,
        lot=tuple(sorted(state.deck[:size])),
        deck=state.deck[size:],
    )


def _next(state: State, seat: int) -> int:
    """The first seat clockwise after this one that is still in the auction."""
    seats = len(state.won)
    after = ((seat + step) % seats for step in range(1, seats + 1))
    return next(other for other in after if not state.won[other] and other not in state.passed)


def _needed(state: State, seat: int) -> int:
    """What a seat must add at least to outbid all."""
    return max(map(_total, state.bids)) - _total(state.bids[seat]) + 1


def _bid(state: State, seat: int, words: Names) -> State:
    cards = _cards(words)
    if not cards or MERCHANT in cards:
        raise IllegalMove("A bid is one good or more; merchants cannot be bid.")
    hand = _from_hand(state, seat, cards)
    if _total(cards) < _needed(state, seat):
        raise IllegalMove(
            "The bid must be above %(highest)s; with what you have laid down these cards make %(total)s.",
            highest=max(map(_total, state.bids)),
            total=_total(state.bids[seat]) + _total(cards),
        )
    raised = replace(
        state,
        number=state.number + 1,
        hands=_put(state.hands, seat, hand),
        known=_put(state.known, seat, _minus(state.known[seat], cards)),
        bids=_put(state.bids, seat, _plus(state.bids[seat], cards)),
    )
    rival = _next(raised, seat)
    return _won(raised, seat) if rival == seat else replace(raised, turn=rival)


def _pass(state: State, seat: int, words: Names) -> State:
    if words:
        raise IllegalMove("pass stands alone, without any card.")
    left = replace(
        state,
        number=state.number + 1,
        passed=(*state.passed, seat),
        hands=_put(state.hands, seat, _plus(state.hands[seat], state.bids[seat])),
        known=_put(state.known, seat, _plus(state.known[seat], state.bids[seat])),
        bids=_put(state.bids, seat, ()),
    )
    if len(left.passed) == left.won.count(0):
        return _receive(replace(left, passed=()), left.passed[0], left.lot)
    turn = _next(left, seat)
    return _won(left, turn) if left.bids[turn] else replace(left, turn=turn)


def _won(state: State, seat: int) -> State:
    """A bid has won: it goes to the market, and the winner is to pay the tax."""
    market = _plus(state.market, state.bids[seat])
    return replace(state, step="tax", turn=seat, market=market, bids=_put(state.bids, seat, ()), passed=())


def _tax(state: State, seat: int, words: Names) -> State:
    cards = _cards(words)
    if len(cards) != 1 or cards[0] not in state.lot:
        raise IllegalMove("The tax is one card of the lot: %(lot)s.", lot=" ".join(_names(state.lot)))
    return _receive(replace(state, market=_plus(state.market, cards)), seat, _minus(state.lot, cards))


def _receive(state: State, seat: int, cards: Cards) -> State:
    """The winner takes cards of the lot into hand, and the lot card."""
    size = TABLES[len(state.won)].lots[len(state.won) - state.won.count(0)]
    won = (*state.won[:seat], size, *state.won[seat + 1 :])
    return _arrive(replace(state, won=won, lot=()), seat, cards)


def _take(state: State, seat: int, words: Names) -> State:
    group = GROUPS.index(words[0]) if len(words) == 1 and words[0] in GROUPS else -1
    cards = _group(state.market, group)
    if not cards:
        groups = " ".join(GROUPS[group] for group in sorted({card // 4 for card in state.market}))
        raise IllegalMove("Take one of the groups in the market: %(groups)s.", groups=groups)
    return _arrive(replace(state, market=_minus(state.market, cards), taken=state.taken + 1), seat, cards)


def _arrive(state: State, seat: int, cards: Cards) -> State:
    """Cards come to a hand in the open; then the hand limit, before anything else goes on."""
    hand = _plus(state.hands[seat], cards)
    fuller = replace(
        state,
        hands=_put(state.hands, seat, hand),
        known=_put(state.known, seat, _plus(state.known[seat], cards)),
    )
    if len(hand) > LIMIT:
        return replace(fuller, step="limit", number=state.number + 1, turn=seat)
    return _onward(fuller)


def _onward(state: State) -> State:
    """The next auction of the round, the next seat at the market, or the next round; lot cards tell which."""
    seats = range(len(state.won))
    if 0 in state.won:
        last = min((seat for seat in seats if state.won[seat]), key=lambda seat: state.won[seat])
        return _auction(state, _next(state, last))
    order = sorted(seats, key=lambda seat: state.won[seat])
    if state.market and state.taken < len(order):
        return replace(state, step="market", number=state.number + 1, turn=order[state.taken])
    closed = replace(state, won=(0,) * len(order), taken=0, market=(), gone=_plus(state.gone, state.market))
    if state.round == TABLES[len(order)].rounds:
        return replace(closed, step="end", number=state.number + 1, turn=-1)
    return _auction(replace(closed, round=state.round + 1), order[0])


def _leave(state: State, seat: int, cards: Cards, kept: Cards, gone: Cards) -> State:
    """Cards leave a hand in the open; one over the limit goes on once it is not."""
    hand = _from_hand(state, seat, cards)
    lighter = replace(
        state,
        hands=_put(state.hands, seat, hand),
        known=_put(state.known, seat, _minus(state.known[seat], cards)),
        kept=_put(state.kept, seat, _plus(state.kept[seat], kept)),
        gone=_plus(state.gone, gone),
    )
    if state.step == "limit" and seat == state.turn and len(hand) <= LIMIT:
        return _onward(lighter)
    return lighter


def _sell(state: State, seat: int, cards: Cards) -> State:
    if state.done[seat]:
        raise IllegalMove("You are done: what you still hold is no longer for sale.")
    if not _is_set(cards):
        raise IllegalMove(
            "A set is three cards of one good, where merchants may stand in, or three merchants."
        )
    keep = _keep(cards)
    return _leave(state, seat, cards, (keep,), _minus(cards, (keep,)))


def _discard(state: State, seat: int, words: Names) -> State:
    cards = _cards(words)
    spare = len(state.hands[seat]) - LIMIT
    if not 1 <= len(cards) <= spare:
        raise IllegalMove(
            "Discard one card or more, at most %(spare)s: down to %(limit)s.", spare=spare, limit=LIMIT
        )
    return _leave(state, seat, cards, (), cards)


def _done(state: State, seat: int, words: Names) -> State:
    if words:
        raise IllegalMove("done stands alone, without any card.")
    done = (*state.done[:seat], True, *state.done[seat + 1 :])
    return replace(state, done=done, step="over" if all(done) else "end")


_ANSWERS = {
    ("bid", "bid"): _bid,
    ("bid", "pass"): _pass,
    ("tax", "tax"): _tax,
    ("market", "take"): _take,
    ("limit", "discard"): _discard,
    ("end", "done"): _done,
}
