"""Leaving a running game, and returning to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from server.errors import TooMany
from server.play import autopilot, moves, running
from server.play.positions import Position
from server.play.quarantines import quarantine_if_broken
from server.store import log, standing_orders, tenures
from server.store.engine import stamp, transaction
from server.store.facts import Fact
from server.store.table import Table

LEAVES = 6
"""How often a player may leave one game within an hour, because each time adds to the log."""


@contextmanager
def at_seat(game_id: str, seat: int, now: datetime, link_id: int | None) -> Iterator[tuple[Table, Position]]:
    """Open a transaction in which the player of a seat acts in a running game, paused or not.

    Args:
        link_id: the link with which the player came; it must still open the seat. None: no link is checked.

    Raises:
        Refused: the game is not running, or the link no longer opens the seat.
    """
    with (
        quarantine_if_broken(game_id, now),
        transaction(game_id) as session,
        running.in_hand(session, game_id, now, link_id=link_id) as table,
    ):
        moves.check_link(table, seat, link_id)
        yield table, running.position(table)


def reclaim(game_id: str, seat: int, *, now: datetime, link_id: int | None = None) -> bool:
    """Take a seat off autopilot because its player is back; one transaction, which locks the game.

    Args:
        link_id: the link with which the player came, as for `submit`.

    Returns:
        False if the seat was not on autopilot.

    Raises:
        Refused: its subclass says why.
    """
    with at_seat(game_id, seat, now, link_id) as (table, position):
        if not autopilot.player_acted(table, seat, now):
            return False
        running.advance(table, position, position.state, now, mover=seat)
        return True


def leave(
    game_id: str, seat: int, *, now: datetime, link_id: int | None = None, erased: str | None = None
) -> bool:
    """Put a seat on autopilot because its player leaves; one transaction, which locks the game.

    The server plays there until another player takes the seat, or the player returns.

    Args:
        link_id: the link with which the player came, as for `submit`.
        erased: the note about who erases the player, if that is not their own doing.

    Returns:
        False if the player had left before.

    Raises:
        TooMany: the player has left and returned too often.
        Refused: its other subclasses say why.
    """
    with at_seat(game_id, seat, now, link_id) as (table, position):
        gone = table.seats[seat]
        if gone.left:
            return False
        if erased is None:
            _check_leaves(table.session, game_id, seat, now)
        gone.autopilot, gone.left, gone.missed = True, True, 0
        standing_orders.withdraw_all(table, seat, Fact("left_game"), now)
        by = "player" if erased is None else "moderator"
        left = table.append(seat=seat, by=by, move=f"!leave {seat}", now=now, note=erased)
        tenures.change(table, gone, left.seq)
        autopilot.request_substitute(table, gone, "left", now, erased=erased is not None)
        if gone.person_id is not None:
            key = f"left:{game_id}:{gone.person_id}:{now:%Y-%m-%d}"  # once a day, however often they leave
            table.mail("left", key, gone.person_id, now, seat=seat)
        running.advance(table, position, position.state, now)
        return True


def _check_leaves(session: Session, game_id: str, seat: int, now: datetime) -> None:
    since = stamp(now - timedelta(hours=1))
    left = [act for act in log.acts(session, [game_id], "!leave") if act.seat == seat and act.at > since]
    if len(left) >= LEAVES:
        raise TooMany(
            "You have left this game %(most)s times within an hour. Wait an hour before you leave it again.",
            most=LEAVES,
        )
