"""What a seat's page decides, property by property; nothing here is drawn."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from byzanz.moves import Outcome
from byzanz.record import Cause
from server.store.models import GameStatus
from server.web.game.history import WordLine
from server.web.seat.turn_page import DONE, Problem, TalkPanel, TurnPage
from tests.conftest import NOW

OVER = Outcome((1, 2, 3), (2,), "")
RUNNING: Any = SimpleNamespace(allowance_end=NOW, bank=0)


def seat(number: int, **values: Any) -> Any:
    """Return a seat whose player is present."""
    person = SimpleNamespace(cadence="turn", email="a@example.org")
    given = {"person": person, "person_id": number + 1, "autopilot": False, "left": False}
    return SimpleNamespace(seat=number, **(given | values))


def page(*, trial: bool = False, paused: bool = False, mine: Any = None, **values: Any) -> TurnPage:
    """Return the page of the first of three seats, which is to move unless `view` or `answers` say otherwise."""
    game = SimpleNamespace(trial=trial, paused=paused, status=values.pop("status", GameStatus.RUNNING))
    seats = values.pop("seats", None) or [mine or seat(0), seat(1), seat(2)]
    table: Any = SimpleNamespace(game=game, seats=seats)
    given: dict[str, Any] = {"view": SimpleNamespace(question="bid"), "answers": {"pass": ["pass"]}} | values
    return TurnPage(table, 0, given.pop("typed", {}), NOW, **given)


def line(by: Cause = Cause.CLOCK, number: int = 0, **values: Any) -> Any:
    given: dict[str, Any] = {"former": frozenset(), "act": None, "voided": None}
    return SimpleNamespace(entry=SimpleNamespace(by=by, seat=number), **(given | values))


def word() -> WordLine:
    return WordLine(SimpleNamespace(), "now")  # type: ignore[arg-type]


def panel(**values: Any) -> TalkPanel:
    return replace(TalkPanel(shown=True, closed="", words=False, request_id="x"), **values)


def test_a_reader_with_a_question_and_moves_is_asked() -> None:
    assert page().asked
    assert not page(view=None).asked
    assert not page(view=SimpleNamespace(question="")).asked
    assert not page(answers={}).asked


def test_this_game_and_the_others_wait_for_the_reader() -> None:
    assert [page().waiting, page(answers={}).waiting] == [1, 0]
    assert page(next=[("a", "/a"), ("b", "/b")]).waiting == 3


def test_a_move_stands_above_the_table_only_where_something_else_is_the_heading() -> None:
    assert page().over_the_table
    assert page(answers={}, outcome=OVER).over_the_table
    assert page(answers={}, paused=True).over_the_table
    assert not page(answers={}).over_the_table


def test_why_no_clock_runs() -> None:
    digest = seat(0, person=SimpleNamespace(cadence="digest"))
    assert page(due={0: RUNNING}).clockless == ""
    assert page(due={0: RUNNING}, trial=True).clockless == "No clock runs: take your time."
    assert page(due={0: None}).clockless == "Your clock starts when the email is sent."
    assert page(mine=seat(0, person=None)).clockless == "Your clock starts when the email is sent."
    assert page(mine=digest).clockless.startswith("Your clock starts when your daily email")


def test_only_one_clock_in_its_allowance_is_told_without_a_name() -> None:
    late: Any = SimpleNamespace(allowance_end=NOW - timedelta(seconds=1), bank=60)
    assert page(due={1: RUNNING}).clocks == [(1, RUNNING, True)]
    assert page(due={1: RUNNING, 2: None}).clocks == [(1, RUNNING, False)]
    assert page(due={1: late}).clocks == [(1, late, False)], "in the time bank"


def test_what_a_waiting_reader_can_expect() -> None:
    assert page().meanwhile == "We will email you."
    assert page(trial=True).meanwhile == "The others are playing."
    assert page(mine=seat(0, autopilot=True)).meanwhile == ""
    assert page(mine=seat(0, left=True)).meanwhile == ""


def test_a_reader_for_whom_the_server_plays_is_told_why() -> None:
    away = seat(0, autopilot=True)
    assert page().substitute == ""
    assert page(mine=away).substitute.startswith("Your seat is on autopilot")
    assert page(mine=seat(0, autopilot=True, left=True)).substitute.startswith("You left this game.")
    assert page(mine=away, outcome=OVER).substitute == page(mine=away, view=None).substitute == ""


@pytest.mark.parametrize(
    "other",
    [
        line(Cause.PLAYER),
        line(number=1),
        line(former=frozenset({0})),
        line(act=("!note",)),
        line(voided=9),
    ],
)
def test_only_the_readers_own_moves_by_the_clock_that_count_are_told(other: Any) -> None:
    own = line()
    assert page(lines=[other, own]).timed_out == [own]
    assert page(lines=[own], outcome=OVER).timed_out == page(lines=[own], view=None).timed_out == []


def test_the_others_for_whom_the_server_plays() -> None:
    seats = [seat(0, autopilot=True), seat(1, autopilot=True), seat(2)]
    assert page(seats=seats).away == [seats[1]]
    assert page(seats=seats, outcome=OVER).away == []


def test_the_heading_of_the_news() -> None:
    assert page().news_title == "While you were away"
    assert page(played=line()).news_title == page(changed_since=True).news_title == "Meanwhile"


def test_where_the_page_leads_to() -> None:
    assert page().may_leave
    gone = seat(0, left=True)
    assert not any(other.may_leave for other in (page(outcome=OVER), page(trial=True), page(mine=gone)))
    assert page().may_play_again
    assert not any(other.may_play_again for other in (page(trial=True), page(mine=gone)))
    alone = [seat(0), seat(1, person_id=None)]
    assert page(outcome=OVER).has_group
    assert not page().has_group
    assert not page(outcome=OVER, seats=alone).has_group
    assert not page(outcome=Outcome((), (), "abandoned")).has_group


def test_a_visitors_game_has_no_default_move() -> None:
    assert page(fallback="pass").default_move == "pass"
    assert page(fallback="pass", trial=True).default_move is None


def test_words_go_with_a_move_where_the_reader_can_talk() -> None:
    assert page(talk=panel()).says_along
    for other in (page(), page(talk=panel(shown=False)), page(talk=panel(closed="No."))):
        assert not other.says_along
    assert not page(talk=panel(), answers={}).says_along
    assert page(typed={"say": "Hi"}).said_along == ""
    assert page(typed={"say": "Hi"}, problem=Problem("No.")).said_along == "Hi"


def test_the_heading_of_the_log() -> None:
    assert page(woven=[line()]).log_title == "Since your last move"
    assert page(woven=[line()], changed_since=True).log_title == "Since you opened this page"
    assert page(before=[line()]).log_title == "Latest moves"
    assert page(talk=panel()).log_title == "Table talk"
    assert page(talk=panel(shown=False)).log_title == page().log_title == "History"


def test_the_log_of_a_finished_game_is_folded_unless_somebody_said_something() -> None:
    assert not page(woven=[line()]).log_is_folded
    assert page(woven=[line()], outcome=OVER).log_is_folded
    assert not page(outcome=OVER).log_is_folded
    assert not page(woven=[line()]).log_is_open
    assert page(woven=[line(), word()]).log_is_open


def test_what_was_refused_stands_at_its_own_field() -> None:
    assert not page(typed={"notes": "x"}).note_is_wrong
    noted = page(typed={"notes": "x"}, unsaid="Too long.")
    assert (noted.note_is_wrong, noted.word_is_wrong, noted.notes_are_open) == (True, False, True)
    said = page(typed={"text": "x"}, unsaid="Too long.")
    assert (said.note_is_wrong, said.word_is_wrong, said.notes_are_open) == (False, True, False)
    assert page(talk=panel(done="noted")).notes_are_open


def test_the_field_for_words_keeps_what_was_refused() -> None:
    assert page(typed={"text": "a"}).word == "a"
    assert page(typed={"say": "b"}).word == "", "it stands beside the move"
    assert page(typed={"say": "b"}, answers={}).word == page(typed={"say": "b"}, unsaid="No.").word == "b"


def test_what_the_page_confirms_about_words() -> None:
    assert [panel(done=done).confirmed for done in ("", "noted")] == ["", ""]
    assert panel(done="deleted").confirmed == DONE["deleted"] == "Deleted."


def test_orders_by_what_has_become_of_them() -> None:
    orders: list[Any] = [SimpleNamespace(status=status) for status in ("standing", "resting", "stopped")]
    assert page(orders=orders).orders_that("resting") == [orders[1]]
    assert page().orders_that("standing") == []


def test_what_a_visitor_gains_by_keeping_the_game() -> None:
    nobody = seat(0, person=None)
    assert page().keep_lead.startswith("You are playing against bots")
    assert page(mine=nobody).keep_lead.startswith("You are playing without an account")
    assert page(status=GameStatus.OVER).keep_lead.endswith("Keep the game, and it keeps working.")
    assert page(status=GameStatus.OVER, mine=nobody).keep_lead.endswith(
        "With your email address, it keeps working."
    )
