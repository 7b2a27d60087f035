"""The standing orders of Byzanz: their text, scope and answers (docs/orders.md), and what they would answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

from byzanz.games.byzanz.moves import HAND_LIMIT
from byzanz.games.byzanz.state import (
    CARD,
    DONE,
    GROUPS,
    MERCHANT,
    NAME,
    PASS,
    PROFIT,
    VALUE,
    best_sale,
    bids_from,
    hand_profit,
    minus,
    names,
    numbers,
    plus,
    read_card,
    sales_from,
    singles_from,
    takes_from,
    total,
)
from byzanz.games.byzanz.view import View
from byzanz.moves import IllegalMove, Move, Order, OrderAnswer, OrderCase, UnreadableOrder
from byzanz.parsing import completed, order_words

# ---- what an order would answer ----


def foresee(order: Order, view: View) -> tuple[OrderCase, ...]:
    """Return the answers of an order, see `Rules.foresee_order`.

    The cases: `price N` and `from N`, a price at which the seat would be asked for a bid; `tax`, `take`, `limit` and
    `end`, if that were asked with the cards that lie there now.
    """
    if not isinstance(view.viewer, int) or view.hand is None:
        return ()
    if order.kind == "bid":
        return _auction(order, view, view.viewer)
    moves = MOVES[order.kind](view)
    answer = answer_order(order, replace(view, question=f"{order.kind} 0"), moves) if moves else None
    return (OrderCase(order.kind, answer),) if answer else ()


def _auction(order: Order, view: View, seat: int) -> tuple[OrderCase, ...]:
    """The answer at the present price, and at the first one beyond which the order does not go."""
    lowest = view.highest + (view.leader == seat) if bids_now(view) else 0
    hand, own = numbers(view.hand or ()), view.totals[seat]

    def at(price: int) -> OrderAnswer:
        asked = replace(view, question="bid 0", highest=price)
        answer = answer_order(order, asked, bids_from(hand, price + 1 - own))
        assert answer is not None
        return answer

    first = at(lowest)
    if first.move is None or first.move.verb != "bid":
        return (OrderCase(f"price {lowest}", first),)
    rest = ((price, at(price)) for price in range(lowest + 1, MAX_LIMIT + 1))
    beyond = next(
        (price, answer) for price, answer in rest if answer.move is None or answer.move.verb != "bid"
    )
    return (OrderCase(f"price {lowest}", first), OrderCase(f"from {beyond[0]}", beyond[1]))


def _market(view: View) -> Sequence[Move]:
    return takes_from(numbers([name for _, cards in view.market for name in cards]))


MOVES: dict[str, Callable[[View], Sequence[Move]]] = {
    "tax": lambda view: singles_from("tax", numbers(view.lot)),
    "take": _market,
    "limit": lambda view: (
        *sales_from(numbers(view.hand or ())),
        *singles_from("discard", numbers(view.hand or ())),
    ),
    "end": lambda view: (*sales_from(numbers(view.hand or ())), DONE),
}
"""The answers to a question as the cards lie now."""


# ---- the orders ----
# An order sees only its owner's view. A seat has at most one order about each kind of question.

VERBS = ("ladder", "raise", "pass", "tax", "take", "limit", "finish")
QUESTIONS = {"ladder": "bid", "raise": "bid", "pass": "bid", "finish": "end"}
"""The kind of question an order answers, where that is not its verb."""
MAX_LIMIT = 99
"""The highest limit that can be written; no hand is worth as much."""


def read_order(text: str) -> Order:
    """Read an order in any letter case and spacing, with or without commas, words abbreviated as in moves.

    Args:
        text: such as `ladder sp3 wine2 upto 9 then pass` or `order take wine cloth`.

    Raises:
        UnreadableOrder, AmbiguousMove, UnreadableMove: the line is not one order; the message says what to write.
    """
    words = order_words(text)
    verb = completed(words[0], VERBS) if words else ""
    if not verb:
        known = ", ".join(VERBS)
        raise UnreadableOrder("An order begins with one of: %(known)s.", known=known)
    read = READERS[verb](words[1:])
    if verb in ("ladder", "raise"):
        verb = "raise" if read[0] == "upto" else "ladder"
    return Order(" ".join((verb, *read)), QUESTIONS.get(verb, verb))


def order_scope(order: Order, view: View) -> str:
    """Return the lot that an order about bidding is for; empty for any other, and for every lot."""
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
    """Return an order's answer to its seat's question, or None if it is about another."""
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
    """Return the number, counted from the game's first lot, of the one this seat bids for now or next."""
    seat, current = _seat(view), _lots_done(view) + 1
    if view.won[seat] is not None:
        return view.round * len(view.lot_cards) + 1
    if view.step == "tax" or (view.step == "bid" and seat in view.passed):
        return current + 1
    return current


