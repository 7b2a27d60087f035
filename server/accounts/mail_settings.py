"""Email switched off and on, for one game or for all of them, and how often a person is emailed about turns."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from server import play
from server.errors import BadWish
from server.store.engine import transaction
from server.store.models import Game, Person, Seat

CADENCES = ("each", "once", "digest")
"""How often a person may be emailed about their turns."""


def mute(game_id: str, person_id: int, silent: bool, now: datetime) -> None:
    """Switch a person's email about one game off or on; nothing happens if they have no seat there."""
    with transaction() as session:
        game = play.lock_game(session, game_id)
        seat = session.scalar(select(Seat).where(Seat.game_id == game.id, Seat.person_id == person_id))
        if seat is not None:
            seat.silent = silent
            if silent:
                play.mail_switched_off(session, game, seat, now)


def mute_all(person_id: int, silent: bool, now: datetime) -> None:
    """Switch all email to a person off or on, except sign-in links and others that they request."""
    with transaction() as session:
        places = _locked(session, person_id) if silent else []
        session.get_one(Person, person_id).silent = silent
        for game, seat in places:
            play.mail_switched_off(session, game, seat, now)


def set_cadence(person_id: int, cadence: str, now: datetime) -> None:
    """Set how often a person is emailed about their turns.

    Args:
        cadence: `each`, `once` (without a reminder) or `digest` (once a day).

    Raises:
        BadWish: there is no such choice.
    """
    if cadence not in CADENCES:
        raise BadWish("Choose how often you want mails about your turns.", field="cadence")
    with transaction() as session:
        places = _locked(session, person_id) if cadence != "digest" else []
        person = session.get_one(Person, person_id)
        before, person.cadence = person.cadence, cadence
        if before != "digest" or person.silent:
            return
        for game, seat in places:
            play.digest_switched_off(session, game, seat, now)


def _locked(session: Session, person_id: int) -> list[tuple[Game, Seat]]:
    """Lock the running games of a person, and return their seats.

    Games first, then the person, like everybody else who changes both: otherwise each could wait for the other.
    """
    theirs = select(Seat).join(Game, Game.id == Seat.game_id).where(Seat.person_id == person_id)
    seats = session.scalars(theirs.where(Game.status == "running").order_by(Seat.game_id)).all()
    return [(play.lock_game(session, seat.game_id), seat) for seat in seats]
