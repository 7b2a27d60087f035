"""The standing orders of Byzanz: how a line is read, how long it stands, and what it answers (docs/orders.md).

An order sees what its owner sees: the view. About each kind of question a seat has one order at the most.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from byzanz.games.byzanz.cards import (
    CARD,
    GROUPS,
    LONGEST,
    MERCHANT,
    NAME,
    PROFIT,
    VALUE,
    kept_of,
    names,
    numbers,
    read_card,
    sales_from,
)
from byzanz.games.byzanz.state import LIMIT
from byzanz.moves import IllegalMove, Move, Order, OrderAnswer, UnreadableOrder
from byzanz.parsing import completed

if TYPE_CHECKING:
    from byzanz.games.byzanz.rules import View

VERBS = ("ladder", "raise", "pass", "tax", "take", "limit", "finish")
ABOUT = {"ladder": "bid", "raise": "bid", "pass": "bid", "finish": "end"}
"""The kind of question that an order answers, where its verb is not the kind itself."""
ENDS = {"lot": re.compile(r"(this|every) lot"), "then": re.compile(r"then (pass|ask)")}
HIGHEST = 99
"""The highest limit that can be written; no hand is worth so much."""
PASS = Move("pass")


def read_order(text: str) -> Order:
    """Read a line in any letter case and spacing, words shortened as in moves.

    Args:
        text: such as `ladder sp3 wine2 upto 9 then pass` or `order take wine cloth`.

    Raises:
        UnreadableOrder, AmbiguousMove, UnreadableMove: it is not one order; the sentence says what would be.
    """
    if len(text) > LONGEST or not text.isascii() or not text.isprintable():
        raise UnreadableOrder(
            "An order is one line of plain letters and digits, at most %(most)s.", most=LONGEST
        )
    words = text.lower().split()
    words = words[1:] if words[:1] == ["order"] else words
    verb = completed(words[0], VERBS) if words else ""
    if not verb:
        known = ", ".join(VERBS)
        raise UnreadableOrder("An order begins with one of: %(known)s.", known=known)
    return Order(" ".join((verb, *READERS[verb](words[1:]))), ABOUT.get(verb, verb))


def order_scope(order: Order, view: View) -> str:
    """The lot that an order about bidding is for, unless it is for every lot."""
    verb, *words = order.text.split()
    if verb == "ladder" and view.hand is not None:
        held = Counter(view.hand) + Counter(view.bids[_seat(view)])
        missing = Counter(words[: words.index("upto")]) - held
        if missing:
            raise IllegalMove("You do not hold %(cards)s.", cards=" ".join(sorted(missing.elements())))
    if order.kind != "bid" or words[-2:] == ["every", "lot"]:
        return ""
    return f"lot {_next_lot(view)}"


def order_expired(scope: str, view: View) -> bool:
    """Whether the lot is decided, or the seat has passed."""
    lot, done = int(scope.removeprefix("lot ")), _lots_done(view)
    if lot != done + 1:
        return lot <= done
    return view.step == "tax" or (view.step == "bid" and _seat(view) in view.passed)


def answer_order(order: Order, view: View, moves: Sequence[Move]) -> OrderAnswer | None:
    """What an order answers now; see `Rules.answer_order`."""
    kind = (view.question or "").partition(" ")[0]
    if kind != order.kind:
        return None
    verb, *words = order.text.split()
    return ANSWERS[verb](order, words, view, moves)


def _seat(view: View) -> int:
    assert isinstance(view.viewer, int)
    return view.viewer


def _lots_done(view: View) -> int:
    return (view.round - 1) * len(view.lot_cards) + sum(size is not None for size in view.won)


def _next_lot(view: View) -> int:
    """The number of the lot, counted from the game's first, for which a seat bids now or next."""
    seat, here = _seat(view), _lots_done(view) + 1
    if view.won[seat] is not None:
        return view.round * len(view.lot_cards) + 1
    if view.step == "tax" or (view.step == "bid" and seat in view.passed):
        return here + 1
    return here


def _read_ladder(words: Sequence[str]) -> list[str]:
    at = _upto(words)
    if not at:
        raise UnreadableOrder("Name the cards of the ladder in their order: ladder spice3 wine2 upto 9.")
    cards = [read_card(word) for word in words[:at]]
    if MERCHANT in cards:
        raise UnreadableOrder("Merchants cannot be bid.")
    return [*names(cards), *_read_limit(words[at:])]


def _read_raise(words: Sequence[str]) -> list[str]:
    if _upto(words):
        raise UnreadableOrder("Raise takes no cards; a ladder does: ladder spice3 wine2 upto 9.")
    return _read_limit(words)


