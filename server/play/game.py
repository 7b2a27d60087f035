"""A game in hand: loaded whole, played in memory, stored at once.

Within a transaction everything happens to these plain rows; `Table.put` compares them with what was loaded and writes
the difference. This is the only module that writes the log (docs/formats.md §2).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from datetime import datetime
from functools import partial
from typing import Any

from flask import Flask, current_app
from sqlalchemy import Connection, insert, select, update
from sqlalchemy.orm import Session

from byzanz import record
from byzanz.record import Cause
from server.errors import NoSuchGame
from server.play.events import Event
from server.store import operations, people, statements
from server.store.engine import after_commit, connection_of, stamp
from server.store.models import Absence, Person, SeatStatus, StandingOrder, Tenure
from server.store.prepared import Prepared, pipeline
from server.store.statements import GameRow, OrderRow, PersonRow, SeatRow, TurnRow, copied


class Table:
    """A game with its seats, open turns and standing orders.

    Args:
        session: of the transaction, for the rare statement about something else.
        found: the row that `statements.LOAD_GAME` returns.

    Attributes:
        seats: in order.
        turns: the open ones, by seat.
        orders: standing and suspended, oldest first.
        snapshot: the format and the text of the stored state after the newest entry, if there is one.
        link_person: whose link was asked about, if it is live.
        repeated: the seq and the move of the entry that this request has made before, if any.
    """

    def __init__(self, session: Session, found: Sequence[Any]) -> None:
        width = len(statements.GAME)
        self.session = session
        self.game = GameRow(*found[:width])
        last_at, form, state, self.link_person, seq, move = found[width:]
        self.seats: list[SeatRow] = []
        self.turns: dict[int, TurnRow] = {}
        self.orders: list[OrderRow] = []
        self.snapshot = None if form is None else (form, state)
        self.repeated = None if seq is None else (seq, move)
        self._last_at: str = last_at or ""
        self._entries: list[dict[str, Any]] = []
        self._events: list[Event] = []

    def add_seats(self, rows: Iterable[Sequence[Any]]) -> None:
        """Add the seats with their people, open turns and absences.

        Args:
            rows: what `statements.LOAD_SEATS` returns.
        """
        own, person, asked = len(statements.SEAT), len(statements.PERSON), len(statements.TURN)
        for found in rows:
            number = found[1]
            if not self.seats or self.seats[-1].seat != number:
                seat = SeatRow(*found[:own])
                if found[own] is not None:
                    seat.person = PersonRow(*found[own : own + person])
                if found[own + person] is not None:
                    self.turns[number] = TurnRow(*found[own + person : own + person + asked])
                self.seats.append(seat)
            if found[-1] is not None:
                self.seats[-1].absences.append((found[-2], found[-1]))

    def load_orders(self, seat: int = -1, after: int = 0) -> None:
        """Load the standing and suspended orders, and those of one seat that have ended after an entry."""
        run, values = connection_of(self.session), {"game": self.game.id, "seat": seat, "after": after}
        self.add_orders(statements.LOAD_ORDERS.all(run, values))

    def add_orders(self, rows: Iterable[Sequence[Any]]) -> None:
        """Add standing orders.

        Args:
            rows: what `statements.LOAD_ORDERS` returns.
        """
        self.orders = [OrderRow(*row) for row in rows]

    def remember(self) -> None:
        """Remember the rows of a locked game as they are now; `put` writes what differs from them."""
        self._game = copied(self.game)
        self._seats = [copied(seat) for seat in self.seats]
        self._turns = {seat: copied(turn) for seat, turn in self.turns.items()}
        self._orders = {order.id: copied(order) for order in self.orders}
        self._snapshot, self._head = self.snapshot, self.game.head

    def seat_of(self, person_id: int) -> SeatRow | None:
        """Return the seat that a person holds, or None."""
        return next(
            (seat for seat in self.seats if seat.person_id == person_id and seat.status == SeatStatus.SEATED),
            None,
        )

    def person(self, person_id: int | None) -> PersonRow | None:
        """Return a person, who is mostly at the table; None if there is none with this id."""
        seated = next((seat.person for seat in self.seats if seat.person_id == person_id), None)
        return seated or (people.get(self.session, person_id) if person_id is not None else None)

    def sit(self, seat: SeatRow, person: Person, now: datetime) -> None:
        """Seat a person, with all that opening a turn asks about them."""
        seat.person_id, seat.person = person.id, PersonRow(**_values(person, PERSON))
        away = select(Absence).where(Absence.person_id == person.id, Absence.to_at > now)
        rows = self.session.scalars(away.order_by(Absence.from_at))
        seat.absences = [(row.from_at, row.to_at) for row in rows]

    def append(
        self,
        *,
        seat: int | None,
        by: Cause,
        move: str,
        now: datetime,
        note: str | None = None,
        request_id: str | None = None,
        seconds: int = 0,
    ) -> record.Entry:
        """Append the next entry to the log; the stored state is then of the past, until a new one is set.

        Args:
            seat: from 0; None for chance and for the whole table.
            by: the cause.
            move: the canonical text.
            note: why; public for good.
            request_id: the client's id for this request, unique for a game's seat.
            seconds: kept beside the log, as `models.Entry` explains.
        """
        entry = record.new_entry(
            self.game.head_hash,
            seq=self.game.head + 1,
            at=max(stamp(now), self._last_at),  # entries stay in order when the clock is set back
            seat=seat,
            by=by,
            move=move,
            note=note,
            salt=secrets.token_hex(16),
        )
        about = {"game_id": self.game.id, "request_id": request_id, "seconds": seconds}
        self._entries.append(about | _values(entry, ENTRY))
        self.game.head, self.game.head_hash, self._last_at = entry.seq, entry.hash, entry.at
        self.snapshot = None
        return entry

    def unsaved(self) -> list[tuple[int, int | None, str]]:
        """Return seq, seat and move of the entries appended since `put`."""
        return [(entry["seq"], entry["seat"], entry["move"]) for entry in self._entries]

    def answered(self, seat: int, seconds: int) -> None:
        """Keep with the first move of a seat in this transaction how long the clock of its turn had run."""
        for entry in self._entries:
            if entry["seat"] == seat and entry["by"] in ANSWERS and not entry["move"].startswith("!"):
                entry["seconds"] = seconds
                return

    def tell(self, event: Event) -> None:
        """Say what has happened; nobody is told anything of a visitor's game."""
        if not self.game.trial:
            self._events.append(event)

    def add_order(self, order: StandingOrder) -> OrderRow:
        """Take over an order that has just been stored."""
        row = OrderRow(**_values(order, ORDER))
        self.orders.append(row)
        self._orders[row.id] = copied(row)
        return row

    def put(self) -> None:
        """Store what has changed since `remember`, once: entries, then the rows that they change, then what is told."""
        run = connection_of(self.session)
        with pipeline(run):
            self._put_rows(run)
        causes = [f"entries:{entry['by']}" for entry in self._entries]
        after_commit(self.session, partial(operations.count_each_figure, causes))
        told, self._entries, self._events = self._events, [], []
        if told:
            hand_over(self, told)

    def _put_rows(self, run: Connection) -> None:
        game = {"game": self.game.id}
        if self._entries:
            statements.ADD_ENTRIES.run(run, self._entries)
        if self.game != self._game:
            _change(run, statements.CHANGE_GAME, [(game, self.game, self._game)], CHANGED_BY_PLAY["game"])
        self._put_snapshot(run)
        seats = [
            (game | {"number": seat.seat}, seat, before)
            for seat, before in zip(self.seats, self._seats, strict=True)
            if seat != before
        ]
        _change(run, statements.CHANGE_SEATS, seats, CHANGED_BY_PLAY["seat"])
        self._put_turns(run)
        orders = [
            ({"order": order.id}, order, self._orders[order.id])
            for order in self.orders
            if order != self._orders[order.id]
        ]
        _change(run, statements.CHANGE_ORDERS, orders, CHANGED_BY_PLAY["order"])

    def _put_snapshot(self, run: Connection) -> None:
        game, head = self.game.id, self.game.head
        if self.snapshot is None or (self.snapshot, head) == (self._snapshot, self._head):
            return
        values = {"seq": head, "format": self.snapshot[0], "state": self.snapshot[1]}
        if self._snapshot is not None:
            statements.MOVE_SNAPSHOT.run(run, [{"game": game, "old": self._head, **values}])
        else:
            statements.CLEAR_SNAPSHOTS.run(run, [{"game": game}])
            statements.ADD_SNAPSHOT.run(run, [{"game_id": game, **values}])

    def _put_turns(self, run: Connection) -> None:
        game, before, after = {"game": self.game.id}, self._turns, self.turns
        closed = [seat for seat in before if seat not in after]
        opened = [turn for seat, turn in after.items() if seat not in before]
        changed = [(seat, turn) for seat, turn in after.items() if turn != before.get(seat, turn)]
        # The row of a turn that closes becomes that of one that opens: one statement for nearly every move.
        changed += zip(closed, opened, strict=False)
        closed, opened = closed[len(opened) :], opened[len(closed) :]
        for statement, values in (
            (statements.CLOSE_TURNS, [game | {"number": seat} for seat in closed]),
            (
                statements.CHANGE_TURNS,
                [game | {"number": seat} | _values(turn, TURN[1:]) for seat, turn in changed],
            ),
            (statements.OPEN_TURNS, [_values(turn, TURN) for turn in opened]),
        ):
            if values:
                statement.run(run, values)


