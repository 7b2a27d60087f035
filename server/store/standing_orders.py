"""Sealed standing orders, stored outside the log and hidden from others until the game is over."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from byzanz.moves import Order, RulesError
from byzanz.orders import Decision, PlacedOrder
from byzanz.rules import Rules
from server.store.facts import Fact
from server.store.models import Entry, Game, StandingOrder


def supported(rules: Rules[Any, Any]) -> bool:
    """Whether a game has standing orders."""
    return type(rules).parse_order is not Rules.parse_order


def of_seat(session: Session, game_id: str, seat: int, after: int | None = None) -> list[StandingOrder]:
    """Return the standing and suspended orders of a seat, oldest first.

    Args:
        after: also include orders that ended after this seq, unless the player was replaced since.
    """
    query = select(StandingOrder).where(StandingOrder.game_id == game_id, StandingOrder.seat == seat)
    alive = StandingOrder.status.in_(("standing", "resting"))
    if after is None:
        return list(session.scalars(query.where(alive).order_by(StandingOrder.id)))
    replaced_seq = select(func.coalesce(func.max(Entry.seq), 0)).where(
        Entry.game_id == game_id, Entry.move == f"!replace {seat}"
    )
    ended = (StandingOrder.ended_seq > after) & (StandingOrder.ended_seq >= replaced_seq.scalar_subquery())
    return list(session.scalars(query.where(alive | ended).order_by(StandingOrder.id)))


def of_kind(
    session: Session, rules: Rules[Any, Any], game: Game, seat: int, kind: str
) -> list[StandingOrder]:
    """Return the standing and suspended orders of a seat that are of this kind, oldest first."""
    return [row for row in of_seat(session, game.id, seat) if _kind(rules, row) == kind]


def _kind(rules: Rules[Any, Any], row: StandingOrder) -> str | None:
    try:
        return rules.parse_order(row.text).kind
    except RulesError:  # it can no longer be parsed; `standing` will stop it
        return None


def of_game(session: Session, game_id: str) -> list[StandingOrder]:
    """Return all orders ever placed in a game, oldest first, to be revealed when it is over."""
    query = select(StandingOrder).where(StandingOrder.game_id == game_id)
    return list(session.scalars(query.order_by(StandingOrder.id)))


def last_number(session: Session, game_id: str, seat: int) -> int:
    """Return the number of a seat's last order, which is also how many it ever placed; 0 before the first."""
    own = (StandingOrder.game_id == game_id, StandingOrder.seat == seat)
    return session.scalar(select(func.max(StandingOrder.number)).where(*own)) or 0


def standing(
    session: Session, rules: Rules[Any, Any], game: Game, now: datetime
) -> dict[int, list[PlacedOrder]]:
    """Return the standing orders of a game by seat, oldest first, and stop those that can no longer be parsed."""
    query = select(StandingOrder).where(StandingOrder.game_id == game.id, StandingOrder.status == "standing")
    found: dict[int, list[PlacedOrder]] = {}
    for row in session.scalars(query.order_by(StandingOrder.id)):
        try:
            order = rules.parse_order(row.text)
        except RulesError as error:
            _end(row, "stopped", Fact(error.message, error.places), game, now)
        else:
            found.setdefault(row.seat, []).append(PlacedOrder(row.id, order, row.scope))
    return found


def place(
    session: Session,
    game: Game,
    rules: Rules[Any, Any],
    seat: int,
    order: Order,
    scope: str,
    now: datetime,
) -> StandingOrder:
    """Store an order, and withdraw an older one of the same kind."""
    for row in of_kind(session, rules, game, seat, order.kind):
        _end(row, "withdrawn", None, game, now)
    row = StandingOrder(
        game_id=game.id,
        seat=seat,
        number=last_number(session, game.id, seat) + 1,
        text=order.text,
        scope=scope,
        left_at=now,
        left_seq=game.head,
    )
    session.add(row)
    session.flush()
    return row


def mark_carried_out(session: Session, decision: Decision, game: Game, now: datetime) -> None:
    """Record that an order has made a move: it stands with what remains of it, or is done."""
    row = session.get_one(StandingOrder, decision.placed.key)
    if decision.answer.remaining is None:
        _end(row, "done", None, game, now)
    else:
        row.text = decision.answer.remaining.text


def end(
    session: Session, placed: PlacedOrder, status: str, reason: Fact | None, game: Game, now: datetime
) -> None:
    """End an order.

    Args:
        status: done, withdrawn or stopped.
        reason: for its owner.
    """
    _end(session.get_one(StandingOrder, placed.key), status, reason, game, now)


def _end(row: StandingOrder, status: str, reason: Fact | None, game: Game, now: datetime) -> None:
    row.status, row.reason, row.ended_at, row.ended_seq = status, reason, now, game.head


def withdraw(session: Session, game: Game, seat: int, number: int | None, now: datetime) -> int:
    """Withdraw one order of a seat, or all if `number` is None, at the player's request; return how many."""
    rows = [row for row in of_seat(session, game.id, seat) if number in (None, row.number)]
    for row in rows:
        _end(row, "withdrawn", None, game, now)
    return len(rows)


def suspend_all(session: Session, game_id: str) -> None:
    """Suspend all orders after a void, until their players confirm them (docs/formats.md §2)."""
    for row in _alive(session, game_id):
        row.status = "resting"


def withdraw_all(session: Session, game: Game, seat: int | None, reason: Fact, now: datetime) -> None:
    """Withdraw the orders of a seat, or of all seats if it is None, for a reason that the players see."""
    for row in _alive(session, game.id):
        if seat is None or row.seat == seat:
            _end(row, "withdrawn", reason, game, now)


def confirm(session: Session, game_id: str, seat: int) -> int:
    """Reactivate the suspended orders of a seat, and return how many."""
    suspended = [row for row in of_seat(session, game_id, seat) if row.status == "resting"]
    for row in suspended:
        row.status = "standing"
    return len(suspended)


def _alive(session: Session, game_id: str) -> Sequence[StandingOrder]:
    query = select(StandingOrder).where(
        StandingOrder.game_id == game_id, StandingOrder.status.in_(("standing", "resting"))
    )
    return session.scalars(query.order_by(StandingOrder.id)).all()
