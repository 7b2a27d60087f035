"""Figures of /metrics that no query could count quickly: noted in memory, and stored by a tick, so that no move waits.

What a crash forgets of the last seconds does no harm.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from threading import Lock
from typing import Any

from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from server.store.engine import transaction
from server.store.models import Total

_counted: Counter[str] = Counter()
_noted: dict[str, int] = {}
_lock = Lock()


def count(name: str, n: int = 1) -> None:
    """Add to a figure that only grows."""
    with _lock:
        _counted[name] += n


def count_each(names: Iterable[str]) -> None:
    """Add one to each of these figures, which only grow."""
    with _lock:
        _counted.update(names)


def note(name: str, value: int) -> None:
    """Note the present value of a figure."""
    with _lock:
        _noted[name] = value


def store() -> None:
    """Store what was counted and noted since the last time.

    Raises:
        SQLAlchemyError: the database failed; the same is stored the next time.
    """
    with _lock:  # taken out, so that two threads never store the same
        counted, noted = _counted.copy(), _noted.copy()
        _counted.clear()
        _noted.clear()
    if not counted and not noted:
        return
    try:
        with transaction() as session:
            _upsert(session, counted, add=True)
            _upsert(session, noted, add=False)
    except BaseException:
        with _lock:
            _counted.update(counted)
            for name, value in noted.items():
                _noted.setdefault(name, value)
        raise


def _upsert(session: Session, figures: dict[str, int], *, add: bool) -> None:
    dialect: Any = postgresql if session.get_bind().dialect.name == "postgresql" else sqlite
    row = dialect.insert(Total)
    value = Total.value + row.excluded.value if add else row.excluded.value
    # In the same order in every process, so that none waits for another that waits for it.
    rows = [{"name": name, "value": figures[name]} for name in sorted(figures)]
    if rows:
        session.execute(row.on_conflict_do_update(index_elements=["name"], set_={"value": value}), rows)


def stored(session: Session) -> dict[str, int]:
    """Return the stored figures, by name."""
    return {row.name: row.value for row in session.execute(select(Total.name, Total.value))}


def forget() -> None:
    """Forget what was counted and noted."""
    with _lock:
        _counted.clear()
        _noted.clear()