ANSWERS = (Cause.PLAYER, Cause.ORDER, Cause.CLOCK, Cause.AUTOPILOT)
"""The causes of entries that answer a person's question."""
PERSON = [field.name for field in fields(PersonRow)]
ORDER = [field.name for field in fields(OrderRow)]
TURN = [field.name for field in fields(TurnRow)]
ENTRY = [field.name for field in fields(record.Entry)]
CHANGED_BY_PLAY = {
    "game": [
        "status",
        "started_at",
        "ended_at",
        "head",
        "head_hash",
        "paused",
        "result",
        "quarantine",
        "trial",
        "origin",
        "record_format",
        "cut_order",
        "talk",
        "said",
        "noted",
    ],
    "seat": [
        *("stored_name", "person_id", "bot", "silent", "bank"),
        *("missed", "autopilot", "bounces", "left", "held_since", "offered_at"),
    ],
    "order": ["text", "status", "reason", "ended_at", "ended_seq"],
}
"""The columns of existing rows that a game in hand may change."""


def _change(
    run: Connection,
    statement: Prepared,
    rows: Sequence[tuple[dict[str, Any], Any, Any]],
    names: Sequence[str],
) -> None:
    """Write the columns in which any of these rows differs from before.

    Args:
        rows: of each the values of the statement's condition, the row now, and the row before.
        names: of the columns that may differ.
    """
    changed = [
        name for name in names if any(getattr(now, name) != getattr(before, name) for _, now, before in rows)
    ]
    if changed:
        statement.run(run, [where | _values(now, changed) for where, now, _ in rows])


