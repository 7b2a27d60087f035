"""Seats on autopilot: the server plays the fallback for them at once, until their player acts again.

A seat goes on autopilot after two missed deadlines in a row, after 72 hours in which no email reached its player, when
a moderator says so, or when its player leaves. When every player is on autopilot, the game is paused.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from sqlalchemy.orm import Session

from byzanz.record import Cause
from server.play import events, names
from server.play.game import Table, change_tenure
from server.store import log, operations
from server.store.facts import MISSED, NOBODY, Fact
from server.store.statements import SeatRow

MOST_MISSED = 2
"""Deadlines in a row that a seat misses before it goes on autopilot."""


def player_acted(table: Table, number: int, now: datetime) -> bool:
    """Forget a seat's missed deadlines because its player acted; returns whether that ended an autopilot."""
    seat = table.seats[number]
    if not seat.autopilot:
        seat.missed = 0
        return False
    had_left = seat.left
    switch_off(table, seat, now)
    entry = table.append(seat=number, by=Cause.PLAYER, move=f"!autopilot {number} off", now=now)
    if had_left:
        change_tenure(table, seat, entry.seq)
    return True


def switch_off(table: Table, seat: SeatRow, now: datetime) -> None:
    """Take a seat off autopilot; it is no longer offered, and the alerts that ask for a substitute are cleared."""
    seat.autopilot, seat.left, seat.missed, seat.offered_at = False, False, 0, None
    _clear(table, seat, now)


def _clear(table: Table, seat: SeatRow, now: datetime) -> None:
    for why in ("left", "lost"):
        operations.clear_alerts(table.session, f"{why}:{seat.game_id}:{seat.seat}", now)


def switch_on(table: Table, seat: SeatRow, now: datetime, note: str) -> int:
    """Put a seat on autopilot on the server's own account; returns the seq of the entry."""
    seat.autopilot = True
    return table.append(
        seat=seat.seat, by=Cause.CLOCK, move=f"!autopilot {seat.seat} on", now=now, note=note
    ).seq


def take_over(table: Table, now: datetime) -> None:
    """Put the seats on autopilot that have missed too many deadlines in a row."""
    for seat in table.seats:
        if seat.missed >= MOST_MISSED and not seat.autopilot:
            switch_on(table, seat, now, MISSED)


def anyone_playing(table: Table) -> bool:
    """Whether any player of this game is not on autopilot."""
    return any(seat.person_id is not None and not seat.autopilot for seat in table.seats)


def pause_unattended(table: Table, now: datetime) -> None:
    """Pause a game in which every player is on autopilot, until the first returns, and alert the moderators."""
    game = table.game
    game.paused = True
    table.append(seat=None, by=Cause.CLOCK, move="!pause", now=now, note=NOBODY)
    if not game.trial:
        operations.raise_alert(table.session, f"rests:{game.id}", Fact("game_rests"), now, game.id)


def is_unattended(table: Table) -> bool:
    """Whether a game is paused because nobody is responding, and not by a moderator."""
    return table.game.paused and bool(unattended(table.session, [table.game.id]))


def unattended(session: Session, paused: Collection[str]) -> set[str]:
    """Which of these paused games are paused because nobody is responding, and not by a moderator.

    Args:
        paused: ids of games.
    """
    last = {act.game_id: act.by for act in log.acts(session, paused, "!pause")}
    return {game_id for game_id, by in last.items() if by == Cause.CLOCK}


def resume_if_attended(table: Table, now: datetime) -> None:
    """Resume a game that was paused because nobody responded, if a player is back."""
    game = table.game
    if is_unattended(table) and anyone_playing(table):
        game.paused = False
        table.append(seat=None, by=Cause.CLOCK, move="!resume", now=now)
        operations.clear_alerts(table.session, f"rests:{game.id}", now)


def request_substitute(table: Table, seat: SeatRow, why: str, now: datetime, *, erased: bool = False) -> None:
    """Say that a seat needs another player, and alert the moderators.

    Args:
        why: `left` or `lost` (no email reaches the player).
        erased: they have not left of their own accord.
    """
    game = table.game
    if game.trial:
        return
    operations.raise_alert(table.session, f"{why}:{game.id}:{seat.seat}", Fact(f"seat_{why}"), now, game.id)
    vacant = events.SeatVacant(
        at=now,
        seat=seat.seat,
        person_id=seat.person_id,
        name=names.of(table.game, seat, names.ORGANISER),
        left=why == "left",
        erased=erased,
    )
    table.tell(vacant)


def clear_alerts(table: Table, now: datetime) -> None:
    """Clear the alerts about the players of a game that is over, and end the offers of its seats."""
    operations.clear_alerts(table.session, f"rests:{table.game.id}", now)
    for seat in table.seats:
        seat.offered_at = None
        if seat.autopilot:
            _clear(table, seat, now)
