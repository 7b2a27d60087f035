"""Sealed standing orders: kept in a table of their own, never in the log; shown to nobody else before the end."""

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


def taken(rules: Rules[Any, Any]) -> bool:
    """Whether a game takes standing orders at all."""
    return type(rules).parse_order is not Rules.parse_order


def of_seat(session: Session, game_id: str, seat: int, after: int | None = None) -> list[StandingOrder]:
    """The orders of a seat that stand or rest, oldest first; with `after`, those, too, that ended later than that.

    What ended before somebody else took the seat is no business of his.

    Args:
        after: a seq: the head that the seat has seen.
    """
    query = select(StandingOrder).where(StandingOrder.game_id == game_id, StandingOrder.seat == seat)
    alive = StandingOrder.status.in_(("standing", "resting"))
    if after is None:
        return list(session.scalars(query.where(alive).order_by(StandingOrder.id)))
    handed_on = select(func.coalesce(func.max(Entry.seq), 0)).where(
        Entry.game_id == game_id, Entry.move == f"!replace {seat}"
    )
    ended = (StandingOrder.ended_seq > after) & (StandingOrder.ended_seq >= handed_on.scalar_subquery())
    return list(session.scalars(query.where(alive | ended).order_by(StandingOrder.id)))


def of_game(session: Session, game_id: str) -> list[StandingOrder]:
    """All orders that were ever left in a game, in order: for the reveal after its end."""
    query = select(StandingOrder).where(StandingOrder.game_id == game_id)
    return list(session.scalars(query.order_by(StandingOrder.id)))


def newest(session: Session, game_id: str, seat: int) -> int:
    """The number of the order that a seat has left last, and so how many it ever left; 0 before the first."""
    theirs = (StandingOrder.game_id == game_id, StandingOrder.seat == seat)
    return session.scalar(select(func.max(StandingOrder.number)).where(*theirs)) or 0


def standing(
    session: Session, rules: Rules[Any, Any], game: Game, now: datetime
) -> dict[int, list[PlacedOrder]]:
    """The orders that stand at a table, by seat, oldest first; one that cannot be read any more is stopped."""
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


def leave(
    session: Session,
    game: Game,
    rules: Rules[Any, Any],
    seat: int,
    order: Order,
    scope: str,
    now: datetime,
) -> StandingOrder:
    """Keep an order; an older one of this seat about the same is withdrawn."""
    for row in of_seat(session, game.id, seat):
        if rules.parse_order(row.text).kind == order.kind:
            _end(row, "withdrawn", None, game, now)
    row = StandingOrder(
        game_id=game.id,
        seat=seat,
        number=newest(session, game.id, seat) + 1,
        text=order.text,
        scope=scope,
        left_at=now,
        left_seq=game.head,
    )
    session.add(row)
    session.flush()
    return row


def carried_out(session: Session, decision: Decision, game: Game, now: datetime) -> None:
    """An order has made a move: what is left of it stands on, or it is done."""
    row = session.get_one(StandingOrder, decision.placed.key)
    if decision.answer.remaining is None:
        _end(row, "done", None, game, now)
    else:
        row.text = decision.answer.remaining.text


def close(
    session: Session, placed: PlacedOrder, status: str, reason: Fact | None, game: Game, now: datetime
) -> None:
    """An order stands no more.

    Args:
        status: done, withdrawn or stopped.
        reason: for its owner.
    """
    _end(session.get_one(StandingOrder, placed.key), status, reason, game, now)


def _end(row: StandingOrder, status: str, reason: Fact | None, game: Game, now: datetime) -> None:
    row.status, row.reason, row.ended_at, row.ended_seq = status, reason, now, game.head


def withdraw(session: Session, game: Game, seat: int, number: int | None, now: datetime) -> int:
    """End one order of a seat, or all (None), as its owner wishes; how many."""
    rows = [row for row in of_seat(session, game.id, seat) if number in (None, row.number)]
    for row in rows:
        _end(row, "withdrawn", None, game, now)
    return len(rows)


def rest_all(session: Session, game_id: str) -> None:
    """After a void every order rests until its owner confirms it (formats.md §2)."""
    for row in _alive(session, game_id):
        row.status = "resting"


def withdraw_all(session: Session, game: Game, seat: int | None, reason: Fact, now: datetime) -> None:
    """The orders of a seat, or of all, end: its player has gone, or the game is over."""
    for row in _alive(session, game.id):
        if seat is None or row.seat == seat:
            _end(row, "withdrawn", reason, game, now)


def confirm(session: Session, game_id: str, seat: int) -> int:
    """Orders of a seat that rest stand again; how many."""
    resting = [row for row in of_seat(session, game_id, seat) if row.status == "resting"]
    for row in resting:
        row.status = "standing"
    return len(resting)


def _alive(session: Session, game_id: str) -> Sequence[StandingOrder]:
    query = select(StandingOrder).where(
        StandingOrder.game_id == game_id, StandingOrder.status.in_(("standing", "resting"))
    )
    return session.scalars(query.order_by(StandingOrder.id)).all()