def _values(row: object, names: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}


def load(
    session: Session,
    game_id: str,
    now: datetime,
    *,
    link_id: int | None = None,
    seat: int | None = None,
    request_id: str | None = None,
    orders: bool = False,
) -> Table:
    """Load a game to read it; `running.in_hand` locks and changes one.

    Args:
        link_id: find out whose link this is.
        seat: find out what this seat has played with `request_id`.
        orders: with the standing and suspended orders.

    Raises:
        NoSuchGame: no game has this id.
    """
    run = connection_of(session)
    values = {"game": game_id, "link": link_id, "seat": seat, "request": request_id}
    with pipeline(run):
        found = statements.LOAD_GAME.ask(run, values)
        seats = statements.LOAD_SEATS.ask(run, {"game": game_id, "now": now})
        if orders:
            standing = statements.LOAD_ORDERS.ask(run, {"game": game_id, "seat": -1, "after": 0})
    rows = found()
    if not rows:
        raise NoSuchGame("There is no game with this ID. Check the link.")
    table = Table(session, rows[0])
    table.add_seats(seats())
    if orders:
        table.add_orders(standing())
    return table


# ---- who is told what happens ----

EXTENSION = "byzanz_events"
Consumer = Callable[[Table, Sequence[Event]], None]


def register(app: Flask, *consumers: Consumer) -> None:
    """Let an application's consumers hear of all events (`server.play.events`), each in this order."""
    app.extensions[EXTENSION] = (*app.extensions.get(EXTENSION, ()), *consumers)


def hand_over(table: Table, events: Sequence[Event]) -> None:
    """Hand what happened to a game in hand to the consumers, in the transaction in which it happened."""
    for consumer in current_app.extensions.get(EXTENSION, ()):
        consumer(table, events)


# ---- who held a seat ----
# At each moment a seat has exactly one. A person's ends when they leave or are replaced, not when they go on
# autopilot; the next one begins with the same entry. A void changes no tenure: the game goes back, but not who sits
# there.


def begin_tenures(table: Table) -> None:
    """Write the first tenures of a game that begins."""
    rows = [_row(seat, 0, seat.person_id) for seat in table.seats]
    table.session.execute(insert(Tenure), rows)


def change_tenure(table: Table, seat: SeatRow, seq: int) -> None:
    """Let the present tenure of a seat end with an entry, and that of its holder begin; nobody's if they have left.

    Args:
        seat: as it is after the entry.
        seq: of the entry.
    """
    held = (Tenure.game_id == seat.game_id, Tenure.seat == seat.seat, Tenure.to_seq.is_(None))
    table.session.execute(update(Tenure).where(*held).values(to_seq=seq))
    erased = seat.person is not None and seat.person.email is None and not table.game.trial
    person_id = None if seat.left or erased else seat.person_id
    table.session.execute(insert(Tenure), [_row(seat, seq, person_id)])


def _row(seat: SeatRow, seq: int, person_id: int | None) -> dict[str, object]:
    bot = None if seat.left else seat.bot
    place = {"game_id": seat.game_id, "seat": seat.seat, "from_seq": seq, "to_seq": None}
    return place | {"person_id": person_id, "bot": bot}


def hand_over_tenures(session: Session, game_id: str, visitor_id: int, person_id: int) -> None:
    """Give a visitor's tenures in a game to the person whose address is now known: they are the same player."""
    own = (Tenure.game_id == game_id, Tenure.person_id == visitor_id)
    session.execute(update(Tenure).where(*own).values(person_id=person_id))


def tenures_of(session: Session, game_id: str) -> Sequence[Tenure]:
    """Return the tenures of a game, by seat and in order."""
    query = select(Tenure).where(Tenure.game_id == game_id)
    return session.scalars(query.order_by(Tenure.seat, Tenure.from_seq)).all()
