"""The daily digest: when it goes, which turns it names, and when the clocks of those begin.

Who has chosen it gets no mail for a single turn. A turn's clock begins when the mail server has accepted the digest
that names it, at the latest a day after the turn opened.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from byzanz.games import rules_of
from byzanz.rules import BadSetup
from server.play import clock, positions, turns
from server.play.positions import Broken
from server.store import log, outbox
from server.store.engine import reading, transaction
from server.store.models import Game, Mail, Person, Seat, Turn
from server.validation import one_line

LOGGER = logging.getLogger(__name__)
OVERVIEWS = ("digest", "games")
"""The kinds of mail that cover all games of their reader."""
NEVER = datetime.max.replace(tzinfo=UTC)

DEFAULT_MINUTE = 7 * 60
"""The minute of the day at which the digest goes to who has no quiet hours; others get it at the end of theirs."""
LONGEST_DELAY = timedelta(hours=24)
"""After this long the clock of a turn begins though no digest has named it."""


@dataclass(frozen=True, slots=True)
class DigestTurn:
    """A turn that a digest names.

    Args:
        due: the moment that the digest prints.
        starts: no clock runs for it: it begins with the digest.
    """

    game_id: str
    seat: int
    opened_seq: int
    due: datetime
    starts_clock: bool


def digest_minute(person: Person) -> int:
    """The minute of the day at which a person gets the digest."""
    return DEFAULT_MINUTE if person.quiet_to is None else person.quiet_to


def last_occurrence(zone: str, minute: int, now: datetime) -> tuple[date, datetime]:
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
        for person, game, turn in session.execute(_digest_turns()).unique().tuples():
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
    """Start the clocks of turns that no digest has named within a day; how many."""
    late = (Turn.started_at.is_(None), Turn.refused.is_(None), Turn.opened_at <= now - LONGEST_DELAY)
    with reading() as session:
        hints = [
            (game.id, turn.seat) for _, game, turn in session.execute(_digest_turns().where(*late)).unique()
        ]
    return sum(_start(game_id, seat, now) for game_id, seat in hints)


def _start(game_id: str, seat: int, now: datetime) -> bool:
    with transaction() as session:
        game = log.lock_game(session, game_id, skip_locked=True)
        turn = session.get(Turn, (game_id, seat)) if game else None
        if (
            game is None
            or turn is None
            or turn.started_at
            or turn.refused
            or turn.opened_at > now - LONGEST_DELAY
        ):
            return False
        turns.start(session, game, turn, turn.opened_at + LONGEST_DELAY)
        return True


def _digest_turns() -> Select[tuple[Person, Game, Turn]]:
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


def turns_for(session: Session, person_id: int) -> list[tuple[Game, Seat, Turn]]:
    """The turns that a digest to this person names now: those in games whose mails he has not switched off."""
    return [place for place in turns.of_person(session, person_id) if not place[1].silent]


def start_clocks(session: Session, mail: Mail, named: tuple[DigestTurn, ...], now: datetime) -> None:
    """A mail server has accepted a digest: the clocks of the turns that it named begin, those of refused mail, too.

    What it named is kept with it, for it may still come back.

    Args:
        named: their games are locked.
    """
    kept = [(place.game_id, place.seat, place.opened_seq) for place in named]
    session.get_one(Mail, mail.id).details = json.dumps({"named": kept})
    for place in named:
        game, turn = session.get(Game, place.game_id), session.get(Turn, (place.game_id, place.seat))
        if game is None or turn is None or turn.opened_seq != place.opened_seq or not place.starts_clock:
            continue
        if turn.started_at is None or turn.refused:
            turns.start(session, game, turn, now, place.due)


def turns_in(session: Session, mail: Mail) -> list[tuple[str, int, int]]:
    """The turns that a digest named when it was accepted, or would name now if none has taken it.

    Returns:
        Of each the game's id, the seat, and the head at which the turn opened.
    """
    kept = outbox.details(mail).get("named")
    if kept is not None:
        return [(str(game_id), int(seat), int(opened)) for game_id, seat, opened in kept]
    return [(game.id, turn.seat, turn.opened_seq) for game, _, turn in turns_for(session, mail.person_id)]


def listed_turns(session: Session, kind: str, person_id: int) -> list[tuple[Game, Seat, Turn]]:
    """Return the turns that a mail of this kind lists: empty unless it covers all games of its reader."""
    if kind == "digest":
        return turns_for(session, person_id)
    return turns.of_person(session, person_id) if kind == "games" else []


def overview_context(session: Session, mail: Mail, links: Mapping[str, str], now: datetime) -> dict[str, Any]:
    """The words of the templates: `items`, a game each, the least time left first; and `named`, for a digest.

    Args:
        links: to the reader's seats, by game; what was not there when they were made is left for the next mail.
        now: when a digest is accepted: then the clocks begin of turns that none has named before.
    """
    items, named = [], []
    for game, seat, turn in listed_turns(session, mail.kind, mail.person_id):
        if game.id not in links:
            continue
        starts = mail.kind == "digest" and (turn.started_at is None or turn.refused is not None)
        times = turns.printed(session, game, turn, now) if starts else turns.times(session, game, turn)
        try:
            items.append(_item(session, game, seat, turn, times) | {"link": links[game.id]})
        except (Broken, BadSetup) as broken:  # one broken game must not hold up the others
            LOGGER.warning("game %s is left out of a mail: %s", game.id, broken)
            continue
        if times is not None:
            named.append(DigestTurn(game.id, turn.seat, turn.opened_seq, times.due, starts))
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
