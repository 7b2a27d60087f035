"""Chromium, with or without JavaScript, and tabs that record every error that occurs in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode

from playwright.sync_api import Browser, ConsoleMessage, Page, Request, Response, Route, sync_playwright

from tests.support.browser.server import BrowserServer

BROWSERS = ("/usr/bin/chromium-headless-shell", "/usr/bin/chromium")
"""Chromium without its windows takes half of the time of the whole; Debian has it as a package of its own."""
CHROMIUM = next((path for path in map(Path, BROWSERS) if path.exists()), Path(BROWSERS[-1]))
ARGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")


@contextmanager
def browser(scripts: bool = False, width: int = 390, height: int = 844) -> Iterator[Page]:
    """Open a page in a separate browser until the block ends."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGS))
        context = chromium.new_context(
            java_script_enabled=scripts, viewport={"width": width, "height": height}, locale="en-GB"
        )
        yield context.new_page()
        context.close()
        chromium.close()


# ---- tabs ----

PHONE, DESK = (320, 640), (1280, 800)
"""Width and height of the windows that everything must work in, in CSS pixels."""
TELL = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
"""
"""Runs before any script of a page: reports parts that the browser refused to load or run."""
Scheme = Literal["light", "dark"]


@dataclass
class Tab:
    """A page in a separate browser window.

    Args:
        faults: errors so far: in the console, violations of the policy, failed requests and requests to other hosts. A
            tab made by the `tab` fixture fails its test if any are left at the end.
    """

    page: Page
    origin: str
    shots: Path | None
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        self.page.on("requestfailed", self._failed)
        self.page.on("request", self._request)
        self.page.on("response", self._response)

    def _console(self, message: ConsoleMessage) -> None:
        # what could not be loaded is told by its answer
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.faults.append(f"{message.type}: {message.text}")

    def _failed(self, request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # the page was left before it was through
            self.faults.append(f"failed: {request.url} {request.failure}")

    def _request(self, request: Request) -> None:
        if not request.url.startswith((f"{self.origin}/", "data:", "about:")):
            self.faults.append(f"asks elsewhere: {request.url}")

    def _response(self, response: Response) -> None:
        if response.status >= 400 and not response.request.is_navigation_request():
            self.faults.append(f"{response.status}: {response.url}")

    def goto(self, path: str, status: int = 200) -> Page:
        """Open a page of the server, which must answer with this status."""
        answer = self.page.goto(path if "://" in path else self.origin + path)
        assert answer is not None
        assert answer.status == status, (path, answer.status)
        return self.page

    def send(self, path: str, fields: Mapping[str, str], status: int = 200) -> Page:
        """Submit a form as a page of the server would, and show the answer, which must have this status."""
        address, body = self.origin + path, urlencode(fields)

        def post(route: Route) -> None:
            headers = route.request.headers | {"content-type": "application/x-www-form-urlencoded"}
            route.continue_(method="POST", post_data=body, headers=headers)

        self.page.route(address, post)
        try:
            return self.goto(path, status)
        finally:
            self.page.unroute(address)

    def shot(self, name: str) -> None:
        """Save a screenshot of the whole page under this name, if a folder was given."""
        if self.shots is not None:
            path = self.shots / f"{name.replace(' ', '-')}.png"
            self.page.screenshot(path=path, full_page=True, animations="disabled")

    def as_if_fresh(self, house: BrowserServer, person: str | None, language: str) -> None:
        """A light-mode window of any size, used by one person only."""
        context = self.page.context
        context.clear_cookies()
        if person is not None:
            context.add_cookies([house.cookie(person)])  # type: ignore[list-item]
        self.page.set_extra_http_headers({"Accept-Language": language})
        self.page.emulate_media(color_scheme="light")

    def close(self) -> None:
        """Close the window and delete its data."""
        self.page.context.close()


def opened(
    browser: Browser,
    house: BrowserServer,
    shots: Path | None,
    *,
    size: tuple[int, int] = DESK,
    scheme: Scheme = "light",
    scripts: bool = True,
    language: str | None = "en",
    person: str | None = None,
    **more: Any,
) -> Tab:
    """Open a fresh window.

    Args:
        language: the language that the browser requests; None leaves it to a header set later.
        person: the name of the person signed in, None for nobody.
        more: further options of `Browser.new_context`: `reduced_motion`, `forced_colors` …
    """
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme=scheme,
        java_script_enabled=scripts,
        locale=language,
        **more,
    )
    context.set_default_timeout(10_000)
    if scripts:
        context.add_init_script(TELL)
    if person is not None:
        context.add_cookies([house.cookie(person)])  # type: ignore[list-item]
    return Tab(context.new_page(), house.origin, shots)
