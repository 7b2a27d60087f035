"""Chromium, with or without JavaScript."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page, sync_playwright

ARGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")


@contextmanager
def browser(executable: str, scripts: bool = False, width: int = 390, height: int = 844) -> Iterator[Page]:
    """Open a page in a separate browser until the block ends."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=list(ARGS))
        context = chromium.new_context(
            java_script_enabled=scripts, viewport={"width": width, "height": height}, locale="en-GB"
        )
        yield context.new_page()
        context.close()
        chromium.close()
