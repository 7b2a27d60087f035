"""Mutes: a person does not want to read what another says, at any table. The other is never told."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Row, delete, func, select
from sqlalchemy.orm import Session

from server.store.engine import transaction
from server.store.models import Mute, Person, Seat
from server.store.words import read


def mute(person_id: int, game_id: str, word_id: str) -> bool:
    """Mute the person who said something at a table.

    Args:
        person_id: who does not want to read them.

    Returns:
        False if that person cannot read such a word of anybody else.
    """
    with transaction() as session:
        session.get_one(Person, person_id, with_for_update=True)  # two requests at once would both insert
        rows, _notes = read(session, game_id, person_id)
        of_others = (row for row in rows if row.id == word_id and row.person_id != person_id)
        other = next((row.person_id for row in of_others), None)
        if other is not None:
            session.add(Mute(person_id=person_id, other_id=other))
        return other is not None


def unmute(person_id: int, other_id: int) -> None:
    """Read what another person says again."""
    with transaction() as session:
        session.execute(delete(Mute).where(Mute.person_id == person_id, Mute.other_id == other_id))


def muted(session: Session, person_id: int) -> Sequence[Row[int, str]]:
    """Return the people whom a person has muted: their ids, and a name that they have or had at a table with them."""
    own = select(Seat.game_id).where(Seat.person_id == person_id)
    together = (Seat.person_id == Mute.other_id) & Seat.game_id.in_(own)
    name = func.coalesce(func.min(Seat.name), "?").label("name")
    query = select(Mute.other_id, name).outerjoin(Seat, together).where(Mute.person_id == person_id)
    return session.execute(query.group_by(Mute.other_id).order_by(name, Mute.other_id)).all()
