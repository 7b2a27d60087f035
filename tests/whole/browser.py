"""Chromium with JavaScript switched off, as a way to use pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import ElementHandle, Page, sync_playwright

from tests.whole.world import Button, Form

ARGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")


@contextmanager
def browser(executable: str, scripts: bool = False, width: int = 390, height: int = 844) -> Iterator[Page]:
    """A page in a browser of its own; gone with the block."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=list(ARGS))
        context = chromium.new_context(
            java_script_enabled=scripts, viewport={"width": width, "height": height}, locale="en-GB"
        )
        yield context.new_page()
        context.close()
        chromium.close()


class BrowserHand:
    """Uses pages as a finger does: ticks boxes that are shown, presses buttons that are shown."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def open(self, address: str) -> int:
        """Go to a page; its status."""
        response = self.page.goto(address)
        assert response is not None
        return response.status

    def forms(self) -> list[Form]:
        """The forms that post on the page one is at."""
        found = []
        for form in self.page.query_selector_all("form[method=post]"):
            inputs = form.query_selector_all("input[type=hidden]")
            hidden = {_at(i, "name"): _at(i, "value") for i in inputs}
            boxes = [_at(i, "value") for i in form.query_selector_all("input[type=checkbox][name=card]")]
            buttons = [Button(_at(b, "name"), _at(b, "value")) for b in form.query_selector_all("button")]
            found.append(Form(_at(form, "action"), hidden, boxes, buttons))
        return found

    def press(self, form: Form, button: Button, ticked: list[str], fields: dict[str, str]) -> int:
        """Fill in a form and press a button; the status of the page it leads to."""
        number = next(i for i, shown in enumerate(self.forms()) if shown == form)
        shown = self.page.query_selector_all("form[method=post]")[number]
        for name, value in fields.items():
            self._fill(shown, name, value)
        for value in ticked:
            box = shown.query_selector(f'input[type=checkbox][value="{value}"]')
            assert box is not None
            box.check(force=True)
        chosen = [
            element
            for element in shown.query_selector_all("button")
            if (_at(element, "name"), _at(element, "value")) == (button.name, button.value)
        ]
        _unfold(chosen[0])
        with self.page.expect_navigation() as navigation:
            chosen[0].click()
        return navigation.value.status

    @staticmethod
    def _fill(form: ElementHandle, name: str, value: str) -> None:
        entry = form.query_selector(f'[name="{name}"]')
        assert entry is not None
        _unfold(entry)
        tag = entry.evaluate("element => element.tagName + ' ' + element.type")
        if tag.startswith("SELECT"):
            entry.select_option(value)
        elif "checkbox" in tag:
            entry.check()
        else:
            entry.fill(value)

    def text(self) -> str:
        """What the page says."""
        return self.page.inner_text("body")


def _unfold(element: ElementHandle) -> None:
    """Open what is folded around an element, as a person would to reach it."""
    summary = element.query_selector("xpath=ancestor::details[not(@open)]/summary")
    if summary is not None:
        summary.click()


def _at(element: ElementHandle, name: str) -> str:
    return element.get_attribute(name) or ""
