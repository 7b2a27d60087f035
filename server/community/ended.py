"""Finished games with where each seat came: the ground of profiles, habits, groups and downloads."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from byzanz.games import title_of
from server.store.models import Game, Seat, Standing


@dataclass(frozen=True, slots=True)
class Placed:
    """A seat at the end of a game.

    Args:
        name: at the table; person_id, bot: who held the seat at the end.
        place: from 1, shared by equals.
    """

    seat: int
    name: str
    person_id: int | None
    bot: str | None
    place: int
    score: int


@dataclass(frozen=True, slots=True)
class Ended:
    """A game that was played to its end, with its seats in order."""

    id: str
    slug: str
    title: str
    name: str
    listed: bool
    started_at: datetime
    ended_at: datetime
    seats: tuple[Placed, ...]

    @property
    def size(self) -> int:
        """How many seats there are."""
        return len(self.seats)

    @property
    def ranked(self) -> list[Placed]:
        """The seats, the best first."""
        return sorted(self.seats, key=lambda seat: (seat.place, seat.seat))

    @property
    def people(self) -> frozenset[int]:
        """The people who held a seat at the end."""
        return frozenset(seat.person_id for seat in self.seats if seat.person_id is not None)

    def of(self, person_id: int) -> Placed:
        """Return the seat of a person who held one."""
        return next(seat for seat in self.seats if seat.person_id == person_id)

    def points(self, placed: Placed) -> float:
        """Return the share of the others that a seat left behind, in hundredths; one that it is level with is half."""
        behind = sum(other.place > placed.place for other in self.seats)
        level = sum(other.place == placed.place for other in self.seats) - 1
        return 100 * (behind + level / 2) / (self.size - 1)


def of_person(
    session: Session, person_id: int, most: int, *, after: int = 0, public: bool = False
) -> list[Ended]:
    """Return the games that a person held a seat of at the end, the latest first.

    Args:
        after: how many of the latest to leave out.
        public: only listed games with other people.
    """
    theirs = Game.id.in_(select(Standing.game_id).where(Standing.person_id == person_id))
    if not public:
        return load(session, theirs, most, after)
    found = load(session, theirs & Game.listed, most)
    return [game for game in found if len(game.people) > 1]


_GAME = (Game.id, Game.slug, Game.name, Game.listed, Game.started_at, Game.ended_at, Game.result)
_SEAT = (Standing.seat, Seat.name, Standing.person_id, Standing.bot, Standing.place, Standing.score)


def load(session: Session, which: ColumnElement[bool], most: int, after: int = 0) -> list[Ended]:
    """Return the games among the `most` latest, after some, that are counted and were not ended early."""
    over = (Game.status == "over", Game.started_at.is_not(None), Game.ended_at.is_not(None))
    query = select(*_GAME).where(*over, Game.quarantine.is_(None), ~Game.trial, which)
    latest = query.order_by(Game.ended_at.desc(), Game.id).limit(most).offset(after)
    games = session.execute(latest).all()
    places = _places(session, [game[0] for game in games])
    found = []
    for game_id, slug, name, listed, started_at, ended_at, result in games:
        if game_id in places and result and json.loads(result)["winners"]:
            assert started_at is not None
            assert ended_at is not None
            title, seats = title_of(slug), tuple(places[game_id])
            found.append(Ended(game_id, slug, title, name, listed, started_at, ended_at, seats))
    return found


def _places(session: Session, game_ids: list[str]) -> dict[str, list[Placed]]:
    query = select(Standing.game_id, *_SEAT).join(
        Seat, (Seat.game_id == Standing.game_id) & (Seat.seat == Standing.seat)
    )
    rows = session.execute(
        query.where(Standing.game_id.in_(game_ids)).order_by(Standing.game_id, Standing.seat)
    )
    found: dict[str, list[Placed]] = defaultdict(list)
    for game_id, seat, name, person_id, bot, place, score in rows:
        found[game_id].append(Placed(seat, name, person_id, bot, place, score))
    return found
