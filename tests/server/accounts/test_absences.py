"""Absences: whose they are, how many days they count, and when they can be removed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from threading import Event
from typing import Any

import pytest
from flask import Flask

from server.accounts import absences
from server.errors import InvalidInput
from server.play import running
from server.store import engine
from server.store.models import Absence, Person, Turn
from tests.conftest import NOW, Table
from tests.support.at_once import at_once, wait_until_held_up

Begin = Callable[..., Table]
DAY, SECOND = timedelta(days=1), timedelta(seconds=1)


def day(ahead: int) -> str:
    return (NOW + ahead * DAY).date().isoformat()


@pytest.fixture
def people(table: Begin) -> list[int]:
    """Return the ids of Alice and Bob, whose days begin at midnight UTC."""
    found = table(3).people[:2]
    with engine.transaction() as session:
        for person_id in found:
            session.get_one(Person, person_id).time_zone = "UTC"
    return found


def absences_of(person_id: int, since: Any = NOW) -> list[tuple[str, str]]:
    """Return the first day and the day of the return of each absence."""
    with engine.reading() as session:
        rows = absences.absences_of(session, person_id, since)
        return [(row.from_at.date().isoformat(), row.to_at.date().isoformat()) for row in rows]


@pytest.mark.usefixtures("app")
def test_absences_are_a_persons_own_the_next_first_until_they_are_over(people: list[int]) -> None:
    alice, bob = people
    absences.add_absence(alice, day(20), day(21), NOW)
    absences.add_absence(alice, day(10), day(10), NOW)
    absences.add_absence(bob, day(10), day(11), NOW)  # the same days as another person
    assert absences_of(alice) == [(day(10), day(11)), (day(20), day(22))]
    assert absences_of(bob) == [(day(10), day(12))]
    midnight = (NOW + 11 * DAY).replace(hour=0)
    assert len(absences_of(alice, midnight - SECOND)) == 2
    assert len(absences_of(alice, midnight)) == 1


@pytest.mark.usefixtures("app")
def test_the_budget_is_35_days_of_ones_own_in_any_365(people: list[int]) -> None:
    alice, bob = people
    absences.add_absence(alice, day(1), day(35), NOW)
    absences.add_absence(bob, day(1), day(35), NOW)
    with pytest.raises(InvalidInput, match="36 days away within a year; the limit is 35"):
        absences.add_absence(alice, day(365), day(365), NOW)
    absences.add_absence(alice, day(366), day(400), NOW)
    with pytest.raises(InvalidInput, match="36 days"):
        absences.add_absence(alice, day(500), day(500), NOW)


@pytest.mark.parametrize(
    ("first", "last", "said"),
    [
        (-1, 1, "today at the earliest"),
        (0, 0, None),
        (3, 2, "before the first"),
        (3, 3, None),
        (700, 731, "two years ahead"),
        (700, 730, None),
        (9, 10, "already entered"),
        (12, 13, "already entered"),
        (8, 9, None),
        (13, 14, None),
    ],
)
@pytest.mark.usefixtures("app")
def test_each_limit_of_an_absence_is_exact(
    people: list[int], first: int, last: int, said: str | None
) -> None:
    alice, _ = people
    absences.add_absence(alice, day(10), day(12), NOW)
    if said is None:
        absences.add_absence(alice, day(first), day(last), NOW)
        assert len(absences_of(alice)) == 2
        return
    with pytest.raises(InvalidInput, match=said):
        absences.add_absence(alice, day(first), day(last), NOW)
    assert len(absences_of(alice)) == 1


@pytest.mark.usefixtures("app")
def test_an_absence_is_removed_by_its_person_before_it_begins(people: list[int]) -> None:
    alice, bob = people
    absences.add_absence(alice, day(10), day(12), NOW)
    with engine.reading() as session:
        row = absences.absences_of(session, alice, NOW)[0]
    absences.remove_absence(bob, row.id, NOW)
    absences.remove_absence(alice, row.id + 1, NOW)
    assert len(absences_of(alice)) == 1
    with pytest.raises(InvalidInput, match="has begun"):
        absences.remove_absence(alice, row.id, row.from_at)
    absences.remove_absence(alice, row.id, row.from_at - SECOND)
    assert absences_of(alice) == []


def test_an_absence_on_which_an_own_open_turn_counts_stays(table: Begin, people: list[int]) -> None:
    alice, bob = people
    for person_id in people:
        absences.add_absence(person_id, day(10), day(12), NOW)
    table(3, "later")  # Alice's turn there opens with her absence
    with engine.reading() as session:
        rows = {row.person_id: row for row in session.query(Absence)}
        assert session.get_one(Turn, ("later", 0)).hours != session.get_one(Turn, ("g1", 0)).hours
    with pytest.raises(InvalidInput, match="An open turn of yours"):
        absences.remove_absence(alice, rows[alice].id, NOW)
    absences.remove_absence(bob, rows[bob].id, NOW)
    assert (len(absences_of(alice)), absences_of(bob)) == (1, [])


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_the_same_days_entered_twice_at_once_count_once(app: Flask, people: list[int]) -> None:
    alice, _ = people
    entering = Event()

    def first() -> None:
        with engine.transaction() as session:
            session.get_one(Person, alice, with_for_update=True)
            entering.set()
            wait_until_held_up(session)
            session.add(Absence(person_id=alice, from_at=NOW + DAY, to_at=NOW + 9 * DAY, created_at=NOW))

    def again() -> None:
        assert entering.wait(timeout=30)
        absences.add_absence(alice, day(2), day(3), NOW)

    assert at_once(app, first, again) == [None, InvalidInput]
    assert len(absences_of(alice)) == 1


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_an_absence_removed_twice_at_once_is_removed_once(app: Flask, people: list[int]) -> None:
    alice, _ = people
    absences.add_absence(alice, day(10), day(12), NOW)
    with engine.reading() as session:
        (row,) = absences.absences_of(session, alice, NOW)
    removing = Event()

    def first() -> None:
        with engine.transaction() as session:
            session.get_one(Person, alice, with_for_update=True)
            session.delete(session.get_one(Absence, row.id))
            session.flush()
            removing.set()
            wait_until_held_up(session)

    def again() -> None:
        assert removing.wait(timeout=30)
        absences.remove_absence(alice, row.id, NOW)

    assert at_once(app, first, again) == [None, None]


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_an_absence_stays_on_which_a_turn_counts_that_opens_at_the_same_moment(
    app: Flask, people: list[int]
) -> None:
    alice, _ = people
    absences.add_absence(alice, day(10), day(12), NOW)
    with engine.reading() as session:
        (row,) = absences.absences_of(session, alice, NOW)
    opening = Event()

    def opens() -> None:
        with engine.transaction() as session, running.in_hand(session, "g1", NOW) as game:
            opening.set()
            wait_until_held_up(session)
            position = running.position(game)
            running.advance(game, position, position.state, NOW, restart=frozenset({0}))

    def removes() -> None:
        assert opening.wait(timeout=30)
        absences.remove_absence(alice, row.id, NOW)

    assert at_once(app, opens, removes) == [None, InvalidInput]
    assert len(absences_of(alice)) == 1


def test_days_are_counted_within_a_span_and_a_long_or_short_day_is_one() -> None:
    spans = [(NOW, NOW + 2 * DAY), (NOW + 5 * DAY, NOW + 6 * DAY + timedelta(hours=1))]
    for since, until, days in ((-9, 9, 3), (1, 9, 2), (2, 5, 0), (-9, 1, 1), (6, 7, 0), (3, 3, 0)):
        assert absences.days_away(spans, NOW + since * DAY, NOW + until * DAY) == days
