"""All tables, by area. `entry` is the game; everything else is evidence, people, or may be computed again."""

from __future__ import annotations

from server.store.models.games import Game, Seat
from server.store.models.links import Link
from server.store.models.log import Deed, Entry, Snapshot
from server.store.models.mail import Mail, Received
from server.store.models.operations import Alarm, Beat, Outage
from server.store.models.people import Absence, Person
from server.store.models.turns import StandingOrder, Turn

__all__ = [
    "Absence",
    "Alarm",
    "Beat",
    "Deed",
    "Entry",
    "Game",
    "Link",
    "Mail",
    "Outage",
    "Person",
    "Received",
    "Seat",
    "Snapshot",
    "StandingOrder",
    "Turn",
]
