"""A model of what people at a table do: how they decide, and which standing orders they leave.

A person at the page leaves orders for the open question and for likely following ones, as far as they can be judged
now; what cannot be judged, such as a lot that nobody has seen, is left open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from byzanz.bots import decide
from byzanz.chance import Draw
from byzanz.moves import Move
from byzanz.rules import Rules

Policy = Callable[[Rules[Any, Any], Any, Sequence[Move], Draw], Iterator[str]]
"""The orders that a person leaves, from the game, their view, the answers to their question and their luck."""
RULES_OF_THUMB = {
    ("empire", "meld"): "meld most",
    ("empire", "defend"): "defend most",
    ("empire", "negotiate"): "negotiate most",
    ("empire", "replace"): "replace most",
    ("empire", "buy-off"): "buy-off most",
    ("empire", "keep"): "keep least",
}
"""Orders that also describe how people decide at the page, by game and step: there the greedy bot wins less."""
LOOKAHEAD = 3
"""How many placements of Byzantium can be foreseen: players who list more win less."""


def choose_move(rules: Rules[Any, Any], view: Any, moves: Sequence[Move], draw: Draw) -> Move:
    """Return the move of a person at the page: the greedy bot's, or a rule of thumb where that wins more."""
    thumb = RULES_OF_THUMB.get((rules.slug, view.step))
    answer = rules.answer_order(rules.parse_order(thumb), view, moves) if thumb else None
    if answer is not None and answer.move is not None:
        return answer.move
    return decide("greedy", rules, view, moves, draw)


def byzanz(rules: Rules[Any, Any], view: Any, moves: Sequence[Move], draw: Draw) -> Iterator[str]:
    """Yield rules of thumb for tax, market, hand limit and the end; for the lot on auction a ladder or a pass."""
    yield from ("tax lowest always", "take best always", "limit sell lowest always", "finish")
    if view.step == "bid":
        first = choose_move(rules, view, moves, draw)
        yield "pass this lot" if first.verb == "pass" else _ladder(rules, view, first, draw)


def _ladder(rules: Rules[Any, Any], view: Any, first: Move, draw: Draw) -> str:
    """Return the cards of a bid and those that would follow while winning with them beats passing."""
    world, seat = rules.sample_state(view, draw), view.viewer

    def prospects(cards: list[str]) -> float:
        move = rules.parse(" ".join(("bid", *cards))) if cards else Move("pass")
        return rules.evaluate(rules.view(rules.apply(world, seat, move), seat))

    rungs, left = list(first.args), [name for name in view.hand if name != "merchant"]
    for name in rungs:
        left.remove(name)
    while left:
        name = max(left, key=lambda name: prospects([*rungs, name]))
        if prospects([*rungs, name]) <= prospects([]):
            break
        rungs.append(name)
        left.remove(name)
    limit = view.totals[seat] + sum(int(name[-1]) for name in rungs)
    return f"ladder {' '.join(rungs)} upto {limit} then pass"


def empire(_rules: Rules[Any, Any], _view: Any, _moves: Sequence[Move], _draw: Draw) -> Iterator[str]:
    """Yield rules of thumb for all steps but the redraw; the meld is for the cards that the redraw brings."""
    return (
        thumb if step == "meld" else f"{thumb} always"
        for (slug, step), thumb in RULES_OF_THUMB.items()
        if slug == "empire"
    )


def byzantium(rules: Rules[Any, Any], view: Any, _moves: Sequence[Move], draw: Draw) -> Iterator[str]:
    """Yield the next placements if everybody places as this policy would, in one sampled state."""
    listed, world = list[str](), rules.sample_state(view, draw)
    while rules.awaited(world) and len(listed) < LOOKAHEAD:
        seat = min(rules.awaited(world))
        move = choose_move(rules, rules.view(world, seat), rules.moves(world, seat), draw)
        if seat == view.viewer:
            if move.verb == "pass":
                break
            listed.append(" ".join(move.args))
        world = rules.apply(world, seat, move)
    yield f"put {', '.join(listed)} then ask"


POLICIES: dict[str, Policy] = {"byzanz": byzanz, "empire": empire, "byzantium": byzantium}
