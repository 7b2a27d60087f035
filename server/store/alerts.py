"""Alerts for moderators: raised once for each key, shown until they are cleared."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from server.store import statements
from server.store.engine import connection_of, insert
from server.store.facts import Fact
from server.store.models import Alert

CLOCK_JUMPED = "clock-step"
"""The key of the alert that the machine's clock is in doubt."""


def raise_alert(session: Session, key: str, fact: Fact, now: datetime, game_id: str | None = None) -> None:
    """Raise an alert, or raise it again if it was cleared; an open one keeps its fact and its time.

    Args:
        key: what it is about, up to 120 characters; the same key is the same alert.
        fact: for moderators; contains no link.
    """
    row = {"key": key, "text": fact, "at": now, "game_id": game_id}
    again = {"text": fact, "at": now, "cleared_at": None}
    insert(session, Alert, row, key="key", again=again, where=Alert.cleared_at.is_not(None))


def find_open(session: Session, key: str, *, lock: bool = False) -> Alert | None:
    """Return the alert of this key if it has not been cleared, or None; `lock` locks its row."""
    query = select(Alert).where(Alert.key == key, Alert.cleared_at.is_(None))
    return session.scalar(query.with_for_update() if lock else query)


def clear(session: Session, keys: str | Sequence[str], now: datetime) -> None:
    """Clear the alerts that are settled, of one key or several; do nothing about those that are not open."""
    settled = [{"name": key, "now": now} for key in ([keys] if isinstance(keys, str) else keys)]
    session.flush()
    statements.CLEAR_ALERT.run(connection_of(session), settled)
