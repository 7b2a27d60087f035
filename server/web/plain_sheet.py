"""What the plain templates show of a view, and of the words of a game: sorted, and nothing of what is empty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any

import flask

from byzanz.games import AnyRules, latest, rules_of
from byzanz.games.facts import Fact, facts
from byzanz.parsing import example
from byzanz.rules import Seen
from server import i18n
from server.web.filters import listed

_SHORT = 8
"""Lists of more words are told only once."""
_LINES = 3
"""Facts of one name, such as tricks, of which the table shows so many."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """What a view shows.

    Args:
        short: facts of the table in a word or a number.
        piles: those that are cards.
        laid: by name, the card that each seat has laid in the middle, or an empty text.
        lines: by name, facts of which there are several, the newest last.
        seats: the other facts of each seat.
    """

    short: tuple[Fact, ...]
    piles: tuple[Fact, ...]
    laid: Mapping[str, Sequence[str]]
    lines: Mapping[str, Sequence[str]]
    seats: tuple[tuple[Fact, ...], ...]


def sheet(slug: str, view: Seen, seats: int) -> Sheet:
    """Return what a view of a game shows.

    Args:
        seats: the number of players.
    """
    table, by_seat = facts(view, seats, rules_of(slug).by_seat)
    lines: dict[str, list[str]] = {}
    for fact in table:
        if fact.cards is None:
            lines.setdefault(fact.name, []).append(fact.text)
    laid: dict[str, list[str]] = {}
    for seat, own in enumerate(by_seat):
        for fact in own:
            if fact.is_laid and fact.cards:
                laid.setdefault(fact.name, [""] * seats)[seat] = fact.cards[0]
    return Sheet(
        tuple([fact for fact in table if fact.cards is None and len(lines[fact.name]) == 1]),
        tuple([fact for fact in table if fact.cards]),
        laid,
        {name: texts[-_LINES:] for name, texts in lines.items() if len(texts) > 1},
        tuple([tuple([fact for fact in own if not fact.is_laid and fact.cards != ()]) for own in by_seat]),
    )


@cache
def cards_of(rules: AnyRules) -> frozenset[str]:
    """Return the names of a game's cards as far as its first shuffle and its grammar tell them."""
    shuffle = rules.chance(rules.setup(rules.seats[0], {}))
    found = {*(shuffle.cards if shuffle else ()), *getattr(rules, "cards", ())}
    for places in rules.grammar.values():
        for place in places:
            found |= set(place) if found & set(place) else set()
    return frozenset(found)


def in_words(slug: str, value: Any) -> str:
    """Return a value of a message of a game as people read it: cards by their names, words in their language.

    Args:
        value: a number or a text; several of them become a list.
    """
    if not isinstance(value, str):
        return listed([in_words(slug, each) for each in value]) if isinstance(value, Sequence) else str(value)
    words = value.split(" ")
    rules = next((rules for rules in latest() if rules.slug == slug), None)
    if rules is None or not cards_of(rules).issuperset(words):
        return str(i18n.own_text(slug, value))
    template: Any = flask.current_app.jinja_env.get_template(f"games/{slug}/cards.html").module
    return str(template.card_names(words).unescape())


@dataclass(frozen=True, slots=True)
class Written:
    """How a move is written.

    Args:
        verb: of the move.
        example: a move with it.
        parts: the words after it: how many of which; the name of an earlier verb stands for the same words.
    """

    verb: str
    example: str
    parts: tuple[tuple[int, Sequence[str] | str], ...]


def in_writing(rules: AnyRules) -> list[Written]:
    """Return how the moves of a game are written, from its grammar."""
    found, known = [], dict[Sequence[str], str]()
    for verb, places in rules.grammar.items():
        parts = [(len(list(same)), words) for words, same in groupby(map(tuple, places))]
        told = tuple([(number, known.get(words, words)) for number, words in parts])
        found.append(Written(verb, example(verb, places), told))
        known |= {words: verb for _, words in parts if len(words) > _SHORT and words not in known}
    return found
