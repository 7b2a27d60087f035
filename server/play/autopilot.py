"""Seats on autopilot: the server plays the fallback for them at once, until their player acts again.

A seat goes on autopilot after two missed deadlines in a row, after 72 hours in which no email reached its player, when
a moderator says so, or when its player leaves. When every player is on autopilot, the game is paused.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from server.play.notes import MISSED, NOBODY
from server.store import alerts, log, outbox, people
from server.store.facts import Fact
from server.store.models import Game, Seat

MOST_MISSED = 2
"""Deadlines in a row that a seat misses before it goes on autopilot."""


def player_acted(session: Session, game: Game, number: int, now: datetime) -> bool:
    """Forget a seat's missed deadlines because its player acted; returns whether that ended an autopilot."""
    seat = session.get_one(Seat, (game.id, number))
    if not seat.autopilot:
        seat.missed = 0
        return False
    switch_off(session, seat, now)
    log.append(session, game, seat=number, by="player", move=f"!autopilot {number} off", now=now)
    return True


def switch_off(session: Session, seat: Seat, now: datetime) -> None:
    """Take a seat off autopilot, and clear the alerts that ask for a substitute."""
    seat.autopilot, seat.missed = False, 0
    _clear(session, seat, now)


def _clear(session: Session, seat: Seat, now: datetime) -> None:
    for why in ("left", "lost"):
        alerts.clear(session, f"{why}:{seat.game_id}:{seat.seat}", now)


def switch_on(session: Session, game: Game, seat: Seat, now: datetime, note: str) -> int:
    """Put a seat on autopilot on the server's own account; returns the seq of the entry."""
    seat.autopilot = True
    move = f"!autopilot {seat.seat} on"
    return log.append(session, game, seat=seat.seat, by="clock", move=move, now=now, note=note).seq


def count_missed(session: Session, game: Game, number: int) -> None:
    """Count a deadline that this seat has missed."""
    session.get_one(Seat, (game.id, number)).missed += 1


def take_over(session: Session, game: Game, now: datetime) -> None:
    """Put the seats on autopilot that have missed too many deadlines in a row."""
    late = (Seat.game_id == game.id, Seat.missed >= MOST_MISSED, Seat.autopilot.is_(False))
    for seat in session.scalars(select(Seat).where(*late).order_by(Seat.seat)).all():
        switch_on(session, game, seat, now, MISSED)


def anyone_playing(session: Session, game_id: str) -> bool:
    """Whether any player of this game is not on autopilot."""
    awake = (Seat.game_id == game_id, Seat.person_id.is_not(None), Seat.autopilot.is_(False))
    return session.scalar(select(Seat.seat).where(*awake).limit(1)) is not None


def pause_unattended(session: Session, game: Game, now: datetime) -> None:
    """Pause a game in which every player is on autopilot, until the first returns, and alert the moderators."""
    game.paused = True
    log.append(session, game, seat=None, by="clock", move="!pause", now=now, note=NOBODY)
    alerts.raise_alert(session, f"rests:{game.id}", Fact("game_rests"), now, game.id)


def is_unattended(session: Session, game: Game) -> bool:
    """Whether a game is paused because nobody is responding, and not by a moderator."""
    return game.paused and bool(unattended(session, [game.id]))


def unattended(session: Session, paused: Collection[str]) -> set[str]:
    """Which of these paused games are paused because nobody is responding, and not by a moderator.

    Args:
        paused: ids of games.
    """
    last = {act.game_id: act.by for act in log.acts(session, paused, "!pause")}
    return {game_id for game_id, by in last.items() if by == "clock"}


def resume_if_attended(session: Session, game: Game, now: datetime) -> None:
    """Resume a game that was paused because nobody responded, if a player is back."""
    if is_unattended(session, game) and anyone_playing(session, game.id):
        game.paused = False
        log.append(session, game, seat=None, by="clock", move="!resume", now=now)
        alerts.clear(session, f"rests:{game.id}", now)


def has_left(session: Session, game_id: str, number: int) -> bool:
    """Whether the player of this seat has left the game and has not returned."""
    left = f"!leave {number}"
    return log.last_of(session, game_id, (left, f"!autopilot {number} off", f"!replace {number}")) == left


def seats_left(session: Session, game_ids: Collection[str]) -> set[tuple[str, int]]:
    """The seats in these games whose players have left and have not returned: game and seat."""
    gone: set[tuple[str, int]] = set()
    for act in log.acts(session, game_ids, "!leave", "!autopilot", "!replace"):
        verb, seat, *switch = act.move.split()
        if verb == "!leave":
            gone.add((act.game_id, int(seat)))
        elif switch != ["on"]:
            gone.discard((act.game_id, int(seat)))
    return gone


def request_substitute(session: Session, game: Game, seat: Seat, why: str, now: datetime) -> None:
    """Ask for a substitute: an alert for the moderators, and one email a day to them and to the organiser.

    Args:
        why: `left` or `lost` (no email reaches the player).
    """
    alerts.raise_alert(session, f"{why}:{game.id}:{seat.seat}", Fact(f"seat_{why}"), now, game.id)
    for reader in people.organiser_and_moderators(session, game) - {seat.person_id}:
        outbox.enqueue(
            session,
            key=f"vacant:{game.id}:{seat.person_id}:{why}:{now:%Y-%m-%d}:{reader}",
            kind="vacant",
            person_id=reader,
            now=now,
            game_id=game.id,
            details={"name": seat.name, "why": why},
        )


def clear_alerts(session: Session, game: Game, now: datetime) -> None:
    """Clear the alerts about the players of a game that is over."""
    alerts.clear(session, f"rests:{game.id}", now)
    for seat in session.scalars(select(Seat).where(Seat.game_id == game.id, Seat.autopilot)).all():
        _clear(session, seat, now)