def _upto(words: Sequence[str]) -> int:
    if "upto" not in words:
        raise UnreadableOrder("Say how far to go: upto and a number, as in upto 9 then pass.")
    return words.index("upto")


def _read_limit(words: Sequence[str]) -> list[str]:
    """`upto N then pass`, and for how long."""
    number, rest = words[1:2], " ".join(words[2:])
    if not number or not number[0].isdigit() or not 1 <= int(number[0][:3]) <= HIGHEST:
        raise UnreadableOrder("The limit is a number from 1 to %(most)s.", most=HIGHEST)
    then = ENDS["then"].match(rest)
    rest = rest[then.end() :].strip() if then else rest
    every = _read_lots(rest)
    return ["upto", str(int(number[0])), "then", then[1] if then else "pass", *(every or [])]


def _read_lots(rest: str) -> list[str] | None:
    """`every lot`; None for the one lot, which needs no words."""
    if rest and not ENDS["lot"].fullmatch(rest):
        raise UnreadableOrder(
            "At the end stands this lot or every lot, or nothing; not %(words)s.", words=rest[:40]
        )
    return ["every", "lot"] if rest.startswith("every") else None


def _read_pass(words: Sequence[str]) -> list[str]:
    return _read_lots(" ".join(words)) or ["this", "lot"]


def _wishes(*also: str, cards: bool = True) -> Callable[[Sequence[str]], list[str]]:
    """Reads a list of wishes, the dearest first, and perhaps `always`.

    Args:
        also: words that may stand in it besides goods.
        cards: whether single cards may, too.
    """

    def read(words: Sequence[str]) -> list[str]:
        always = [word for word in words[-1:] if len(word) > 1 and "always".startswith(word)] and ["always"]
        listed = words[:-1] if always else words
        if not listed:
            raise UnreadableOrder("Name what you wish, the dearest first.")
        wished = [_wish(word, (*GROUPS, *also), cards) for word in listed]
        if len(set(wished)) < len(wished):
            raise UnreadableOrder("Name each wish once.")
        return [*wished, *always]

    return read


def _wish(word: str, among: Sequence[str], cards: bool) -> str:
    if cards and word[-1:].isdigit():
        return NAME[read_card(word)]
    found = completed(word, among)
    if not found:
        raise UnreadableOrder(
            "There is no %(word)s to wish for; there are: %(known)s.",
            word=word[:20],
            known=", ".join(among),
        )
    return found


def _read_nothing(words: Sequence[str]) -> list[str]:
    if words:
        raise UnreadableOrder("Finish stands alone: it sells all sets at the end, then is done.")
    return []


READERS: dict[str, Callable[[Sequence[str]], list[str]]] = {
    "ladder": _read_ladder,
    "raise": _read_raise,
    "pass": _read_pass,
    "tax": _wishes("best", "lowest"),
    "take": _wishes("best", "most", cards=False),
    "limit": _wishes("sell", "lowest"),
    "finish": _read_nothing,
}


def _bid(order: Order, words: Sequence[str], view: View, moves: Sequence[Move]) -> OrderAnswer:
    at = words.index("upto")
    limit, own = int(words[at + 1]), view.totals[_seat(view)]
    bid = _rung(words[:at], view, limit) if at else _cheapest(moves, limit - own)
    lasting = order if words[-1] == "lot" else None
    if bid is not None:
        total = own + sum(VALUE[CARD[name]] for name in bid.args)
        return OrderAnswer(
            bid,
            "Raised to %(total)s for you: your limit is %(limit)s.",
            {"total": total, "limit": limit},
            order,
        )
    places = {"price": view.highest, "limit": limit}
    if words[at + 3] == "ask":
        return OrderAnswer(
            None, "The price is %(price)s, and your order goes no further: your limit was %(limit)s.", places
        )
    if view.highest < limit:
        return OrderAnswer(
            PASS, "Passed for you: none of your cards goes on to your limit of %(limit)s.", places, lasting
        )
    return OrderAnswer(
        PASS, "Passed for you: the price hit %(price)s, your limit was %(limit)s.", places, lasting
    )


def _rung(ladder: Sequence[str], view: View, limit: int) -> Move | None:
    """The next cards of a ladder, as few as outbid all, or None when they are too few or too dear."""
    own, in_hand, bid = view.totals[_seat(view)], Counter(view.hand), list[str]()
    for name in ladder:
        if in_hand[name]:
            in_hand[name] -= 1
            bid.append(name)
            own += VALUE[CARD[name]]
            if own > view.highest:
                return Move("bid", names(sorted(numbers(bid)))) if own <= limit else None
    return None


