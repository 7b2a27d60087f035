"""The daily digest: when it goes, which turns it names, and when the clocks of those begin.

Who has chosen it gets no mail for a single turn. A turn's clock begins when the mail server has accepted the digest
that names it, at the latest a day after the turn opened.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from server import play
from server.play import clock, turns
from server.store import outbox
from server.store.engine import reading, transaction
from server.store.models import Game, Mail, Person, Seat, Turn

HOUR = 7 * 60
"""The minute of the day at which the digest goes to who has no quiet hours; others get it at the end of theirs."""


def hour_of(person: Person) -> int:
    """The minute of the day at which a person gets the digest."""
    return HOUR if person.quiet_to is None else person.quiet_to


def last_hour(zone: str, minute: int, now: datetime) -> tuple[date, datetime]:
    """The last time that clocks in a zone came to this minute of the day, and the day on which they did."""
    here = ZoneInfo(zone)
    day = now.astimezone(here).date()
    while (at := clock.last_shown(here, day, minute)) > now:
        day -= timedelta(days=1)
    return day, at


def queue_due(now: datetime) -> int:
    """Queue a digest to each person whose hour has come since a turn of his has opened; how many."""
    with reading() as session:
        first: dict[int, tuple[Person, datetime, str]] = {}
        for person, game, turn in session.execute(_wanted()).unique().tuples():
            first.setdefault(person.id, (person, turn.opened_at, person.time_zone or game.time_zone))
        keys = {}
        for person, opened_at, zone in first.values():
            day, at = last_hour(zone, hour_of(person), now)
            key = f"digest:{person.id}:{day}"
            if opened_at <= at and session.scalar(select(Mail.id).where(Mail.key == key)) is None:
                keys[key] = person.id
    for key, person_id in keys.items():
        with transaction() as session:
            outbox.enqueue(session, key=key, kind="digest", person_id=person_id, now=now)
    return len(keys)


def start_late(now: datetime) -> int:
    """Start the clocks of turns that no digest has named within a day; how many."""
    late = (Turn.started_at.is_(None), Turn.refused.is_(None), Turn.opened_at <= now - play.LATEST_DIGEST)
    with reading() as session:
        hints = [(game.id, turn.seat) for _, game, turn in session.execute(_wanted().where(*late)).unique()]
    return sum(play.digest_overdue(game_id, seat, now) for game_id, seat in hints)


def _wanted() -> Select[tuple[Person, Game, Turn]]:
    """Who wants a digest, and the turns that it is to name, the oldest of each person first."""
    return (
        select(Person, Game, Turn)
        .join(Seat, Seat.person_id == Person.id)
        .join(Game, Game.id == Seat.game_id)
        .join(Turn, (Turn.game_id == Seat.game_id) & (Turn.seat == Seat.seat))
        .where(Person.cadence == "digest", Person.silent.is_(False), Person.email.is_not(None))
        .where(Seat.status == "seated", Seat.silent.is_(False))
        .where(Game.status == "running", Game.paused.is_(False), Game.quarantine.is_(None))
        .order_by(Person.id, Turn.opened_at, Turn.game_id)
    )


def named_by(session: Session, person_id: int) -> list[tuple[Game, Seat, Turn]]:
    """The turns that a digest to this person names now: those in games whose mails he has not switched off."""
    return [place for place in turns.of_person(session, person_id) if not place[1].silent]


def accepted(session: Session, mail: Mail, named: Sequence[play.NamedTurn], now: datetime) -> None:
    """Start the clocks of the turns that an accepted digest named, and store which they are: it may still bounce.

    Args:
        named: their games are locked.
    """
    kept = [(place.game_id, place.seat, place.opened_seq) for place in named]
    session.get_one(Mail, mail.id).details = json.dumps({"named": kept})
    play.digest_accepted(session, named, now)


def named_in(session: Session, mail: Mail) -> list[tuple[str, int, int]]:
    """The turns that a digest named when it was accepted or, if it was not, would name now.

    Returns:
        Of each the game's id, the seat, and the head at which the turn opened.
    """
    kept = outbox.details(mail).get("named")
    if kept is not None:
        return [(str(game_id), int(seat), int(opened)) for game_id, seat, opened in kept]
    return [(game.id, turn.seat, turn.opened_seq) for game, _, turn in named_by(session, mail.person_id)]
