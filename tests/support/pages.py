"""A test browser: parses pages, fills in forms, presses buttons, and checks any page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from typing import Any
from xml.etree.ElementTree import Element, TreeBuilder

import flask
import html5lib
import pytest
from flask import Flask
from flask.testing import FlaskClient
from html5lib.html5parser import ParseError
from sqlalchemy import select
from werkzeug.test import TestResponse

from server import i18n
from server.accounts import login
from server.store import engine, links
from server.store.models import BrowserSession, Link, Mail, Person
from server.web import assets


class Browser(FlaskClient):
    """A client that says, as browsers do, that its forms come from a page of this server."""

    def __init__(self, *words: Any, **more: Any) -> None:
        super().__init__(*words, **more)
        self.environ_base["HTTP_REFERER"] = f"{self.application.config['BYZANZ'].base_url}/"


def without_ids(html: str) -> str:
    """Return a page without the fresh request ids of its forms, to be compared with another."""
    return re.sub(r'(name="request_id" value=")[^"]*', r"\1", html)


@dataclass
class Form:
    """A form of a page, with its fields as a browser would send them."""

    action: str
    hidden: list[tuple[str, str]]
    boxes: list[str]
    ticked: list[str]
    buttons: list[tuple[str, str]]

    def pressing(self, name: str, value: str, ticks: list[str] | None = None) -> list[tuple[str, str]]:
        """Return what is sent when this button is pressed with these boxes ticked; the page must offer them."""
        assert (name, value) in self.buttons, (name, value, self.buttons)
        chosen = self.ticked if ticks is None else ticks
        assert set(chosen) <= set(self.boxes)
        return [*self.hidden, *(("card", tick) for tick in chosen), (name, value)]


@dataclass
class Page:
    """A page of an answer."""

    status: int
    html: str
    root: Element = field(repr=False)

    @property
    def text(self) -> str:
        """The readable text, with whitespace collapsed."""
        return " ".join(" ".join(self.root.itertext()).split())

    def form(self, form_id: str) -> Form:
        """Return the form with this id."""
        found = next(item for item in self.root.iter("form") if item.get("id") == form_id)
        inputs = list(found.iter("input"))
        boxes = [item for item in inputs if item.get("type") == "checkbox"]
        return Form(
            action=found.get("action", ""),
            hidden=[(i.get("name", ""), i.get("value", "")) for i in inputs if i.get("type") == "hidden"],
            boxes=[item.get("value", "") for item in boxes],
            ticked=[item.get("value", "") for item in boxes if item.get("checked") is not None],
            buttons=[(item.get("name", ""), item.get("value", "")) for item in found.iter("button")],
        )


class Tree(HTMLParser):
    """Build the elements of a page; every element that can have an end must have one, in the right place.

    This takes a tenth of the time of html5lib. `strictly` is for the tests that see every page in every state.
    """

    VOID = frozenset({"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"})

    def __init__(self) -> None:
        super().__init__()
        self._builder = TreeBuilder()
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open an element; an option ends where the next one begins."""
        if tag == "option":
            self._end_option()
        assert len({name for name, _ in attrs}) == len(attrs), f"an attribute twice at {self.getpos()}"
        self._builder.start(tag, {name: value or "" for name, value in attrs})
        if tag in self.VOID:
            self._builder.end(tag)
        else:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open and close an element of a drawing; elsewhere a browser would leave it open."""
        assert tag in self.VOID or "svg" in (tag, *self._open), f"<{tag}/> at {self.getpos()}"
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close the innermost element."""
        if tag != "option":
            self._end_option()
        assert self._open, f"</{tag}> ends nothing"
        assert self._open[-1] == tag, f"</{tag}> where </{self._open[-1]}> is due, at {self.getpos()}"
        self._builder.end(self._open.pop())

    def _end_option(self) -> None:
        if self._open[-1:] == ["option"]:
            self._builder.end(self._open.pop())

    def handle_data(self, data: str) -> None:
        """Add text."""
        if self._open:
            self._builder.data(data)

    def finish(self) -> Element:
        """Return the root."""
        self.close()
        assert self._open == [], f"never closed: {self._open}"
        return self._builder.close()


def read(answer: TestResponse) -> Page:
    """Parse the page of an answer; an element that is not closed is an error, and so is a redirection."""
    assert not 300 <= answer.status_code < 400, f"a redirection to {answer.location}"
    return parsed(answer.text, answer.status_code)


def parsed(html: str, status: int = 200) -> Page:
    """Parse a page; an element that is not closed is an error."""
    tree = Tree()
    tree.feed(html)
    return Page(status, html, tree.finish())


def strictly(html: str, status: int = 200) -> Page:
    """Parse a page; any mistake in its HTML is an error."""
    parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
    return Page(status, html, parser.parse(html))


def look(client: FlaskClient, path: str, **more: Any) -> Page:
    """Open a page."""
    return read(client.get(path, **more))


def press(
    client: FlaskClient, page: Page, name: str, value: str, ticks: list[str] | None = None
) -> TestResponse:
    """Press a button of the page's `play` form."""
    form = page.form("play")
    return client.post(form.action, data=_grouped(form.pressing(name, value, ticks)))


def _grouped(pairs: list[tuple[str, str]]) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for name, value in pairs:
        grouped.setdefault(name, []).append(value)
    return grouped


# ---- forms, filled in and submitted as a browser would ----


