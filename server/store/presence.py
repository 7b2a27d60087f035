"""When people were last here: pages note it in memory, and a tick stores it, so that no page waits for a write.

A bounce that arrives after its recipient was here is no bounce. What a crash forgets of the last seconds does no harm.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import bindparam, or_, update

from server.store.engine import transaction
from server.store.models import Person

_noted: dict[int, datetime] = {}


def note(person_id: int, now: datetime) -> None:
    """Note that a person has opened their page of a game, or has made a move."""
    _noted[person_id] = now


def store() -> None:
    """Store what was noted since the last time, each person's newest moment.

    Raises:
        SQLAlchemyError: the database failed; what was noted is stored the next time.
    """
    if not _noted:
        return
    taken = sorted(_noted.copy().items())  # a copy at once, for requests go on noting
    earlier = or_(Person.seen_at.is_(None), Person.seen_at < bindparam("at"))
    change = update(Person.__table__).where(Person.id == bindparam("person"), earlier)  # type: ignore[arg-type]
    with transaction() as session:
        session.connection().execute(
            change.values(seen_at=bindparam("at")), [{"person": person, "at": at} for person, at in taken]
        )
    for person, at in taken:
        if _noted.get(person) == at:
            del _noted[person]


def forget() -> None:
    """Forget what was noted."""
    _noted.clear()
