"""Absences: whole days, entered in advance, at most 35 of them in any 365.

They only apply to turns that open after they were entered; a turn keeps the absences it was opened with.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from server import i18n, play
from server.errors import InvalidInput
from server.play import clock
from server.store.engine import transaction
from server.store.models import Absence, Game, GameStatus, Person, Seat, Turn
from server.validation import excerpt

BUDGET = 35
"""Days of absence in any YEAR."""
YEAR = timedelta(days=365)
MOST_AHEAD = timedelta(days=2 * 365)
"""How far ahead an absence may be entered."""


def absences_of(session: Session, person_id: int, since: datetime) -> Sequence[Absence]:
    """Return the absences of a person that are not over, the next one first."""
    query = select(Absence).where(Absence.person_id == person_id, Absence.to_at > since)
    return session.scalars(query.order_by(Absence.from_at, Absence.id)).all()


def add_absence(person_id: int, first: str, last: str, now: datetime) -> None:
    """Enter days on which a person is away, by the calendar of their time zone.

    Args:
        first: the first day, as 2026-08-01; today at the earliest.
        last: the last day, the first one or later.

    Raises:
        InvalidInput: the days are invalid, past, entered already, or more than the budget allows.
    """
    from_day, to_day = _day(first, "away_from"), _day(last, "away_to")
    with transaction() as session:
        person = session.get_one(Person, person_id, with_for_update=True)
        if person.time_zone is None:
            raise InvalidInput("Set your time zone first; it decides when a day begins.", field="away_from")
        zone = i18n.zone(person.time_zone)
        today = now.astimezone(zone).date()
        if from_day < today:
            raise InvalidInput("An absence can begin today at the earliest.", field="away_from")
        if to_day < from_day:
            raise InvalidInput("The last day is before the first.", field="away_to")
        if to_day > today + MOST_AHEAD:
            raise InvalidInput("Absences can be entered at most two years ahead.", field="away_to")
        span = clock.whole_days(zone, from_day, to_day)
        others = [(row.from_at, row.to_at) for row in absences_of(session, person_id, now - YEAR)]
        if any(start < span[1] and span[0] < end for start, end in others):
            raise InvalidInput("You have already entered some of these days.", field="away_from")
        _check_budget([*others, span])
        session.add(Absence(person_id=person_id, from_at=span[0], to_at=span[1], created_at=now))


def _day(text: str, field: str) -> date:
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        raise InvalidInput(
            "“%(text)s” is not a date like 2026-08-01.", field=field, text=excerpt(text)
        ) from None


def _check_budget(spans: Sequence[clock.Span]) -> None:
    """Check that no 365 days exceed the budget; a fullest such year begins with an absence."""
    fullest = max(days_away(spans, start, start + YEAR) for start, _ in spans)
    if fullest > BUDGET:
        raise InvalidInput(
            "That would be %(days)s days away within a year; the limit is %(most)s.",
            field="away_to",
            days=fullest,
            most=BUDGET,
        )


def days_away(spans: Sequence[clock.Span], since: datetime, until: datetime) -> int:
    """Count the days of absence between two moments; a day of 23 or 25 hours counts as one."""
    inside = (min(end, until) - max(start, since) for start, end in spans)
    return round(sum((span for span in inside if span > timedelta(0)), timedelta(0)) / timedelta(days=1))


def remove_absence(person_id: int, absence_id: int, now: datetime) -> None:
    """Remove an absence that has not begun; do nothing if there is none.

    Raises:
        InvalidInput: it has begun, or an open turn counts on it: otherwise its days could be used twice.
    """
    with transaction() as session:
        own = (
            select(Seat.game_id)
            .join(Game)
            .where(Seat.person_id == person_id, Game.status == GameStatus.RUNNING)
        )
        play.lock_games(session, session.scalars(own).all())  # a turn that opens meanwhile may count on it
        session.get_one(Person, person_id, with_for_update=True)
        row = session.get(Absence, absence_id)
        if row is None or row.person_id != person_id:
            return
        if row.from_at <= now:
            raise InvalidInput("This absence has begun and cannot be removed.", field="absence")
        if any((row.from_at, row.to_at) in hours.absences for hours in _open_hours(session, person_id)):
            raise InvalidInput(
                "An open turn of yours counts on this absence. Play it first.", field="absence"
            )
        session.delete(row)


def _open_hours(session: Session, person_id: int) -> list[clock.Hours]:
    query = (
        select(Turn.hours)
        .join(Seat, (Seat.game_id == Turn.game_id) & (Seat.seat == Turn.seat))
        .where(Seat.person_id == person_id)
    )
    return [clock.Hours.read(text) for text in session.scalars(query)]
