"""Blocks: people who do not want to meet somebody again. A block is one-sided, and nobody is told of it.

The two do not meet at new tables: neither gets the other's invitations, sees the other's open tables or can join one.
Everything else, such as what was said or games in progress, is hidden from the blocker alone: what vanished from the
other's pages would reveal the block.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, delete, false, func, or_, select
from sqlalchemy.orm import Session

from byzanz.rules import PUBLIC
from server.errors import InvalidInput, TooMany
from server.play import names
from server.store.engine import transaction
from server.store.models import Block, Game, Person, Seat, SeatStatus
from server.store.statements import GameRow

MOST = 50
"""People whom one person can block."""


@dataclass(frozen=True, slots=True)
class Blocked:
    """A person on somebody's list of blocked people.

    Args:
        name: theirs at the last table where the two met, else their handle; empty if they have none.
    """

    person_id: int
    name: str
    at: datetime


def between(session: Session, person_id: int, others: Collection[int]) -> set[int]:
    """Return those of some people with whom a block stands, whichever of the two made it."""
    return around(session, person_id) & set(others) if others else set()


def around(session: Session, person_id: int) -> set[int]:
    """Return everybody with whom a block stands, whichever of the two made it; for new tables alone."""
    blockers = select(Block.person_id).where(Block.other_id == person_id)
    return blocked_by(session, person_id) | set(session.scalars(blockers))


def blocked_by(session: Session, person_id: int) -> set[int]:
    """Return the people whom a person blocks."""
    return set(session.scalars(select(Block.other_id).where(Block.person_id == person_id)))


def block(person_id: int, other_id: int, now: datetime) -> None:
    """Block a person; doing it twice changes nothing.

    Raises:
        InvalidInput: somebody wants to block themselves. TooMany: they block as many as they can.
    """
    if person_id == other_id:
        raise InvalidInput("You cannot block yourself.", field="other")
    with transaction() as session:
        session.get_one(Person, person_id, with_for_update=True)
        theirs = blocked_by(session, person_id)
        if other_id in theirs:
            return
        if len(theirs) >= MOST:
            raise TooMany("You can block at most %(most)s people. Unblock somebody first.", most=MOST)
        session.add(Block(person_id=person_id, other_id=other_id, at=now))


def unblock(person_id: int, other_id: int) -> None:
    """Take a block back; do nothing if there is none."""
    with transaction() as session:
        mine = (Block.person_id == person_id, Block.other_id == other_id)
        session.execute(delete(Block).where(*mine))


def forget(session: Session, person_id: int) -> None:
    """Delete the blocks that a person made and those made of them."""
    session.execute(delete(Block).where(or_(Block.person_id == person_id, Block.other_id == person_id)))


def listed(session: Session, person_id: int) -> list[Blocked]:
    """Return whom a person blocks, the latest first, under the names of the tables where they met."""
    query = select(Block.other_id, Block.at, Person.handle).join(Person, Person.id == Block.other_id)
    rows = session.execute(
        query.where(Block.person_id == person_id).order_by(Block.at.desc(), Block.other_id)
    ).all()
    called = names_of(session, person_id, [row.other_id for row in rows])
    return [Blocked(row.other_id, called.get(row.other_id) or row.handle or "", row.at) for row in rows]


def names_of(session: Session, person_id: int, others: Collection[int]) -> dict[int, str]:
    """Return the names of people at the last table where each sat with a person; who never did is left out."""
    mine = select(Seat.game_id).where(Seat.person_id == person_id)
    query = select(Game, Seat).join(Seat, Game.id == Seat.game_id)
    met = query.where(Seat.person_id.in_(others), Seat.game_id.in_(mine), Game.started_at.is_not(None))
    tables = session.execute(met.order_by(Game.started_at, Game.id)).unique()
    return {
        seat.person_id: names.of(GameRow.of(game), seat, PUBLIC) for game, seat in tables if seat.person_id
    }


def keeps_apart(session: Session, person_id: int) -> ColumnElement[bool]:
    """Return the query condition that a table was made, or is sat at, by somebody with whom a block stands.

    It is for tables that still take players; it holds for both, no matter who made the block.
    """
    return _of(around(session, person_id))


def hides(session: Session, person_id: int | None) -> ColumnElement[bool]:
    """Return the query condition that a game in progress was made, or is sat at, by somebody whom this person blocks.

    Args:
        person_id: None for a visitor, from whom nothing is hidden.
    """
    return _of(blocked_by(session, person_id)) if person_id is not None else false()


def _of(others: Collection[int]) -> ColumnElement[bool]:
    if not others:
        return false()
    seated = select(Seat.game_id).where(Seat.person_id.in_(others), Seat.status == SeatStatus.SEATED)
    # A game without an organiser: NULL would hide it from everybody.
    return or_(func.coalesce(Game.organiser_id, 0).in_(others), Game.id.in_(seated))


def at_table(session: Session, game: Game, person_id: int) -> bool:
    """Whether a block keeps a person from a table: one with its organiser or somebody seated there.

    It keeps nobody from a table that they organise, or where they sit or are invited: what vanished there would tell.
    """
    own = (
        Seat.game_id == game.id,
        Seat.person_id == person_id,
        Seat.status.in_((SeatStatus.INVITED, SeatStatus.SEATED)),
    )
    if game.organiser_id == person_id or session.scalar(select(Seat.seat).where(*own).limit(1)) is not None:
        return False
    seated = select(Seat.person_id).where(Seat.game_id == game.id, Seat.status == SeatStatus.SEATED)
    others = {game.organiser_id, *session.scalars(seated)} - {None}
    return bool(between(session, person_id, [other for other in others if other is not None]))
