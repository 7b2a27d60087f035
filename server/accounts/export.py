"""Everything that the server stores about one person, as a zip archive for them to keep."""

from __future__ import annotations

import io
import json
import textwrap
import zipfile
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import count
from typing import IO, Any, cast

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from byzanz import record
from server.community import blocks
from server.play import history, positions
from server.store import people
from server.store.engine import Base, reading
from server.store.facts import Fact
from server.store.models import (
    Absence,
    AddressChange,
    BrowserSession,
    Conduct,
    FormerHandle,
    Game,
    IncomingMail,
    Link,
    Mail,
    ModeratorAction,
    Mute,
    Notes,
    Person,
    Presence,
    Reliability,
    Seat,
    Standing,
    StandingOrder,
    Tenure,
    Wish,
    Word,
)

FILE_NAME = "byzanz.zip"
PAGE = 500
"""Rows that are read at once."""
SECRET = {"digest", "nonce", "seed", "said", "noted", "about_id", "origin", "used_by"}
"""Columns that are left out: they would open something, reveal a deal, or tell what others say and note unseen, or from
which networks they write.

So are the numbers that the database gives to rows: their gaps would tell how many orders and words others have.
"""


class _Chunks(io.RawIOBase):
    """What a zip file writes, to be taken away piece by piece."""

    def __init__(self) -> None:
        self._written: list[bytes] = []

    def writable(self) -> bool:
        """It can be written; it cannot be read or searched, so that nothing has to be kept."""
        return True

    def write(self, data: Any) -> int:
        """Keep some bytes until they are taken."""
        self._written.append(bytes(data))
        return len(self._written[-1])

    def take(self) -> list[bytes]:
        """Return what was written since the last time."""
        taken, self._written = self._written, []
        return taken


def archive(person_id: int) -> Iterator[bytes]:
    """Yield a person's data as a zip file: JSON with the rows about them, and the record of each game as they see it.

    Each piece is read in a transaction of its own, so that a slow reader holds neither a transaction nor a connection.
    """
    out = _Chunks()
    with zipfile.ZipFile(cast(IO[bytes], out), "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, rows in _files(person_id):
            with zipped.open(name, "w") as file:
                for piece in _as_json(rows):
                    file.write(piece.encode())
                    yield from out.take()
        for game_id, seat in _started(person_id):
            zipped.writestr(f"records/{game_id}.jsonl", _record(game_id, seat))
            yield from out.take()
    yield from out.take()


def _as_json(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield a JSON array, row by row."""
    between = "[\n"
    for row in rows:
        yield between + textwrap.indent(json.dumps(row, ensure_ascii=False, indent=2), "  ")
        between = ",\n"
    yield "[]" if between == "[\n" else "\n]"


def _files(person_id: int) -> Iterator[tuple[str, Iterable[dict[str, Any]]]]:
    """Yield the name and the rows of each JSON file."""
    yield "account.json", _account(person_id)
    yield "games.json", _games(person_id)
    yield "emails.json", _paged(select(Mail).where(Mail.person_id == person_id).order_by(Mail.id))
    for table in (Absence, BrowserSession, IncomingMail, Link, ModeratorAction, Wish):
        theirs = select(table).where(table.person_id == person_id).order_by(table.id)
        yield f"{table.__tablename__}.json", _paged(theirs)
    for beside in (Tenure, Standing, Conduct, Presence):
        theirs = select(beside).where(beside.person_id == person_id)
        yield f"{beside.__tablename__}.json", _paged(theirs.order_by(*beside.__table__.primary_key))
    shown = select(Reliability).where(Reliability.person_id == person_id)
    yield "reliability.json", _paged(shown.order_by(*Reliability.__table__.primary_key))
    changing = select(AddressChange).where(AddressChange.person_id == person_id)
    yield "address_change.json", _paged(changing.order_by(*AddressChange.__table__.primary_key))
    yield "blocked.json", _blocked(person_id)
    former = select(FormerHandle).where(FormerHandle.person_id == person_id)
    yield "former_handles.json", _paged(former.order_by(*FormerHandle.__table__.primary_key))
    for spoken in (Word, Notes, Mute):
        written = select(spoken).where(spoken.person_id == person_id).order_by(*spoken.__table__.primary_key)
        yield f"{spoken.__tablename__}.json", _paged(written)
    organised = select(Game).where(Game.organiser_id == person_id).order_by(Game.created_at, Game.id)
    yield "organised.json", _paged(organised)


def _paged(query: Select[Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows of an ordered query, some in each transaction."""
    for start in count(step=PAGE):
        with reading() as session:
            rows = _rows(session.scalars(query.limit(PAGE).offset(start)).unique())
        yield from rows
        if len(rows) < PAGE:
            return


def _seats(person_id: int) -> list[tuple[str, int]]:
    with reading() as session:
        held = select(Seat.game_id, Seat.seat).where(Seat.person_id == person_id)
        return [(game_id, seat) for game_id, seat in session.execute(held.order_by(Seat.game_id))]


def _games(person_id: int) -> Iterator[dict[str, Any]]:
    for place in _seats(person_id):
        with reading() as session:
            seat, game = session.get(Seat, place), session.get(Game, place[0])
            if seat is None or game is None:
                continue
            row = _row(seat) | {"game": _row(game), "orders": _orders(session, seat)}
        yield row


def _blocked(person_id: int) -> Iterator[dict[str, Any]]:
    with reading() as session:
        rows = [{"name": row.name, "at": _value(row.at)} for row in blocks.listed(session, person_id)]
    yield from rows


def _started(person_id: int) -> Iterator[tuple[str, int]]:
    """Yield the seats of a person in games that have begun."""
    with reading() as session:
        theirs = (Seat.person_id == person_id, Seat.status == "seated", Game.started_at.is_not(None))
        query = select(Seat.game_id, Seat.seat).join(Game, Game.id == Seat.game_id).where(*theirs)
        found = [(game_id, seat) for game_id, seat in session.execute(query.order_by(Seat.game_id))]
    yield from found


def _record(game_id: str, seat: int) -> str:
    with reading() as session:
        game = session.get(Game, game_id)
        try:
            return record.write(history.record_for(session, game, seat)) if game is not None else ""
        except positions.Broken:  # the game is on hold
            return ""


def _account(person_id: int) -> Iterator[dict[str, Any]]:
    with reading() as session:
        stored = people.unknown_zone(session, person_id)
        row = _row(session.get_one(Person, person_id)) | ({"time_zone": stored} if stored else {})
    yield row


def _orders(session: Session, seat: Seat) -> list[dict[str, Any]]:
    placed = (StandingOrder.game_id == seat.game_id, StandingOrder.seat == seat.seat)
    since = StandingOrder.left_seq >= seat.held_since
    return _rows(session.scalars(select(StandingOrder).where(*placed, since).order_by(StandingOrder.id)))


def _rows(rows: Iterable[Base]) -> list[dict[str, Any]]:
    return [_row(row) for row in rows]


def _row(row: Base) -> dict[str, Any]:
    """Return the columns of a row as JSON can hold them."""
    values = {column.key: getattr(row, column.key) for column in row.__mapper__.column_attrs}
    return {
        name: _value(value)
        for name, value in values.items()
        if name not in SECRET
        and not (name == "id" and isinstance(value, int))
        and not (name == "number" and isinstance(row, Word))
    }


def _value(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, Fact) else value
