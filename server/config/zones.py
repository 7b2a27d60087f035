"""Time zones: the only module that opens them, so that a name that this machine does not know fails nowhere.

The stored names outlive the machine's own data: zones are renamed, packages of the system leave some out, a database
moves. An unknown zone counts as none (`store.engine.ZoneName` reads it so), and comes back once the data has it.
"""

from __future__ import annotations

from datetime import UTC, tzinfo
from functools import lru_cache
from typing import Protocol
from zoneinfo import ZoneInfo

DEFAULT = "UTC"
"""The zone of readers who have set none, outside a game."""


class HasZone(Protocol):
    """A person or a game, as a row or a model."""

    @property
    def time_zone(self) -> str | None:
        """The IANA name of a zone that this machine knows."""


def zone_of(reader: HasZone | None, game: HasZone | None = None) -> str:
    """Return the name of the time zone in which a reader is told times: their own, else the game's, else UTC."""
    own = reader.time_zone if reader is not None else None
    return own or (game.time_zone if game is not None else None) or DEFAULT


@lru_cache(maxsize=1024)
def find(name: str) -> ZoneInfo | None:
    """Return a time zone, or None if this machine does not know it or cannot read it."""
    try:
        return ZoneInfo(name)
    except Exception:  # no such file, a name that is no path, a folder, or data that its reader stumbles over
        return None


def get(name: str) -> tzinfo:
    """Return a time zone, or UTC if this machine does not know it."""
    return find(name) or UTC


def known(name: str | None) -> str | None:
    """Return the name of a zone if this machine knows it, else None."""
    return name if name and find(name) else None
