"""All tables, by area. `entry` holds the games; the rest is about people and mail, or can be computed again."""

from __future__ import annotations

from server.store.models.games import Game, Seat
from server.store.models.links import Link
from server.store.models.log import Entry, ModeratorAction, Snapshot
from server.store.models.mail import IncomingMail, Mail
from server.store.models.operations import Alert, Heartbeat, Outage
from server.store.models.people import Absence, Person
from server.store.models.turns import StandingOrder, Turn

__all__ = [
    "Absence",
    "Alert",
    "Entry",
    "Game",
    "Heartbeat",
    "IncomingMail",
    "Link",
    "Mail",
    "ModeratorAction",
    "Outage",
    "Person",
    "Seat",
    "Snapshot",
    "StandingOrder",
    "Turn",
]