def _cheapest(moves: Iterable[Move], most: int) -> Move | None:
    """The bid of the lowest sum, and of those the one of fewest cards, that costs no more than this."""
    sums = [
        (sum(VALUE[CARD[name]] for name in move.args), len(move.args), at, move)
        for at, move in enumerate(moves)
        if move.verb == "bid"
    ]
    cost, _, _, cheapest = min(sums, default=(HIGHEST + 1, 0, 0, PASS))
    return cheapest if cost <= most else None


def _pass(order: Order, words: Sequence[str], view: View, moves: Sequence[Move]) -> OrderAnswer:
    return OrderAnswer(
        PASS, "Passed for you, as you ordered.", remaining=order if words[0] == "every" else None
    )


def _tax(order: Order, words: Sequence[str], view: View, moves: Sequence[Move]) -> OrderAnswer:
    payable = [move.args[0] for move in moves]
    in_all = Counter((*(view.hand or ()), *view.lot))
    for wish in words:
        fits = [name for name in payable if name.startswith(wish) or wish in ("best", "lowest")]
        if fits:
            paid = min(fits, key=lambda name: VALUE[CARD[name]] or HIGHEST)
            if wish == "best":
                paid = max(
                    fits, key=lambda name: (_profit(in_all - Counter([name])), -(VALUE[CARD[name]] or 3))
                )
            return OrderAnswer(
                Move("tax", (paid,)),
                "Paid %(card)s as tax for you: of the lot it came first on your list.",
                {"card": paid},
                _kept(order),
            )
    return OrderAnswer(None, "Nothing on your list for the tax is in the lot.")


def _take(order: Order, words: Sequence[str], view: View, moves: Sequence[Move]) -> OrderAnswer:
    market, hand = dict(view.market), Counter(view.hand)
    for wish in words:
        fits = [good for good in market if wish in (good, "best", "most")]
        if fits:
            amount = {good: sum(VALUE[CARD[name]] or 2 for name in market[good]) for good in fits}
            sold = {good: _profit(hand + Counter(market[good])) if wish == "best" else 0 for good in fits}
            taken = max(fits, key=lambda good: (sold[good], amount[good]))
            return OrderAnswer(
                Move("take", (taken,)),
                "Took %(good)s at the market for you: of what lay there it came first on your list.",
                {"good": taken},
                _kept(order),
            )
    return OrderAnswer(None, "Nothing on your list lies in the market.")


def _profit(cards: Counter[str]) -> int:
    """What cards bring when their sets are sold one after another, the best first."""
    held, profit = cards.copy(), 0
    while sale := _best_sale(sales_from(tuple(sorted(numbers(held.elements()))))):
        held -= Counter(sale.args)
        profit += PROFIT[kept_of(numbers(sale.args))]
    return profit


def _limit(order: Order, words: Sequence[str], view: View, moves: Sequence[Move]) -> OrderAnswer:
    hand = view.hand or ()
    for wish in words:
        move = _lighter(wish, hand, moves)
        if move is not None:
            still_over = len(hand) - len(move.args) > LIMIT
            return OrderAnswer(
                move,
                "Over the limit: “%(move)s” for you, as your list says.",
                {"move": str(move)},
                order if still_over else _kept(order),
            )
    return OrderAnswer(None, "Nothing on your list for the hand limit is in your hand.")


def _lighter(wish: str, hand: Sequence[str], moves: Sequence[Move]) -> Move | None:
    if wish == "sell":
        return _best_sale(move for move in moves if move.verb == "sell")
    goods = [name for name in hand if CARD[name] != MERCHANT]
    fits = goods if wish == "lowest" else [name for name in hand if name == wish or name.startswith(wish)]
    return Move("discard", (min(fits, key=lambda name: VALUE[CARD[name]]),)) if fits else None


def _best_sale(sales: Iterable[Move]) -> Move | None:
    """The sale that keeps most, and of those the one that costs the fewest merchants."""
    ranked = [
        (PROFIT[kept_of(numbers(sale.args))], -sale.args.count("merchant"), -at, sale)
        for at, sale in enumerate(sales)
    ]
    return max(ranked)[3] if ranked else None


def _finish(order: Order, words: Sequence[str], view: View, moves: Sequence[Move]) -> OrderAnswer:
    sale = _best_sale(move for move in moves if move.verb == "sell")
    if sale is None:
        return OrderAnswer(Move("done"), "All your sets are sold: done for you.")
    return OrderAnswer(sale, "Sold a set for you at the end: “%(move)s”.", {"move": str(sale)}, order)


def _kept(order: Order) -> Order | None:
    return order if order.text.endswith(" always") else None


ANSWERS: dict[str, Callable[[Order, Sequence[str], View, Sequence[Move]], OrderAnswer]] = {
    "ladder": _bid,
    "raise": _bid,
    "pass": _pass,
    "tax": _tax,
    "take": _take,
    "limit": _limit,
    "finish": _finish,
}
