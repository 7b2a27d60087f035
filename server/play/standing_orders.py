"""Sealed standing orders, stored outside the log and hidden from others until the game is over."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from byzanz.moves import Order, RulesError
from byzanz.orders import Decision, PlacedOrder
from byzanz.rules import Rules
from server.play.game import Table
from server.store import statements
from server.store.facts import Fact
from server.store.models import StandingOrder
from server.store.statements import OrderRow


def supported(rules: Rules[Any, Any]) -> bool:
    """Whether a game has standing orders."""
    return type(rules).parse_order is not Rules.parse_order


def of_seat(table: Table, seat: int) -> list[OrderRow]:
    """Return the standing and suspended orders of a seat in a game in hand, oldest first."""
    return [row for row in table.orders if row.seat == seat and row.status in ("standing", "resting")]


def shown(table: Table, seat: int) -> list[OrderRow]:
    """Return the orders of a seat that were loaded, except those of a former player, oldest first."""
    since = table.seats[seat].held_since
    return [
        row for row in table.orders if row.seat == seat and (row.ended_seq is None or row.ended_seq >= since)
    ]


def kind_of(rules: Rules[Any, Any], row: OrderRow) -> str | None:
    """Return the kind of an order, None if it can no longer be parsed."""
    try:
        return rules.parse_order(row.text).kind
    except RulesError:  # `standing` will stop it
        return None


def of_game(session: Session, game_id: str) -> list[OrderRow]:
    """Return all orders ever placed in a game, oldest first, to be revealed when it is over."""
    query = select(*statements.ORDER).where(StandingOrder.game_id == game_id)
    return [OrderRow(*row) for row in session.execute(query.order_by(StandingOrder.id))]


def last_number(session: Session, game_id: str, seat: int) -> int:
    """Return the number of a seat's last order, which is also how many it ever placed; 0 before the first."""
    own = (StandingOrder.game_id == game_id, StandingOrder.seat == seat)
    return session.scalar(select(func.max(StandingOrder.number)).where(*own)) or 0


def standing(table: Table, rules: Rules[Any, Any], now: datetime) -> dict[int, list[PlacedOrder]]:
    """Return the standing orders of a game by seat, oldest first, and stop those that can no longer be parsed."""
    found: dict[int, list[PlacedOrder]] = {}
    for row in table.orders:
        if row.status != "standing":
            continue
        try:
            order = rules.parse_order(row.text)
        except RulesError as error:
            _end(table, row, "stopped", Fact(error.message, error.places), now)
        else:
            found.setdefault(row.seat, []).append(PlacedOrder(row.id, order, row.scope))
    return found


def place(
    table: Table,
    rules: Rules[Any, Any],
    seat: int,
    order: Order,
    scope: str,
    now: datetime,
    left_at: datetime,
) -> OrderRow:
    """Store an order, and withdraw an older one of the same kind."""
    for row in of_seat(table, seat):
        if kind_of(rules, row) == order.kind:
            _end(table, row, "withdrawn", None, now)
    new = StandingOrder(
        game_id=table.game.id,
        seat=seat,
        number=last_number(table.session, table.game.id, seat) + 1,
        text=order.text,
        scope=scope,
        left_at=left_at,
        left_seq=table.game.head,
    )
    table.session.add(new)
    table.session.flush()
    return table.add_order(new)


def mark_carried_out(table: Table, decision: Decision, now: datetime) -> None:
    """Record that an order has made a move: it stands with what remains of it, or is done."""
    row = _placed(table, decision.placed)
    if decision.answer.remaining is None:
        _end(table, row, "done", None, now)
    else:
        row.text = decision.answer.remaining.text


def end(table: Table, placed: PlacedOrder, status: str, reason: Fact | None, now: datetime) -> None:
    """End an order.

    Args:
        status: done, withdrawn or stopped.
        reason: for its owner.
    """
    _end(table, _placed(table, placed), status, reason, now)


def _placed(table: Table, placed: PlacedOrder) -> OrderRow:
    return next(row for row in table.orders if row.id == placed.key)


def _end(table: Table, row: OrderRow, status: str, reason: Fact | None, now: datetime) -> None:
    row.status, row.reason, row.ended_at, row.ended_seq = status, reason, now, table.game.head


def withdraw(table: Table, seat: int, number: int | None, now: datetime) -> int:
    """Withdraw one order of a seat, or all if `number` is None, at the player's request; return how many."""
    rows = [row for row in of_seat(table, seat) if number in (None, row.number)]
    for row in rows:
        _end(table, row, "withdrawn", None, now)
    return len(rows)


def suspend_all(table: Table) -> None:
    """Suspend all orders after a void, until their players confirm them (docs/formats.md §2)."""
    for row in table.orders:
        if row.status == "standing":
            row.status = "resting"


def withdraw_all(table: Table, seat: int | None, reason: Fact, now: datetime) -> None:
    """Withdraw the orders of a seat, or of all seats if it is None, for a reason that the players see."""
    for row in table.orders:
        if row.status in ("standing", "resting") and seat in (None, row.seat):
            _end(table, row, "withdrawn", reason, now)


def confirm(table: Table, seat: int) -> int:
    """Reactivate the suspended orders of a seat, and return how many."""
    suspended = [row for row in of_seat(table, seat) if row.status == "resting"]
    for row in suspended:
        row.status = "standing"
    return len(suspended)
