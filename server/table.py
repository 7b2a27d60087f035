"""A running game inside one transaction: what may be done to it now, and everything that follows from a change."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy.orm import Session

from byzanz.rules import Outcome
from server import alarms, autopilot, log, onward, orders, outbox, positions, turns
from server.positions import Position
from server.schema import Game, Seat, Turn

OWN_TURN_DELAY = 120
"""Seconds before a turn is mailed that its own person's move has just opened: most play on at once."""


class Refused(Exception):
    """A wish that the server does not grant; nothing has changed.

    Args:
        message: an English sentence with named places, marked for extraction by being this class's first argument.
        places: the value of each place.
    """

    status: ClassVar[int] = 409
    code: ClassVar[str] = "refused"

    def __init__(self, message: str, **places: object) -> None:
        super().__init__(message % places if places else message)
        self.message = message
        self.places = places


class NoSuchGame(Refused):
    """No game has this id, or it has not begun."""

    status = 404
    code = "no_such_game"


class NotRunning(Refused):
    """The game has not begun, is over, or is set aside."""

    code = "not_running"


class Paused(Refused):
    """The game is paused; nobody moves."""

    code = "paused"


class Stale(Refused):
    """The turn opened after what this page or client has seen."""

    code = "stale"


class NotYourTurn(Refused):
    """The seat is not awaited."""

    code = "not_your_turn"


class NoSuchLink(Refused):
    """The link was revoked, or its owner sits there no more."""

    status = 404
    code = "no_such_link"


class NoSuchOrder(Refused):
    """This seat has no such order standing."""

    status = 404
    code = "no_such_order"


class TooMany(Refused):
    """So many would be a nuisance to somebody: of mails, of orders, of comings and goings."""

    status = 429
    code = "too_many"


class BadRequest(Refused):
    """The request itself is malformed, or its id was used for another move."""

    status = 422
    code = "bad_request"


def locked(session: Session, game_id: str) -> Game:
    """The game's row, locked for this transaction.

    Raises:
        NoSuchGame: nobody knows this id.
    """
    game = log.lock_game(session, game_id)
    if game is None:
        raise NoSuchGame("There is no game with this address.")
    return game


def running(session: Session, game: Game) -> Position:
    """The position of a locked game in which something may happen now, paused or not.

    Raises:
        NotRunning: not begun, over or set aside. Broken: its log does not replay.
    """
    if game.status == "over":
        raise NotRunning("The game is over.")
    if game.status != "running":
        raise NotRunning("The game has not begun.")
    if game.quarantine:
        raise NotRunning("This game is set aside until somebody has looked into a fault; nothing is lost.")
    return positions.load(session, game)


def carry_on(
    session: Session,
    game: Game,
    position: Position,
    state: Any,
    now: datetime,
    mover: int | None = None,
    anew: frozenset[int] = frozenset(),
) -> None:
    """Settle a state that has just changed, and store all that follows: entries, snapshot, turns, mails, the end.

    Args:
        position: before the change; only its rules and its pause are read.
        state: after the change, before chance and forced moves.
        mover: the seat whose person is at the page right now: a turn of its own is mailed a little later.
        anew: seats whose turn starts again though their question is the same.
    """
    rules = position.rules
    autopilot.wake(session, game, now)
    awake = not game.paused
    if awake:
        state = onward.played(session, game, rules, state, now)
    if awake and game.paused:  # nobody here plays himself any more
        tell_table(session, game, "act", f"rest:{game.id}:{game.head}", now, seq=game.head)
    outcome = rules.outcome(state)
    after = Position(game.id, rules, state, game.head, game.paused, outcome)
    positions.save(session, game, after)
    if outcome:
        finish(session, game, outcome, now)
        return
    questions = {seat: str(question) for seat, question in after.awaited.items()}
    for turn in turns.replace(session, game, questions, now, anew):
        _announce(session, game, turn, now, OWN_TURN_DELAY if turn.seat == mover else 0)


def _announce(session: Session, game: Game, turn: Turn, now: datetime, delay: int) -> None:
    seat = session.get_one(Seat, (game.id, turn.seat))
    person = seat.person
    if person is None:  # a bot needs neither mail nor clock
        return
    if seat.silent or person.silent or person.email is None:
        turns.start(session, game, turn, now)
        return
    if person.cadence == "digest":  # the digest that names it starts its clock, or the tick a day later
        return
    mail_turn(session, game, turn, person.id, now, delay)


def mail_turn(
    session: Session, game: Game, turn: Turn, person_id: int, now: datetime, delay: int = 0, again: str = ""
) -> None:
    """Queue the mail about a turn.

    Args:
        delay: seconds to wait before the first try.
        again: why it is mailed once more, as a part of the key; empty the first time.
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


def finish(session: Session, game: Game, outcome: Outcome, now: datetime) -> None:
    """End a game: its result, no more turns, a mail to everybody."""
    game.status = "over"
    game.ended_at = now
    game.paused = False
    game.result = json.dumps(
        {"scores": list(outcome.scores), "winners": list(outcome.winners), "reason": outcome.reason}
    )
    turns.close_all(session, game.id)
    orders.withdraw_all(session, game, None, "The game is over.", now)
    autopilot.end(session, game, now)
    tell_table(session, game, "over", f"over:{game.id}", now, seq=game.head)


def tell_table(
    session: Session,
    game: Game,
    kind: str,
    key: str,
    now: datetime,
    seq: int,
    leave_out: int | None = None,
) -> None:
    """Queue one mail to each person at the table but the seat left out; the person's id is added to the key."""
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


def set_aside(session: Session, game: Game, why: str, now: datetime) -> None:
    """Quarantine one game, so that its fault harms no other, and alert the moderators.

    Its turns are closed, so that no tick meets it again; `take_up` opens them anew.
    """
    if game.quarantine is None:
        game.quarantine = why
        turns.close_all(session, game.id)
        alarms.raise_alarm(session, f"quarantine:{game.id}", why, now, game.id)


def take_up(session: Session, game: Game, now: datetime) -> None:
    """End the quarantine of a game whose log replays; whoever calls this carries on from its state."""
    game.quarantine = None
    alarms.clear(session, f"quarantine:{game.id}", now)
