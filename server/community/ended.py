"""Finished games with where each seat came: the ground of profiles, habits, groups and downloads."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from byzanz.games import rules_of
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


def load(session: Session, which: ColumnElement[bool], most: int, after: int = 0) -> list[Ended]:
    """Return the games among the `most` latest, after some, that are counted and were not ended early."""
    query = select(Game).where(Game.status == "over", Game.quarantine.is_(None), ~Game.trial, which)
    latest = query.order_by(Game.ended_at.desc(), Game.id).limit(most).offset(after)
    games = session.scalars(latest).all()
    places = _places(session, [game.id for game in games])
    return [_ended(game, places[game.id]) for game in games if places[game.id] and _has_winner(game)]


def _has_winner(game: Game) -> bool:
    return bool(game.result and json.loads(game.result)["winners"])


def _places(session: Session, game_ids: list[str]) -> dict[str, list[Placed]]:
    query = select(Standing, Seat.name).join(
        Seat, (Seat.game_id == Standing.game_id) & (Seat.seat == Standing.seat)
    )
    rows = session.execute(
        query.where(Standing.game_id.in_(game_ids)).order_by(Standing.game_id, Standing.seat)
    )
    found: dict[str, list[Placed]] = defaultdict(list)
    for row, name in rows:
        placed = Placed(row.seat, name, row.person_id, row.bot, row.place, row.score)
        found[row.game_id].append(placed)
    return found


def _ended(game: Game, places: list[Placed]) -> Ended:
    ended = game.ended_at or game.created_at
    return Ended(
        id=game.id,
        slug=game.slug,
        title=rules_of(game.slug, game.rules).title,
        name=game.name,
        listed=game.listed,
        started_at=game.started_at or ended,
        ended_at=ended,
        seats=tuple(places),
    )
