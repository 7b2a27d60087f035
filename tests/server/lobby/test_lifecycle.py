"""A game from its creation to the first shuffle: permissions, emails, refusals."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from threading import Event
from typing import Any

import pytest
from flask import Flask, current_app
from sqlalchemy import event, select

from byzanz import chance
from server import play
from server.accounts import login
from server.errors import Closed, InvalidInput, NoSuchLink, Refused, TooMany
from server.lobby import create, invitations
from server.lobby.settings import TimeControl
from server.mail import subscriptions
from server.mail.outgoing.deliver import deliver
from server.mail.text import quoted
from server.play.moderation import Newcomer, has_looked
from server.store import engine, links, log, people
from server.store.models import GameSettings, Mail, Person, Turn
from server.validation import Guest
from tests.support.at_once import at_once, wait_until_held_up
from tests.support.lobby import (
    ALICE,
    BOB,
    CHARLIE,
    DAPHNE,
    everything,
    game_of,
    invited,
    mails,
    person,
    seats_of,
    token,
    wish,
)
from tests.support.mail_servers import FakeMailer
from tests.support.mails import send_waiting, text_of
from tests.support.neighbour_game import elsewhere
from tests.support.pages import look, sign_in_token

pytestmark = pytest.mark.usefixtures("app")


# ---- asked for and confirmed ----


def test_it_mails_nobody_but_the_organiser_before_he_has_confirmed(now: datetime) -> None:
    game_id = create.create_game(wish(), now)
    assert game_of(game_id).status == "asked"
    with engine.reading() as session:
        assert [mail.kind for mail in session.scalars(select(Mail).where(elsewhere(Mail)))] == ["confirm"]
    assert [mail.game_id for mail in mails("confirm", ALICE)] == [game_id]


def test_it_commits_to_a_seed_when_the_game_is_made(now: datetime) -> None:
    first, second = game_of(create.create_game(wish(), now)), game_of(create.create_game(wish(), now))
    assert first.commitment == chance.commitment(first.id, bytes.fromhex(first.seed))
    assert len(bytes.fromhex(first.seed)) == 32
    assert first.seed != second.seed
    assert first.id != second.id
    assert len(first.id) == 12
    assert set(first.id) <= set("abcdefghijklmnopqrstuvwxyz234567")


def test_the_mail_to_confirm_is_addressed_to_the_name_in_the_request(now: datetime) -> None:
    create.create_game(wish(organiser=Guest("Zoë", "zoe@example.org")), now)
    assert "Zoë <zoe@example.org>" in [str(message["To"]) for message in send_waiting(now)]


def test_it_invites_and_seats_the_organiser_when_he_confirms(now: datetime) -> None:
    game_id, _host = invited(now)
    alice, bob, charlie = seats_of(game_id)
    assert (alice.status, alice.cut, alice.uncut) == ("seated", "alice cuts", False)
    assert (bob.status, charlie.status) == ("invited", "invited")
    assert bob.invited_at == now
    assert len(mails("invite", BOB)) == len(mails("invite", CHARLIE)) == 1
    assert not mails("invite", ALICE)
    assert game_of(game_id).status == "inviting"


def test_a_second_press_of_the_button_changes_nothing(now: datetime) -> None:
    _game_id, host = invited(now)
    before = everything()
    create.confirm_game(host, now + timedelta(minutes=1), "another cut")
    assert everything() == before


def test_an_organiser_who_does_not_play_has_no_seat(now: datetime) -> None:
    game_id, _host = invited(now, plays=False, players=(BOB, CHARLIE, DAPHNE))
    assert [seat.stored_name for seat in seats_of(game_id)] == ["Bob", "Charlie", "Daphne"]
    assert [seat.status for seat in seats_of(game_id)] == ["invited"] * 3


def test_a_game_against_bots_begins_with_the_confirmation(now: datetime) -> None:
    game_id, _host = invited(now, players=(), bots=("greedy", "greedy", "random"))
    assert game_of(game_id).status == "running"
    assert [seat.stored_name for seat in seats_of(game_id)] == ["Alice", "Theodora", "Narses", "Leontios"]
    assert [seat.cut for seat in seats_of(game_id)] == [
        "alice cuts",
        "Theodora",
        "Narses",
        "Leontios",
    ]
    assert [mail.seat for mail in mails("turn", ALICE)] == [0]


def test_equal_names_at_a_table_are_numbered(now: datetime) -> None:
    others = (Guest("ALICE", "a2@example.org"), Guest("Alice", "a3@example.org"))
    game_id = create.create_game(wish(players=others), now)
    assert [seat.stored_name for seat in seats_of(game_id)] == ["Alice", "ALICE 2", "Alice 3"]


def test_a_known_address_does_not_tell_the_name_on_file(now: datetime) -> None:
    with engine.transaction() as session:
        people.get_or_create(session, BOB.address, "Robert the Known", now)
    game_id = create.create_game(wish(players=(Guest("Bob", "BOB@example.org"), CHARLIE)), now)
    assert [seat.stored_name for seat in seats_of(game_id)] == ["Alice", "Bob", "Charlie"]


# ---- what cannot be had ----


CANNOT_BE_HAD: list[tuple[dict[str, Any], str]] = [
    ({"slug": "chess"}, "game"),
    ({"name": ""}, "title"),
    ({"name": "x" * 41}, "title"),
    ({"organiser": Guest("", "alice@example.org")}, "name"),
    ({"organiser": Guest("Alice", "alice")}, "address"),
    ({"organiser": Guest("Alice", "a@b.org\r\nBcc: c@d.org")}, "address"),
    ({"players": (Guest("Bob http://evil.example", "bob@example.org"), CHARLIE)}, "players"),
    ({"players": (BOB, Guest("B2", "BOB@example.org "))}, "players"),
    ({"players": (BOB, Guest("A2", "Alice@Example.Org"))}, "players"),
    ({"players": (BOB,)}, "players"),
    ({"players": (BOB, CHARLIE), "bots": ("greedy",) * 4}, "players"),
    ({"bots": ("clever",)}, "bots"),
    ({"time_control": TimeControl(599)}, "allowance"),
    ({"time_control": TimeControl(30 * 86400 + 1)}, "allowance"),
    ({"time_control": TimeControl(86400, -1)}, "bank"),
    ({"time_control": TimeControl(86400, 30 * 86400 + 1)}, "bank"),
    ({"time_control": TimeControl(86400, 0, "123456")}, "days_off"),
    ({"time_control": TimeControl(86400, 0, "weekend")}, "days_off"),
    ({"time_zone": "Mars/Olympus"}, "time_zone"),
    ({"time_zone": "../../etc/passwd"}, "time_zone"),
    ({"free": 1}, "free"),
]


def test_it_refuses_what_cannot_be_had_and_names_the_field(now: datetime) -> None:
    before = everything()
    for changes, field in CANNOT_BE_HAD:
        with pytest.raises(InvalidInput) as refused:
            create.create_game(wish(**changes), now)
        assert refused.value.field == field
        assert str(refused.value).endswith(".")
        assert everything() == before


def test_five_games_a_day_wait_for_one_address_to_confirm_them(now: datetime) -> None:
    made = [create.create_game(wish(), now) for _ in range(5)]
    before = everything()
    later = now + timedelta(hours=23)
    with pytest.raises(TooMany):
        create.create_game(wish(), later)
    with pytest.raises(TooMany):
        create.create_game(wish(), later, person(BOB, now))
    assert everything() == before
    create.create_game(wish(), now + timedelta(hours=25))
    create.create_game(wish(), later, person(ALICE, now))
    assert len(mails("confirm", ALICE)) == 7
    create.confirm_game(token("organise", ALICE, made[0], now), now)
    invitations.cancel(token("organise", ALICE, made[1], now), now)
    invitations.cancel(token("organise", ALICE, made[2], now), now)
    create.create_game(wish(), later)
    with pytest.raises(TooMany):
        create.create_game(wish(), later)


def test_whoever_asks_is_not_told_how_many_invitations_were_sent(now: datetime) -> None:
    friends = [Guest("Friend", f"friend{n}@example.org") for n in range(20)]
    for n in range(0, 20, 5):
        invited(now, players=friends[n : n + 5])
    game_id = create.create_game(wish(), now)
    with pytest.raises(TooMany):
        create.confirm_game(token("organise", ALICE, game_id, now), now)


def names() -> dict[str | None, str]:
    with engine.reading() as session:
        return {one.email: one.name for one in session.scalars(select(Person))}


@pytest.mark.empty_database  # whom the server knows is what it is about
def test_what_a_stranger_types_is_nobody_s_name(now: datetime) -> None:
    invitations.accept(token("invite", CHARLIE, invited(now)[0], now), "Charles", "", now)
    prize = Guest("You have won a prize", "daphne@example.org")
    offers = (Guest("Call 0900 123", "eve.b@example.org"), Guest("Cheap pills", CHARLIE.address))
    game_id = create.create_game(wish(organiser=prize, players=offers, plays=False, bots=("greedy",)), now)
    assert names() == {
        "alice@example.org": "Alice",
        "bob@example.org": "Bob",
        "charlie@example.org": "Charles",
        "daphne@example.org": "Daphne",
        "eve.b@example.org": "Eve B",
    }
    host = token("organise", prize, game_id, now)
    create.confirm_game(host, now, name="Daphne of Galata")
    invitations.reinvite(host, 0, Guest("Cheap pills", "felix@example.org"), now)
    assert names()["daphne@example.org"] == "Daphne of Galata"
    assert names()["felix@example.org"] == "Felix"
    invitations.accept(token("invite", offers[1], game_id, now), "Charly", "", now)
    assert seats_of(game_id)[1].stored_name == "Charly"
    assert names()["charlie@example.org"] == "Charles"  # the name that he has chosen before


def test_the_organiser_names_himself_when_he_confirms(now: datetime) -> None:
    asked = [create.create_game(wish(organiser=Guest("Alicia", ALICE.address)), now) for _ in range(2)]
    first, second = (token("organise", ALICE, game_id, now) for game_id in asked)
    create.confirm_game(first, now)
    assert (names()[ALICE.address], seats_of(asked[0])[0].stored_name) == ("Alicia", "Alicia")
    before = everything()
    for name in ("", "evil.example", "BOB"):
        with pytest.raises(InvalidInput) as refused:
            create.confirm_game(second, now, name=name)
        assert refused.value.field == "name"
        assert everything() == before
    create.confirm_game(second, now, name="Ali")
    assert (names()[ALICE.address], seats_of(asked[1])[0].stored_name) == ("Ali", "Ali")


def test_an_organiser_sends_twenty_invitations_a_day(now: datetime) -> None:
    def friends(n: int) -> tuple[Guest, ...]:
        return tuple(Guest(f"Friend {n}", f"friend{n}.{i}@example.org") for i in range(5))

    made = [create.create_game(wish(players=friends(n)), now) for n in range(5)]
    for game_id in made[:4]:
        create.confirm_game(token("organise", ALICE, game_id, now), now)
    last = token("organise", ALICE, made[4], now)
    before = everything()
    with pytest.raises(TooMany) as refused:
        create.confirm_game(last, now)
    assert "you have 0 left" in str(refused.value)
    assert everything() == before
    create.confirm_game(last, now + timedelta(hours=25))
    assert game_of(made[4]).status == "inviting"


# ---- accepting and declining ----


def test_the_game_begins_when_the_last_one_accepts(now: datetime) -> None:
    game_id, _host = invited(now)
    invitations.accept(token("invite", BOB, game_id, now), "Bobby", "b", now)
    assert game_of(game_id).status == "inviting"
    invitations.accept(token("invite", CHARLIE, game_id, now), "Charlie", "c", now)
    assert game_of(game_id).status == "running"
    assert game_of(game_id).started_at == now
    with engine.reading() as session:
        dealt = log.entries(session, game_id)[0]
    key = chance.key(game_id, bytes.fromhex(game_of(game_id).seed), ["alice cuts", "b", "c"])
    before = tuple(sorted(dealt.move.split(" ")[2:], key=_canonical))
    assert " ".join(chance.shuffled(before, chance.Stream(key, "deal").below)) == dealt.move.removeprefix(
        "shuffle deal "
    )
    answers = [json.loads(mail.details) for mail in mails("answered", ALICE)]
    assert answers == [
        {"name": "Bobby", "answer": "accepted", "begun": False},
        {"name": "Charlie", "answer": "accepted", "begun": True},
    ]
    assert len(mails("turn", ALICE)) == 1


def _canonical(card: str) -> tuple[bool, str]:
    return card == "merchant", card


def test_everybody_has_a_link_to_his_seat_when_the_game_begins(now: datetime) -> None:
    game_id, _host = invited(now, players=(), bots=("greedy", "greedy"))
    with engine.reading() as session:
        place = links.seat_access(session, token("seat", ALICE, game_id, now), now)
    assert place is not None
    assert place.seat.seat == 0


def test_accepting_twice_changes_nothing(now: datetime) -> None:
    game_id, _host = invited(now)
    bob = token("invite", BOB, game_id, now)
    invitations.accept(bob, "Bob", "first", now)
    before = everything()
    invitations.accept(bob, "Robert", "second", now)
    assert everything() == before


def test_who_leaves_before_the_start_takes_his_cut_along(now: datetime) -> None:
    game_id, _host = invited(now)
    bob = token("invite", BOB, game_id, now)
    invitations.accept(bob, "Bob", "bob cuts", now)
    invitations.decline(bob, now)
    assert (seats_of(game_id)[1].status, seats_of(game_id)[1].cut) == ("declined", "")
    assert [json.loads(mail.details)["answer"] for mail in mails("answered", ALICE)] == ["accepted", "left"]
    before = everything()
    invitations.decline(bob, now)
    assert everything() == before


def test_who_declined_may_think_better_of_it(now: datetime) -> None:
    game_id, _host = invited(now)
    bob = token("invite", BOB, game_id, now)
    invitations.decline(bob, now)
    invitations.accept(bob, "Bob", "b", now + timedelta(seconds=1))
    assert seats_of(game_id)[1].status == "seated"


def test_nobody_takes_the_name_of_another(now: datetime) -> None:
    game_id, _host = invited(now)
    bob = token("invite", BOB, game_id, now)
    before = everything()
    for name in ("Alice", "aLiCe", "Ａｌｉｃｅ"):
        with pytest.raises(InvalidInput) as refused:
            invitations.accept(bob, name, "", now)
        assert refused.value.field == "name"
    assert everything() == before


def test_nobody_leaves_a_game_that_has_begun_this_way(now: datetime) -> None:
    game_id, _host = invited(now, players=(BOB,), bots=("greedy",))
    bob = token("invite", BOB, game_id, now)
    invitations.accept(bob, "Bob", "", now)
    before = everything()
    with pytest.raises(Closed):
        invitations.decline(bob, now)
    assert everything() == before


UNKNOWN = ["", "x", "a" * 26, "A" * 26, "é" * 26, "a" * 25 + "\0"]


def test_an_unknown_link_does_nothing(now: datetime) -> None:
    invited(now)
    before = everything()
    for unknown in UNKNOWN:
        for press in (
            partial(invitations.accept, unknown, "Bob", "", now),
            partial(invitations.decline, unknown, now),
            partial(create.confirm_game, unknown, now),
            partial(invitations.start, unknown, now),
            partial(invitations.cancel, unknown, now),
            partial(invitations.drop, unknown, 1, now),
            partial(invitations.set_listed, unknown, True, now),
            partial(invitations.set_time_control, unknown, TimeControl(86400), now),
        ):
            with pytest.raises(NoSuchLink):
                press()
        login.mail_fresh_link(unknown, now)
        assert login.redeem(unknown, now) is None
        assert everything() == before


def test_a_link_opens_only_what_it_is_for(now: datetime) -> None:
    game_id, host = invited(now)
    bob = token("invite", BOB, game_id, now)
    with pytest.raises(NoSuchLink):
        invitations.cancel(bob, now)
    with pytest.raises(NoSuchLink):
        invitations.accept(host, "Alice", "", now)


# ---- the organiser ----


def test_a_dropped_seat_is_free_and_its_person_is_told(now: datetime) -> None:
    game_id, host = invited(now)
    bob = token("invite", BOB, game_id, now)
    invitations.accept(bob, "Bob", "bob cuts", now)
    invitations.drop(host, 1, now)
    seat = seats_of(game_id)[1]
    assert (seat.status, seat.person_id, seat.stored_name, seat.cut) == ("free", None, "", "")
    assert [json.loads(mail.details) for mail in mails("cancelled", BOB)] == [{"why": "withdrawn"}]
    with pytest.raises(Closed):
        invitations.accept(bob, "Bob", "", now)


def test_a_seat_is_offered_to_somebody_else(now: datetime) -> None:
    game_id, host = invited(now)
    invitations.reinvite(host, 1, DAPHNE, now)
    assert [seat.stored_name for seat in seats_of(game_id)] == ["Alice", "Daphne", "Charlie"]
    assert len(mails("invite", DAPHNE)) == 1
    assert len(mails("cancelled", BOB)) == 1
    invitations.accept(token("invite", DAPHNE, game_id, now), "Daphne", "d", now)
    assert seats_of(game_id)[1].status == "seated"


def test_the_same_person_is_invited_again_with_a_mail_of_its_own(now: datetime) -> None:
    game_id, host = invited(now)
    invitations.decline(token("invite", BOB, game_id, now), now)
    invitations.reinvite(host, 1, BOB, now + timedelta(hours=1))
    assert len(mails("invite", BOB)) == 2
    assert seats_of(game_id)[1].status == "invited"
    assert not mails("cancelled", BOB)


def test_nobody_gets_two_seats(now: datetime) -> None:
    _game_id, host = invited(now)
    before = everything()
    with pytest.raises(InvalidInput):
        invitations.reinvite(host, 1, Guest("C", "CHARLIE@example.org"), now)
    assert everything() == before


def test_a_bot_fills_a_seat_and_the_game_begins(now: datetime) -> None:
    game_id, host = invited(now)
    invitations.accept(token("invite", CHARLIE, game_id, now), "Charlie", "", now)
    assert invitations.fill(host, 1, "random", now)
    assert game_of(game_id).status == "running"
    assert [(seat.stored_name, seat.bot, seat.cut) for seat in seats_of(game_id)][1] == (
        "Leontios",
        "random",
        "Leontios",
    )
    assert len(mails("cancelled", BOB)) == 1
    with pytest.raises(Closed):
        invitations.accept(token("invite", BOB, game_id, now), "Bob", "", now)


def test_it_starts_with_those_seated_and_moves_them_up(now: datetime) -> None:
    game_id, host = invited(now, players=(BOB, CHARLIE, DAPHNE), bots=("greedy",))
    invitations.accept(token("invite", DAPHNE, game_id, now), "Daphne", "d", now)
    invitations.decline(token("invite", BOB, game_id, now), now)
    invitations.start(host, now)
    assert [(seat.seat, seat.stored_name) for seat in seats_of(game_id)] == [
        (0, "Alice"),
        (1, "Daphne"),
        (2, "Theodora"),
    ]
    assert game_of(game_id).status == "running"
    assert [json.loads(mail.details) for mail in mails("cancelled", CHARLIE)] == [{"why": "started"}]
    assert not mails("cancelled", BOB)
    with engine.reading() as session:
        place = links.seat_access(session, token("seat", DAPHNE, game_id, now), now)
    assert place is not None
    assert place.seat.seat == 1
    with pytest.raises(Closed):
        invitations.accept(token("invite", CHARLIE, game_id, now), "Charlie", "", now)


def test_too_few_cannot_start(now: datetime) -> None:
    _game_id, host = invited(now)
    before = everything()
    with pytest.raises(InvalidInput):
        invitations.start(host, now)
    assert everything() == before


@pytest.mark.parametrize(("again", "told"), [(None, []), (timedelta(hours=12), [{"why": "cancelled"}])])
def test_an_address_that_does_not_exist_is_not_emailed_that_a_game_is_called_off(
    now: datetime, again: timedelta | None, told: list[dict[str, str]]
) -> None:
    _game_id, host = invited(now, players=(BOB,), bots=("greedy",))
    person_id = person(BOB, now)
    with engine.transaction() as session:
        bob = session.get_one(Person, person_id)
        bob.unreachable, bob.retry_at = quoted("550 no such user"), now + again if again else None
    invitations.cancel(host, now)
    assert [json.loads(mail.details) for mail in mails("cancelled", BOB)] == told


def test_a_cancelled_game_tells_who_was_asked_and_stays_cancelled(now: datetime) -> None:
    game_id, host = invited(now)
    bob = token("invite", BOB, game_id, now)
    invitations.decline(token("invite", CHARLIE, game_id, now), now)
    invitations.cancel(host, now)
    assert game_of(game_id).status == "cancelled"
    assert [json.loads(mail.details) for mail in mails("cancelled")] == [{"why": "cancelled"}]
    before = everything()
    invitations.cancel(host, now)
    for press in (
        lambda: invitations.accept(bob, "Bob", "", now),
        lambda: create.confirm_game(host, now),
        lambda: invitations.start(host, now),
        lambda: invitations.fill(host, 1, "greedy", now),
    ):
        with pytest.raises(Closed):
            press()
    assert everything() == before


def test_a_game_never_confirmed_is_cancelled_without_a_word(now: datetime) -> None:
    game_id = create.create_game(wish(), now)
    invitations.cancel(token("organise", ALICE, game_id, now), now)
    assert game_of(game_id).status == "cancelled"
    assert not mails("cancelled")


def test_nothing_of_it_is_possible_once_the_game_runs(now: datetime) -> None:
    _game_id, host = invited(now, players=(), bots=("greedy", "greedy"))
    before = everything()
    for press in (
        lambda: invitations.drop(host, 1, now),
        lambda: invitations.fill(host, 1, "random", now),
        lambda: invitations.remind(host, 1, now),
        lambda: invitations.reinvite(host, 1, BOB, now),
        lambda: invitations.start(host, now),
        lambda: invitations.cancel(host, now),
    ):
        with pytest.raises(Closed):
            press()
    assert everything() == before


def test_a_seat_that_is_not_there_is_refused(now: datetime) -> None:
    _game_id, host = invited(now)
    for press in (
        lambda: invitations.drop(host, 7, now),
        lambda: invitations.fill(host, 7, "random", now),
        lambda: invitations.remind(host, 7, now),
    ):
        with pytest.raises(Refused):
            press()


# ---- reminders ----


def test_an_invitation_is_reminded_of_once_after_two_days(now: datetime) -> None:
    game_id, _host = invited(now)
    invitations.accept(token("invite", CHARLIE, game_id, now), "Charlie", "", now)
    assert invitations.send_invitation_reminders(now + timedelta(hours=47)) == 0
    assert invitations.send_invitation_reminders(now + timedelta(hours=48)) == 1
    assert invitations.send_invitation_reminders(now + timedelta(hours=49)) == 0
    assert invitations.send_invitation_reminders(now + timedelta(days=30)) == 0
    assert len(mails("nudge", BOB)) == 1
    assert not mails("nudge", CHARLIE)
    assert {"name": "Bob", "answer": "silent", "begun": False} in [
        json.loads(mail.details) for mail in mails("answered", ALICE)
    ]


def test_nobody_is_reminded_of_what_is_settled(now: datetime) -> None:
    game_id, host = invited(now)
    invitations.decline(token("invite", BOB, game_id, now), now)
    invitations.drop(host, 2, now)
    assert invitations.send_invitation_reminders(now + timedelta(days=3)) == 0
    create.create_game(wish(organiser=DAPHNE), now)
    assert invitations.send_invitation_reminders(now + timedelta(days=3)) == 0


def test_the_organiser_reminds_a_day_after_the_last_mail(now: datetime) -> None:
    _game_id, host = invited(now)
    with pytest.raises(TooMany):
        invitations.remind(host, 1, now + timedelta(hours=23))
    invitations.remind(host, 1, now + timedelta(hours=25))
    assert len(mails("nudge", BOB)) == 1
    with pytest.raises(TooMany):
        invitations.remind(host, 1, now + timedelta(hours=26))
    assert (
        invitations.send_invitation_reminders(now + timedelta(hours=48)) == 1
    )  # Charlie alone: Bob was reminded by hand


# ---- free seats ----


def listed(now: datetime) -> str:
    game_id, _host = invited(now, players=(BOB,), listed=True, free=2)
    return game_id


def test_a_stranger_takes_a_free_seat_of_a_listed_game(now: datetime) -> None:
    game_id = listed(now)
    assert invitations.take_free_seat(game_id, person(DAPHNE, now), "Daphne", "d", now) == 2
    assert [json.loads(mail.details)["answer"] for mail in mails("answered", ALICE)] == ["joined"]
    with pytest.raises(Closed):
        invitations.take_free_seat(game_id, person(DAPHNE, now), "Daphne again", "", now)
    with pytest.raises(Closed):
        invitations.take_free_seat(game_id, person(BOB, now), "Bob", "", now)
    invitations.take_free_seat(game_id, person(CHARLIE, now), "Charlie", "", now)
    with pytest.raises(Closed):
        invitations.take_free_seat(game_id, person(Guest("E", "e@example.org"), now), "E", "", now)
    invitations.accept(token("invite", BOB, game_id, now), "Bob", "", now)
    assert game_of(game_id).status == "running"


def test_a_game_not_listed_has_no_free_seat_for_strangers(now: datetime) -> None:
    game_id, host = invited(now)
    invitations.drop(host, 1, now)
    before_person = person(DAPHNE, now)
    with pytest.raises(Closed):
        invitations.take_free_seat(game_id, before_person, "Daphne", "", now)
    invitations.set_listed(host, True, now)
    invitations.take_free_seat(game_id, before_person, "Daphne", "", now)


# ---- the time control ----

LONGER = TimeControl(2 * 86400, 3600, "6")
SHORTER = [
    TimeControl(2 * 86400 - 3600, 3600, "6"),
    TimeControl(2 * 86400, 0, "67"),
    TimeControl(3 * 86400, 3600),
]


def control(game_id: str) -> TimeControl:
    game = game_of(game_id)
    return TimeControl.of(GameSettings.of(game))


def test_the_time_control_is_free_until_somebody_else_has_a_seat(now: datetime) -> None:
    game_id = create.create_game(wish(), now)
    host = token("organise", ALICE, game_id, now)
    invitations.set_time_control(host, TimeControl(600), now)  # not even confirmed
    create.confirm_game(host, now)
    for pace in (LONGER, *SHORTER, LONGER):
        invitations.set_time_control(host, pace, now)
        assert control(game_id) == pace


@pytest.mark.parametrize("pace", SHORTER)
def test_nobody_who_has_accepted_gets_less_time(pace: TimeControl, now: datetime) -> None:
    game_id, host = invited(now)
    invitations.set_time_control(host, LONGER, now)
    invitations.accept(token("invite", BOB, game_id, now), "Bob", "", now)
    before = everything()
    with pytest.raises(Closed, match="Bob has accepted"):
        invitations.set_time_control(host, pace, now)
    assert everything() == before
    more = TimeControl(3 * 86400, 7200, "67")
    invitations.set_time_control(host, more, now)
    assert control(game_id) == more


def test_a_bot_accepts_every_time_control(now: datetime) -> None:
    game_id, host = invited(now)
    invitations.fill(host, 1, "greedy", now)
    invitations.set_time_control(host, TimeControl(600), now)
    assert control(game_id) == TimeControl(600)


def test_the_game_begins_with_the_time_control_of_last_and_keeps_it(now: datetime) -> None:
    game_id, host = invited(now, players=(BOB,), bots=("greedy",))
    invitations.set_time_control(host, LONGER, now)
    invitations.accept(token("invite", BOB, game_id, now), "Bob", "", now)
    assert {seat.bank for seat in seats_of(game_id)} == {3600}
    with pytest.raises(Closed, match="has begun"):
        invitations.set_time_control(host, TimeControl(7 * 86400), now)
    assert control(game_id) == LONGER


def test_a_cancelled_game_keeps_its_time_control(now: datetime) -> None:
    game_id, host = invited(now)
    invitations.cancel(host, now)
    with pytest.raises(Closed):
        invitations.set_time_control(host, LONGER, now)
    assert control(game_id) == TimeControl(86400)


# ---- from the command line ----


def test_quick_invites_at_once(now: datetime) -> None:
    game_id = create.quick_game(slug="byzanz", players=(ALICE, BOB), bots=("greedy",), now=now)
    assert game_of(game_id).status == "inviting"
    assert len(mails("invite", ALICE)) == len(mails("invite", BOB)) == 1
    assert not mails("confirm")
    invitations.accept(token("invite", ALICE, game_id, now), "Alice", "a", now)
    invitations.accept(token("invite", BOB, game_id, now), "Bob", "b", now)
    assert game_of(game_id).status == "running"


FIRST_GAMES = [
    ((ALICE, BOB), ("greedy",), "invite", "”. The others are invited too."),
    ((ALICE,), ("greedy", "greedy"), "invite", "”.\n"),
    ((ALICE, BOB), ("greedy",), "nudge", "”, and your own seat is not taken yet."),
    ((ALICE, BOB), ("greedy",), "held", "”.\nhttps://"),
]


@pytest.mark.parametrize(("players", "bots", "kind", "ending"), FIRST_GAMES)
def test_organisers_invited_to_their_first_game_are_told_what_is_true(
    players: tuple[Guest, ...], bots: tuple[str, ...], kind: str, ending: str, now: datetime
) -> None:
    game_id = create.quick_game(slug="byzanz", players=players, bots=bots, now=now)
    with engine.transaction() as session:
        for mail in session.scalars(select(Mail).where(Mail.game_id == game_id)):
            mail.kind = kind
    fake_mailer = FakeMailer()
    while deliver(now + timedelta(days=1), fake_mailer):
        pass
    (own,) = map(text_of, fake_mailer.to(ALICE.address))
    assert "A game of Byzanz has been set up for you" in own
    assert ending in own
    assert "keeps going" not in own
    assert "Alice" not in own.split("\n\n")[0]
    page = look(current_app.test_client(), f"/i/{token('invite', ALICE, game_id, now)}").text
    assert "Your game of Byzanz" in page
    assert all("keeps going" not in text_of(mail) for mail in fake_mailer.sent)


def test_quick_with_start_seats_everybody_uncut(now: datetime) -> None:
    game_id = create.quick_game(
        slug="byzanz", players=(ALICE, BOB, CHARLIE), bots=("greedy",), start=True, now=now
    )
    assert game_of(game_id).status == "running"
    assert [seat.uncut for seat in seats_of(game_id)] == [True, True, True, False]
    assert len({seat.cut for seat in seats_of(game_id)}) == 4
    assert len(mails("turn", ALICE)) == 1


@pytest.mark.parametrize("players", [(), (ALICE,), (ALICE, ALICE, BOB)])
def test_quick_refuses_what_cannot_be_played(players: tuple[Guest, ...], now: datetime) -> None:
    with pytest.raises(InvalidInput):
        create.quick_game(slug="byzanz", players=players, now=now)


# ---- links asked for ----


@contextmanager
def statements() -> Iterator[list[str]]:
    """Collect the statements that the database gets in this block."""
    told: list[str] = []
    ears: list[tuple[str, Callable[..., None]]] = [
        ("before_cursor_execute", lambda _connection, _cursor, statement, *_more: told.append(statement)),
        ("commit", lambda _connection: told.append("COMMIT")),
        ("rollback", lambda _connection: told.append("ROLLBACK")),
    ]
    for heard, ear in ears:
        event.listen(engine.db.engine, heard, ear)
    try:
        yield told
    finally:
        for heard, ear in ears:
            event.remove(engine.db.engine, heard, ear)


def work(deed: Callable[[], object]) -> tuple[str, ...]:
    """Return the statements of one action."""
    with statements() as told:
        deed()
    return tuple(told)


@pytest.mark.empty_database  # whom the server knows is what it is about
def test_signing_in_takes_the_same_work_whether_the_address_is_known_or_not(now: datetime) -> None:
    invited(now)
    addresses = [ALICE.address] * 5 + [BOB.address, "nobody@example.org"]
    works = {
        work(partial(login.mail_sign_in, address, now + timedelta(seconds=n)))
        for n, address in enumerate(addresses)
    }
    assert len(works) == 1
    [told] = works
    assert told[-1] == "COMMIT"
    assert any(statement.startswith("INSERT INTO outbox") for statement in told)
    assert "COMMIT" not in told[:-1]
    assert len(mails("signin")) == 3
    before = everything()
    for address in addresses:
        login.mail_sign_in(address, now + timedelta(minutes=1))
    assert everything() == before


def test_a_dead_link_takes_the_same_work_whatever_it_was(now: datetime) -> None:
    game_id, host = invited(now)
    bob, charlie = (token("invite", guest, game_id, now) for guest in (BOB, CHARLIE))
    invitations.drop(host, 1, now)
    login.mail_sign_in(ALICE.address, now)
    expired = sign_in_token(mails("signin")[0])
    before = everything()
    links = [bob, "a" * 26, expired, host, charlie, host, host, host]
    works = [work(partial(login.mail_fresh_link, link, now + timedelta(hours=2))) for link in links[:2]]
    assert everything() == before
    for minute, link in enumerate(links[2:]):
        at = now + timedelta(hours=2, minutes=minute)
        works.append(work(partial(login.mail_fresh_link, link, at)))
    assert len(set(works)) == 1
    assert (len(mails("fresh", ALICE)), len(mails("fresh", CHARLIE)), len(mails("signin"))) == (3, 1, 2)


@pytest.mark.empty_database  # whom the server knows is what it is about
def test_who_was_only_named_by_others_gets_no_link_to_sign_in(now: datetime) -> None:
    asked = create.create_game(wish(), now)
    everybody = (ALICE, BOB, CHARLIE)

    def knocking(at: datetime) -> list[bool]:
        had = [len(mails("signin", guest)) for guest in everybody]
        for guest in everybody:
            login.mail_sign_in(guest.address, at)
        return [len(mails("signin", guest)) > n for guest, n in zip(everybody, had, strict=True)]

    assert knocking(now) == [False, False, False]
    create.confirm_game(token("organise", ALICE, asked, now), now)
    assert knocking(now) == [True, False, False]
    invitations.accept(token("invite", BOB, asked, now), "Bob", "", now)
    invitations.decline(token("invite", CHARLIE, asked, now), now)
    assert knocking(now + timedelta(hours=2)) == [True, True, False]
    charlie = person(CHARLIE, now)
    with engine.transaction() as session:
        session.get_one(Person, charlie).moderator = True
    assert knocking(now + timedelta(hours=4)) == [True, True, True]


def test_sign_in_is_mailed_to_known_addresses_three_times_an_hour(now: datetime) -> None:
    invited(now)
    login.mail_sign_in("nobody@example.org", now)
    assert not mails("signin")
    for minute in range(6):
        login.mail_sign_in(" Alice@Example.org ", now + timedelta(minutes=minute))
    assert len(mails("signin", ALICE)) == 3
    login.mail_sign_in("alice@example.org", now + timedelta(minutes=62))
    assert len(mails("signin", ALICE)) == 4
    with pytest.raises(InvalidInput):
        login.mail_sign_in("not an address", now)


def test_a_sign_in_link_works_once_within_its_hour(now: datetime) -> None:
    invited(now)
    login.mail_sign_in(ALICE.address, now)
    login.mail_sign_in(ALICE.address, now + timedelta(seconds=1))
    first, second = map(sign_in_token, mails("signin", ALICE))
    assert login.redeem(second, now + timedelta(hours=1, seconds=1)) is None
    found = login.redeem(first, now + timedelta(minutes=59))
    assert found is not None
    assert found.email == ALICE.address
    assert login.redeem(first, now + timedelta(minutes=59)) is None


def test_a_dead_link_is_replaced_at_the_address_on_file(now: datetime) -> None:
    game_id, host = invited(now)
    bob = token("invite", BOB, game_id, now)
    person_id = person(BOB, now)
    with engine.transaction() as session:
        links.revoke(session, person_id, game_id, now)
    login.mail_fresh_link(bob, now)
    login.mail_fresh_link(host, now + timedelta(seconds=1))
    found = mails("fresh")
    assert [(mail.person_id == person_id, json.loads(mail.details)["purpose"]) for mail in found] == [
        (True, "invite"),
        (False, "organise"),
    ]


def test_a_fresh_link_is_mailed_three_times_an_hour(now: datetime) -> None:
    _game_id, host = invited(now)
    for minute in range(6):
        login.mail_fresh_link(host, now + timedelta(minutes=minute))
    assert len(mails("fresh", ALICE)) == 3


def test_who_lost_his_seat_gets_no_fresh_link(now: datetime) -> None:
    game_id, host = invited(now)
    bob = token("invite", BOB, game_id, now)
    invitations.drop(host, 1, now)
    login.mail_fresh_link(bob, now)
    assert not mails("fresh")


def test_somebody_seated_gets_his_seat_for_any_dead_link(now: datetime) -> None:
    game_id, _host = invited(now, players=(BOB,), bots=("greedy",))
    bob = token("invite", BOB, game_id, now)
    invitations.accept(bob, "Bob", "", now)
    login.mail_fresh_link(bob, now)
    assert [json.loads(mail.details)["purpose"] for mail in mails("fresh", BOB)] == ["seat"]


@pytest.mark.parametrize(("plays", "found"), [(True, ["seat"]), (False, [])])
def test_an_organiser_who_plays_gets_the_own_seat(now: datetime, plays: bool, found: list[str]) -> None:
    game_id, host = invited(now, plays=plays, players=(BOB,), bots=("greedy",) * 2)
    invitations.accept(token("invite", BOB, game_id, now), "Bob", "", now)
    login.mail_fresh_link(host, now, to_seat=True)
    assert [json.loads(mail.details)["purpose"] for mail in mails("fresh", ALICE)] == found


# ---- mails off ----


def test_the_clock_of_an_open_turn_starts_when_its_mails_are_switched_off(now: datetime) -> None:
    game_id, _host = invited(now, players=(), bots=("greedy", "greedy"))
    alice = person(ALICE, now)
    with engine.reading() as session:
        assert session.get_one(Turn, (game_id, 0)).started_at is None
    later = now + timedelta(minutes=5)
    subscriptions.mute(game_id, alice, True, later)
    with engine.reading() as session:
        turn = session.get_one(Turn, (game_id, 0))
        assert turn.started_at == later
        assert turn.due_at == later + timedelta(days=1)
    subscriptions.mute(game_id, alice, False, later)
    assert not seats_of(game_id)[0].silent


def test_all_mails_off_starts_every_clock_once(now: datetime) -> None:
    first, _ = invited(now, players=(), bots=("greedy", "greedy"))
    second, _ = invited(now, players=(), bots=("greedy", "greedy"))
    alice = person(ALICE, now)
    subscriptions.mute(first, alice, True, now)
    subscriptions.mute_all(alice, True, now + timedelta(hours=1))
    with engine.reading() as session:
        assert session.get_one(Turn, (first, 0)).started_at == now
        assert session.get_one(Turn, (second, 0)).started_at == now + timedelta(hours=1)
        assert session.get_one(Person, alice).silent
    subscriptions.mute_all(alice, False, now)
    with engine.reading() as session:
        assert not session.get_one(Person, alice).silent


def test_who_accepts_after_all_gets_the_mails_of_the_game(now: datetime) -> None:
    game_id, _host = invited(now, players=(BOB,), bots=("greedy",))
    subscriptions.mute(game_id, person(BOB, now), True, now)
    invitations.accept(token("invite", BOB, game_id, now), "Bob", "", now)
    assert not seats_of(game_id)[1].silent
    with engine.transaction() as session:
        session.get_one(Turn, (game_id, 0)).started_at = now
    play.submit(game_id, 0, "pass", seen=1, request_id="a", now=now)
    assert [mail.seat for mail in mails("turn", BOB)] == [1]


# ---- at the same moment ----


@pytest.mark.concurrency
def test_the_last_ones_accept_twice_at_once_and_the_game_begins_once(app: Flask, now: datetime) -> None:
    game_id, _host = invited(now)
    tokens = {guest: token("invite", guest, game_id, now) for guest in (BOB, CHARLIE)}
    deeds = [partial(invitations.accept, tokens[guest], guest.name, "", now) for guest in (BOB, CHARLIE) * 3]
    assert at_once(app, *deeds) == [game_id] * 6
    with engine.reading() as session:
        assert [entry.seq for entry in log.entries(session, game_id)] == [1]
    assert len(mails("turn")) == 1
    assert len(mails("answered")) == 2


@pytest.mark.concurrency
def test_one_free_seat_is_taken_by_one(app: Flask, now: datetime) -> None:
    game_id, _host = invited(now, players=(BOB,), bots=("greedy",), listed=True, free=1)
    strangers = [person(guest, now) for guest in (CHARLIE, DAPHNE, Guest("Eve", "eve@example.org"))]
    deeds = [partial(invitations.take_free_seat, game_id, who, f"Guest {who}", "", now) for who in strangers]
    assert sorted(at_once(app, *deeds), key=str) == sorted([3, Closed, Closed], key=str)


@pytest.mark.concurrency
def test_a_sign_in_link_pressed_twice_at_once_works_once(app: Flask, now: datetime) -> None:
    invited(now)
    login.mail_sign_in(ALICE.address, now)
    link = sign_in_token(mails("signin")[0])
    found = at_once(app, *[partial(login.redeem, link, now)] * 4)
    assert sum(isinstance(one, Person) for one in found) == 1


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_all_mails_off_waits_for_a_game_before_it_touches_the_person(app: Flask, now: datetime) -> None:
    game_id, _host = invited(now, players=(), bots=("greedy", "greedy"))
    alice = person(ALICE, now)

    def mailer() -> None:
        with engine.transaction() as session:
            play.lock_game(session, game_id)
            ready.set()
            wait_until_held_up(session)
            session.get_one(Person, alice).unreachable = quoted("550 no such user")

    def mute() -> None:
        assert ready.wait(timeout=30)
        subscriptions.mute_all(alice, True, now)

    ready = Event()
    assert at_once(app, mailer, mute) == [None, None]
    with engine.reading() as session:
        found = session.get_one(Person, alice)
    assert (found.silent, found.unreachable) == (True, quoted("550 no such user"))


@pytest.mark.empty_database  # whom the server knows is what it is about
@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_two_who_invite_each_other_at_once_make_both_games(
    app: Flask, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    person_at = people.get_or_create

    def slowly(*what: Any, **more: Any) -> Person:
        made = person_at(*what, **more)
        time.sleep(0.1)  # each has one new person, and comes to the other's only now
        return made

    monkeypatch.setattr(people, "get_or_create", slowly)
    wishes_of_both = [wish(), wish(organiser=CHARLIE, players=(BOB, ALICE))]
    made = at_once(app, *[partial(create.create_game, one, now) for one in wishes_of_both])
    assert len({game_of(str(game_id)).id for game_id in made}) == 2
    with engine.reading() as session:
        assert session.query(Person).count() == 3


# ---- cuts and looks ----


def test_a_long_cut_is_refused_with_its_field(now: datetime) -> None:
    game_id, _host = invited(now)
    for cut in ("x" * 65, "two\nlines"):
        with pytest.raises(InvalidInput) as refused:
            invitations.accept(token("invite", BOB, game_id, now), "Bob", cut, now)
        assert refused.value.field == "cut"


def test_who_has_looked_into_a_table_cannot_sit_there(app: Flask, now: datetime) -> None:
    game_id, _host = invited(now, players=(), bots=("greedy", "greedy"))
    moderator = person(DAPHNE, now)
    play.moderate(game_id, "!look all", reason="a complaint", person_id=moderator, now=now)
    with app.app_context(), engine.reading() as session:
        assert has_looked(session, game_id, moderator)
    with pytest.raises(Refused):
        play.moderate(
            game_id,
            "!replace 0",
            reason="a substitute",
            person_id=moderator,
            now=now,
            newcomer=Newcomer(DAPHNE.name, DAPHNE.address),
        )
