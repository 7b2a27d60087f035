"""Acts that concern one seat: extend, bank, autopilot, replace, link."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from server import validation
from server.play import autopilot, running, turns
from server.play.moderation.act import (
    Act,
    ActNotPossible,
    InvalidAct,
    Newcomer,
    has_looked,
    record_only,
    seat_of,
    seconds_of,
    write,
)
from server.play.positions import Position
from server.store import links, people, standing_orders, tenures
from server.store.facts import Fact
from server.store.statements import SeatRow
from server.store.table import Table


def extend(table: Table, position: Position, act: Act) -> int:
    """Give one open turn more time."""
    number, seconds = seat_of(table, act).seat, seconds_of(act, 2)
    turn = table.turns.get(number)
    if turn is None:
        raise ActNotPossible("Seat %(seat)s is not to move, so there is no deadline to extend.", seat=number)
    seq = record_only(table, position, act, number)
    turns.extend(table, turn, seconds)
    return seq


def bank(table: Table, position: Position, act: Act) -> int:
    """Add to the time bank of a seat; turns that are open keep the bank that they opened with."""
    seat, seconds = seat_of(table, act), seconds_of(act, 2)
    _refuse_bot(seat)
    seat.bank += seconds
    return record_only(table, position, act, seat.seat)


def _refuse_bot(seat: SeatRow) -> None:
    if seat.person_id is None:
        raise ActNotPossible("Seat %(seat)s is a bot's.", seat=seat.seat)


def switch(table: Table, position: Position, act: Act) -> int:
    """Switch the autopilot of a seat on or off."""
    seat = seat_of(table, act)
    _refuse_bot(seat)
    if act.words[2] not in ("on", "off"):
        raise InvalidAct("An autopilot can only be switched on or off.")
    if seat.autopilot == (act.words[2] == "on"):
        raise ActNotPossible(
            "The autopilot of seat %(seat)s is already %(state)s.", seat=seat.seat, state=act.words[2]
        )
    seq = write(table, act, seat.seat)
    if seat.autopilot:
        had_left = seat.left
        autopilot.switch_off(table, seat, act.now)
        if had_left:
            tenures.change(table, seat, seq)
    else:
        seat.autopilot = True
        _mail_holder(table, seat, "autopilot", act, seq, {"reason": act.reason})
    running.advance(table, position, position.state, act.now)
    return seq


def _mail_holder(
    table: Table, seat: SeatRow, kind: str, act: Act, seq: int, details: Mapping[str, str] | None = None
) -> None:
    """Email the present player of a seat about the act of this entry."""
    assert seat.person_id is not None
    key = f"{kind}:{table.game.id}:{seq}"
    table.mail(kind, key, seat.person_id, act.now, seat=seat.seat, seq=seq, details=details)


def replace(table: Table, position: Position, act: Act) -> int:
    """Give a seat to a new player, with its hand and its cut."""
    seat = seat_of(table, act)
    if act.newcomer is None:
        raise InvalidAct("Choose a new player for the seat.")
    former = seat.person_id
    if former is not None:
        links.revoke(table.session, former, table.game.id, act.now)
    _seat_newcomer(table, seat, act.newcomer, act.now)
    table.game.trial = False
    standing_orders.withdraw_all(table, seat.seat, Fact("seat_replaced"), act.now)
    seq = seat.held_since = write(table, act, seat.seat)
    tenures.change(table, seat, seq)
    if former is not None:
        details = {"by": seat.name, "reason": act.reason}
        table.mail("former", f"former:{table.game.id}:{seq}", former, act.now, seq=seq, details=details)
    running.advance(table, position, position.state, act.now, restart=frozenset({seat.seat}))
    if seat.person_id is not None:
        _mail_holder(table, seat, "replaced", act, seq, {"by": act.by})
    return seq


def _seat_newcomer(table: Table, seat: SeatRow, newcomer: Newcomer, now: datetime) -> None:
    name = validation.unique_name(newcomer.name, [other.name for other in table.seats if other is not seat])
    seat.name, seat.bot, seat.person_id, seat.person = name, newcomer.bot, None, None
    seat.silent = False
    seat.bank, seat.bounces = table.game.bank, 0
    autopilot.switch_off(table, seat, now)
    if newcomer.bot is None:
        person = people.get_or_create(table.session, newcomer.email, newcomer.name, now)
        if table.seat_of(person.id) is not None:
            raise ActNotPossible("This person already has a seat in this game.")
        if has_looked(table.session, table.game.id, person.id):
            raise ActNotPossible("This person has viewed hidden hands in this game and cannot take a seat.")
        table.sit(seat, person, now)


def link(table: Table, position: Position, act: Act) -> int:
    """Email the link of a seat: a new one that revokes the old, or the same again."""
    seat = seat_of(table, act)
    if seat.person_id is None:
        raise ActNotPossible("Seat %(seat)s is a bot's; it has no link.", seat=seat.seat)
    if not act.keep_link:
        links.revoke(table.session, seat.person_id, table.game.id, act.now)
    seq = record_only(table, position, act, seat.seat)
    _mail_holder(table, seat, "fresh", act, seq, {"reason": act.reason})
    return seq
