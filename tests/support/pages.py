"""A test browser: parses pages strictly, fills in forms, presses buttons."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from xml.etree.ElementTree import Element

import html5lib
from flask.testing import FlaskClient
from werkzeug.test import TestResponse


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


def read(answer: TestResponse) -> Page:
    """Parse the page of an answer; any mistake in its HTML is an error."""
    return parsed(answer.text, answer.status_code)


def parsed(html: str, status: int = 200) -> Page:
    """Parse a page; any mistake in it is an error."""
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
