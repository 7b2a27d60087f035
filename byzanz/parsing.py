"""Reading lines: moves and orders in any letter case and spacing, words shortened; and stored values."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from byzanz.moves import AmbiguousMove, Move, UnreadableMove, UnreadableOrder

LONGEST = 1000
"""The most characters in a line."""
_JSON = json.JSONEncoder(separators=(",", ":"))
_MOST_NAMED = 5
"""An error names at most this many words that an abbreviation can stand for."""


def move_words(text: str) -> list[str]:
    """Split a player's line into words in lower case; none if the line is empty.

    Raises:
        UnreadableMove: the line is too long or has signs that no move has.
    """
    if len(text) > LONGEST:
        raise UnreadableMove("A move is one line of at most %(longest)s characters.", longest=LONGEST)
    line = text.strip().replace("\t", " ")
    if not line.isascii() or not line.isprintable():
        raise UnreadableMove("A move is one line of plain letters, digits and spaces.")
    return line.lower().split()


def order_words(text: str) -> list[str]:
    """Split a line of a standing order into words in lower case, without commas and a leading `order`.

    Raises:
        UnreadableOrder: the line is too long or has signs that no order has.
    """
    if len(text) > LONGEST or not text.isascii() or not text.isprintable():
        raise UnreadableOrder(
            "An order is one line of plain letters and digits, at most %(most)s.", most=LONGEST
        )
    words = text.lower().replace(",", " ").split()
    return words[1:] if words[:1] == ["order"] else words


def read_verb(word: str, verbs: Sequence[str]) -> str:
    """Return the verb of a move that this word is or abbreviates.

    Raises:
        UnreadableMove, AmbiguousMove: it is not one verb.
    """
    verb = completed(word, verbs)
    if not verb:
        known = ", ".join(verbs)
        raise UnreadableMove(
            "There is no move %(word)s; the moves are %(known)s.", word=word[:20], known=known
        )
    return verb


class Several(tuple[Sequence[str], ...]):
    """The places of several words of one list, whose order does not matter."""


def several(number: int, words: Sequence[str]) -> Several:
    """Return what the grammar of a game says of a verb with several words, such as three cards of a hand.

    A move may name them in any order; `read_move` puts them into that of the list.

    Args:
        number: of the words.
        words: that may stand there, in canonical order.
    """
    return Several((tuple(words),) * number)


def example(verb: str, places: Sequence[Sequence[str]]) -> str:
    """Return a move that shows how a verb is used, with another word at each of several equal places."""
    before = [tuple(place) for place in places]
    words = [place[before[:at].count(tuple(place)) % len(place)] for at, place in enumerate(places)]
    return " ".join((verb, *words))


def read_move(text: str, grammar: Mapping[str, Sequence[Sequence[str]]]) -> Move:
    """Read a move of a game whose moves are all a verb and a fixed number of words.

    Args:
        text: in any letter case and spacing, words shortened.
        grammar: by verb, the words that may stand at each place after it, see `several`.

    Raises:
        UnreadableMove, AmbiguousMove: the text is not one move.
    """
    words = move_words(text)
    verb = read_verb(words[0], tuple(grammar)) if words else next(iter(grammar))
    places = grammar[verb]
    given, needed = len(words) - 1, len(places)
    if given > 0 and given != needed > 1:
        raise UnreadableMove(
            "“%(verb)s” needs %(needed)s words after it, not %(given)s. Example: %(example)s.",
            verb=verb,
            needed=needed,
            given=given,
            example=example(verb, places),
        )
    if given != needed:
        raise UnreadableMove("Write a move like this: %(example)s.", example=example(verb, places))
    read = list(map(_read_word, words[1:], places))
    return Move(verb, tuple(sorted(read, key=places[0].index) if isinstance(places, Several) else read))


def _read_word(word: str, among: Sequence[str]) -> str:
    full = completed(word, among)
    if not full:
        raise UnreadableMove("There is no %(word)s here.", word=word[:20])
    return full


def completed(word: str, among: Sequence[str]) -> str:
    """Return the one word that this is or abbreviates; empty if there is none.

    Args:
        word: in lower case; a whole word stands for itself, even where it begins others.
        among: the words there are.

    Raises:
        AmbiguousMove: it abbreviates more than one.
    """
    if word in among:
        return word
    fits = [full for full in among if full.startswith(word)]
    if len(fits) > 1:
        named = fits if len(fits) <= _MOST_NAMED else [*fits[: _MOST_NAMED - 1], "another"]
        raise AmbiguousMove(
            "%(word)s could be %(fits)s. Write more letters.", word=word, fits=" or ".join(named)
        )
    return fits[0] if fits else ""


def frozen(value: Any) -> Any:
    """Return a value read from JSON with tuples in place of lists."""
    if not isinstance(value, list):
        return value
    return tuple([frozen(item) if isinstance(item, list) else item for item in value])


def written(value: Any) -> str:
    """Return a value as one line of JSON, tuples as lists."""
    return _JSON.encode(value)


def read_json(text: str) -> Any:
    """Return the value of a line that `written` wrote, with tuples in place of lists, also within mappings.

    Raises:
        ValueError: the text is not JSON.
    """
    return frozen(json.loads(text, object_hook=_frozen_items))


def _frozen_items(found: dict[str, Any]) -> dict[str, Any]:
    return {name: frozen(item) for name, item in found.items()}
