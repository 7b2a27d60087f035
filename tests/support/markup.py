"""Checks of any page for any game: valid markup, and no untranslated text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from xml.etree.ElementTree import Element

import flask
import pytest
from flask import Flask
from html5lib.html5parser import ParseError

from server import i18n
from server.web import sprites
from tests.support.pages import Page, strictly

HEAVY = 60_000
"""The size in bytes that no page may reach."""


def assert_sound(name: str, page: Page) -> None:
    """Check that HTML is valid, nothing inline, ids unique, references resolve, one main heading, and the page small.

    Args:
        name: of the page, for the failure message.
    """
    try:
        page = strictly(page.html, page.status)
    except ParseError as error:
        raise AssertionError(f"{name}: {error}") from error
    for item in page.root.iter():
        assert item.get("style") is None, name
        assert not [key for key in item.keys() if key.startswith("on")], name  # noqa: SIM118
        if item.tag == "script":
            assert item.get("src"), name
            assert not (item.text or "").strip(), name
    ids = [item.get("id") for item in page.root.iter() if item.get("id")]
    assert len(ids) == len(set(ids)), (name, ids)
    assert len([item for item in page.root.iter() if item.tag == "h1"]) == 1, name
    amiss = [*_dangling(page), *_misplaced(page)]
    assert amiss == [], (name, amiss)
    assert len(page.html.encode()) < HEAVY, (name, len(page.html))


def _dangling(page: Page) -> list[str]:
    """Return references to missing elements, and fields without a label."""
    items = list(page.root.iter())
    ids = {item.get("id") for item in items}
    keys = ("for", "aria-labelledby", "aria-describedby")
    wanted = [name for item in items for key in keys for name in item.get(key, "").split()]
    wanted += [item.get("href", "")[1:] for item in items if item.get("href", "").startswith("#")]
    labelled = {item.get("for") for item in items if item.tag == "label"}
    inside = {field for item in items if item.tag == "label" for field in item.iter() if field is not item}
    bare = [
        item.get("name", "?")
        for item in items
        if item.tag in ("input", "select", "textarea")
        and item.get("type") != "hidden"
        and item.get("id") not in labelled
        and item not in inside
        and not (item.get("aria-label") or item.get("aria-labelledby"))
    ]
    return [target for target in wanted if target and target not in ids] + bare


def _misplaced(page: Page) -> Iterator[str]:
    """Return elements that the parser accepts although they are not allowed there."""
    for item in page.root.iter():
        tags = [str(inner.tag) for inner in item if isinstance(inner.tag, str)]
        if item.tag in ("ul", "ol"):
            yield from (f"<{tag}> in a list" for tag in tags if tag not in ("li", "script", "template"))
        if item.tag == "dl":
            yield from (f"<{tag}> in a <dl>" for tag in tags if tag not in ("dt", "dd", "div"))
        if item.tag in ("a", "button"):
            inside = [str(inner.tag) for inner in item.iter() if inner is not item]
            pressed = {"a", "button", "input", "select", "textarea", "details", "label"} & set(inside)
            yield from (f"<{tag}> in <{item.tag}>" for tag in sorted(pressed))


@contextmanager
def drawn(app: Flask) -> Iterator[set[str]]:
    """Yield the names of the page templates that are rendered in the block, in any thread."""
    names: set[str] = set()

    def note(_sender: object, template: object, **_more: object) -> None:
        names.add(str(getattr(template, "name", "")))

    with flask.template_rendered.connected_to(note, app):
        yield names


class Marked:
    """Translations that put brackets around every translated text."""

    def ugettext(self, text: str) -> str:
        return f"⟦{text}⟧"

    def ungettext(self, one: str, many: str, number: int) -> str:
        return f"⟦{one if number == 1 else many}⟧"

    def upgettext(self, _context: str, text: str) -> str:
        return f"⟦{text}⟧"


def mark(patch: pytest.MonkeyPatch) -> None:
    """Put brackets around every translated text of a page until the patch is undone; no drawing is kept from then."""
    patch.setattr(i18n.Domain, "get_translations", lambda _self, _slug="": Marked())
    patch.setattr(sprites, "_drawings", lambda _slug, _language: ("", "00000000"))


def forgotten(page: Page, data: re.Pattern[str]) -> list[str]:
    """Return the texts of a page rendered with `Marked` that were not translated.

    Args:
        data: what need not be translated: names, times, codes.
    """
    body = next(item for item in page.root.iter("body"))
    said = [
        *_sentences(body),
        *(item.get(key, "") for item in body.iter() for key in ("aria-label", "title")),
    ]
    return [text for text in said if re.search(r"[A-Za-z]{2}", data.sub("", outside_brackets(text)))]


def _sentences(item: Element) -> Iterator[str]:
    """Return the texts of an element without code and names of languages, which are the same in every language."""
    named = item.get("lang") is not None and item.tag != "html"
    if item.tag != "code" and "code" not in item.get("class", "").split() and not named:
        yield item.text or ""
        for inner in item:
            yield from _sentences(inner)
            yield inner.tail or ""


def outside_brackets(text: str) -> str:
    """Return the text outside the brackets."""
    kept, depth = [], 0
    for sign in text:
        depth += (sign == "⟦") - (sign == "⟧")
        if depth == 0:
            kept.append(sign)
    return "".join(kept)
