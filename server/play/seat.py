"""What a player does at his seat besides moving: leave orders and withdraw them, leave the game and come back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from byzanz import orders as ordering
from byzanz.orders import Left
from byzanz.rules import OrderAnswer
from server.errors import NoSuchLink, NoSuchOrder, TooMany
from server.play import autopilot, moves, running
from server.play.positions import Position
from server.store import links, log, outbox, standing_orders
from server.store.engine import transaction
from server.store.facts import Fact
from server.store.models import Entry, Game, Seat

MOST_ORDERS = 500
"""Orders that a game keeps of one seat, those that have ended counted: they are shown when it is over."""

LEAVES = 6
"""How often a player may leave one game within an hour: the log keeps each time for good."""


@dataclass(frozen=True, slots=True)
class Ordered:
    """What became of a standing order that was left.

    Args:
        number: its name among this seat's orders.
        text: canonical.
        seq: the head of the log afterwards.
        moved: whether it was carried out at once, or anything else went on by it.
    """

    number: int
    text: str
    seq: int
    moved: bool


def leave_order(
    game_id: str,
    seat: int,
    text: str,
    *,
    now: datetime,
    link_id: int | None = None,
    left_at: datetime | None = None,
) -> Ordered:
    """Keep a sealed standing order of a seat; one that answers its open question is carried out at once.

    Args:
        text: in the grammar of the game (docs/orders.md), abbreviated or not, without the word `order`.
        link_id: the link that vouches for the player, as for `submit`.
        left_at: when a mail was first taken in hand that is worked on once more; now, if not given.

    Raises:
        RulesError: the text is no order, or one that could never be carried out. TooMany: the seat has left as many
            as the game keeps. Refused: its other kinds say why.
    """
    with _at_the_seat(game_id, seat, now, link_id) as (session, game, position):
        rules, view = position.rules, position.rules.view(position.state, seat)
        order = rules.parse_order(text[: moves.LONGEST_TEXT + 1])
        occasion = rules.order_scope(order, view)
        _check_room(session, game, seat)
        head = game.head
        row = standing_orders.leave(session, game, rules, seat, order, occasion, now)
        row.left_at = left_at or now
        autopilot.back(session, game, seat, now)
        running.advance(session, game, position, position.state, now, mover=seat)
        return Ordered(row.number, row.text, game.head, moved=game.head > head)


@dataclass(frozen=True, slots=True)
class Previewed:
    """What an order would do if it were left now.

    Args:
        text: canonical.
        occasion: what it would be for, empty when it stands until withdrawn.
        replaces: the text of the order whose place it would take, if any.
        now: what it makes of the question that is open, None when it only waits.
    """

    text: str
    occasion: str
    replaces: str | None
    now: OrderAnswer | None


def preview_order(session: Session, game: Game, seat: int, text: str) -> Previewed:
    """What an order would do; nothing is kept.

    Args:
        session: reading.
        text: as for `leave_order`.

    Raises:
        As `leave_order`.
    """
    position = running.position(session, game)
    rules, state = position.rules, position.state
    order = rules.parse_order(text)
    occasion = rules.order_scope(order, rules.view(state, seat))
    _check_room(session, game, seat)
    older = [row.text for row in standing_orders.of_seat(session, game.id, seat)]
    replaces = next((old for old in older if rules.parse_order(old).about == order.about), None)
    answer = None
    if seat in position.awaited:
        answer = ordering.answer(rules, state, seat, [Left(0, order, occasion)])
    return Previewed(order.text, occasion, replaces, answer.answer if answer else None)


def _check_room(session: Session, game: Game, seat: int) -> None:
    if standing_orders.newest(session, game.id, seat) >= MOST_ORDERS:
        raise TooMany(
            "This seat has left %(most)s orders in this game, as many as are kept. Make your moves yourself.",
            most=MOST_ORDERS,
        )


def withdraw_order(
    game_id: str, seat: int, number: int | None, *, now: datetime, link_id: int | None = None
) -> int:
    """Take one order of a seat back, or all (None); how many were.

    Raises:
        NoSuchOrder: it does not stand, or is another seat's. Refused: its kinds say why.
    """
    with _at_the_seat(game_id, seat, now, link_id) as (session, game, position):
        count = standing_orders.withdraw(session, game, seat, number, now)
        if not count and number is not None:
            raise NoSuchOrder("This order does not stand any more.")
        if autopilot.back(session, game, seat, now):
            running.advance(session, game, position, position.state, now, mover=seat)
        return count


def confirm_orders(game_id: str, seat: int, *, now: datetime, link_id: int | None = None) -> int:
    """Let a seat's orders that rest since a void stand again; how many.

    Raises:
        Refused: its kinds say why.
    """
    with _at_the_seat(game_id, seat, now, link_id) as (session, game, position):
        count = standing_orders.confirm(session, game_id, seat)
        autopilot.back(session, game, seat, now)
        running.advance(session, game, position, position.state, now, mover=seat)
        return count


def reclaim(game_id: str, seat: int, *, now: datetime, link_id: int | None = None) -> bool:
    """The player of a seat on autopilot plays again; False if it was not on autopilot.

    Raises:
        Refused: its kinds say why.
    """
    with _at_the_seat(game_id, seat, now, link_id) as (session, game, position):
        if not autopilot.back(session, game, seat, now):
            return False
        running.advance(session, game, position, position.state, now, mover=seat)
        return True


def leave_game(game_id: str, seat: int, *, now: datetime, link_id: int | None = None) -> bool:
    """The player gives his seat up: the server plays in it until somebody else takes it, or he comes back.

    Returns:
        False if he had left before.

    Raises:
        TooMany: he has left and come back too often. Refused: its other kinds say why.
    """
    with _at_the_seat(game_id, seat, now, link_id) as (session, game, position):
        if autopilot.has_left(session, game_id, seat):
            return False
        _check_leaves(session, game_id, seat, now)
        gone = session.get_one(Seat, (game_id, seat))
        gone.autopilot, gone.missed = True, 0
        standing_orders.withdraw_all(session, game, seat, Fact("left_game"), now)
        log.append(session, game, seat=seat, by="player", move=f"!leave {seat}", now=now)
        autopilot.tell_in_charge(session, game, gone, "left", now)
        if gone.person_id is not None:
            outbox.enqueue(
                session,
                key=f"left:{game.id}:{gone.person_id}:{now:%Y-%m-%d}",  # not for each time that he comes and goes
                kind="left",
                person_id=gone.person_id,
                now=now,
                game_id=game.id,
                seat=seat,
                seq=game.head,
            )
        running.advance(session, game, position, position.state, now)
        return True


def _check_leaves(session: Session, game_id: str, seat: int, now: datetime) -> None:
    since = log.stamp(now - timedelta(hours=1))
    leaves = (Entry.game_id == game_id, Entry.move == f"!leave {seat}", Entry.at > since)
    if (session.scalar(select(func.count()).where(*leaves)) or 0) >= LEAVES:
        raise TooMany(
            "You have left this game %(most)s times within an hour. Wait an hour before you leave it again.",
            most=LEAVES,
        )


@contextmanager
def _at_the_seat(
    game_id: str, seat: int, now: datetime, link_id: int | None
) -> Iterator[tuple[Session, Game, Position]]:
    """A transaction in which a player does something at his seat, paused or not."""
    with running.guarded(game_id, now), transaction() as session:
        game = running.lock(session, game_id)
        if link_id is not None and not links.still_opens(session, link_id, game_id, seat):
            raise NoSuchLink("This link opens no seat any more.")
        yield session, game, running.position(session, game)
