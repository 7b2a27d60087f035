"""When digests are due: a look at each reader at the right times finds what a look in every minute would find."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from server.mail import subscriptions
from server.mail.outgoing import digest
from server.scheduler import loop
from server.store import engine, people
from server.store.models import Game, Mail, Person, Seat, Turn
from tests.conftest import NOW, Table
from tests.support.games import change, row, submit
from tests.support.mails import one_database

Begin = Callable[..., Table]
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
SEVEN = NOW.replace(hour=7) + DAY
READERS = (
    ("UTC", None),
    ("Europe/Berlin", None),
    ("Europe/Berlin", 2 * 60 + 30),
    ("Asia/Kathmandu", 6 * 60 + 50),
    ("America/New_York", 23 * 60 + 59),
    ("Australia/Lord_Howe", 2 * 60 + 10),
)
"""Time zones, and the ends of quiet hours."""
SPRING = datetime(2026, 3, 28, 20, 0, tzinfo=UTC)
"""An evening before clocks are put forward in Europe."""
AUTUMN = datetime(2026, 4, 4, 8, 0, tzinfo=UTC)
"""A day before clocks are put back on Lord Howe Island, by half an hour."""
OPEN = 1500
"""Minutes for which each turn is open."""


def seat_readers(begin: datetime) -> dict[int, list[str]]:
    """Create readers, half of them without a time zone of their own; return the minutes at which their turns open."""
    opening: dict[int, list[str]] = {}
    with engine.transaction() as session:
        for number, (zone, quiet_to) in enumerate((*READERS, *READERS)):
            person = people.get_or_create(session, f"r{number}@example.org", "Rhea", begin)
            person.cadence, person.quiet_from, person.quiet_to = "digest", 0, quiet_to
            person.time_zone = zone if number < len(READERS) else None
            for game_id, minute in ((f"r{number}a", 97 * number), (f"r{number}b", 97 * number + 700)):
                game = Game(
                    id=game_id,
                    slug="byzanz",
                    rules=1,
                    name="R",
                    organiser_id=None,
                    status="running",
                    allowance=86400,
                    seed="",
                    commitment="",
                    created_at=begin,
                    time_zone=zone,
                )
                session.add(game)
                session.flush()
                session.add(
                    Seat(game_id=game_id, seat=0, stored_name="Rhea", status="seated", person_id=person.id)
                )
                opening.setdefault(minute, []).append(game_id)
    return opening


def open_and_close(opening: dict[int, list[str]], minute: int, now: datetime) -> None:
    opened, closed = opening.get(minute, ()), opening.get(minute - OPEN, ())
    if opened or closed:
        with engine.transaction() as session:
            for game_id in opened:
                turn = Turn(game_id=game_id, seat=0, question="", opened_seq=1, opened_at=now, hours="{}")
                session.add(turn)
            for game_id in closed:
                session.delete(session.get_one(Turn, (game_id, 0)))


def due_now(now: datetime) -> set[str]:
    """Return the keys of the digests that are due, by a look at every reader."""
    query = select(Person, Turn.opened_at, Game.time_zone).join(Seat, Seat.person_id == Person.id)
    query = query.join(Game, Game.id == Seat.game_id).join(Turn, Turn.game_id == Game.id)
    found: dict[int, set[str]] = {}
    with engine.reading() as session:
        for person, opened_at, zone in session.execute(query.order_by(Turn.opened_at)):
            if person.id not in found:
                day, at = digest.last_occurrence(person.time_zone or zone, digest.digest_minute(person), now)
                found[person.id] = {f"digest:{person.id}:{day}"} if opened_at <= at else set()
    return {key for keys in found.values() for key in keys}


@one_database
@pytest.mark.empty_database
@pytest.mark.parametrize("begin", [SPRING, pytest.param(AUTUMN, marks=pytest.mark.nightly)])
@pytest.mark.usefixtures("app")
def test_a_digest_is_queued_in_the_minute_in_which_it_is_due(begin: datetime) -> None:
    opening = seat_readers(begin)
    expected: dict[str, datetime] = {}
    for minute in range(2 * 24 * 60):
        now = begin + minute * MINUTE
        open_and_close(opening, minute, now)
        digest.queue_due(now)
        expected |= dict.fromkeys(due_now(now) - expected.keys(), now)
    with engine.reading() as session:
        assert {mail.key: mail.created_at for mail in session.scalars(select(Mail))} == expected
    assert len(expected) > 15


@pytest.fixture
def bob(table: Begin) -> int:
    """Return the id of a reader in Berlin who has been to move since NOW, and at whom nobody looks before tomorrow."""
    game = table(4)
    person: int = game.people[1]
    change(Person, person, cadence="digest", time_zone="Europe/Berlin")
    submit(game.id, 0, "pass")
    change(Turn, ("g1", 1), opened_at=NOW - 5 * HOUR)
    change(Person, person, digest_at=NOW + 20 * HOUR)
    assert digest.queue_due(NOW) == 0
    return person


def test_who_chooses_the_digest_gets_one_for_the_turns_of_the_night(bob: int) -> None:
    subscriptions.set_cadence(bob, "digest", NOW)
    assert digest.queue_due(NOW) == 1


def test_who_wants_mail_again_gets_the_digest_of_today(bob: int) -> None:
    subscriptions.mute_all(bob, True, NOW)
    assert digest.queue_due(NOW) == 0
    change(Person, bob, digest_at=NOW + 20 * HOUR)
    subscriptions.mute_all(bob, False, NOW)
    assert digest.queue_due(NOW) == 1


def test_who_wants_mail_about_a_game_again_gets_the_digest_of_today(bob: int) -> None:
    subscriptions.mute("g1", bob, True, NOW)
    assert digest.queue_due(NOW) == 0
    change(Person, bob, digest_at=NOW + 20 * HOUR)
    subscriptions.mute("g1", bob, False, NOW)
    assert digest.queue_due(NOW) == 1


def test_a_turn_committed_just_after_the_hour_it_opened_before_is_in_the_digest_of_today(bob: int) -> None:
    change(Turn, ("g1", 1), opened_at=NOW + DAY)
    change(Person, bob, digest_at=NOW)
    six = SEVEN - HOUR
    assert digest.queue_due(six) == 0
    change(Turn, ("g1", 1), opened_at=six - timedelta(seconds=1))
    assert digest.queue_due(six + digest.SETTLED) == 1
    assert row(Person, bob).digest_at == six + DAY


def test_a_reader_without_turns_is_looked_at_twice_a_day(bob: int) -> None:
    change(Person, bob, digest_at=NOW)
    change(Turn, ("g1", 1), opened_at=NOW + 9 * DAY)
    looks = set()
    for minute in range(2 * 24 * 60):
        assert digest.queue_due(NOW + minute * MINUTE) == 0
        looks.add(row(Person, bob).digest_at)
    assert len(looks) == 5


@pytest.mark.changes_busy_table  # a lease that long looks like one of a wrong clock
def test_no_digest_waits_for_a_time_of_a_clock_that_was_wrong(bob: int) -> None:
    change(Person, bob, digest_at=NOW + 400 * DAY)
    loop.confirm_clock(NOW)
    assert digest.queue_due(NOW) == 1


def test_more_readers_than_one_transaction_takes_are_all_looked_at(
    table: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(digest, "READERS_AT_ONCE", 2)
    persons = table(5).people
    for person in persons:
        change(Person, person, cadence="digest")
    assert digest.queue_due(NOW) == 0
    assert {row(Person, person).digest_at for person in persons} == {NOW + 15 * MINUTE}


def test_only_clocks_that_wait_for_a_digest_start_without_one(table: Begin) -> None:
    games = [table(3, game_id=name) for name in ("each", "all", "here", "gone", "digest")]
    (alice, *_others), late = games[0].people, NOW + 24 * HOUR
    assert digest.start_overdue_clocks(late) == 0
    for game in games[1:]:
        other = game.people[1] if game.id == "all" else alice
        change(Seat, (game.id, 1), person_id=None)
        change(Seat, (game.id, 0), person_id=other, silent=game.id == "here")
    change(Seat, ("gone", 0), status="declined")
    change(Person, games[0].people[1], cadence="digest", silent=True)
    change(Seat, ("each", 0), person_id=games[0].people[2])
    change(Seat, ("each", 2), person_id=None)
    change(Person, alice, cadence="digest")
    assert digest.start_overdue_clocks(late) == 1
    assert row(Turn, ("digest", 0)).started_at == late
