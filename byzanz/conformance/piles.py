"""Where the cards of a game lie: the fields of the view of ALL that together hold every card exactly once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from itertools import pairwise
from typing import Any

from byzanz.conformance.game import Fault, Game
from byzanz.rules import ALL

_UNDEALT = "(undealt)"
"""The path of cards that a shuffle is due to deal and that lie in no field before it."""
_Equation = tuple[tuple[str, int], ...]
"""How often a card came into each field with a move."""


def count(view: Any, piles: Container[str] | None, cards: Sequence[str]) -> Counter[str]:
    """Return how often each card lies in some fields of a view.

    Args:
        view: of any viewer.
        piles: the paths of the fields, such as `decks.discards`; None for all.
        cards: the names that are counted.
    """
    return Counter(name for path, name in _walk(view, "", frozenset(cards)) if piles is None or path in piles)


def _walk(value: Any, path: str, names: Container[str]) -> Iterator[tuple[str, str]]:
    """Yield every name of a card in a value, with the path of fields that leads to it."""
    if isinstance(value, str):
        if value in names:
            yield path, value
    elif isinstance(value, tuple | list | frozenset | set):
        texts = [each for each in value if isinstance(each, str)]
        if len(texts) == len(value):
            yield from ((path, each) for each in texts if each in names)
            return
        # A pair such as ("wine", ("wine1", "wine3")) is a record: its first place is another field than its second.
        for at, each in enumerate(value):
            yield from _walk(each, f"{path}.{at}" if texts else path, names)
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from _walk(each, f"{path}.{key}", names)
    else:
        kind: Any = type(value)
        for name in fields_of(kind):
            yield from _walk(getattr(value, name), f"{path}.{name}" if path else name, names)


@cache
def fields_of(kind: Any) -> tuple[str, ...]:
    """Return the names of the fields of a dataclass; none of any other type."""
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else ()


def piles_of(game: Game) -> frozenset[str]:
    """Return the paths of the fields that hold every card once; none if the game uses cards up.

    They are found out: the changes of their contents add up to nothing with every move, and a shuffle is of cards that
    lie in them. A deck that no field shows before the first deal counts as one more field.

    Raises:
        Fault: there are none, because a move makes or loses a card.
    """
    if game.rules.uses_up or not game.cards:
        return frozenset()
    if game.piles is None:
        game.piles = _found(game)
    return game.piles


def _found(game: Game) -> frozenset[str]:
    names = frozenset(game.cards)
    contents = [_contents(game, state, names) for state in game.states]
    changes = [_changes(one, other) for one, other in pairwise(contents)]
    paths = sorted({path for each in contents for path, _ in each})
    for piles in _solutions(paths, set().union(*changes)):
        if _holds_shuffles(game, contents, piles):
            return piles
    made = set[_Equation]()
    for at, change in enumerate(changes):
        made |= change
        if next(_solutions(paths, made), None) is None:
            game.at = at
            raise Fault(
                f"A card is made or lost by “{game.made[at][1]}”: no fields of the view of ALL hold every card once "
                "before and after it. Only if cards leave the game for good, set `uses_up`."
            )
    raise Fault(
        "A shuffle has cards that lay in no field of the view of ALL before it. Show them there until they are "
        "shuffled. Only if cards leave the game for good, set `uses_up`."
    )


def _contents(game: Game, state: Any, names: Container[str]) -> Counter[tuple[str, str]]:
    """Return how often each card lies in each field of the view of ALL, and which cards are still to be dealt."""
    found = Counter(_walk(game.rules.view(state, ALL), "", names))
    shuffle = game.rules.chance(state)
    if shuffle is not None:
        seen = Counter(name for _, name in found.elements())
        for name, number in (Counter(shuffle.cards) - seen).items():
            found[_UNDEALT, name] = number
    return found


def _changes(one: Counter[tuple[str, str]], other: Counter[tuple[str, str]]) -> set[_Equation]:
    """Return how each card that a move touched changed its place."""
    by_card: dict[str, list[tuple[str, int]]] = {}
    for path, name in sorted(one.keys() | other.keys()):
        if change := other[path, name] - one[path, name]:
            by_card.setdefault(name, []).append((path, change))
    return {tuple(each) for each in by_card.values()}


def _solutions(paths: Sequence[str], equations: set[_Equation]) -> Iterator[frozenset[str]]:
    """Yield the sets of paths in which every equation adds up to nothing, the largest ones early."""
    last = {equation: max(paths.index(path) for path, _ in equation) for equation in equations}
    due = [[equation for equation in equations if last[equation] == at] for at in range(len(paths))]

    def extended(chosen: frozenset[str], at: int) -> Iterator[frozenset[str]]:
        if at == len(paths):
            yield chosen
            return
        for more in (chosen | {paths[at]}, chosen):
            if all(sum(change for path, change in each if path in more) == 0 for each in due[at]):
                yield from extended(more, at + 1)

    return extended(frozenset(), 0)


def _holds_shuffles(game: Game, contents: Sequence[Counter[tuple[str, str]]], piles: frozenset[str]) -> bool:
    for (seat, move), before in zip(game.made, contents, strict=False):
        if seat is None:
            held = Counter[str]()
            for (path, name), number in before.items():
                held[name] += number * (path in piles)
            if Counter(move.args[1:]) - held:
                return False
    return True
