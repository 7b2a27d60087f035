"""What pages about a game before its first move decide, property by property; nothing here is drawn."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from server.lobby.invitations import REMINDER_INTERVAL
from server.store.models import GameStatus, MailStatus, SeatStatus
from server.web.lobby.organiser_page import OrganisedSeat, OrganiserPage, PlayerLine, player_lines
from tests.conftest import NOW

HOST, GUEST = 1, 2
FREE, INVITED, SEATED, DECLINED = (
    SeatStatus.FREE,
    SeatStatus.INVITED,
    SeatStatus.SEATED,
    SeatStatus.DECLINED,
)
SHOWN: Any = SimpleNamespace(percent=99)
FAILED: Any = SimpleNamespace(status=MailStatus.FAILED)
SENT: Any = SimpleNamespace(status=MailStatus.SENT)


def seat(status: SeatStatus = SEATED, person_id: int | None = GUEST, **values: Any) -> Any:
    given = {"seat": 0, "stored_name": f"P{person_id}", "bot": None, "invited_at": None}
    return SimpleNamespace(status=status, person_id=person_id, **(given | values))


def bot() -> Any:
    return seat(person_id=None, bot="greedy")


def game(status: GameStatus = GameStatus.INVITING) -> Any:
    return SimpleNamespace(status=status, organiser_id=HOST)


def page(
    *seats: Any, status: GameStatus = GameStatus.INVITING, own: Any = None, **values: Any
) -> OrganiserPage:
    for number, each in enumerate(seats):
        each.seat = number
    return OrganiserPage(game(status), seats, own, NOW, values.pop("sizes", range(3, 7)), **values)


# As others read it


def test_the_reader_and_the_organiser_are_pointed_out() -> None:
    assert PlayerLine(game(), seat(), own=True).role == "you"
    assert PlayerLine(game(), seat(person_id=HOST)).role == "organiser"
    assert PlayerLine(game(), seat()).role == PlayerLine(game(), seat(FREE, None)).role == ""


@pytest.mark.parametrize(
    ("status", "asked", "own", "state"),
    [
        (SEATED, False, False, "seated"),
        (SEATED, False, True, ""),
        (DECLINED, False, False, "declined"),
        (INVITED, True, True, ""),
        (INVITED, True, False, "not invited yet"),
        (INVITED, False, True, "not answered yet"),
        (INVITED, False, False, "invited"),
        (FREE, False, False, ""),
    ],
)
def test_the_state_of_a_seat(status: SeatStatus, asked: bool, own: bool, state: str) -> None:
    about = game(GameStatus.ASKED if asked else GameStatus.INVITING)
    assert PlayerLine(about, seat(status), own).state == state


def test_how_others_answer_is_told_in_place_of_their_state() -> None:
    other = PlayerLine(game(), seat(), shown=SHOWN)
    assert (other.reliability, other.state) == (SHOWN, "")
    assert PlayerLine(game(), seat(), own=True, shown=SHOWN).reliability is None
    assert PlayerLine(game(), bot(), shown=SHOWN).reliability is None
    assert PlayerLine(game(), seat(INVITED), shown=SHOWN).reliability is None


def test_the_lines_of_a_table() -> None:
    seats = [seat(seat=0), seat(person_id=3, seat=1)]
    first, second = player_lines(game(), seats, 1, {GUEST: SHOWN})
    assert (first.own, first.shown, second.own, second.shown) == (False, SHOWN, True, None)


# A seat, for the organiser


def organised(status: SeatStatus = INVITED, **values: Any) -> OrganisedSeat:
    own = {name: values.pop(name) for name in ("bot", "invited_at") if name in values}
    return OrganisedSeat(seat(status, **own), NOW, **values)


def test_an_invitation_that_did_not_arrive_leaves_the_seat_open() -> None:
    assert organised(mail=FAILED).has_failed
    assert not organised(mail=SENT).has_failed
    assert not organised(SEATED, mail=FAILED).has_failed
    assert organised(mail=FAILED).is_open
    assert [organised(status).is_open for status in (FREE, DECLINED, INVITED, SEATED)] == [
        True,
        True,
        False,
        False,
    ]


def test_the_tag_of_a_seat() -> None:
    assert organised(mail=FAILED).tag == (" bad", "email rejected")
    assert organised().tag == ("", "invited")
    assert organised(SEATED).tag == (" good", "seated")
    assert organised(DECLINED).tag == (" bad", "declined")
    assert organised(FREE).tag is organised(SEATED, bot="greedy").tag is None


def test_somebody_can_be_reminded_a_day_after_the_invitation() -> None:
    assert organised().may_be_reminded
    assert organised(invited_at=NOW - REMINDER_INTERVAL).may_be_reminded
    assert not organised(invited_at=NOW - REMINDER_INTERVAL + timedelta(seconds=1)).may_be_reminded
    assert not organised(is_reminded=True).may_be_reminded
    assert not organised(mail=FAILED).may_be_reminded
    assert not organised(SEATED).may_be_reminded


def test_what_more_can_be_done_with_a_seat() -> None:
    assert not organised(FREE, is_next=True).has_more
    assert organised(FREE).has_more
    assert organised(DECLINED, is_next=True).has_more
    assert organised(FREE).more == organised(mail=FAILED).more == "Invite someone else"
    assert organised().more == "Replace"
    assert organised(SEATED).more == organised(DECLINED, is_next=True).more == "Change"


def test_a_refusal_unfolds_its_own_seat_and_no_other() -> None:
    assert organised(is_typed=True, refused=True).is_unfolded
    assert not organised(is_typed=True, is_next=True, refused=True).is_unfolded
    assert organised(mail=FAILED).is_unfolded
    assert not organised(mail=FAILED, refused=True).is_unfolded


# The page


def test_the_form_at_the_top_invites_to_the_first_free_seat_else_to_a_declined_one() -> None:
    declined, free = seat(DECLINED), seat(FREE, None)
    assert page(declined, free).next is free
    assert page(declined, seat()).next is declined
    assert page(seat()).next is None
    assert page(free, status=GameStatus.ASKED).next is None


def test_what_the_game_waits_for() -> None:
    asked = page(seat(), seat(INVITED, 3))
    assert (asked.asked, asked.only_answers_are_missing) == (["P3"], True)
    assert not page(seat(INVITED, 3), seat(FREE, None)).only_answers_are_missing
    failed = page(seat(INVITED, 3), seat(INVITED, 4), mails={4: FAILED})
    assert (failed.asked, failed.only_answers_are_missing) == (["P3"], False)
    assert not page(seat()).only_answers_are_missing


def test_who_is_seated_may_be_enough() -> None:
    three = [seat(person_id=number) for number in range(3)]
    assert page(*three).may_start
    two = page(*three[:2], seat(FREE, None))
    assert (two.seated, two.may_start, two.needs_others) == (2, False, True)
    assert not page(*three[:2], seat(INVITED, 9)).needs_others
    assert not page(*three).may_lose_seat
    assert page(*three, seat(FREE, None)).may_lose_seat


def test_the_button_that_confirms_says_what_it_does() -> None:
    own, guest, free = seat(INVITED, HOST), seat(INVITED), seat(FREE, None)
    pages = [page(own, guest, free, own=own), page(own, free, own=own), page(own, bot(), own=own)]
    assert [each.confirmation for each in pages] == [
        "Take my seat and send the invitations",
        "Take my seat and open the table",
        "Take my seat and start",
    ]
    assert [each.question for each in pages] == [
        "Ready to invite?",
        "Ready to open the table?",
        "Ready to start?",
    ]
    others = [page(guest, free), page(free), page(bot())]
    assert [each.confirmation for each in others] == [
        "Send the invitations",
        "Open the table",
        "Start the game",
    ]


def test_only_an_organiser_who_plays_cuts_the_deck_with_it() -> None:
    own = seat(INVITED, HOST)
    assert page(own, own=own).takes_own_seat
    seated = seat(SEATED, HOST)
    assert not page(seated, own=seated).takes_own_seat
    assert not page(seat()).takes_own_seat


def test_seats_are_shuffled_where_several_people_are_invited_unless_it_was_refused_otherwise() -> None:
    two = (seat(INVITED, HOST), seat(INVITED))
    assert page(*two).shuffles
    assert not page(two[0]).shuffles
    assert not page(*two, typed={"do": "confirm"}).shuffles
    assert page(two[0], typed={"do": "confirm", "shuffle": "yes"}).shuffles


def test_what_was_typed_belongs_to_one_seat() -> None:
    seats = (seat(FREE, None), seat(DECLINED), seat())
    typed = page(*seats, typed={"seat": "1"}, reminded=seats[2])
    assert [(line.is_next, line.is_typed, line.is_reminded) for line in typed.lines] == [
        (True, False, False),
        (False, True, False),
        (False, False, True),
    ]
