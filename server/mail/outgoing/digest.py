"""The daily digest: when it is sent, which turns it lists, and when their clocks start.

People who chose it get no mail about single turns. A turn's clock starts when the mail server accepts the digest that
lists it, at the latest a day after the turn opened.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from byzanz.games import rules_of
from byzanz.moves import BadSetup
from server import play
from server.mail.text import one_line
from server.play import clock, positions, turns
from server.play.positions import Broken
from server.store import outbox
from server.store.engine import reading, transaction
from server.store.models import Game, Mail, Person, Seat, Turn

LOGGER = logging.getLogger(__name__)
OVERVIEWS = ("digest", "games")
"""The kinds of mail that cover all games of their reader."""
NEVER = datetime.max.replace(tzinfo=UTC)

DEFAULT_MINUTE = 7 * 60
"""The minute of the day of the digest for people without quiet hours; others get it when theirs end."""


def digest_minute(person: Person) -> int:
    """Return the minute of the day at which a person gets the digest."""
    return DEFAULT_MINUTE if person.quiet_to is None else person.quiet_to


def last_occurrence(zone: str, minute: int, now: datetime) -> tuple[date, datetime]:
    """Return the last time that clocks in a zone showed this minute of the day, and that day."""
    here = ZoneInfo(zone)
    day = now.astimezone(here).date()
    while (at := clock.last_shown(here, day, minute)) > now:
        day -= timedelta(days=1)
    return day, at


def queue_due(now: datetime) -> int:
    """Queue a digest to each person whose digest hour has passed since one of their turns opened; return how many."""
    with reading() as session:
        first: dict[int, tuple[Person, datetime, str]] = {}
        for person, game, turn in session.execute(_digest_turns()).unique():
            first.setdefault(person.id, (person, turn.opened_at, person.time_zone or game.time_zone))
        keys = {}
        for person, opened_at, zone in first.values():
            day, at = last_occurrence(zone, digest_minute(person), now)
            key = f"digest:{person.id}:{day}"
            if opened_at <= at and session.scalar(select(Mail.id).where(Mail.key == key)) is None:
                keys[key] = person.id
    for key, person_id in keys.items():
        with transaction() as session:
            outbox.enqueue(session, key=key, kind="digest", person_id=person_id, now=now)
    return len(keys)


def start_overdue_clocks(now: datetime) -> int:
    """Start the clocks of turns that no digest has listed within a day; return how many."""
    late = (Turn.started_at.is_(None), Turn.refused.is_(None), Turn.opened_at <= now - play.LATEST_DIGEST)
    with reading() as session:
        hints = [
            (game.id, turn.seat) for _, game, turn in session.execute(_digest_turns().where(*late)).unique()
        ]
    return sum(play.digest_overdue(game_id, seat, now) for game_id, seat in hints)


def _digest_turns() -> Select[Person, Game, Turn]:
    """Select the people who want a digest with the turns that it is to list, the oldest of each person first."""
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


def start_clocks(session: Session, mail: Mail, named: Sequence[play.NamedTurn], now: datetime) -> None:
    """Start the clocks of the turns that an accepted digest lists, and store which they are, since it may still bounce.

    Args:
        named: their games are locked.
    """
    kept = [(place.game_id, place.seat, place.opened_seq) for place in named]
    session.get_one(Mail, mail.id).details = json.dumps({"named": kept})
    play.digest_accepted(session, named, now)


def listed_turns(session: Session, kind: str, person_id: int) -> list[tuple[Game, Seat, Turn]]:
    """Return the turns that a mail of this kind lists: empty unless it covers all games of its reader."""
    if kind == "digest":
        return play.turns_for_digest(session, person_id)
    return turns.of_person(session, person_id) if kind == "games" else []


def overview_context(session: Session, mail: Mail, links: Mapping[str, str], now: datetime) -> dict[str, Any]:
    """Build the context of a mail about all games: `items`, one per game, the most urgent first; and `named`.

    Args:
        links: to the reader's seats, by game; turns that opened after these were made wait for the next mail.
        now: when a digest is accepted: the clocks of turns that none has listed before start then.
    """
    items, named = [], []
    for game, seat, turn in listed_turns(session, mail.kind, mail.person_id):
        if game.id not in links:
            continue
        starts = mail.kind == "digest" and (turn.started_at is None or turn.refused is not None)
        times = (
            turns.times_if_started(session, game, turn, now) if starts else turns.times(session, game, turn)
        )
        try:
            items.append(_item(session, game, seat, turn, times) | {"link": links[game.id]})
        except (Broken, BadSetup) as broken:  # one broken game must not block the others
            LOGGER.warning("game %s is omitted from a mail: %s", game.id, broken)
            continue
        if times is not None:
            named.append(play.NamedTurn(game.id, turn.seat, turn.opened_seq, times.due, starts))
    items.sort(key=lambda item: item["times"].due if item["times"] else NEVER)
    return {"items": items, "named": tuple(named)}


def _item(session: Session, game: Game, seat: Seat, turn: Turn, times: turns.Times | None) -> dict[str, Any]:
    position = positions.load(session, game)
    person = seat.person
    return {
        "slug": game.slug,
        "title": rules_of(game.slug, game.rules).title,
        "game": one_line(game.name),
        "names": [one_line(other.name) for other in positions.seats_of(session, game.id)],
        "view": position.view(turn.seat),
        "times": times,
        "zone": (person.time_zone if person else None) or game.time_zone,
    }
