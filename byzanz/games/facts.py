"""What a view of any game shows, as facts of the table and of each seat, for pages, emails and the terminal."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from byzanz.rules import Seen

_EVERYWHERE = {"viewer", "question", "awaited", "hand", "number"}
"""Fields that every page shows in its own way."""
BY_SEAT = frozenset({"choices", "last"})
"""Fields with one card a seat in the views of sealed games."""
_NEWEST = 12
"""Of a long list, such as all moves so far, this many lines are shown."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that a view shows.

    Args:
        name: of the field, with spaces: `to come`.
        text: a number or words; empty if there are cards.
        cards: by their names; None if the fact is no list of cards.
        is_laid: whether these are cards that a seat has laid in the middle, such as its card of a trick.
    """

    name: str
    text: str = ""
    cards: tuple[str, ...] | None = None
    is_laid: bool = False


def facts(
    view: Seen, seats: int, named: Iterable[str] = ()
) -> tuple[tuple[Fact, ...], tuple[tuple[Fact, ...], ...]]:
    """Return what a view shows of the table and of each seat, in the order of its fields; nothing of what is hidden.

    Args:
        view: a dataclass; a field that is a mapping counts as several.
        seats: the number of players.
        named: the fields that belong to the seats, though their values do not show it (`Rules.by_seat`).
    """
    named = BY_SEAT.union(name.replace("_", " ") for name in named)
    table: list[Fact] = []
    by_seat: list[list[Fact]] = [[] for _ in range(seats)]
    for name, value in _values(view):
        if name in named and type(value) is int and value in range(seats):
            by_seat[value].append(Fact(name))
        elif _is_by_seat(name, value, seats, named):
            for own, single in zip(by_seat, value, strict=True):
                own.extend(_of_seat(name, single))
        else:
            table.extend(_facts(name, value))
    return tuple(table), tuple(map(tuple, by_seat))


def _values(view: Any) -> Iterator[tuple[str, Any]]:
    for field in fields(view):
        value = getattr(view, field.name)
        if isinstance(value, Mapping):
            yield from ((name.replace("_", " "), each) for name, each in value.items())
        elif field.name not in _EVERYWHERE:
            yield field.name.replace("_", " "), value


def _is_by_seat(name: str, value: Any, seats: int, named: Container[str]) -> bool:
    if not isinstance(value, tuple) or len(value) != seats:
        return False
    # A card has a name: an empty text stands for a seat that has none.
    return name in named or "" in value or not any(isinstance(each, str) for each in value)


def _of_seat(name: str, value: Any) -> list[Fact]:
    if isinstance(value, str) and value:
        return [Fact(name, cards=(value,), is_laid=name not in BY_SEAT)]
    return _facts(name, value)


def _facts(name: str, value: Any) -> list[Fact]:
    if _is_nothing(value):
        return []
    if not isinstance(value, tuple):
        return [Fact(name, "" if value is True else _line(value))]
    if all(isinstance(each, str) for each in value):
        return [Fact(name, cards=value)]
    return [Fact(name, _line(each)) for each in value[-_NEWEST:]]


def _line(value: Any) -> str:
    if is_dataclass(value):
        value = tuple([getattr(value, field.name) for field in fields(value)])
    if not isinstance(value, tuple):
        return str(value)
    return " ".join([_line(each) for each in value if each != () and not _is_nothing(each)])


def _is_nothing(value: Any) -> bool:
    return value is None or value is False or value == ""
