"""The facts to be judged: what a database holds, read by plain SQL, and what the journal says."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg

from byzanz import chance
from byzanz.games import rules_of
from byzanz.record import Entry
from tests.torture import book

Row = dict[str, Any]
TABLES = ("seat", "entry", "snapshot", "turn", "outbox", "standing_order", "received")
"""The tables in which each row belongs to a game."""


@dataclass(frozen=True)
class Game:
    """The rows of one game.

    Args:
        entries: as the record writes them; requests: the request id of each, by seq.
        people: the person in each seat, None for a bot.
        orders: every standing order ever submitted, in that order.
        letters: the incoming emails about the game.
        known: what the log implies, None if it is wrong; wrong: why it is.
    """

    row: Row
    seats: list[Row]
    people: list[Row | None]
    entries: list[Entry]
    requests: dict[int, str | None]
    snapshots: list[Row]
    turns: list[Row]
    mails: list[Row]
    orders: list[Row]
    letters: list[Row]
    known: book.Book | None
    wrong: book.Wrong | None

    @property
    def id(self) -> str:
        """The game's id."""
        return str(self.row["id"])


@dataclass(frozen=True)
class Evidence:
    """All the facts that are judged."""

    games: dict[str, Game]
    mails: list[Row]
    letters: list[Row]
    """Return the incoming emails."""
    people: dict[int, Row]
    outages: list[tuple[datetime, datetime]]
    journal: list[Row]
    unsound: list[str]
    """Return the errors that the database reports about itself."""

    def lines(self, *whats: str) -> list[Row]:
        """Return the journal lines of these kinds."""
        return [line for line in self.journal if line["what"] in whats]


Found = Iterator[tuple[str | None, str]]
"""What a rule yields: the game and the text of each violation."""


def connect(url: str) -> Any:
    """Connect to the database at a URL as in BYZANZ_DATABASE_URL."""
    if url.startswith("sqlite:///"):
        return sqlite3.connect(url.removeprefix("sqlite:///"), timeout=30)
    return psycopg.connect(url.replace("postgresql+psycopg://", "postgresql://"))


def rows(connection: Any, table: str) -> list[Row]:
    """Return all rows of a table."""
    cursor = connection.cursor()
    cursor.execute(f"SELECT * FROM {table}")
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def moment(value: datetime | int | str) -> datetime:
    """Convert a time of a database or of the journal; SQLite has microseconds since 1970."""
    if isinstance(value, int):
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=value)
    return datetime.fromisoformat(value) if isinstance(value, str) else value


def entry(row: Row) -> Entry:
    """Return an entry as the record writes it (docs/formats.md §2)."""
    at = moment(row["at"]).astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    told = row | {"at": at, "salt": row["salt"].hex(), "hash": row["hash"].hex()}
    return Entry(**{name: told[name] for name in Entry.__slots__})


def overlap(spans: Sequence[tuple[datetime, datetime]], start: datetime, end: datetime) -> timedelta:
    """Return how much of a period lies in any of these spans, which may overlap."""
    lost, upto = timedelta(0), start
    for since, to in sorted(spans):
        more = min(to, end) - max(since, upto)
        if more > timedelta(0):
            lost, upto = lost + more, min(to, end)
    return lost


def gather(connection: Any, journal: Sequence[Row]) -> Evidence:
    """Read everything."""
    tables = {name: rows(connection, name) for name in TABLES}
    people = {row["id"]: row for row in rows(connection, "person")}
    games = [_game(row, tables, people) for row in rows(connection, "game")]
    outages = [(moment(row["from_at"]), moment(row["to_at"])) for row in rows(connection, "outage")]
    found = {game.id: game for game in games}
    return Evidence(
        games=found,
        mails=tables["outbox"],
        letters=tables["received"],
        people=people,
        outages=outages,
        journal=list(journal),
        unsound=_unsound(connection),
    )


def _game(row: Row, tables: dict[str, list[Row]], people: dict[int, Row]) -> Game:
    mine = {name: [each for each in found if each["game_id"] == row["id"]] for name, found in tables.items()}
    seats = sorted(mine["seat"], key=lambda seat: seat["seat"])
    logged = sorted(mine["entry"], key=lambda each: each["seq"])
    entries = [entry(each) for each in logged]
    orders = sorted(mine["standing_order"], key=lambda order: order["id"])
    known, wrong = _read(row, seats, entries, orders)
    return Game(
        row=row,
        seats=seats,
        people=[people.get(seat["person_id"]) for seat in seats],
        entries=entries,
        requests={each["seq"]: each["request_id"] for each in logged},
        snapshots=mine["snapshot"],
        turns=mine["turn"],
        mails=mine["outbox"],
        orders=orders,
        letters=mine["received"],
        known=known,
        wrong=wrong,
    )


def _read(
    row: Row, seats: list[Row], entries: list[Entry], orders: list[Row]
) -> tuple[book.Book | None, book.Wrong | None]:
    rules = rules_of(row["slug"], row["rules"])
    if json.loads(row["options"]):
        return None, book.Wrong(0, "options were never asked for")
    key = chance.key(row["id"], bytes.fromhex(row["seed"]), [seat["cut"] for seat in seats])
    try:
        people = frozenset(seat["seat"] for seat in seats if seat["person_id"] is not None)
        left = {(order["seat"], order["left_seq"]) for order in orders}
        own = {
            (order["seat"], order["ended_seq"])
            for order in orders
            if order["status"] == "withdrawn" and order["reason"] is None
        }
        return book.read(rules, key, len(seats), people, entries, left, left | own), None
    except book.Wrong as wrong:
        return None, wrong


def _unsound(connection: Any) -> list[str]:
    if not isinstance(connection, sqlite3.Connection):
        return []
    said = [row[0] for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
    return said + [
        f"a row of {row[0]} points nowhere" for row in connection.execute("PRAGMA foreign_key_check")
    ]
