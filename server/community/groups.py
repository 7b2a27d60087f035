"""The people of a table as a group: every finished game of exactly these people, and how they compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from server.community import ended
from server.community.ended import Ended
from server.store.models import Game, Standing

MOST_GAMES = 500
"""The latest games of a group that are counted."""


@dataclass(frozen=True, slots=True)
class Member:
    """One of the group over all its games.

    Args:
        name: at the last table.
        place: the average one.
        points: of 100 a game: the share of the others at the table who came behind.
    """

    person_id: int
    name: str
    played: int
    won: int
    place: float
    points: float


@dataclass(frozen=True, slots=True)
class Group:
    """A group: its members, the best first, and its games, the latest first."""

    members: Sequence[Member]
    games: Sequence[Ended]


def group(session: Session, game_id: str) -> Group | None:
    """Return the group of a game's people, who may be one that plays against bots; None if the game is not counted."""
    found = ended.load(session, Game.id == game_id, 1)
    people = found[0].people if found else frozenset()
    if not people:
        return None
    theirs = select(Standing.game_id).where(Standing.person_id.in_(people)).group_by(Standing.game_id)
    all_of_them = theirs.having(func.count() == len(people))
    others = select(Standing.game_id).where(
        Standing.person_id.not_in(people), Standing.game_id.in_(all_of_them)
    )
    games = ended.load(session, Game.id.in_(all_of_them) & Game.id.not_in(others), MOST_GAMES)
    members = [_member(games, person) for person in people]
    return Group(sorted(members, key=lambda each: (-each.points, each.place, each.name)), games)


def _member(games: Sequence[Ended], person_id: int) -> Member:
    seats = [(game, game.of(person_id)) for game in games]
    return Member(
        person_id=person_id,
        name=seats[0][1].name,
        played=len(seats),
        won=sum(seat.place == 1 for _game, seat in seats),
        place=sum(seat.place for _game, seat in seats) / len(seats),
        points=sum(game.points(seat) for game, seat in seats) / len(seats),
    )
