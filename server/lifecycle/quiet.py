"""Mails switched off and on: of one game, or all but those a person asks for himself."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from server import table, turns
from server.db import transaction
from server.schema import Game, Person, Seat, Turn


def mute(game_id: str, person_id: int, silent: bool, now: datetime) -> None:
    """Switch off or on a person's mails about one game; nothing happens if he has no seat there.

    The clock of a turn whose mail has not gone out begins at once: no mail will ever start it.
    """
    with transaction() as session:
        game = table.locked(session, game_id)
        seat = session.scalar(select(Seat).where(Seat.game_id == game.id, Seat.person_id == person_id))
        if seat is not None:
            seat.silent = silent
            if silent:
                _start_clock(session, game, seat, now)


def mute_all(person_id: int, silent: bool, now: datetime) -> None:
    """Switch off or on all mails to a person but sign-in and links asked for."""
    with transaction() as session:
        theirs = select(Seat).join(Game, Game.id == Seat.game_id).where(Seat.person_id == person_id)
        seats = session.scalars(theirs.where(Game.status == "running").order_by(Seat.game_id)).all()
        # Games first, then the person, as everybody else who changes both: else each could wait for the other.
        games = [table.locked(session, seat.game_id) for seat in seats if silent]
        session.get_one(Person, person_id).silent = silent
        for game, seat in zip(games, seats, strict=False):
            _start_clock(session, game, seat, now)


def _start_clock(session: Session, game: Game, seat: Seat, now: datetime) -> None:
    turn = session.get(Turn, (game.id, seat.seat), populate_existing=True)
    if turn is not None and turn.started_at is None:
        turns.start(session, game, turn, now)
