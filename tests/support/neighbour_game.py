"""A busy game in the database of every server test, with the same people in other seats than those of `begun`.

It makes a missing filter visible: whatever a test asks about a game, a seat, a person or a lease, this game has an
answer of its own. It is made once, in the database that each test gets a copy of.
"""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta

from flask import Flask
from sqlalchemy import ColumnElement, update

from byzanz import chance
from server import play
from server.mail.outgoing.deliver import deliver
from server.mail.outgoing.smtp import Message
from server.play import positions
from server.play.game import load
from server.store import engine, outbox, people
from server.store.models import Game, Mail, Seat, StandingOrder, Turn

NEIGHBOUR = "busy"
"""The id of the game."""
PLAYERS = ("Eirene", "Felix", "Alice", "Bob", "Charlie", "Daphne")
"""By seat: nobody sits where `begun` seats them, and Felix, whom few tests seat, is to move."""
FELIX, ALICE, BOB = 1, 2, 3
BEGAN = datetime(2026, 2, 27, 9, 0, tzinfo=UTC)
"""Some days before the time at which most tests begin."""
LONG = timedelta(days=3650)
"""The allowance for a decision and the length of the lease, so that neither ends while a test runs."""
ORDERS = ((0, "tax best always"), (0, "limit grain lowest always"), (2, "take most always"), (3, "tax best"))
"""Standing orders by seat; the first two are carried out once."""
QUERIES = [f"SELECT * FROM game WHERE id = '{NEIGHBOUR}'"] + [
    f"SELECT * FROM {table.name} WHERE game_id = '{NEIGHBOUR}'"
    for table in engine.Base.metadata.sorted_tables
    if "game_id" in table.c
]
"""What is read of the tables that hold rows about a game."""


def elsewhere(table: type[Mail | Seat | StandingOrder | Turn]) -> ColumnElement[bool]:
    """Return the condition for rows that are not about this game."""
    return table.game_id.is_distinct_from(NEIGHBOUR)


def changes() -> list[str]:
    """Return the rows about this game that differ from those that `fill` left, as texts; none if it is not there."""
    now = _rows()
    return sorted(now ^ _first[engine.db.engine.dialect.name]) if now else []


def _rows() -> set[str]:
    with engine.reading() as session, closing(session.connection().connection.cursor()) as cursor:
        found: set[str] = set()
        for query in QUERIES:  # through the driver: every server test asks all of them
            cursor.execute(query)
            found.update(f"{query}: {row}" for row in cursor.fetchall())
        return found


_first: dict[str, set[str]] = {}
"""The rows at the beginning, by the kind of database: salts and tokens are random."""


class Accepting:
    """A mail server that accepts every email."""

    def send(self, message: Message) -> None:
        """Accept it."""


def fill(app: Flask) -> None:
    """Play the first lot of the game; then a clock runs, orders stand, and one email is leased by another mailer.

    Args:
        app: the application on a migrated database.
    """
    with app.app_context():
        _begin()
        for seat, order in ORDERS:
            play.place_order(NEIGHBOUR, seat, order, now=BEGAN)
        _play_until_felix_opens_the_second_lot()
        _lease_news_for_alice()
        _first[engine.db.engine.dialect.name] = _rows()
        engine.db.engine.dispose()


def _begin() -> None:
    seed = bytes(32)
    with engine.transaction() as session:
        persons = [
            people.get_or_create(session, f"{name.lower()}@example.org", name, BEGAN) for name in PLAYERS
        ]
        game = Game(
            id=NEIGHBOUR,
            slug="byzanz",
            rules=1,
            name="The Busy Bazaar",
            organiser_id=persons[BOB].id,
            status="inviting",
            allowance=int(LONG.total_seconds()),
            seed=seed.hex(),
            commitment=chance.commitment(NEIGHBOUR, seed),
            created_at=BEGAN,
        )
        session.add(game)
        session.flush()
        for number, person in enumerate(persons):
            seat = Seat(
                game_id=NEIGHBOUR, seat=number, stored_name=person.name, status="seated", person_id=person.id
            )
            seat.cut = person.name
            session.add(seat)
        session.flush()
        play.begin(session, NEIGHBOUR, BEGAN)


def _play_until_felix_opens_the_second_lot() -> None:
    move = "bid wood3"
    while deliver(BEGAN, Accepting()):
        with engine.reading() as session:
            at = positions.current(load(session, NEIGHBOUR, BEGAN))
        seat = min(at.awaited)
        if seat == FELIX and at.head > len(PLAYERS):
            return
        play.submit(NEIGHBOUR, seat, move, seen=at.head, request_id=f"{NEIGHBOUR}-{at.head}", now=BEGAN)
        move = "pass"


def _lease_news_for_alice() -> None:
    """Write a note to the table; all hear of it but Alice, whose email another mailer has been working on since."""
    with engine.reading() as session:
        bob, alice = (session.get_one(Seat, (NEIGHBOUR, seat)).person_id for seat in (BOB, ALICE))
    assert bob is not None
    play.moderate(NEIGHBOUR, "!note", reason="Welcome to the bazaar.", person_id=bob, now=BEGAN, warned=True)
    leased = outbox.lease(BEGAN + LONG, len(PLAYERS))
    with engine.transaction() as session:
        for mail in leased:
            assert mail.person_id == alice or outbox.mark_sent(session, mail, BEGAN)
        session.execute(update(Mail).where(Mail.leased_until.is_not(None)).values(leased_by="another"))