def bids_now(view: View) -> bool:
    """Whether the next lot that this seat bids for is being auctioned."""
    return view.step == "bid" and _next_lot(view) == _lots_done(view) + 1


# Reading


def _read_bid(words: Sequence[str]) -> list[str]:
    """Read perhaps cards, then `upto N`, then perhaps `then pass` or `then ask`, then perhaps for how long."""
    if "upto" not in words:
        raise UnreadableOrder("Set a limit: upto and a number, such as upto 9 then pass.")
    at = words.index("upto")
    cards = [read_card(word) for word in words[:at]]
    if MERCHANT in cards:
        raise UnreadableOrder("Merchants cannot be bid.")
    number, then, rest = "".join(words[at + 1 : at + 2]), "pass", words[at + 2 :]
    if not number.isdigit() or not 1 <= int(number) <= MAX_LIMIT:
        raise UnreadableOrder("The limit is a number from 1 to %(most)s.", most=MAX_LIMIT)
    if rest[:2] in (["then", "pass"], ["then", "ask"]):
        then, rest = rest[1], rest[2:]
    lots = ["every", "lot"] if _read_every_lot(rest) else []
    return [*names(cards), "upto", str(int(number)), "then", then, *lots]


def _read_pass(words: Sequence[str]) -> list[str]:
    return ["every" if _read_every_lot(words) else "this", "lot"]


def _read_every_lot(words: Sequence[str]) -> bool:
    """Whether an order ends with `every lot`; `this lot` need not be written."""
    if words not in ([], ["this", "lot"], ["every", "lot"]):
        end = " ".join(words)[:40]
        raise UnreadableOrder("An order can end with this lot or every lot, not with %(words)s.", words=end)
    return words[:1] == ["every"]


def _read_choices(more: Sequence[str], cards: bool, words: Sequence[str]) -> list[str]:
    """Read groups, these other words and perhaps single cards, the first choice first, then perhaps `always`."""
    always = [word for word in words[-1:] if len(word) > 1 and "always".startswith(word)] and ["always"]
    listed = words[:-1] if always else words
    if not listed:
        raise UnreadableOrder("List what you want, first choice first.")
    choices = [_read_choice(word, (*GROUPS, *more), cards) for word in listed]
    if len(set(choices)) < len(choices):
        raise UnreadableOrder("Name each choice once.")
    return [*choices, *always]


def _read_choice(word: str, known: Sequence[str], cards: bool) -> str:
    if cards and word[-1:].isdigit():
        return NAME[read_card(word)]
    found = completed(word, known)
    if not found:
        choices = ", ".join(known)
        raise UnreadableOrder(
            "There is no choice %(word)s. The choices are %(known)s.", word=word[:20], known=choices
        )
    return found


def _read_finish(words: Sequence[str]) -> list[str]:
    if words:
        raise UnreadableOrder("Write finish alone. It sells all your sets at the end, then is done.")
    return []


READERS: dict[str, Callable[[Sequence[str]], list[str]]] = {
    "ladder": _read_bid,
    "raise": _read_bid,
    "pass": _read_pass,
    "tax": partial(_read_choices, ("best", "lowest"), True),
    "take": partial(_read_choices, ("best", "most"), False),
    "limit": partial(_read_choices, ("sell", "lowest"), True),
    "finish": _read_finish,
}


# Answering


def _bid(order: Order, words: Sequence[str], view: View, moves: Sequence[Move]) -> OrderAnswer:
    at = words.index("upto")
    limit, own = int(words[at + 1]), view.totals[_seat(view)]
    bid = _ladder_bid(words[:at], view, limit) if at else _cheapest_bid(moves, limit - own)
    if bid is not None:
        places = {"total": own + total(numbers(bid.args)), "limit": limit}
        return OrderAnswer(bid, "Raised to %(total)s for you: your limit is %(limit)s.", places, order)
    places = {"price": view.highest, "limit": limit}
    if words[at + 3] == "ask":
        return OrderAnswer(
            None, "The price is %(price)s, and your order goes no further: your limit was %(limit)s.", places
        )
    rest = order if words[-1] == "lot" else None
    if view.highest < limit:
        return OrderAnswer(
            PASS, "Passed for you: none of your cards goes on to your limit of %(limit)s.", places, rest
        )
    return OrderAnswer(
        PASS, "Passed for you: the price hit %(price)s, your limit was %(limit)s.", places, rest
    )


