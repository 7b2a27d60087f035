"""Visitors' games against bots: handing one over to the person who keeps it, and ending those that nobody keeps."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import update
from sqlalchemy.orm import Session

from byzanz.moves import Outcome
from server.errors import Closed
from server.play import positions, running
from server.play.moderation.act import has_looked
from server.play.quarantines import quarantine_if_broken
from server.store import links, tenures
from server.store.engine import transaction
from server.store.models import Game, Person


def keep_trial(session: Session, game_id: str, person: Person, name: str, now: datetime) -> None:
    """Give a visitor's seat to a person, whose clock and emails begin; the link of another visitor ends.

    Args:
        name: at this table.

    Raises:
        Closed: it is no visitor's game any more, or the person has seen its hidden hands.
    """
    with running.in_hand(session, game_id, now) as table:
        if not table.game.trial:
            raise Closed("This game has been kept already, or it has ended.")
        if has_looked(session, game_id, person.id):
            raise Closed("You have viewed hidden hands in this game and cannot take a seat.")
        seat = next(seat for seat in table.seats if seat.person_id is not None)
        assert seat.person_id is not None
        if seat.person_id != person.id:
            links.revoke(session, seat.person_id, game_id, now)
            tenures.hand_over(session, game_id, seat.person_id, person.id)
        table.game.trial = False
        _forget_origin(session, game_id)
        table.sit(seat, person, now)
        seat.name = name
        if table.game.status == "running":
            position = running.position(table)
            seats = frozenset({seat.seat})
            running.advance(table, position, position.state, now, mover=seat.seat, restart=seats)


def end_trial(game_id: str, now: datetime) -> bool:
    """End a visitor's game that nobody has kept, and its link; return whether it was one.

    Raises:
        NotRunning: its log does not replay; now it is on hold, and the next call ends it.
    """
    with (
        quarantine_if_broken(game_id, now),
        transaction() as session,
        running.in_hand_if_free(session, game_id, now) as table,
    ):
        if table is None or not table.game.trial:
            return False
        for seat in table.seats:
            if seat.person_id is not None:
                links.revoke(session, seat.person_id, game_id, now)
        if table.game.status == "running" and not table.game.quarantine:
            position = running.position(table)
            table.append(seat=None, by="clock", move="!abandon", now=now)
            positions.save(table, position)
            scores = tuple(position.rules.scores(position.state))
            running.finish(table, Outcome(scores, (), "abandoned"), now)
        table.game.trial = False
        _forget_origin(session, game_id)
        return True


def _forget_origin(session: Session, game_id: str) -> None:
    """Forget from which network a visitor started a game."""
    session.execute(update(Game).where(Game.id == game_id).values(origin=None))
