"""Mutes: a person does not want to read what another says, at any table. The other is never told."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Row, delete, func, select
from sqlalchemy.orm import Session

from server.errors import BadRequest
from server.store.engine import transaction
from server.store.models import Mute, Person, Seat, Word


def mute(person_id: int, game_id: str, number: int) -> None:
    """Mute the person who said something at a table.

    Args:
        person_id: who does not want to read them.

    Raises:
        BadRequest: there is no such word, or they said it themselves.
    """
    with transaction() as session:
        said = (Word.game_id == game_id, Word.number == number, Word.person_id != person_id)
        other = session.scalar(select(Word.person_id).where(*said))
        if other is None:
            raise BadRequest("Nobody else has said this here. Reload the page.")
        session.get_one(Person, person_id, with_for_update=True)  # two requests at once would both insert
        if session.get(Mute, (person_id, other)) is None:
            session.add(Mute(person_id=person_id, other_id=other))


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
