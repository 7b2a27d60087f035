"""What moderators must see: raised once a key, seen until it is cleared."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from server.store.facts import Fact
from server.store.models import Alarm


def raise_alarm(session: Session, key: str, fact: Fact, now: datetime, game_id: str | None = None) -> None:
    """Raise an alarm, or raise it again if it was cleared; one that stands keeps its words and its moment.

    Args:
        key: what it is about, up to 120 characters; the same key is the same alarm.
        fact: for moderators, without anybody's link.
    """
    row = {"key": key, "text": fact, "at": now, "game_id": game_id}
    insert = postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert
    again = {"text": fact, "at": now, "cleared_at": None}
    session.execute(
        insert(Alarm)
        .values(row)
        .on_conflict_do_update(index_elements=["key"], set_=again, where=Alarm.cleared_at.is_not(None))
    )


def standing(session: Session, key: str, *, lock: bool = False) -> Alarm | None:
    """The alarm of this key if it is raised and not cleared; locked for this transaction if asked."""
    query = select(Alarm).where(Alarm.key == key, Alarm.cleared_at.is_(None))
    return session.scalar(query.with_for_update() if lock else query)


def clear(session: Session, key: str, now: datetime) -> None:
    """The reason has gone, or somebody has seen to it; nothing if it does not stand."""
    found = standing(session, key, lock=True)
    if found is not None:
        found.cleared_at = now