def _ladder_bid(ladder: Sequence[str], view: View, limit: int) -> Move | None:
    """Return the next cards of a ladder, as few as outbid all; None if they do not suffice or exceed the limit."""
    own, in_hand, bid = view.totals[_seat(view)], Counter(view.hand), list[str]()
    for name in ladder:
        if in_hand[name]:
            in_hand[name] -= 1
            bid.append(name)
            own += VALUE[CARD[name]]
            if own > view.highest:
                return Move("bid", names(sorted(numbers(bid)))) if own <= limit else None
    return None


def _cheapest_bid(moves: Iterable[Move], most: int) -> Move | None:
    """Return the lowest bid, of those the one with the fewest cards, unless it costs more than this."""
    bids = [move for move in moves if move.verb == "bid" and total(numbers(move.args)) <= most]
    return min(bids, key=lambda bid: (total(numbers(bid.args)), len(bid.args)), default=None)


def _pass(order: Order, words: Sequence[str], _view: View, _moves: Sequence[Move]) -> OrderAnswer:
    return OrderAnswer(
        PASS, "Passed for you, as you ordered.", remaining=order if words[0] == "every" else None
    )


def _tax(order: Order, words: Sequence[str], view: View, moves: Sequence[Move]) -> OrderAnswer:
    payable = [move.args[0] for move in moves]
    cards = plus(numbers(view.hand or ()), numbers(view.lot))
    for choice in words:
        fits = [name for name in payable if name.startswith(choice) or choice in ("best", "lowest")]
        if not fits:
            continue
        if choice == "best":
            kept = {name: hand_profit(minus(cards, (CARD[name],))) for name in fits}
            paid = max(fits, key=lambda name: (kept[name], -(VALUE[CARD[name]] or 3)))
        else:
            paid = min(fits, key=lambda name: PROFIT[CARD[name]])  # merchants last
        return OrderAnswer(
            Move("tax", (paid,)),
            "Paid %(card)s as tax for you: of the lot it came first on your list.",
            {"card": paid},
            _if_always(order),
        )
    return OrderAnswer(None, "Nothing on your list for the tax is in the lot.")


def _take(order: Order, words: Sequence[str], view: View, _moves: Sequence[Move]) -> OrderAnswer:
    market, hand = dict(view.market), numbers(view.hand or ())
    for choice in words:
        fits = [group for group in market if choice in (group, "best", "most")]
        if not fits:
            continue
        size = {group: sum(VALUE[CARD[name]] or 2 for name in market[group]) for group in fits}
        profit = {group: hand_profit(plus(hand, numbers(market[group]))) for group in fits}
        taken = max(fits, key=lambda group: (profit[group] if choice == "best" else 0, size[group]))
        return OrderAnswer(
            Move("take", (taken,)),
            "Took %(good)s at the market for you: of what lay there it came first on your list.",
            {"good": taken},
            _if_always(order),
        )
    return OrderAnswer(None, "Nothing on your list lies in the market.")


def _limit(order: Order, words: Sequence[str], view: View, moves: Sequence[Move]) -> OrderAnswer:
    hand = view.hand or ()
    for choice in words:
        move = _reduce_hand(choice, hand, moves)
        if move is not None:
            still_over = len(hand) - len(move.args) > HAND_LIMIT
            return OrderAnswer(
                move,
                "Over the limit: “%(move)s” for you, as your list says.",
                {"move": str(move)},
                order if still_over else _if_always(order),
            )
    return OrderAnswer(None, "Nothing on your list for the hand limit is in your hand.")


def _reduce_hand(choice: str, hand: Sequence[str], moves: Sequence[Move]) -> Move | None:
    if choice == "sell":
        return best_sale(move for move in moves if move.verb == "sell")
    goods = [name for name in hand if CARD[name] != MERCHANT]
    fits = goods if choice == "lowest" else [name for name in hand if name.startswith(choice)]
    return Move("discard", (min(fits, key=lambda name: VALUE[CARD[name]]),)) if fits else None


def _finish(order: Order, _words: Sequence[str], _view: View, moves: Sequence[Move]) -> OrderAnswer:
    sale = best_sale(move for move in moves if move.verb == "sell")
    if sale is None:
        return OrderAnswer(DONE, "All your sets are sold: done for you.")
    return OrderAnswer(sale, "Sold a set for you at the end: “%(move)s”.", {"move": str(sale)}, order)


def _if_always(order: Order) -> Order | None:
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
