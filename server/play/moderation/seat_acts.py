"""Acts that concern one seat: extend, bank, autopilot, replace, link."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy.orm import Session

from server.play import autopilot, running, turns
from server.play.moderation.act import (
    Act,
    BadAct,
    Newcomer,
    NotPossible,
    has_looked,
    seat_of,
    seconds_of,
    sits,
    stands,
    write,
)
from server.play.positions import Position
from server.store import links, outbox, people, standing_orders
from server.store.models import Game, Seat, Turn


def extend(session: Session, game: Game, position: Position, act: Act) -> int:
    """Give one open turn more time."""
    seat, seconds = seat_of(session, game, act), seconds_of(act, 2)
    turn = session.get(Turn, (game.id, seat))
    if turn is None:
        raise NotPossible("Seat %(seat)s is not awaited, so there is nothing to extend.", seat=seat)
    seq = stands(session, game, position, act, seat)
    more_time(session, game, turn, seconds)
    return seq


def more_time(session: Session, game: Game, turn: Turn, seconds: int) -> None:
    """Move the deadline of a turn; a stopped clock stays stopped."""
    turn.extra += seconds
    turn.due_at = turns.reckoned(session, game, turn)
    if turn.started_at and turn.due_at and turn.remind_at:  # one that has been reminded is not reminded again
        turn.remind_at = turns.reminder(session, game, turn)


def bank(session: Session, game: Game, position: Position, act: Act) -> int:
    """Give a seat more time to use beyond its allowances; turns that are open keep the bank they opened with."""
    number, seconds = seat_of(session, game, act), seconds_of(act, 2)
    seat = session.get_one(Seat, (game.id, number))
    _refuse_bot(seat)
    seat.bank += seconds
    return stands(session, game, position, act, number)


def _refuse_bot(seat: Seat) -> None:
    if seat.person_id is None:
        raise NotPossible("Seat %(seat)s is a bot's.", seat=seat.seat)


def switch(session: Session, game: Game, position: Position, act: Act) -> int:
    """Let the server play for a seat, or let its player play again."""
    number = seat_of(session, game, act)
    seat = session.get_one(Seat, (game.id, number))
    _refuse_bot(seat)
    if act.words[2] not in ("on", "off"):
        raise BadAct("An autopilot is switched on or off.")
    if seat.autopilot == (act.words[2] == "on"):
        raise NotPossible(
            "The autopilot of seat %(seat)s is %(state)s already.", seat=number, state=act.words[2]
        )
    seq = write(session, game, act, number)
    if seat.autopilot:
        autopilot.freed(session, seat, act.now)
    else:
        seat.autopilot = True
        _mail_holder(session, game, seat, "autopilot", act, seq, {"reason": act.reason})
    running.advance(session, game, position, position.state, act.now)
    return seq


def _mail_holder(
    session: Session,
    game: Game,
    seat: Seat,
    kind: str,
    act: Act,
    seq: int,
    details: Mapping[str, str] | None = None,
) -> None:
    """Mail whoever sits there now about the act of this entry."""
    assert seat.person_id is not None
    outbox.enqueue(
        session,
        key=f"{kind}:{game.id}:{seq}",
        kind=kind,
        person_id=seat.person_id,
        now=act.now,
        game_id=game.id,
        seat=seat.seat,
        seq=seq,
        details=details,
    )


def replace(session: Session, game: Game, position: Position, act: Act) -> int:
    """Give a seat to somebody else, with its hand and its cut."""
    number = seat_of(session, game, act)
    if act.newcomer is None:
        raise BadAct("Say who takes the seat.")
    seat = session.get_one(Seat, (game.id, number))
    former = seat.person_id
    if former is not None:
        links.revoke(session, former, game.id, act.now)
    _seat_newcomer(session, game, seat, act.newcomer, act.now)
    standing_orders.withdraw_all(session, game, number, "Somebody else has taken the seat.", act.now)
    seq = write(session, game, act, number)
    if former is not None:
        _tell_former(session, game, seat, former, act)
    running.advance(session, game, position, position.state, act.now, anew=frozenset({number}))
    if seat.person_id is not None:
        _mail_holder(session, game, seat, "replaced", act, seq)
    return seq


def _tell_former(session: Session, game: Game, seat: Seat, person_id: int, act: Act) -> None:
    outbox.enqueue(
        session,
        key=f"former:{game.id}:{game.head}",
        kind="former",
        person_id=person_id,
        now=act.now,
        game_id=game.id,
        details={"by": seat.name, "reason": act.reason},
    )


def _seat_newcomer(session: Session, game: Game, seat: Seat, newcomer: Newcomer, now: datetime) -> None:
    seat.name, seat.bot, seat.person_id = newcomer.name, newcomer.bot, None
    seat.silent = seat.lost = False
    seat.bank = game.bank
    autopilot.freed(session, seat, now)
    if newcomer.bot is None:
        person = people.get_or_create(session, newcomer.email, newcomer.name, now)
        if sits(session, game.id, person.id):
            raise NotPossible("This person holds a seat of this game already.")
        if has_looked(session, game.id, person.id):
            raise NotPossible("This person has looked into the hands of this game and cannot take a seat.")
        seat.person_id = person.id
    session.flush()
    session.expire(seat, ["person"])


def link(session: Session, game: Game, position: Position, act: Act) -> int:
    """Mail the link of a seat, a new one that ends the old or the same once more."""
    number = seat_of(session, game, act)
    seat = session.get_one(Seat, (game.id, number))
    if seat.person_id is None:
        raise NotPossible("Seat %(seat)s is a bot's; it has no link.", seat=number)
    if not act.keep_link:
        links.revoke(session, seat.person_id, game.id, act.now)
    seq = stands(session, game, position, act, number)
    _mail_holder(session, game, seat, "fresh", act, seq)
    return seq
