"""Moderators in tests: nobody decides about a table at which they play."""

from __future__ import annotations

from server.store import engine, people
from server.store.models import Person
from tests.conftest import NOW


def outsider() -> int:
    """Return the id of a moderator who plays nowhere."""
    with engine.transaction() as session:
        found = people.get_or_create(session, "noa@example.org", "Noa", NOW)
        found.moderator = True
        return found.id


def appoint(*ids: int) -> None:
    """Make people moderators."""
    with engine.transaction() as session:
        for person_id in ids:
            session.get_one(Person, person_id).moderator = True
