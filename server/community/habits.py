"""A person's own habits, for them alone: where their time went, what standing orders saved, with whom they play.

Counted when the page is opened, from the latest games only, so that it takes as long for everybody.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from sqlalchemy import select
from sqlalchemy.orm import Session

from server.community import ended, profiles
from server.community.ended import Ended
from server.community.profiles import Company
from server.config import zones
from server.store import log
from server.store.engine import parse_stamp
from server.store.models import Conduct, Game, Seat

MOST_GAMES = 200
"""The latest games that are counted."""
MOST_COMPANY = 20
"""The people one has met most often, who are listed."""
HOUR, DAY = 3600, 86400
BLOCK = 3
"""Hours in a row of the table of hours."""

Answers = Mapping[str, Sequence[float]]
"""Seconds of counted time for each decision that a person made themselves, by game."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a person answers in one game.

    Args:
        median: seconds of counted time.
        within_hour, within_day: shares of the decisions, from 0 to 1.
    """

    slug: str
    decisions: int
    median: float
    within_hour: float
    within_day: float


@dataclass(frozen=True, slots=True)
class Saved:
    """What standing orders saved: the decisions that they answered, and the seconds these usually take."""

    decisions: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Mate:
    """Somebody with whom a person plays: the name at the last table, and the handle if there is a profile to see."""

    name: str
    handle: str | None
    company: Company


@dataclass(frozen=True, slots=True)
class Habits:
    """Everything on the page.

    Args:
        weekdays: decisions by day, from Monday.
        hours: decisions by time of day, in blocks of three hours from midnight.
    """

    games: int
    paces: Sequence[Pace]
    weekdays: Sequence[int]
    hours: Sequence[int]
    saved: Saved
    tallies: Sequence[profiles.Tally]
    mates: Sequence[Mate]


def habits(session: Session, person_id: int, zone: str) -> Habits:
    """Return a person's habits in their latest games, private ones included.

    Args:
        zone: the IANA name of the time zone of days and hours.
    """
    slugs = _games(session, person_id)
    entries = _entries(session, person_id, slugs)
    answers = _answers(session, person_id, entries)
    local = [at.astimezone(zones.get(zone)) for at, by in entries.values() if by == "player"]
    days, hours = Counter(at.weekday() for at in local), Counter(at.hour // BLOCK for at in local)
    games = ended.of_person(session, person_id, MOST_GAMES)
    return Habits(
        games=len(slugs),
        paces=_paces(slugs, answers),
        weekdays=[days[day] for day in range(7)],
        hours=[hours[block] for block in range(24 // BLOCK)],
        saved=_saved(entries, slugs, answers),
        tallies=profiles.tallies(games, person_id),
        mates=_mates(session, person_id, games),
    )


def _games(session: Session, person_id: int) -> dict[str, str]:
    """Return the latest games that have begun in which a person holds a seat, with what is played."""
    query = select(Game.id, Game.slug).join(Seat, Seat.game_id == Game.id)
    theirs = query.where(Seat.person_id == person_id, Game.started_at.is_not(None))
    rows = session.execute(theirs.order_by(Game.started_at.desc(), Game.id).limit(MOST_GAMES))
    return {game_id: slug for game_id, slug in rows}  # noqa: C416 - a row is no pair to mypy


Entries = Mapping[tuple[str, int], tuple[datetime, str]]
"""When a person's decisions were answered and whether by `player` or `order`, by game and seq."""


def _entries(session: Session, person_id: int, games: Iterable[str]) -> Entries:
    moves = log.held_moves(session, person_id, [*games], ("player", "order"))
    return {(game, seq): (parse_stamp(at), by) for game, seq, at, by in moves}


def _answers(session: Session, person_id: int, entries: Entries) -> Answers:
    """Return how long decisions took that neither a standing order nor the server answered."""
    query = select(Conduct.game_id, Conduct.answers).where(Conduct.person_id == person_id)
    found: dict[str, list[float]] = defaultdict(list)
    for game_id, text in session.execute(query.order_by(Conduct.ended_at.desc()).limit(MOST_GAMES)):
        for seq, seconds in json.loads(text):
            by = entries.get((game_id, seq), (None, "player"))[1]
            if seconds >= 0 and by == "player":
                found[game_id].append(seconds)
    return found


def _paces(slugs: Mapping[str, str], answers: Answers) -> list[Pace]:
    grouped: dict[str, list[float]] = defaultdict(list)
    for game_id, times in answers.items():
        if game_id in slugs:
            grouped[slugs[game_id]] += times
    return [_pace(slug, times) for slug, times in sorted(grouped.items()) if times]


def _pace(slug: str, times: Sequence[float]) -> Pace:
    quick = sum(seconds <= HOUR for seconds in times) / len(times)
    return Pace(slug, len(times), median(times), quick, sum(seconds <= DAY for seconds in times) / len(times))


def _saved(entries: Entries, slugs: Mapping[str, str], answers: Answers) -> Saved:
    """Return what orders saved: each would have taken as long as the person's usual answer in that game."""
    usual = {pace.slug: pace.median for pace in _paces(slugs, answers)}
    games = [game_id for (game_id, _seq), (_at, by) in entries.items() if by == "order"]
    return Saved(len(games), sum(usual.get(slugs[game_id], 0) for game_id in games))


def _mates(session: Session, person_id: int, games: Sequence[Ended]) -> list[Mate]:
    met: Counter[int] = Counter()
    before: Counter[int] = Counter()
    names: dict[int, str] = {}
    for game in games:  # the latest first
        own = game.of(person_id).place
        for seat in game.seats:
            if seat.person_id not in (None, person_id):
                met[seat.person_id] += 1
                before[seat.person_id] += own < seat.place
                names.setdefault(seat.person_id, seat.name)
    shown = profiles.handles_for(session, met)
    often = sorted(met, key=lambda other: (-met[other], names[other]))[:MOST_COMPANY]
    return [Mate(names[other], shown.get(other), Company(met[other], before[other])) for other in often]
