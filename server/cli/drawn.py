"""A template of a game, drawn, and what must be true of the result: well-formed, escaped, without forgotten values."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from functools import lru_cache
from html.parser import HTMLParser
from pathlib import PurePath
from typing import Any

import flask
from jinja2 import Environment, Template, TemplateNotFound, Undefined
from jinja2.utils import missing

from byzanz.conformance import Fault
from byzanz.conformance.game import expect
from byzanz.rules import Rules
from server import i18n

_VOID = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}
)
NONE = re.compile(r"^None$|[\w,:(\[=] ?None\b|\w+\(\w+=")
"""A value that was forgotten, or an object of Python, in a text for people."""


class Drawn(HTMLParser):
    """A piece of HTML, checked while it is read.

    Attributes:
        moves: the values of its buttons and choices that are whole moves.
        verbs: the values of its buttons that are verbs.
        ids: of its elements.
        words: its texts, those of labels in attributes included.
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.moves: list[str] = []
        self.verbs: list[str] = []
        self.ids: list[str] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self._select = ""
        self.feed(html)
        self.close()
        expect(not self._open, "<%s> is not closed", self._open[-1] if self._open else "")
        twice = sorted({each for each in self.ids if self.ids.count(each) > 1})
        expect(not twice, "the id “%s” is given twice", *twice[:1])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element that stays open."""
        self.handle_startendtag(tag, attrs)
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Check an element and note what it offers."""
        given = dict(attrs)
        expect(tag != "zz", "the name of a player is not escaped")
        expect(tag != "script", "there is a script, which the security policy forbids")
        expect(len(given) == len(attrs), "<%s> has an attribute twice", tag)
        for name, value in attrs:
            expect(
                name != "style" and not name.startswith("on"),
                "<%s> has the attribute %s, which the security policy forbids",
                tag,
                name,
            )
            expect(not NONE.search(value or ""), "the attribute %s of <%s> is “%s”", name, tag, value)
        self._select = given.get("name") or "" if tag == "select" else self._select
        field = self._select if tag == "option" else given.get("name")
        if field and tag in ("button", "option", "input") and field.startswith(("move", "verb")):
            (self.verbs if field == "verb" else self.moves).append(given.get("value") or "")
        self.ids += [given["id"] or ""] if "id" in given else []
        self.words += [given.get(name) or "" for name in ("aria-label", "title", "alt", "placeholder")]

    def handle_endtag(self, tag: str) -> None:
        """Check that the element was the last one that was opened."""
        last = self._open.pop() if self._open else "nothing"
        expect(last == tag, "</%s> stands where </%s> should", tag, last)

    def handle_data(self, data: str) -> None:
        """Check a text."""
        text = data.strip()
        expect(not NONE.search(text), "there is the text “%s”", text[:80])
        if "style" not in self._open and "code" not in self._open:
            self.words.append(text)


class _Unknown(Undefined):
    """A name that nobody gave, which is an error; it may be asked whether an object has a field, but no more."""

    __hash__ = Undefined.__hash__
    __str__ = __iter__ = __len__ = Undefined._fail_with_undefined_error

    def __bool__(self) -> bool:
        if self._undefined_obj is missing and self._undefined_hint is None:
            self._fail_with_undefined_error()
        return False

    def __eq__(self, other: object) -> bool:
        return bool(self) or self is other


@lru_cache(1)
def _strict(environment: Environment) -> Environment:
    """Return the environment of an app in which an unknown name is an error."""
    return environment.overlay(undefined=_Unknown)


def template(rules: Rules[Any, Any], name: str) -> Template:
    """Return a template of a game.

    Raises:
        Fault: it is missing, or one that it takes something from.
    """
    found = optional(rules, name)
    if found is None:
        raise Fault(f"The template games/{rules.slug}/{name} is missing.")
    return found


def optional(rules: Rules[Any, Any], name: str) -> Template | None:
    """Return a template that a game need not have; None if it has none."""
    try:
        return _strict(flask.current_app.jinja_env).get_template(f"games/{rules.slug}/{name}")
    except TemplateNotFound:
        return None


def module(rules: Rules[Any, Any], name: str) -> Any:
    """Return the macros of a template of a game."""
    return template(rules, name).module


def drawn(what: str, draw: Callable[..., str], *arguments: Any, **given: Any) -> Drawn:
    """Return what a template or macro makes in the current language.

    Args:
        what: begins the sentence about a fault.
        draw: makes the HTML from the arguments.

    Raises:
        Fault: it fails, or what it makes is wrong.
    """
    try:
        return Drawn(str(draw(*arguments, **given)))
    except Exception as error:
        kind = "" if isinstance(error, Fault) else f"{type(error).__name__}: "
        frames = [it for it in traceback.extract_tb(error.__traceback__) if not it.filename.endswith(".py")]
        where = f" ({PurePath(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
        raise Fault(f"{what}, in {i18n.current_language()}: {kind}{error}{where}.") from error
