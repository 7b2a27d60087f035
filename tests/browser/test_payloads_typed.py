"""Script payloads typed into every field in a real browser appear as text wherever they are shown."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Error, Page

from server.store.engine import transaction, utc_now
from server.store.models import Game, Seat
from tests.conftest import begun
from tests.support.browser.chromium import Tab
from tests.support.browser.site import Site
from tests.support.browser.states import place_of
from tests.support.game_data import SEATS
from tests.support.games import position, url

SHAPES = (
    '"><script>pwned(1)</script>',
    "'><img src=/static/favicon.svg onload=pwned(2)>",
    "</textarea></title><svg onload=pwned(3)>",
    "{{ 7*7 }}<b onmouseover=pwned(4)>x</b>",
    "{total}{cards}<img src=x onerror=pwned(5)>",
)
FORMS = {
    "front": None, "sign in": None, "account": "Sam", "new": None, "join signed in": "Sam", "organise": None,
    "organise unconfirmed": None, "invitation": None, "byzanz ordered": None, "empire ordered": None, "verify": "Sam",
    "moderate": "Mia", "moderate search": "Mia", "moderate game": "Mia", "no such link": None,
}  # fmt: skip
"""Pages with forms to type into."""
FIELDS = "input[type=text], input[type=search], input[type=email], input:not([type]), textarea"
TYPED = f"form:has({FIELDS})"
"""The forms to type into: what is typed into one may add others that have buttons only."""

HOVER = """
() => document.querySelectorAll("main *").forEach((item) => ["mouseover", "focus", "change", "input"]
  .forEach((kind) => item.dispatchEvent(new Event(kind, {bubbles: true}))))
"""

SUBMIT = "(form) => form.requestSubmit(form.querySelector('button:not([type=button])'))"


def watched(shown: Tab) -> list[object]:
    """What has run, if anything does."""
    ran: list[object] = []
    shown.page.expose_function("pwned", lambda number: ran.append(number))  # noqa: PLW0108 - it wants a function
    return ran


def forgive_refusals(shown: Tab) -> None:
    """That a form was refused is as it should be; all else stays a fault of the tab."""
    shown.faults[:] = [fault for fault in shown.faults if not fault.startswith(("422", "409"))]


def hover_over_all(page: Page) -> None:
    """What a pointer on its way over the page would set off; over the next page if this one is being left."""
    for _ in range(5):
        try:
            page.wait_for_load_state()
            page.evaluate(HOVER)
        except Error as error:
            if "context was destroyed" not in str(error):
                raise
        else:
            return


def test_what_is_typed_into_any_form_does_not_run(tab: Callable[..., Tab], site: Site) -> None:
    tabs = {person: tab(person=person) for person in (None, "Sam", "Mia")}
    ran = {person: watched(shown) for person, shown in tabs.items()}
    typed = 0
    for state, person in FORMS.items():
        shown = tabs[person]
        path = place_of(site, state).path
        status = 404 if state == "no such link" else 200
        for number in range(shown.goto(path, status).locator(TYPED).count()):
            page = shown.goto(path, status)
            form = page.locator(TYPED).nth(number)
            form.evaluate(
                "(form) => { form.noValidate = true; form.closest('details')?.setAttribute('open', '') }"
            )
            for field in form.locator(FIELDS).all():
                typed += 1
                shape = SHAPES[typed % len(SHAPES)]
                field.evaluate(
                    "(field, value) => { field.removeAttribute('maxlength'); field.value = value }", shape
                )
            form.evaluate(SUBMIT)
            page.wait_for_timeout(100)
            hover_over_all(page)
        forgive_refusals(shown)
    assert [*ran.values()] == [[], [], []]
    assert typed > 20
    print(f"{typed} fields typed into")


@pytest.mark.usefixtures("site")
def test_names_that_are_scripts_do_not_run_while_somebody_plays(tab: Callable[..., Tab]) -> None:
    shown = tab()
    ran = watched(shown)
    for number, slug in enumerate(("byzanz", "byzantium", "empire")):
        game = begun(SEATS[slug], f"x-{slug}", utc_now(), slug=slug)
        with transaction() as session:
            session.get_one(Game, game.id).name = SHAPES[number]
            for row in session.query(Seat).filter_by(game_id=game.id):
                row.stored_name = SHAPES[(number + row.seat) % len(SHAPES)]
        seat = min(position(game.id).awaited)
        page = shown.goto(url(game, seat))
        for label in page.locator("#play label").all()[:3]:
            label.click()
        hover_over_all(page)
        page.locator("#play button[name=move]").first.evaluate("(button) => button.click()")
        page.wait_for_url("**?played=*", wait_until="commit")
        hover_over_all(page)
        for path in (f"{url(game, seat)}/history?at=2", f"/g/{game.id}", f"{url(game, seat)}/leave"):
            hover_over_all(shown.goto(path))
    assert ran == []


def test_a_script_that_runs_would_be_seen(tab: Callable[..., Tab]) -> None:
    shown = tab()
    ran = watched(shown)
    shown.page.goto("about:blank")
    shown.page.set_content(f"<main><p>{SHAPES[3]}</p></main>")
    hover_over_all(shown.page)
    shown.page.wait_for_timeout(50)
    assert ran == [4]
