"""What the desk decides, property by property; nothing here is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from flask import Flask

from server.mail.text import quoted
from server.store.facts import Fact
from server.store.models import GameStatus
from server.store.operations import CLOCK_JUMPED
from server.store.statements import GameRow
from server.web.moderation.view import Case, DeskPage, IssueList
from tests.conftest import NOW

HOUR = timedelta(hours=1)
ISSUES = ("alerts", "late", "unsent", "unreached", "refused", "stuck", "on_hold", "on_autopilot")


@pytest.fixture(autouse=True)
def language(app: Flask) -> Iterator[None]:
    """Read the sentences in English."""
    with app.test_request_context():
        yield


def game(game_id: str = "g", **values: Any) -> Any:
    given: dict[str, Any] = dict.fromkeys(field.name for field in fields(GameRow))
    given |= {"id": game_id, "paused": False, "status": GameStatus.RUNNING}
    return SimpleNamespace(**(given | values))


def seat(number: int = 1, **values: Any) -> Any:
    return SimpleNamespace(**({"seat": number, "stored_name": "Ann", "left": False} | values))


def turn(due: timedelta = HOUR, **values: Any) -> Any:
    given = {"due_at": NOW + due, "opened_at": NOW, "refused": None, "refused_at": None}
    return SimpleNamespace(**(given | values))


def person(**values: Any) -> Any:
    return SimpleNamespace(**({"name": "Ann", "suppressed": None, "unreachable": None} | values))


def alert(key: str = "x", code: str = "clock_jumped") -> Any:
    return SimpleNamespace(
        id=1, key=key, at=NOW, text=quoted("Ouch.") if code == "quoted" else Fact(code, {})
    )


def desk(
    unattended: tuple[str, ...] = (), counts: dict[str, int] | None = None, **rows: list[Any]
) -> DeskPage:
    """Return a desk with these occurrences; counts: of issues that have more than are listed."""
    lists: dict[str, Any] = {
        name: IssueList(rows.get(name, []), (counts or {}).get(name, len(rows.get(name, []))))
        for name in ISSUES
    }
    return DeskPage("UTC", NOW, last={"g": NOW - HOUR}, unattended=unattended, **lists)


def only(page: DeskPage) -> Case:
    (case,) = page.found
    return case


def texts(case: Case) -> list[str]:
    return [text % values for text, values in case.sentences]


def test_without_issues_all_is_well() -> None:
    page = desk()
    assert (page.found, page.soon, page.total, page.clear, page.cut_off) == ([], [], 0, [], [])
    assert not page.has_lost_mail


def test_an_alert_about_the_clock_comes_first_and_has_a_button_of_its_own() -> None:
    page = desk(alerts=[(alert(code="quoted"), None), (alert(CLOCK_JUMPED, "quoted"), None)])
    first, second = page.found
    assert (first.button, second.button) == ("The clock is correct: continue", "Mark as resolved")
    assert (first.game_id, first.tag, first.needs_reason) == ("", "Alert", False)


def test_an_alert_says_what_to_do_where_that_is_known() -> None:
    assert len(only(desk(alerts=[(alert(code="quoted"), None)])).sentences) == 1
    assert "byzanz doctor" in texts(only(desk(alerts=[(alert(code="mail_settings"), None)])))[1]
    assert only(desk(alerts=[(alert(code="word_reported"), game())])).needs_reason


def test_each_issue_has_its_remedies() -> None:
    cases = {
        "late": only(desk(late=[(game(), seat(), turn(-HOUR))])),
        "unsent": only(desk(unsent=[(game(), seat(), turn())])),
        "unreached": only(desk(unreached=[(game(), seat(), person(unreachable=quoted("no")), None)])),
        "on_hold": only(desk(on_hold=[(game(quarantine=quoted("no")),)])),
        "on_autopilot": only(desk(on_autopilot=[(game(), seat())])),
        "refused": only(
            desk(refused=[(SimpleNamespace(kind="turn", error=None, not_before=NOW), person(), None)])
        ),
    }
    assert {name: list(case.remedies) for name, case in cases.items()} == {
        "late": [("extend", 1)],
        "unsent": [("remail", 1)],
        "unreached": [("remail", 1), ("replace", 1)],
        "on_hold": [("resume", None), ("void", None)],
        "on_autopilot": [("replace", 1)],
        "refused": [],
    }
    assert cases["refused"].mail == ("turn", "Ann")


def test_nobody_is_replaced_before_a_game_runs() -> None:
    row = (game(status=GameStatus.INVITING), seat(), person(suppressed=quoted("no")), None)
    assert only(desk(unreached=[row])).remedies == []


def test_a_stopped_clock_is_told_with_the_email_that_failed() -> None:
    row = (game(), seat(), person(), turn(refused=quoted("no"), refused_at=NOW))
    assert texts(only(desk(unreached=[row])))[1].startswith("The clock has been stopped since")


def test_what_helps_a_stalled_game_depends_on_why_it_stands_still() -> None:
    def case(*unattended: str, paused: bool = False) -> Case:
        return only(desk(unattended, stuck=[(game(paused=paused), None)]))

    assert list(case().remedies) == [("note", None)]
    assert list(case(paused=True).remedies) == [("resume", None)]
    assert list(case("g", paused=True).remedies) == [("replace", None)]
    assert [len(texts(each)) for each in (case(), case(paused=True))] == [1, 2]


def test_a_player_who_has_left_is_told_apart_from_an_autopilot() -> None:
    away, left = desk(on_autopilot=[(game(), seat()), (game(), seat(left=True))]).found
    assert [(each.kind, each.tag) for each in (away, left)] == [("", "on autopilot"), ("gold", "has left")]


def test_a_turn_due_soon_is_no_trouble_by_itself() -> None:
    soon = (game(), seat(), turn())
    alone = desk(late=[soon])
    assert (alone.found, [each.tag for each in alone.soon]) == ([], [""])
    assert (alone.total, alone.later) == (0, 1)
    beside = desk(late=[soon], on_autopilot=[(game(), seat())])
    assert ([each.tag for each in beside.found], beside.soon) == (["on autopilot", "Due soon"], [])
    assert (beside.total, beside.later) == (2, 0)


def test_turns_that_are_not_listed_are_due_later() -> None:
    assert desk(late=[(game(), seat(), turn())], counts={"late": 5}).later == 5


def test_kinds_that_are_cut_off_and_kinds_without_issues_are_named() -> None:
    page = desk(on_autopilot=[(game(), seat())], counts={"on_autopilot": 9})
    assert page.cut_off == [("away", 9)]
    assert page.clear == ["late", "mail", "stuck", "aside"]
    assert page.total == 9


def test_cases_of_one_game_stand_together_where_the_first_of_them_does() -> None:
    a, b, c = game("a"), game("b"), game("a")
    cases = [Case(each, "", "") for each in (a, b, c)]
    assert DeskPage.by_game(cases) == [[cases[0], cases[2]], [cases[1]]]


def test_failed_addresses_may_mean_an_outage() -> None:
    row = (game(), seat(), person(unreachable=quoted("no")), None)
    assert desk(unreached=[row]).has_lost_mail
