"""Emails as an email client renders them: on a phone and a desktop, light and dark, without images."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from sqlalchemy import update

from server import create_app, play
from server.accounts import login
from server.lobby import create
from server.store import engine, outbox
from server.store.models import Mail, Person
from tests.conftest import begun, copied, settings
from tests.support.browser import page_checks
from tests.support.browser.chromium import Scheme
from tests.support.lobby import wish
from tests.support.mails import KINDS, every_mail, queue_every_mail
from tests.support.visitors import make_visitors

WIDTHS = (320, 640)
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
MORE = ("signin", "games", "confirm", "digest", "over")
"""Kinds that come by themselves, or are asked for."""


@pytest.fixture(
    scope="module",
    params=["en", *(pytest.param(other, marks=pytest.mark.nightly) for other in ("de", "nl"))],
)
def letters(request: pytest.FixtureRequest, migrated_file: Path) -> list[str]:
    """The HTML of a mail of each kind, and of a turn in each game, in one language."""
    with copied(migrated_file) as url:
        app = create_app(settings(url))
        with app.app_context():
            there = make_visitors(app, engine.utc_now())
            with engine.transaction() as session:
                queue_every_mail(session, there)
            tables = [
                begun(friends, f"mail-{slug}", engine.utc_now(), slug=slug)
                for slug, friends in (("byzanz", 4), ("byzantium", 3), ("empire", 2))
            ]
            mia = there.person("Mia")
            play.moderate("there", "!abandon", reason="Enough", person_id=mia, now=engine.utc_now())
            create.create_game(wish(), engine.utc_now())
            login.mail_sign_in("alice@example.org", engine.utc_now())
            login.mail_games(there.person("Alice"), engine.utc_now())
            with engine.transaction() as session:
                key, awaits = "looks:digest", tables[0].people[0]
                session.get_one(Person, awaits).cadence = "digest"
                outbox.enqueue(session, key=key, kind="digest", person_id=awaits, now=engine.utc_now())
                session.execute(update(Person).values(language=request.param))
            drawn = [shown.html for shown in every_mail()]
            with engine.reading() as session:
                sent = {mail.kind for mail in session.query(Mail).where(Mail.status == "sent")}
            assert sent >= {*KINDS, *MORE}
            engine.db.session.remove()
            engine.db.engine.dispose()
    return drawn


@pytest.fixture(scope="module")
def readers(chromium: Browser) -> Iterator[dict[tuple[int, str], Page]]:
    """A window of each width and scheme, in which nothing can be loaded."""
    contexts = [
        (width, scheme, chromium.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme))
        for width in WIDTHS
        for scheme in SCHEMES
    ]
    for _width, _scheme, context in contexts:
        context.set_offline(True)
    yield {(width, scheme): context.new_page() for width, scheme, context in contexts}
    for _width, _scheme, context in contexts:
        context.close()


def faults_of(page: Page, html: str, colours: bool = True) -> list[str]:
    """What is wrong with an email in this window: too wide, too small to hit, too pale."""
    page.set_content(html)
    return [*page_checks.looks(page), *(page_checks.axe(page, ["color-contrast"]) if colours else ())]


def test_every_mail_can_be_read_and_pressed(
    letters: list[str], readers: dict[tuple[int, str], Page], shots: Path
) -> None:
    wrong = []
    for number, html in enumerate(letters):
        for (width, scheme), page in readers.items():
            found = faults_of(page, html, colours=width == WIDTHS[0])  # they are the same at each width
            if found:
                wrong.append((page.title(), number, width, scheme, found))
                page.screenshot(path=shots / f"mail-{number}-{width}-{scheme}.png", full_page=True)
    assert wrong == []


def test_no_mail_asks_for_anything_from_outside(letters: list[str]) -> None:
    for html in letters:
        assert not re.search(
            r"<(img|link|script|iframe|object|svg)|url\(|@import|\bsrc=", html, re.IGNORECASE
        )
        assert '<meta name="color-scheme" content="light dark">' in html


def test_the_main_link_is_seen_without_scrolling(
    letters: list[str], readers: dict[tuple[int, str], Page]
) -> None:
    page = readers[320, "light"]
    turns = [html for html in letters if html.count('class="button"') > 1]
    assert turns
    for html in turns:
        page.set_content(html)
        box = page.locator("a.button").first.bounding_box()
        assert box is not None
        assert box["height"] >= 44
        assert box["y"] + box["height"] < 800


@pytest.mark.parametrize(
    ("planted", "told"),
    [
        ('<p style="width: 700px">Wide</p>', "wide"),
        (
            '<p><a style="display: inline-block; height: 12px" href="https://byzanz.test/">Go</a></p>',
            "target",
        ),
        ('<p style="color: #8a7a6a">Pale</p>', "color-contrast"),
    ],
)
def test_what_is_wrong_would_be_found(
    planted: str, told: str, letters: list[str], readers: dict[tuple[int, str], Page]
) -> None:
    page = readers[320, "light"]
    found = faults_of(page, letters[0].replace("<h1", f"{planted}<h1", 1))
    assert any(told in fault for fault in found), found
