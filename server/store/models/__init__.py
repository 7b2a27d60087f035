"""All tables, by area. `entry` holds the games; the rest is about people and mail, or can be computed again."""

from __future__ import annotations

from server.store.models.games import Game, Seat
from server.store.models.links import Link
from server.store.models.log import Entry, ModeratorAction, Snapshot
from server.store.models.mail import FAILED, INVITATION, NO_TURN, WAITING, IncomingMail, Mail
from server.store.models.operations import Alert, Heartbeat, Outage, Total
from server.store.models.people import Absence, BrowserSession, Person
from server.store.models.turns import StandingOrder, Turn

__all__ = [
    "FAILED",
    "INVITATION",
    "NO_TURN",
    "WAITING",
    "Absence",
    "Alert",
    "BrowserSession",
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
    "Total",
    "Turn",
]
