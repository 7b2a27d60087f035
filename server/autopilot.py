"""Seats on autopilot: the fallback is played for them at once, until their player gives a sign."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Session

from server import log
from server.schema import Game, Seat


def back(session: Session, game: Game, number: int, now: datetime) -> bool:
    """A sign of the player himself: no question has been missed in a row, and an autopilot ends."""
    seat = session.get_one(Seat, (game.id, number))
    seat.missed = 0
    if not seat.autopilot:
        return False
    seat.autopilot = False
    log.append(session, game, seat=number, by="player", move=f"!autopilot {number} off", now=now)
    return True
