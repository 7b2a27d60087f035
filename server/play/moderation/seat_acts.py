"""Acts that concern one seat: extend, bank, autopilot, replace, link."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy.orm import Session

from server.play import autopilot, running, turns
from server.play.moderation.act import (
    Act,
    ActNotPossible,
    InvalidAct,
    Newcomer,
    has_looked,
    holds_seat,
    record_only,
    seat_of,
    seconds_of,
    write,
)
from server.play.positions import Position
from server.store import links, outbox, people, standing_orders
from server.store.facts import Fact
from server.store.models import Game, Seat, Turn


def extend(session: Session, game: Game, position: Position, act: Act) -> int:
    """Give one open turn more time."""
    seat, seconds = seat_of(session, game, act), seconds_of(act, 2)
    turn = session.get(Turn, (game.id, seat))
    if turn is None:
        raise ActNotPossible("Seat %(seat)s is not to move, so there is no deadline to extend.", seat=seat)
    seq = record_only(session, game, position, act, seat)
    turns.extend(session, game, turn, seconds)
    return seq


def bank(session: Session, game: Game, position: Position, act: Act) -> int:
    """Add to the time bank of a seat; turns that are open keep the bank that they opened with."""
    number, seconds = seat_of(session, game, act), seconds_of(act, 2)
    seat = session.get_one(Seat, (game.id, number))
    _refuse_bot(seat)
    seat.bank += seconds
    return record_only(session, game, position, act, number)


def _refuse_bot(seat: Seat) -> None:
    if seat.person_id is None:
        raise ActNotPossible("Seat %(seat)s is a bot's.", seat=seat.seat)


def switch(session: Session, game: Game, position: Position, act: Act) -> int:
    """Switch the autopilot of a seat on or off."""
    number = seat_of(session, game, act)
    seat = session.get_one(Seat, (game.id, number))
    _refuse_bot(seat)
    if act.words[2] not in ("on", "off"):
        raise InvalidAct("An autopilot can only be switched on or off.")
    if seat.autopilot == (act.words[2] == "on"):
        raise ActNotPossible(
            "The autopilot of seat %(seat)s is already %(state)s.", seat=number, state=act.words[2]
        )
    seq = write(session, game, act, number)
    if seat.autopilot:
        autopilot.switch_off(session, seat, act.now)
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
    """Email the present player of a seat about the act of this entry."""
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
    """Give a seat to a new player, with its hand and its cut."""
    number = seat_of(session, game, act)
    if act.newcomer is None:
        raise InvalidAct("Choose a new player for the seat.")
    seat = session.get_one(Seat, (game.id, number))
    former = seat.person_id
    if former is not None:
        links.revoke(session, former, game.id, act.now)
    _seat_newcomer(session, game, seat, act.newcomer, act.now)
    standing_orders.withdraw_all(session, game, number, Fact("seat_replaced"), act.now)
    seq = write(session, game, act, number)
    if former is not None:
        _mail_former(session, game, seat, former, act)
    running.advance(session, game, position, position.state, act.now, restart=frozenset({number}))
    if seat.person_id is not None:
        _mail_holder(session, game, seat, "replaced", act, seq)
    return seq


def _mail_former(session: Session, game: Game, seat: Seat, person_id: int, act: Act) -> None:
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
    autopilot.switch_off(session, seat, now)
    if newcomer.bot is None:
        person = people.get_or_create(session, newcomer.email, newcomer.name, now)
        if holds_seat(session, game.id, person.id):
            raise ActNotPossible("This person already has a seat in this game.")
        if has_looked(session, game.id, person.id):
            raise ActNotPossible("This person has viewed hidden hands in this game and cannot take a seat.")
        seat.person_id = person.id
    session.flush()
    session.expire(seat, ["person"])


def link(session: Session, game: Game, position: Position, act: Act) -> int:
    """Email the link of a seat: a new one that revokes the old, or the same again."""
    number = seat_of(session, game, act)
    seat = session.get_one(Seat, (game.id, number))
    if seat.person_id is None:
        raise ActNotPossible("Seat %(seat)s is a bot's; it has no link.", seat=number)
    if not act.keep_link:
        links.revoke(session, seat.person_id, game.id, act.now)
    seq = record_only(session, game, position, act, number)
    _mail_holder(session, game, seat, "fresh", act, seq)
    return seq
