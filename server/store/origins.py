"""Whose request it is that stores something: the networks of its visitor, so that limits hold in all processes.

An origin is a row of keyed digests, the smallest network first, so that nobody reads an address from the database.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from contextvars import ContextVar

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from server.config import settings

_DIGITS = 12
_LOCK = int.from_bytes(b"origins")
"""The number of the lock, which nothing else takes."""
_networks: ContextVar[tuple[str, ...]] = ContextVar("networks", default=())


def begin(networks: Sequence[str]) -> None:
    """Let what this thread stores from now on come from these networks, the smallest first."""
    _networks.set(tuple(networks))


def end() -> None:
    """Let what this thread stores from now on come from nobody outside: from a command or the scheduler."""
    _networks.set(())


def current() -> str | None:
    """Return the origin of what this thread stores now, None if no visitor causes it."""
    networks = _networks.get()
    if not networks:
        return None
    key = settings().key("origins")
    return " ".join(hmac.digest(key, each.encode(), "sha256").hex()[:_DIGITS] for each in networks)


def wait_for_others(session: Session) -> None:
    """Let visitors' requests that count by networks wait for each other until their transactions end.

    They do this before they lock or store anything else: otherwise requests at the same moment would not count each
    other on PostgreSQL. One lock serves all of them, since they count towards a total for everybody, too. SQLite has
    one writer at a time.
    """
    if current() is not None and session.get_bind().dialect.name == "postgresql":
        session.execute(select(func.pg_advisory_xact_lock(_LOCK)))
