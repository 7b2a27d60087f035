"""The standing orders of Byzantium: their text, their scope, and their answers (docs/orders.md).

An order sees what its owner sees: the view. A seat has at most one order, a list of placements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from byzanz.games.byzantium.moves import PUTS
from byzanz.games.byzantium.state import CARD, DEAD, NAME, SLOT, SUIT, numbers, openings
from byzanz.games.byzantium.view import View, cross_of
from byzanz.moves import IllegalMove, Move, Order, OrderAnswer, OrderCase, UnreadableOrder
from byzanz.parsing import completed, order_words

VERB = "put"
ANY = "any"
THEN = (ANY, "ask")


def read_order(text: str) -> Order:
    """Read an order in any letter case and spacing, words abbreviated as in moves.

    Args:
        text: such as `put 7r on e, 8r on ef then any` or `order put any always`.

    Raises:
        UnreadableOrder, AmbiguousMove, UnreadableMove: it is not one order; the message says what would be.
    """
    words = order_words(text)
    if not words or not VERB.startswith(words[0]):
        raise UnreadableOrder("Write put, then placements in their order: put 7r on e, 8r on ef then any.")
    return Order(" ".join((VERB, *_read_list(words[1:]))), VERB)


def _read_list(words: Sequence[str]) -> list[str]:
    if words[:1] == [ANY]:
        if words[1:] not in ([], ["always"]):
            raise UnreadableOrder("After put any, write always or nothing.")
        return list(words)
    at = words.index("then") if "then" in words else len(words)
    then = completed(" ".join(words[at + 1 :]) or "ask", THEN)
    if not at or not then or len(words) == at + 1:
        raise UnreadableOrder("List placements first. After them you may write then any or then ask.")
    placements = [_read_placement(words[start : min(start + 3, at)]) for start in range(0, at, 3)]
    if len(set(placements)) < len(placements):
        raise UnreadableOrder("Name each placement once.")
    return [", ".join(placements), "then", then]


def _read_placement(words: Sequence[str]) -> str:
    if len(words) != 3 or words[1] != "on":
        raise UnreadableOrder("A placement is a card, on and a slot, such as 7r on el.")
    card, slot = completed(words[0], NAME), words[2]
    if not card or slot not in SLOT or slot in DEAD or CARD[card] not in SUIT[slot[0]]:
        raise UnreadableOrder(
            "%(card)s can never lie on %(slot)s.", card=card or words[0][:20], slot=slot[:20]
        )
    return f"{card} on {slot}"


def order_scope(order: Order, view: View) -> str:
    """Return the deal that an order is for; empty for one with `always`."""
    if order.text.endswith(" always") or not isinstance(view.viewer, int):
        return ""
    placements = _placements(order)
    out = view.out[view.viewer]
    if placements and out:
        raise IllegalMove("You are out for this round, and the next one has not been dealt yet.")
    if view.round + out > view.rounds:
        raise IllegalMove("You will have no further turn to place a card.")
    missing = [card for card, _, _ in placements if card not in (view.hand or ())]
    if missing:
        raise IllegalMove("You do not hold %(cards)s.", cards=" ".join(dict.fromkeys(missing)))
    closed = {place.slot for place in view.places if place.state in ("taken", "closed")}
    if late := next((slot for _, _, slot in placements if slot in closed), None):
        raise IllegalMove("No card can be placed on %(slot)s any more.", slot=late)
    return f"deal {view.round + out}"


def order_expired(scope: str, view: View) -> bool:
    """Return whether the deal is over, or the seat is out of it."""
    deal = int(scope.removeprefix("deal "))
    return deal < view.round or (
        deal == view.round and isinstance(view.viewer, int) and view.out[view.viewer]
    )


def answer_order(
    order: Order, view: View, moves: Sequence[Move], fallback: Callable[[View, Sequence[Move]], Move]
) -> OrderAnswer | None:
    """Return an order's answer, see `Rules.answer_order`.

    Args:
        fallback: chooses what `any` stands for, see `Rules.fallback`.
    """
    if (view.question or "").partition(" ")[0] != order.kind:
        return None
    placements, ask = _placements(order), order.text.endswith(" then ask")
    found = next((words for words in placements if Move(VERB, words) in moves), None)
    move = Move(VERB, found) if found else fallback(view, moves)
    if not found and ask:
        return OrderAnswer(None, "None of the placements on your list is possible now.")
    rest = _left_of(order, [words for words in placements if words[0] != move.args[0]])
    places = {"move": str(move)}
    if not found:
        return OrderAnswer(
            move, "“%(move)s” for you: it leaves your hand the most cards that can be placed.", places, rest
        )
    return OrderAnswer(
        move, "“%(move)s” for you: of your list it was the first that is possible now.", places, rest
    )


def foresee(
    order: Order, view: View, fallback: Callable[[View, Sequence[Move]], Move]
) -> tuple[OrderCase, ...]:
    """Return an order's answer as the cross lies, see `Rules.foresee_order`; the only case is `now`."""
    hand = numbers(view.hand or ())
    slots = sorted(openings(cross_of(view)).items())
    moves = [PUTS[card, slot] for card in hand for slot, cards in slots if card in cards]
    answer = answer_order(order, replace(view, question=f"{VERB} 0"), moves, fallback) if moves else None
    return (OrderCase("now", answer),) if answer else ()


def _placements(order: Order) -> list[tuple[str, str, str]]:
    """Return the listed placements, each as the words of its move."""
    listed = order.text.removeprefix(f"{VERB} ").partition(" then ")[0]
    if listed in (ANY, f"{ANY} always"):
        return []
    return [(card, "on", slot) for card, _, slot in (each.split() for each in listed.split(", "))]


def _left_of(order: Order, placements: Sequence[tuple[str, str, str]]) -> Order | None:
    """Return the order with these placements left; without any it is used up or becomes `put any`."""
    then = order.text.rpartition(" ")[2]
    if not placements:
        return (
            None if then == "ask" else Order(order.text if then == "always" else f"{VERB} {ANY}", order.kind)
        )
    listed = ", ".join(" ".join(words) for words in placements)
    return Order(f"{VERB} {listed} then {then}", order.kind)
