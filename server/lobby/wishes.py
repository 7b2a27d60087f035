"""People who want to hear of open tables: what they are looking for, and one email a day about new ones."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import Select, delete, exists, func, or_, select
from sqlalchemy.orm import Session

from server.errors import TooMany
from server.lobby import tables
from server.lobby.tables import Wanted
from server.store import outbox
from server.store.engine import reading, transaction
from server.store.models import NO_TURN, Game, Mail, Person, Seat, Wish

MOST = 3
"""Searches that a person can keep."""
A_DAY = timedelta(days=1)
LATELY = timedelta(days=7)
"""Tables that opened earlier are not told any more; emails about them may have been deleted since."""
READERS_AT_ONCE = 200


def add(person_id: int, which: Wanted, now: datetime) -> None:
    """Keep a search; the same one twice is one.

    Args:
        which: its `language` and `free` are not kept.

    Raises:
        TooMany: the person keeps as many as they can.
    """
    with transaction() as session:
        session.get_one(Person, person_id, with_for_update={"key_share": True})
        kept = of_person(session, person_id)
        if any((wish.slug, wish.size, wish.pace) == (which.slug, which.size, which.pace) for wish in kept):
            return
        if len(kept) >= MOST:
            raise TooMany("You can keep %(most)s searches. Delete one of them first.", most=MOST)
        session.add(
            Wish(
                person_id=person_id,
                slug=which.slug,
                size=which.size,
                pace=which.pace,
                created_at=now,
            )
        )


def remove(person_id: int, wish_id: int | None = None) -> None:
    """Delete one search of a person, or all of them if none is named."""
    with transaction() as session:
        gone = delete(Wish).where(Wish.person_id == person_id)
        session.execute(gone if wish_id is None else gone.where(Wish.id == wish_id))


def of_person(session: Session, person_id: int) -> Sequence[Wish]:
    """Return the searches of a person, the oldest first."""
    return session.scalars(select(Wish).where(Wish.person_id == person_id).order_by(Wish.id)).all()


def tell(now: datetime) -> int:
    """Queue one email to each person for whom a table has opened since the last one; return how many.

    A person gets at most one within a day, with all tables of all their searches.
    """
    told, after = 0, 0
    while True:
        with reading() as session:
            readers = session.scalars(_readers(now, after).limit(READERS_AT_ONCE)).all()
        told += sum(_tell(person_id, now) for person_id in readers)
        if len(readers) < READERS_AT_ONCE:
            return told
        after = readers[-1]


def _readers(now: datetime, after: int) -> Select[int]:
    """Return the query of people for whom a table may have opened since their last email."""
    size = select(func.count()).where(Seat.game_id == Game.id).correlate(Game).scalar_subquery()
    recent = or_(Mail.created_at > now - A_DAY, Mail.created_at >= Game.listed_at)
    had = exists().where(NO_TURN, Mail.person_id == Wish.person_id, Mail.kind == "wish", recent)
    return (
        select(Wish.person_id)
        .distinct()
        .select_from(Game)
        .join(Wish, or_(Wish.slug.is_(None), Wish.slug == Game.slug))
        .where(Game.open_until.is_not(None), Game.listed_at > now - LATELY)
        .where(Game.listed_at > Wish.created_at, or_(Wish.pace.is_(None), Game.allowance >= Wish.pace))
        .where(or_(Wish.size.is_(None), Wish.size == size), ~had)
        .where(Wish.person_id > after, Game.organiser_id.is_distinct_from(Wish.person_id))
        .order_by(Wish.person_id)
    )


def _tell(person_id: int, now: datetime) -> bool:
    with transaction() as session:
        session.get_one(Person, person_id, with_for_update={"key_share": True})
        theirs = (NO_TURN, Mail.person_id == person_id, Mail.kind == "wish")
        last = session.scalar(select(func.max(Mail.created_at)).where(*theirs))
        if last is not None and last > now - A_DAY:
            return False
        since = max(now - LATELY, last or now - LATELY)
        found: dict[str, Game] = {}
        for wish in of_person(session, person_id):
            opened = Game.listed_at > max(since, wish.created_at)
            which = Wanted(wish.slug, wish.size, wish.pace)
            found |= {game.id: game for game in tables.matching(session, which, person_id, opened)}
        if not found:
            return False
        outbox.enqueue(
            session,
            key=f"wish:{person_id}:{int(now.timestamp())}",
            kind="wish",
            person_id=person_id,
            now=now,
            details={"games": [*found]},
        )
        return True
