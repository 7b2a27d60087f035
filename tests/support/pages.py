"""A test browser: parses pages, fills in forms, presses buttons."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from xml.etree.ElementTree import Element, TreeBuilder

import html5lib
from flask.testing import FlaskClient
from werkzeug.test import TestResponse


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
