"""People: found or created by their email address, and when they were last here."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from datetime import datetime, timedelta

from sqlalchemy import String, delete, func, select, type_coerce
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from server import i18n
from server.store import statements
from server.store.engine import insert, reading, transaction
from server.store.models import Person, Presence
from server.store.statements import PersonRow


def normalize_address(email: str) -> str:
    """Return an address in the form in which it is stored and compared: stripped and lower-case."""
    return email.strip().lower()


def find(session: Session, email: str) -> Person | None:
    """Return the person with this address, or None."""
    return session.scalar(select(Person).where(Person.email == normalize_address(email)))


def get(session: Session, person_id: int) -> PersonRow | None:
    """Return the person with this id, as far as games and emails ask, or None."""
    found = session.execute(select(*statements.PERSON).where(Person.id == person_id)).first()
    return PersonRow(*found) if found is not None else None


def unknown_zone(session: Session, person_id: int) -> str | None:
    """Return the name of a person's stored time zone if this machine does not know it, else None."""
    stored = session.scalar(select(type_coerce(Person.time_zone, String)).where(Person.id == person_id))
    return None if stored is None or i18n.known_zone(stored) else stored


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


def organiser_and_moderators(session: Session, organiser_id: int | None) -> set[int]:
    """Return the ids of the people responsible for a game: its organiser and the moderators."""
    found = set(session.scalars(select(Person.id).where(Person.moderator, Person.email.is_not(None))))
    return found | ({organiser_id} if organiser_id is not None else set())


# ---- when they were last here ----
# Programs that fetch links open pages and run their scripts. So only what they do not do shows that somebody is there:
# a form that is sent, a reply by email, or the question of a visible page that a pointer or a key has touched. It
# shows so for that table alone. A bounce that arrives after its recipient was there is no bounce, and words that were
# said before need no email. What a crash forgets of the last seconds does no harm.

RETENTION = timedelta(days=30)
"""How long it is kept: no report about an email counts as late as that."""
_noted: dict[tuple[int, str], datetime] = {}


def note(person_id: int, now: datetime, game_id: str | None = None) -> None:
    """Note that a person is at the table of a game; somebody who is anywhere else is not at a table."""
    if game_id is not None:
        _noted[person_id, game_id] = now


def store() -> None:
    """Store what was noted since the last time, the newest moment of each person at each table.

    Raises:
        SQLAlchemyError: the database failed; what was noted is stored the next time.
    """
    if not _noted:
        return
    taken = sorted(_noted.copy().items(), key=lambda noted: (noted[0][1], noted[0][0]))  # as games are locked
    with transaction() as session:
        for (person_id, game_id), at in taken:
            row = {"person_id": person_id, "game_id": game_id, "at": at}
            key = ("person_id", "game_id")
            with suppress(IntegrityError), session.begin_nested():  # the game may be gone meanwhile
                insert(session, Presence, row, key=key, again={"at": at}, where=Presence.at < at)
    for place, at in taken:
        if _noted.get(place) == at:
            del _noted[place]


def last(session: Session, person_id: int, game_ids: Collection[str] = ()) -> datetime | None:
    """Return when a person was last at one of these tables, or at any table if none is named; None if never lately."""
    where = [Presence.person_id == person_id] + ([Presence.game_id.in_(game_ids)] if game_ids else [])
    return session.scalar(select(func.max(Presence.at)).where(*where))


def forget() -> None:
    """Forget what was noted."""
    _noted.clear()


def purge(now: datetime) -> None:
    """Delete what is too old to matter."""
    with reading() as session:
        old = session.scalar(select(func.min(Presence.at)))
    if old is not None and old < now - RETENTION:
        with transaction() as session:
            session.execute(delete(Presence).where(Presence.at < now - RETENTION))
