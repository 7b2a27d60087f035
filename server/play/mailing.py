"""The emails that a change of a running game causes."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Session

from server.play import positions, turns
from server.store import outbox
from server.store.models import Game, Seat, Turn

OWN_TURN_DELAY = 120
"""Seconds before a turn is emailed that its player's own move has just opened: most players go on at once."""


def announce_turn(session: Session, game: Game, turn: Turn, now: datetime, delay: int) -> None:
    """Email a turn that has just opened, or start its clock at once if its player wants no email."""
    seat = session.get_one(Seat, (game.id, turn.seat))
    person = seat.person
    if person is None:  # a bot needs neither mail nor clock
        return
    if seat.silent or person.silent or person.email is None:
        turns.start(session, game, turn, now)
        return
    if person.cadence == "digest":  # the digest that names it starts its clock, or a tick one day later
        return
    mail_turn(session, game, turn, person.id, now, delay)


def mail_turn(
    session: Session, game: Game, turn: Turn, person_id: int, now: datetime, delay: int = 0, again: str = ""
) -> None:
    """Queue the email about a turn.

    Args:
        delay: seconds to wait before the first attempt.
        again: a suffix of the key for another email about the same turn; empty the first time.
    """
    outbox.enqueue(
        session,
        key=f"turn:{game.id}:{turn.seat}:{turn.opened_seq}{again}",
        kind="turn",
        person_id=person_id,
        now=now,
        game_id=game.id,
        seat=turn.seat,
        seq=turn.opened_seq,
        delay=delay,
    )


def mail_table(
    session: Session,
    game: Game,
    kind: str,
    key: str,
    now: datetime,
    seq: int,
    leave_out: int | None = None,
) -> None:
    """Queue one email to each player except the seat left out; the person's id is added to the key."""
    for seat in positions.seats_of(session, game.id):
        if seat.person_id is None or seat.seat == leave_out:
            continue
        outbox.enqueue(
            session,
            key=f"{key}:{seat.person_id}",
            kind=kind,
            person_id=seat.person_id,
            now=now,
            game_id=game.id,
            seat=seat.seat,
            seq=seq,
        )
