"""Persons, capability links and sign-in. A token is computed when it is needed and stored nowhere."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from server.store.engine import insert
from server.store.models import Game, Person


def address(email: str) -> str:
    """An address as it is compared and kept: without blanks around it, lower-case."""
    return email.strip().lower()


def person_at(session: Session, email: str, name: str, now: datetime) -> Person:
    """The person with this address, made with this name if there is none."""
    find = select(Person).where(Person.email == address(email))
    found = session.scalar(find)
    if found is not None:
        return found
    # Two requests may meet an address for the first time at the same moment.
    row = {"email": address(email), "name": name, "created_at": now, "moderator": False, "silent": False}
    insert(session, Person, row, key="email")
    return session.scalars(find).one()


def in_charge(session: Session, game: Game) -> set[int]:
    """The ids of those who look after a game: its organiser and the moderators."""
    found = set(session.scalars(select(Person.id).where(Person.moderator, Person.email.is_not(None))))
    return found | ({game.organiser_id} if game.organiser_id is not None else set())
