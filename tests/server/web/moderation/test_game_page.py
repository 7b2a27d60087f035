"""What a moderator's page of a game decides, property by property; nothing here is drawn."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from server.mail.text import quoted
from server.play.powers import Standing
from server.store.models import GameStatus, SeatStatus
from server.web.moderation.view import GamePage, SeatLine
from tests.conftest import NOW

FULL = quoted("552 full")
STAKE: Any = SimpleNamespace(blocks=False)


def seat(number: int = 0, **values: Any) -> Any:
    """Return a seat whose player is present."""
    person = SimpleNamespace(
        email="a@example.org", suppressed=None, unreachable=None, silent=False, cadence="turn"
    )
    for name in [name for name in values if hasattr(person, name)]:
        setattr(person, name, values.pop(name))
    given = {
        "seat": number,
        "person": person,
        "bot": None,
        "status": SeatStatus.SEATED,
        "autopilot": False,
        "left": False,
        "missed": 0,
        "silent": False,
    }
    return SimpleNamespace(**(given | values))


def turn(**values: Any) -> Any:
    """Return an open turn whose clock runs."""
    return SimpleNamespace(**({"due_at": NOW + timedelta(hours=1), "refused": None} | values))


def line(turn: Any = None, runs: bool = True, **values: Any) -> SeatLine:
    return SeatLine(seat(**values), turn, NOW, runs)


def bot() -> Any:
    return seat(person=None, bot="greedy")


def page(
    *lines: SeatLine,
    stake: Any = None,
    alone: bool = False,
    form: dict[str, str] | None = None,
    unattended: bool = False,
    history: Any = None,
    **values: Any,
) -> GamePage:
    game: Any = SimpleNamespace(
        **({"status": GameStatus.RUNNING, "paused": False, "quarantine": None} | values)
    )
    return GamePage(game, lines or (line(),), Standing(stake, alone), form or {}, unattended, history)


def verbs(page: GamePage) -> list[list[str]]:
    return [verbs for _heading, verbs in page.groups]


# A seat


def test_beside_the_name_stands_an_address_or_the_level_of_a_bot() -> None:
    assert line().address == "a@example.org"
    assert line(email=None).address == ""
    assert SeatLine(bot(), None, NOW).address == "greedy"
    assert line(person=None, status=SeatStatus.FREE).address == ""


def test_a_seat_is_late_from_its_deadline_on() -> None:
    assert line(turn(due_at=NOW)).is_late
    assert not line(turn()).is_late
    assert not line(turn(due_at=None)).is_late
    assert not line().is_late


@pytest.mark.parametrize(
    ("values", "tags"),
    [
        ({}, []),
        ({"turn": turn()}, ["to move"]),
        ({"turn": turn(due_at=NOW)}, ["Late"]),
        ({"status": SeatStatus.INVITED}, ["invited"]),
        ({"unreachable": FULL}, ["unreachable"]),
        ({"missed": 1}, ["missed the last deadline"]),
        ({"autopilot": True, "missed": 2}, ["on autopilot"]),
        ({"autopilot": True, "left": True}, ["has left"]),
        ({"autopilot": True, "runs": False}, []),
        ({"silent": True, "cadence": "digest"}, ["no emails", "Daily email"]),
    ],
)
def test_the_tags_of_a_seat(values: dict[str, Any], tags: list[str]) -> None:
    assert [text for _kind, text in line(**values).tags] == tags


def test_a_person_who_gets_no_emails_at_all_is_marked_as_well() -> None:
    silent = seat()
    silent.person.silent = True
    assert SeatLine(silent, None, NOW).tags == [("", "no emails")]


def test_what_the_clock_of_a_seat_does() -> None:
    assert line(turn()).clock == "runs"
    assert line(turn(due_at=None)).clock == "waits"
    assert line(turn(refused=FULL)).clock == "refused"
    assert line(turn(refused=FULL), suppressed=FULL).clock == "stopped"
    assert SeatLine(bot(), turn(due_at=None), NOW).clock == ""


def test_why_email_fails_comes_from_the_person_before_the_turn() -> None:
    other = quoted("550 no")
    assert line(turn(refused=FULL)).trouble == FULL
    assert line(turn(refused=FULL), unreachable=other).trouble == other
    assert line().trouble is None


@pytest.mark.parametrize(
    ("values", "remedies"),
    [
        ({}, []),
        ({"turn": turn()}, ["extend"]),
        ({"turn": turn(due_at=None)}, ["remail"]),
        ({"turn": turn(refused=FULL)}, ["remail", "extend"]),
        ({"unreachable": FULL}, ["remail", "replace"]),
        ({"autopilot": True}, ["autopilot", "replace"]),
        ({"autopilot": True, "left": True}, ["replace"]),
        ({"autopilot": True, "runs": False}, []),
        ({"turn": turn(), "bot": "greedy"}, []),
    ],
)
def test_what_helps_a_seat(values: dict[str, Any], remedies: list[str]) -> None:
    assert [verb for verb, _text in line(**values).remedies] == remedies


# The game


def test_what_can_be_done_depends_on_the_state_of_the_game() -> None:
    clocks = ["extend", "credit", "bank"]
    seats, whole = ["replace", "autopilot", "remail", "link"], ["void", "note", "abandon"]
    assert verbs(page()) == [[*clocks, "pause"], seats, whole]
    for stopped in (page(paused=True), page(quarantine=FULL), page(quarantine=FULL, unattended=True)):
        assert verbs(stopped)[0] == [*clocks, "resume"]
    assert verbs(page(paused=True, unattended=True))[0] == clocks
    assert verbs(page(status=GameStatus.OVER)) == [["note"]]
    assert verbs(page(status=GameStatus.INVITING)) == []


def test_a_stake_takes_acts_away_and_another_moderator_takes_all() -> None:
    assert verbs(page(stake=STAKE)) == []
    only = page(stake=STAKE, alone=True)
    assert not only.can("void")
    assert not only.can("replace")
    assert only.can("extend")
    assert not only.offers_undo
    assert page().offers_undo
    assert not page(status=GameStatus.OVER).offers_undo


def test_why_the_game_stands_still() -> None:
    assert page().standstill == page(paused=True, status=GameStatus.OVER).standstill == ""
    assert page(quarantine=FULL, paused=True).standstill == "held"
    assert page(paused=True, unattended=True).standstill == "unattended"
    assert page(paused=True).standstill == "paused"


def test_late_seats_come_first() -> None:
    lines = [line(number=0), line(turn(due_at=NOW), number=1), line(turn(), number=2)]
    assert [each.seat.seat for each in page(*lines).lines] == [1, 0, 2]


def test_the_part_of_the_game_is_named_while_it_runs_and_all_of_the_log_is_shown() -> None:
    part = SimpleNamespace(word="round", sections=[(("lot",), [])])
    whole = {"chosen": {"seat": ""}, "parts": [part]}
    assert page(history=whole).stage == ["round", "lot"]
    assert page(history=whole | {"chosen": {"seat": "1"}}).stage == []
    assert page(history=whole, status=GameStatus.OVER).stage == []
    assert page(history=whole | {"parts": []}).stage == page().stage == []
    assert page(history=whole | {"parts": [SimpleNamespace(word="", sections=[])]}).stage == []


def test_a_substitute_is_proposed_for_a_seat_on_autopilot() -> None:
    lines = [line(number=0), line(number=1, autopilot=True), SeatLine(seat(2, bot="greedy"), None, NOW)]
    assert [(each.seat, chosen) for each, chosen in page(*lines).choices("replace")] == [
        (0, False),
        (1, True),
        (2, False),
    ]
    form = {"act": "extend", "seat": "0"}
    assert [(each.seat, chosen) for each, chosen in page(*lines, form=form).choices("extend")] == [
        (0, True),
        (1, False),
    ]


def test_what_was_typed_stays_in_the_form_of_its_act() -> None:
    refused = page(form={"act": "extend", "hours": "x"})
    assert (refused.kept("extend", "hours"), refused.kept("bank", "hours")) == ("x", "")


def test_the_switch_of_the_autopilot_proposes_the_other_state() -> None:
    lines = [line(number=0), line(number=1, autopilot=True)]
    chosen = {"act": "autopilot", "seat": "1"}
    assert page(*lines, form=chosen).switches_off
    assert not page(*lines, form=chosen | {"seat": "0"}).switches_off
    assert not page(*lines, form=chosen | {"switch": "on"}).switches_off
    assert page(*lines, form={"act": "autopilot", "switch": "off"}).switches_off
    assert not page(*lines).switches_off
