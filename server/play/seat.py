"""Leaving a running game, and returning to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from server.errors import NoSuchLink, TooMany
from server.play import autopilot, running
from server.play.positions import Position
from server.play.quarantines import quarantine_if_broken
from server.store import links, log, outbox, standing_orders
from server.store.engine import transaction
from server.store.facts import Fact
from server.store.models import Game, Seat

LEAVES = 6
"""How often a player may leave one game within an hour, because each time adds to the log."""


@contextmanager
def at_seat(
    game_id: str, seat: int, now: datetime, link_id: int | None
) -> Iterator[tuple[Session, Game, Position]]:
    """Open a transaction in which the player of a seat acts in a running game, paused or not.

    Args:
        link_id: the link with which the player came; it must still open the seat. None: no link is checked.

    Raises:
        Refused: the game is not running, or the link no longer opens the seat.
    """
    with quarantine_if_broken(game_id, now), transaction() as session:
        game = running.lock_game(session, game_id)
        if link_id is not None and not links.still_opens(session, link_id, game_id, seat):
            raise NoSuchLink("This link no longer opens a seat.")
        yield session, game, running.position(session, game)


def reclaim(game_id: str, seat: int, *, now: datetime, link_id: int | None = None) -> bool:
    """Take a seat off autopilot because its player is back; one transaction, which locks the game.

    Args:
        link_id: the link with which the player came, as for `submit`.

    Returns:
        False if the seat was not on autopilot.

    Raises:
        Refused: its subclass says why.
    """
    with at_seat(game_id, seat, now, link_id) as (session, game, position):
        if not autopilot.player_acted(session, game, seat, now):
            return False
        running.advance(session, game, position, position.state, now, mover=seat)
        return True


def leave(game_id: str, seat: int, *, now: datetime, link_id: int | None = None) -> bool:
    """Put a seat on autopilot because its player leaves; one transaction, which locks the game.

    The server plays there until another player takes the seat, or the player returns.

    Args:
        link_id: the link with which the player came, as for `submit`.

    Returns:
        False if the player had left before.

    Raises:
        TooMany: the player has left and returned too often.
        Refused: its other subclasses say why.
    """
    with at_seat(game_id, seat, now, link_id) as (session, game, position):
        if autopilot.has_left(session, game_id, seat):
            return False
        _check_leaves(session, game_id, seat, now)
        gone = session.get_one(Seat, (game_id, seat))
        gone.autopilot, gone.missed = True, 0
        standing_orders.withdraw_all(session, game, seat, Fact("left_game"), now)
        log.append(session, game, seat=seat, by="player", move=f"!leave {seat}", now=now)
        autopilot.request_substitute(session, game, gone, "left", now)
        if gone.person_id is not None:
            outbox.enqueue(
                session,
                key=f"left:{game.id}:{gone.person_id}:{now:%Y-%m-%d}",  # once a day, however often they leave
                kind="left",
                person_id=gone.person_id,
                now=now,
                game_id=game.id,
                seat=seat,
                seq=game.head,
            )
        running.advance(session, game, position, position.state, now)
        return True


def _check_leaves(session: Session, game_id: str, seat: int, now: datetime) -> None:
    since = log.stamp(now - timedelta(hours=1))
    left = [act for act in log.acts(session, [game_id], "!leave") if act.seat == seat and act.at > since]
    if len(left) >= LEAVES:
        raise TooMany(
            "You have left this game %(most)s times within an hour. Wait an hour before you leave it again.",
            most=LEAVES,
        )
