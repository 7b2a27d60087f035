"""How reliably a person answers: what others may see of it, and the breakdown for the person themselves.

Others see the last WINDOW decisions that count (`community.conduct`) in listed games that came to their end, at most
two years before the end of the last of these games: the share that was answered, rounded down, the median of the time,
and how many of the last games the person left. Private games count for the person's own page only. There is no grade.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median_low

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from server.community.conduct import MISSED
from server.store import log
from server.store.models import Conduct, Game, Person, Reliability

WINDOW = 200
"""Decisions."""
GAMES = 20
ENOUGH = 50
"""Decisions before which a person is new here."""
TWO_YEARS = timedelta(days=730)
MOST_LISTED = 100
"""Missed decisions that a person's own page lists."""


@dataclass(frozen=True, slots=True)
class Shown:
    """How a person answers, as others may see it.

    Args:
        decisions: that count, the last WINDOW at most.
        missed: of these.
        median: seconds of counted time for an answer; 0 without one.
        games: the last GAMES at most.
        abandoned: how many of these they left, less those that they took over and finished.
    """

    decisions: int
    missed: int
    median: int
    games: int
    abandoned: int

    @property
    def new(self) -> bool:
        """Whether too little is known to say anything."""
        return self.decisions < ENOUGH

    @property
    def percent(self) -> int:
        """The percentage of the decisions that was answered, rounded down."""
        return 100 * (self.decisions - self.missed) // self.decisions if self.decisions else 100


NOTHING = Shown(0, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Missed:
    """A decision that a person missed.

    Args:
        name: of the game.
        seq: of the entry that the server made for them.
        at: its time.
    """

    game_id: str
    name: str
    seq: int
    at: datetime


def shown(session: Session, person_ids: Collection[int]) -> dict[int, Shown]:
    """Return what others may see of each of these people; of somebody new, nothing but that."""
    rows = session.scalars(select(Reliability).where(Reliability.person_id.in_(person_ids)))
    found = {
        row.person_id: Shown(row.decisions, row.missed, row.median, row.games, row.abandoned) for row in rows
    }
    return {person_id: found.get(person_id, NOTHING) for person_id in person_ids}


def of_all_games(session: Session, person_id: int) -> Shown:
    """Return how a person answers in all their games, private ones included: for themselves alone."""
    return figures(_conduct(session, person_id, listed=False))


def misses(session: Session, person_id: int) -> list[Missed]:
    """Return the counted decisions that a person missed within two years, the latest first, for themselves alone."""
    rows = _recent(_conduct(session, person_id, listed=False))
    places = [(row.game_id, seq) for row in rows for seq, seconds in _answers(row)[::-1] if seconds == MISSED]
    places = places[:MOST_LISTED]
    games = {game_id for game_id, _ in places}
    named = session.scalars(select(Game).where(Game.id.in_(games))).unique()
    names, times = {game.id: game.name for game in named}, log.times(session, places)
    return [Missed(game_id, names[game_id], seq, times[game_id, seq]) for game_id, seq in places]


def refresh(session: Session, person_ids: Collection[int]) -> None:
    """Count again what others may see of these people, whose rows are locked (`lock`)."""
    for person_id in sorted(person_ids):
        rows = _conduct(session, person_id, listed=True)
        if not rows:
            session.execute(delete(Reliability).where(Reliability.person_id == person_id))
            continue
        now = figures(rows)
        session.merge(
            Reliability(
                person_id=person_id,
                decisions=now.decisions,
                missed=now.missed,
                median=now.median,
                games=now.games,
                abandoned=now.abandoned,
            )
        )


def lock(session: Session, person_ids: Collection[int]) -> None:
    """Lock people until the transaction ends, so that two games that end at once are both counted for them."""
    theirs = select(Person.id).where(Person.id.in_(person_ids)).order_by(Person.id)
    session.execute(theirs.with_for_update(key_share=True)).all()


def figures(rows: Sequence[Conduct]) -> Shown:
    """Count a person's conduct.

    Args:
        rows: of the games that count, the latest first.
    """
    recent = _recent(rows)
    answers = [seconds for row in recent for _, seconds in _answers(row)[::-1]][:WINDOW]
    times = [seconds for seconds in answers if seconds != MISSED]
    games = recent[:GAMES]
    left = sum(row.abandoned for row in games) - sum(row.substitute for row in games)
    return Shown(
        decisions=len(answers),
        missed=len(answers) - len(times),
        median=median_low(times) if times else 0,
        games=len(games),
        abandoned=max(0, left),
    )


def _recent(rows: Sequence[Conduct]) -> list[Conduct]:
    return [row for row in rows if row.ended_at > rows[0].ended_at - TWO_YEARS]


def _answers(row: Conduct) -> list[tuple[int, int]]:
    return [(seq, seconds) for seq, seconds in json.loads(row.answers)]


def _conduct(session: Session, person_id: int, *, listed: bool) -> Sequence[Conduct]:
    """Return a person's conduct, the latest game first, in listed games only or in all."""
    query = select(Conduct).where(Conduct.person_id == person_id)
    if listed:
        query = query.join(Game, Game.id == Conduct.game_id).where(Game.listed)
    return session.scalars(query.order_by(Conduct.ended_at.desc(), Conduct.game_id.desc())).all()
