"""All tables, by area. `entry` holds the games; the rest is about people and mail, or can be computed again."""

from __future__ import annotations

from server.store.models.community import (
    Block,
    Conduct,
    FormerHandle,
    Mute,
    Notes,
    Reliability,
    Rematch,
    Standing,
    Tenure,
    Wish,
    Word,
)
from server.store.models.games import Game, Seat
from server.store.models.links import Link
from server.store.models.log import EXCUSED, Entry, ModeratorAction, Snapshot
from server.store.models.mail import FAILED, INVITATION, NO_TURN, WAITING, IncomingMail, Mail
from server.store.models.operations import Alert, Heartbeat, Outage, Process, Submission, Total
from server.store.models.people import Absence, AddressChange, BrowserSession, Person, Presence
from server.store.models.turns import StandingOrder, Turn

__all__ = [
    "EXCUSED",
    "FAILED",
    "INVITATION",
    "NO_TURN",
    "WAITING",
    "Absence",
    "AddressChange",
    "Alert",
    "Block",
    "BrowserSession",
    "Conduct",
    "Entry",
    "FormerHandle",
    "Game",
    "Heartbeat",
    "IncomingMail",
    "Link",
    "Mail",
    "ModeratorAction",
    "Mute",
    "Notes",
    "Outage",
    "Person",
    "Presence",
    "Process",
    "Reliability",
    "Rematch",
    "Seat",
    "Snapshot",
    "Standing",
    "StandingOrder",
    "Submission",
    "Tenure",
    "Total",
    "Turn",
    "Wish",
    "Word",
]
