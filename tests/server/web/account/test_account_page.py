"""What the account page decides, property by property; nothing here is drawn."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from server.errors import Closed, InvalidInput, Refused
from server.web.account.account import AccountPage
from tests.conftest import NOW


def page(refusal: Refused | None = None, done: str = "", **values: Any) -> AccountPage:
    me: Any = SimpleNamespace(no_invitations=values.pop("no_invitations", False))
    given = {"absences": (), "browsers": (), "this_browser": None} | values
    return AccountPage(me, NOW, refusal, done, **given)


def test_the_field_that_was_refused() -> None:
    assert page().wrong is None
    assert page(InvalidInput("No.", field="name")).wrong == "name"
    assert page(Closed("No.")).wrong is None


def test_settings_are_saved_unless_they_were_refused() -> None:
    assert page(done="saved").is_saved
    assert not page().is_saved
    assert not page(Closed("No."), done="saved").is_saved


def test_an_absence_that_has_begun_cannot_be_removed() -> None:
    absences: list[Any] = [SimpleNamespace(from_at=NOW + timedelta(seconds=more)) for more in (0, 1)]
    assert [begun for _absence, begun in page(absences=absences).away] == [True, False]


def test_the_button_beside_invitations_changes_what_is_said() -> None:
    assert page().invitations[1:] == ("refuse", "Never send me invitations")
    assert page(no_invitations=True).invitations[1:] == ("allow", "Allow invitations")
    assert page().invitations[0] != page(no_invitations=True).invitations[0]


def test_this_browser_is_pointed_out() -> None:
    browsers: list[Any] = [SimpleNamespace(id=1), SimpleNamespace(id=2)]
    assert [own for _browser, own in page(browsers=browsers, this_browser=browsers[1]).sessions] == [
        False,
        True,
    ]
    assert not any(own for _browser, own in page(browsers=browsers).sessions)
