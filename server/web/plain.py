"""Templates of games: what a game's own folder lacks comes from `templates/plain/`, which draws any view."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from types import SimpleNamespace
from typing import Any

from flask import Flask
from flask_babel import gettext, pgettext
from jinja2 import Environment, FileSystemLoader, TemplateNotFound

from byzanz.games import latest, rules_of
from byzanz.moves import Message
from byzanz.rules import Seen
from server import config
from server.web.filters import listed

_EVERYWHERE = {"viewer", "question", "awaited", "hand", "number"}
"""Fields that every page shows in its own way."""
_BY_SEAT = {"choices", "last"}
"""Fields with one card a seat."""
_NEWEST = 12
"""Of a long list, such as all moves so far, this many lines are shown."""


class GameTemplates(FileSystemLoader):
    """Loads the project's templates; in those of `templates/plain/`, `$slug` stands for the game that lacks its own."""

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        """Return a template's source, its file, and whether it is up to date."""
        try:
            return super().get_source(environment, template)
        except TemplateNotFound:
            folder, _, rest = template.partition("/")
            slug, _, name = rest.partition("/")
            if folder != "games" or slug not in {rules.slug for rules in latest()}:
                raise
            source, file, is_current = super().get_source(environment, f"plain/{name}")
            return source.replace("$slug", slug), file, is_current


def init_app(app: Flask) -> None:
    """Let an app load its templates this way, and tell the plain ones about their game."""
    app.jinja_loader = GameTemplates(str(config.TEMPLATES))
    app.jinja_env.globals["plain"] = SimpleNamespace(
        facts=facts, rules=rules_of, paragraphs=paragraphs, about=about, sentence=sentence
    )


def paragraphs(slug: str) -> list[str]:
    """Return what the module of a game says about it, one text a paragraph."""
    text = inspect.cleandoc(sys.modules[type(rules_of(slug)).__module__].__doc__ or "")
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n") if paragraph]


def about(slug: str) -> str:
    """Return the first paragraph of what the module of a game says about it."""
    return next(iter(paragraphs(slug)), "")


def sentence(message: Message, names: Sequence[str], me: int | None) -> str:
    """Return what followed from a move in the reader's language, as text.

    Args:
        names: of the players, by seat.
        me: the reader's seat, or None.
    """
    own = message.you and me is not None and message.seats.get("name") == me

    def named(seat: int) -> str:
        return str(pgettext("a player in a list", "you")) if seat == me else names[seat]

    found = {place: _listed(value) for place, value in message.places.items()}
    found |= {
        place: listed([named(seat) for seat in seats]) if isinstance(seats, Sequence) else named(seats)
        for place, seats in message.seats.items()
    }
    return str(gettext(message.you if own else message.text)) % found


def _listed(value: Any) -> str:
    return (
        str(value)
        if isinstance(value, str) or not isinstance(value, Sequence)
        else listed([*map(str, value)])
    )


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that a view shows.

    Args:
        name: of the field, with spaces: `to come`.
        text: a number or words; empty if there are cards.
        cards: by their names; None if the fact is no list of cards.
    """

    name: str
    text: str = ""
    cards: tuple[str, ...] | None = None


def facts(view: Seen, seats: int) -> tuple[tuple[Fact, ...], tuple[tuple[Fact, ...], ...]]:
    """Return what a view shows of the table and of each seat, in the order of its fields; nothing of what is hidden.

    Args:
        view: a dataclass; a field that is a mapping counts as several.
        seats: the number of players.
    """
    table: list[Fact] = []
    by_seat: list[list[Fact]] = [[] for _ in range(seats)]
    for name, value in _values(view):
        if _is_by_seat(name, value, seats):
            for own, single in zip(by_seat, value, strict=True):
                own.extend(_facts(name, (single,) if name in _BY_SEAT and single else single))
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


def _is_by_seat(name: str, value: Any, seats: int) -> bool:
    if not isinstance(value, tuple) or len(value) != seats:
        return False
    return name in _BY_SEAT or not any(isinstance(each, str) for each in value)


def _facts(name: str, value: Any) -> list[Fact]:
    if value is None or value is False or value == "":
        return []
    if not isinstance(value, tuple):
        return [Fact(name, "" if value is True else str(value))]
    if all(isinstance(each, str) for each in value):
        return [Fact(name, cards=value)]
    return [Fact(name, _line(each)) for each in value[-_NEWEST:]]


def _line(value: Any) -> str:
    return " ".join(map(_line, value)) if isinstance(value, tuple) else str(value)