def fields(form: Element) -> dict[str, str]:
    """Return what a browser would send of an untouched form; a button only if it is the only one."""
    found: dict[str, str] = {}
    for item in form.iter():
        name = item.get("name")
        if name is None:
            continue
        if item.tag == "input" and item.get("type") in ("checkbox", "radio"):
            if item.get("checked") is not None:
                found[name] = item.get("value", "on")
        elif item.tag == "input":
            found[name] = item.get("value", "")
        elif item.tag == "textarea":
            found[name] = (item.text or "").removeprefix("\n")
        elif item.tag == "select":
            options = list(item.iter("option"))
            chosen = [option for option in options if option.get("selected") is not None] or options[:1]
            found[name] = chosen[0].get("value", chosen[0].text or "")
        elif item.tag == "button":
            found[name] = item.get("value", "")
    return found


def form(page: Page, **known: str) -> tuple[str | None, dict[str, str]]:
    """Return the action and the fields of the only form that posts these fields with these values.

    The forms for the language at the foot of every page and those that start a game are ignored; only their own tests
    use them.
    """
    forms = [
        item
        for item in page.root.iter("form")
        if item.get("method") == "post"
        and (known or not (item.get("class") == "languages" or item.get("action") == "/play"))
    ]
    fitting = [item for item in forms if known.items() <= fields(item).items()]
    assert len(fitting) == 1, (known, [fields(item) for item in forms])
    return fitting[0].get("action"), fields(fitting[0])


def send(
    client: FlaskClient, path: str, typed: Mapping[str, str] | None = None, **known: str
) -> TestResponse:
    """Open a page, fill in the form that has the `known` fields, and submit it."""
    typed = typed or {}
    action, filled = form(look(client, path), **known)
    assert set(typed) <= set(filled), (typed, filled)
    return client.post(action or path, data={**filled, **typed})


def log_in(client: FlaskClient, person_id: int, base_url: str | None = None) -> None:
    """Sign this browser in without an email."""
    token = session_of(person_id)
    with client.session_transaction(base_url=base_url) as cookie:
        cookie[login.COOKIE_KEY] = token


def session_of(person_id: int) -> str:
    """Return the token of a person's session, the same in every browser, creating the session if necessary."""
    token = f"the session of {person_id}"
    now = engine.utc_now()
    new = {"digest": login.session_digest(token), "person_id": person_id, "browser": ""}
    with engine.transaction() as session:
        engine.insert(session, BrowserSession, new | {"created_at": now, "used_at": now}, key="digest")
    return token


def sign_in_token(mail: Mail) -> str:
    """Return the token of the link in a queued sign-in email."""
    with engine.reading() as session:
        return links.token(links.select_rows(session, Link.id == json.loads(mail.details)["link"])[0])


def sign_in(client: FlaskClient, address: str) -> None:
    """Sign this browser in with an emailed link."""
    login.mail_sign_in(address, engine.utc_now())
    with engine.reading() as session:
        query = select(Mail).join(Person, Person.id == Mail.person_id).where(Mail.kind == "signin")
        mail = session.scalars(query.where(Person.email == address).order_by(Mail.id.desc())).first()
    assert mail is not None
    assert send(client, f"/s/{sign_in_token(mail)}").status_code == 303


# ---- valid markup and no forgotten text ----

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
    patch.setattr(assets, "_drawings", lambda _slug, _language: ("", "00000000"))


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


# ---- texts that are still English ----

PLACE = re.compile(r"%\(\w+\)[a-z]")
ATTRIBUTES = ("aria-label", "title", "alt", "placeholder")
FEWEST = 12
"""Letters that a sentence must have besides its placeholders to be recognised."""
NAMES = frozenset(i18n.NAMES.values())


@cache
def english(language: str) -> tuple[frozenset[str], tuple[re.Pattern[str], ...]]:
    """Return the English texts that differ in a language: whole ones, and patterns for those with placeholders."""
    told, said, patterns = set(), set(), []
    for text in i18n.catalogue(language):
        if not text.id:
            continue
        sources = text.id if isinstance(text.id, tuple) else (text.id,)
        words = text.string if isinstance(text.string, tuple) else (text.string,)
        said |= {str(form).strip() for form in words}
        for source in {str(source) for source in sources} - set(words):
            if not PLACE.search(source):
                told.add(source.strip())
            elif len(re.findall("[A-Za-z]", PLACE.sub("", source))) >= FEWEST:
                parts = [re.escape(part.replace("%%", "%")) for part in PLACE.split(source.strip())]
                patterns.append(re.compile(".*".join(parts), re.DOTALL))
    return frozenset(told - said - NAMES), tuple(patterns)


def leftovers(language: str, texts: Iterator[str] | list[str]) -> list[str]:
    """Return texts or sentences that are in English although this language has a translation."""
    whole, patterns = english(language)
    joined = [" ".join(text.split()) for text in texts]
    plain = {part for text in joined for part in (text, *re.split(r"(?<=[.!?:])\s+", text))}
    return sorted(
        text for text in plain if text in whole or any(pattern.fullmatch(text) for pattern in patterns)
    )


def texts_of(root: Element) -> Iterator[str]:
    """Return every text of a page that people read or that is read aloud."""
    for item in root.iter():
        if item.tag in ("style", "script") or "code" in (item.tag, *item.get("class", "").split()):
            yield item.tail or ""
            continue
        yield from (item.text or "", item.tail or "")
        yield from (item.get(name, "") for name in ATTRIBUTES)
