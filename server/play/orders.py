"""Standing orders of a seat: placed, previewed, withdrawn, confirmed."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from byzanz import orders as ordering
from byzanz.moves import OrderAnswer, OrderCase, RulesError
from byzanz.orders import PlacedOrder
from server.errors import NoSuchOrder, TooMany
from server.play import autopilot, moves, running, standing_orders
from server.play.game import Table
from server.play.moves import at_seat
from server.play.positions import Position
from server.store.statements import OrderRow

MOST_ORDERS = 500
"""Orders that one seat may place in a game, including those that have ended: all are shown when the game is over."""


@dataclass(frozen=True, slots=True)
class OrderResult:
    """The result of placing a standing order.

    Args:
        number: of the order, among those of its seat.
        text: canonical.
        seq: the head of the log afterwards.
        moved: whether the order was carried out at once, or the game went on for another reason.
    """

    number: int
    text: str
    seq: int
    moved: bool


def place_order(
    game_id: str,
    seat: int,
    text: str,
    *,
    now: datetime,
    link_id: int | None = None,
    left_at: datetime | None = None,
) -> OrderResult:
    """Store a sealed standing order; one that answers the open question of its seat is carried out at once.

    One transaction, which locks the game.

    Args:
        text: in the grammar of the game (docs/orders.md), abbreviated or not, without the word `order`.
        link_id: the link with which the player came, as for `submit`.
        left_at: when the mail with this order was first processed, if it is processed again; otherwise now.

    Raises:
        RulesError: the text is not an order, or one that could never be carried out.
        TooMany: the seat has placed `MOST_ORDERS`.
        Refused: its other subclasses say why.
    """

    def work(table: Table, position: Position) -> OrderResult:
        rules, view = position.rules, position.rules.view(position.state, seat)
        order = rules.parse_order(text[: moves.LONGEST_TEXT + 1])
        scope = rules.order_scope(order, view)
        _check_room(table.session, game_id, seat)
        head = table.game.head
        row = standing_orders.place(table, rules, seat, order, scope, now, left_at or now)
        autopilot.player_acted(table, seat, now)
        running.advance(table, position, position.state, now, mover=seat)
        return OrderResult(row.number, row.text, table.game.head, moved=table.game.head > head)

    return at_seat(game_id, seat, now, link_id, work)


@dataclass(frozen=True, slots=True)
class OrderPreview:
    """The effect that an order would have if it were placed now.

    Args:
        text: canonical.
        scope: the decisions it would be for; empty if it stands until it is withdrawn.
        replaces: the text of the order that it would replace, if any.
        now: its answer to the open question; None if it would only wait.
        cases: its answers in the cases that can be foreseen.
    """

    text: str
    scope: str
    replaces: str | None
    now: OrderAnswer | None
    cases: tuple[OrderCase, ...]


def preview_order(table: Table, seat: int, text: str) -> OrderPreview:
    """Return what an order would do, without storing it; reads only.

    Args:
        text: as for `place_order`.

    Raises:
        RulesError, Refused: as for `place_order`.
    """
    position = running.position(table)
    rules, state = position.rules, position.state
    order = rules.parse_order(text)
    view = rules.view(state, seat)
    scope = rules.order_scope(order, view)
    _check_room(table.session, table.game.id, seat)
    own = standing_orders.of_seat(table, seat)
    replaces = next((row.text for row in own if standing_orders.kind_of(rules, row) == order.kind), None)
    decision = None
    if seat in position.awaited:
        decision = ordering.decide(rules, state, seat, [PlacedOrder(0, order, scope)])
    answer, cases = decision.answer if decision else None, rules.foresee_order(order, view)
    return OrderPreview(order.text, scope, replaces, answer, cases)


@dataclass(frozen=True, slots=True)
class OrderOutlook:
    """An order of a seat, with its answers in the cases that can be foreseen; none if it does not stand."""

    row: OrderRow
    cases: tuple[OrderCase, ...]


def outlooks(table: Table, position: Position, seat: int) -> list[OrderOutlook]:
    """Return the loaded orders of a seat that stand, are suspended, or have stopped, oldest first."""
    rules, view = position.rules, position.view(seat)
    found = []
    for row in standing_orders.shown(table, seat):
        cases: tuple[OrderCase, ...] = ()
        if row.status == "standing":
            with suppress(RulesError):  # it can no longer be parsed; it stops when it is due
                cases = rules.foresee_order(rules.parse_order(row.text), view)
        if row.status in ("standing", "resting", "stopped"):
            found.append(OrderOutlook(row, cases))
    return found


def _check_room(session: Session, game_id: str, seat: int) -> None:
    if standing_orders.last_number(session, game_id, seat) >= MOST_ORDERS:
        raise TooMany(
            "This seat has placed %(most)s orders, the most that one game allows. Make your moves yourself.",
            most=MOST_ORDERS,
        )


def withdraw_order(
    game_id: str, seat: int, number: int | None, *, now: datetime, link_id: int | None = None
) -> int:
    """Withdraw one standing order of a seat, or all of them; one transaction, which locks the game.

    Args:
        number: of the order; None for all.
        link_id: the link with which the player came, as for `submit`.

    Returns:
        How many were withdrawn.

    Raises:
        NoSuchOrder: this seat has no such order.
        Refused: its other subclasses say why.
    """

    def work(table: Table, position: Position) -> int:
        count = standing_orders.withdraw(table, seat, number, now)
        if not count and number is not None:
            raise NoSuchOrder("This order is no longer active.")
        if autopilot.player_acted(table, seat, now):
            running.advance(table, position, position.state, now, mover=seat)
        return count

    return at_seat(game_id, seat, now, link_id, work)


def confirm_orders(game_id: str, seat: int, *, now: datetime, link_id: int | None = None) -> int:
    """Reactivate the orders of a seat that a void has suspended; one transaction, which locks the game.

    Args:
        link_id: the link with which the player came, as for `submit`.

    Returns:
        How many orders stand again.

    Raises:
        Refused: its subclass says why.
    """

    def work(table: Table, position: Position) -> int:
        count = standing_orders.confirm(table, seat)
        autopilot.player_acted(table, seat, now)
        running.advance(table, position, position.state, now, mover=seat)
        return count

    return at_seat(game_id, seat, now, link_id, work)
