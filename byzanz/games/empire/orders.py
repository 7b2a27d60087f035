"""The standing orders of Empire: their text, their scope, and their answers (docs/orders.md).

An order sees what its owner sees: the view. A seat has at most one order for each question of a year, and the verb of
the order is the question.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from byzanz.games.empire.moves import DECLINE
from byzanz.games.empire.state import (
    BYZANTINES,
    CARDS,
    FOES,
    KIND,
    MOST_REDRAWN,
    NAME,
    NUMBER,
    YEARS,
    Names,
    broken_limit,
    deck_of,
    in_order,
    kept_worth,
    melds_from,
    named,
    numbers,
)
from byzanz.games.empire.view import View
from byzanz.moves import IllegalMove, Move, Order, OrderAnswer, OrderCase, UnreadableOrder
from byzanz.parsing import completed, order_words

VERBS = ("redraw", "meld", "defend", "negotiate", "replace", "buy-off", "keep")
"""The questions of a year, in order."""
ROLE = {"defend": FOES, "replace": FOES, "negotiate": BYZANTINES, "buy-off": BYZANTINES}
"""The deck of the seat that answers, where it is not both."""
_PEOPLES = tuple(NAME[card] for card in NUMBER[FOES].values() if KIND[card] in ("northern", "southern"))
_OF_TRAIT = {
    trait: tuple(NAME[card] for card in NUMBER[FOES].values() if CARDS[card].trait == trait)
    for trait in ("defence", "bought-off")
}
EITHER = {"defend": _OF_TRAIT["defence"], "negotiate": _PEOPLES, "replace": _PEOPLES}
"""The cards that a response may name."""
THEN = ("decline", "ask")


def read_order(text: str) -> Order:
    """Read an order in any letter case and spacing, words abbreviated as in moves.

    Args:
        text: such as `meld basil trade`, `defend vandals then ask` or `order keep least always`.

    Raises:
        UnreadableOrder, AmbiguousMove, UnreadableMove: it is not one order; the message says what would be.
    """
    words = order_words(text)
    verb = completed(words[0], VERBS) if words else ""
    if not verb:
        raise UnreadableOrder("An order begins with one of: %(known)s.", known=", ".join(VERBS))
    always = words[-1:] == ["always"]
    listed = words[1:-1] if always else words[1:]
    if not listed:
        raise UnreadableOrder("Name the cards after %(verb)s, or write most or none.", verb=verb)
    meant = READERS[verb](verb, listed)
    if always and verb in ("redraw", "meld") and meant[0] not in ("none", "most"):
        raise UnreadableOrder("An order with cards is for one year: leave out always, or write none or most.")
    return Order(" ".join((verb, *meant, *["always"][:always])), verb)


def order_scope(order: Order, view: View) -> str:
    """Return the year that an order is for; empty for one with `always`."""
    verb, *words = order.text.split()
    if words[-1] == "always" or not isinstance(view.viewer, int):
        return ""
    year = _next_year(verb, view, view.viewer)
    if year > YEARS - (verb == "keep"):
        raise IllegalMove("You will have no further turn to %(verb)s.", verb=verb)
    if verb in ("redraw", "meld") and words[0] not in ("none", "most"):
        if year != view.year:
            raise IllegalMove("You do not hold the cards of year %(year)s yet.", year=year)
        missing = Counter(words) - Counter(view.hand)
        if missing:
            raise IllegalMove("You do not hold %(cards)s.", cards=" ".join(sorted(missing.elements())))
    return f"year {year}"


def order_expired(scope: str, view: View) -> bool:
    """Return whether the year is over."""
    return int(scope.removeprefix("year ")) < view.year


def answer_order(
    order: Order, view: View, moves: Sequence[Move], fallback: Callable[[View, Sequence[Move]], Move]
) -> OrderAnswer | None:
    """Return an order's answer, see `Rules.answer_order`.

    Args:
        fallback: chooses what `most` stands for, see `Rules.fallback`.
    """
    if (view.question or "").partition(" ")[0] != order.kind or not isinstance(view.viewer, int):
        return None
    line = order.text.removeprefix(f"{order.kind} ").removesuffix(" always")
    lasting = order if order.text.endswith(" always") else None
    most = fallback(view, moves)
    if order.kind in ROLE:
        return _respond(line, moves, most, lasting)
    if order.kind == "keep":
        return _keep(line.split(), deck_of(view.viewer, view.year), moves, lasting)
    return _choose(order.kind, line, moves, most, lasting)


def foresee(
    order: Order, view: View, fallback: Callable[[View, Sequence[Move]], Move]
) -> tuple[OrderCase, ...]:
    """Return an order's answer with the cards of this year, see `Rules.foresee_order`; the only case is `now`.

    Responses depend on melds that are not known yet.
    """
    seat, kind = view.viewer, order.kind
    if (
        not isinstance(seat, int)
        or not view.hand
        or kind in ROLE
        or _next_year(kind, view, seat) != view.year
    ):
        return ()
    hand = numbers(deck_of(seat, view.year), view.hand)
    if kind == "meld":
        moves: Sequence[Move] = melds_from(hand)
    elif kind == "keep":
        moves = [Move(kind, (card,)) for card in dict.fromkeys(view.hand)]
    else:
        cards = tuple(order.text.removesuffix(" always").split()[1:])
        held = not Counter(cards) - Counter(view.hand)
        moves = [Move(kind), *([Move(kind, cards)] if held else [])]
    asked = replace(view, step=kind, question=f"{kind} 0")
    answer = answer_order(order, asked, moves, fallback)
    return (OrderCase("now", answer),) if answer else ()


def _next_year(verb: str, view: View, seat: int) -> int:
    """Return the first year, from this one on, in which a seat may still be asked this."""
    step = VERBS.index(view.step) if view.step in VERBS else 0
    past = VERBS.index(verb) < step or (view.step == verb and view.sealed[seat])
    year = view.year + past
    wrong_role = verb in ROLE and deck_of(seat, year) != ROLE[verb]
    return year + wrong_role


def _read_cards(verb: str, words: Sequence[str]) -> list[str]:
    """Read `none`, `most`, or cards that are chosen together."""
    if len(words) == 1 and (words[0] == "none" or (words[0] == "most" and verb == "meld")):
        return [words[0]]
    cards = in_order(tuple(map(named, words)))
    if verb == "redraw" and len(cards) > MOST_REDRAWN:
        raise UnreadableOrder("Redraw at most %(most)s cards.", most=MOST_REDRAWN)
    if verb == "meld" and not any(_could_be_melded(deck, cards) for deck in (FOES, BYZANTINES)):
        raise UnreadableOrder("These cards can never form one meld.")
    return list(cards)


def _could_be_melded(deck: int, cards: Names) -> bool:
    known = all(name in NUMBER[deck] for name in cards)
    return known and broken_limit(numbers(deck, cards)) is None


def _read_keep(_verb: str, words: Sequence[str]) -> list[str]:
    """Read cards, the most wanted first, and perhaps `most` or `least`."""
    return _once([word if word in ("most", "least") else named(word) for word in words])


def _read_response(verb: str, words: Sequence[str]) -> list[str]:
    """Read `none`, or cards, the most wanted first, perhaps `most`, and what to do if none of them is possible."""
    if list(words) == ["none"]:
        return ["none"]
    at = words.index("then") if "then" in words else len(words)
    then = completed(" ".join(words[at + 1 :]) or "decline", THEN)
    if not at or not then or len(words) == at + 1:
        raise UnreadableOrder("List cards first. After them you may write then decline or then ask.")
    if verb == "buy-off":
        return [", ".join(_once(_bargains(words[:at]))), "then", then]
    return [*_once([_wish(word, EITHER[verb]) for word in words[:at]]), "then", then]


def _bargains(words: Sequence[str]) -> list[str]:
    """Read pairs of a card and its price, `CARD with CARD`."""
    found, rest = list[str](), list(words)
    while rest:
        if rest[0] == "most":
            found.append(rest.pop(0))
            continue
        if len(rest) < 3 or rest[1] != "with":
            raise UnreadableOrder("Write pairs, such as huns with taxes, avars with trade, or write most.")
        card, price = _wish(rest[0], _OF_TRAIT["bought-off"]), _wish(rest[2], tuple(NUMBER[BYZANTINES]))
        found.append(f"{card} with {price}")
        del rest[:3]
    return found


def _wish(word: str, among: Sequence[str]) -> str:
    found = completed(word, (*among, "most"))
    if not found:
        known = ", ".join((*among, "most"))
        raise UnreadableOrder("%(word)s is not one of: %(known)s.", word=word[:20], known=known)
    return found


def _once(wishes: list[str]) -> list[str]:
    if len(set(wishes)) < len(wishes):
        raise UnreadableOrder("Name each choice once.")
    return wishes


READERS: dict[str, Callable[[str, Sequence[str]], list[str]]] = {
    "redraw": _read_cards,
    "meld": _read_cards,
    "defend": _read_response,
    "negotiate": _read_response,
    "replace": _read_response,
    "buy-off": _read_response,
    "keep": _read_keep,
}


def _choose(verb: str, line: str, moves: Sequence[Move], most: Move, lasting: Order | None) -> OrderAnswer:
    """Answer with a redraw or a meld."""
    cards = () if line == "none" else tuple(line.split())
    move = most if line == "most" else Move(verb, cards)
    if move not in moves:
        return OrderAnswer(None, "“%(move)s” is not possible any more.", {"move": str(move)})
    return OrderAnswer(move, "“%(move)s” for you, as you ordered.", {"move": str(move)}, lasting)


def _keep(wishes: Iterable[str], deck: int, moves: Sequence[Move], lasting: Order | None) -> OrderAnswer:
    worth = {move.args[0]: kept_worth(NUMBER[deck][move.args[0]]) for move in moves}
    named = {"most": max(worth, key=worth.__getitem__), "least": min(worth, key=worth.__getitem__)}
    for wish in wishes:
        card = named.get(wish, wish)
        if card in worth:
            return OrderAnswer(
                Move("keep", (card,)),
                "Kept %(card)s for you: of your hand it came first on your list.",
                {"card": card},
                lasting,
            )
    return OrderAnswer(None, "None of the cards on your list is in your hand.")


def _respond(line: str, moves: Sequence[Move], most: Move, lasting: Order | None) -> OrderAnswer:
    """Answer with the first possible response on the list; `most` is skipped if nothing helps."""
    verb = next(move.verb for move in moves if move != DECLINE)
    listed, _, then = line.partition(" then ")
    for wish in listed.split(", " if verb == "buy-off" else " "):
        move = most if wish == "most" else Move(verb, tuple(wish.split()))
        if move in moves and move != DECLINE:
            return OrderAnswer(move, "“%(move)s” for you, as you ordered.", {"move": str(move)}, lasting)
    if then == "ask":
        return OrderAnswer(None, "Nothing on your list can be answered now.")
    return OrderAnswer(DECLINE, "Declined for you, as you ordered.", remaining=lasting)
