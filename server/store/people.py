"""People: finding or creating them by email address."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import String, select, type_coerce
from sqlalchemy.orm import Session

from server.config import zones
from server.store.engine import insert
from server.store.models import Person
from server.store.rows import AnyGame


def normalize_address(email: str) -> str:
    """Return an address in the form in which it is stored and compared: stripped and lower-case."""
    return email.strip().lower()


def find(session: Session, email: str) -> Person | None:
    """Return the person with this address, or None."""
    return session.scalar(select(Person).where(Person.email == normalize_address(email)))


def unknown_zone(session: Session, person_id: int) -> str | None:
    """Return the name of a person's stored time zone if this machine does not know it, else None."""
    stored = session.scalar(select(type_coerce(Person.time_zone, String)).where(Person.id == person_id))
    return None if stored is None or zones.known(stored) else stored


def get_or_create(session: Session, email: str, name: str, now: datetime) -> Person:
    """Return the person with this address, creating them with this name if there is none."""
    found = find(session, email)
    if found is not None:
        return found
    # Two requests may meet an address for the first time at the same moment.
    row = {
        "email": normalize_address(email),
        "name": name,
        "created_at": now,
        "moderator": False,
        "silent": False,
    }
    insert(session, Person, row, key="email")
    return session.scalars(select(Person).where(Person.email == row["email"])).one()


def organiser_and_moderators(session: Session, game: AnyGame) -> set[int]:
    """Return the ids of the people responsible for a game: its organiser and the moderators."""
    found = set(session.scalars(select(Person.id).where(Person.moderator, Person.email.is_not(None))))
    return found | ({game.organiser_id} if game.organiser_id is not None else set())
