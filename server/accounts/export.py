"""Everything that the server stores about one person, as a zip archive for them to keep."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from byzanz import record
from server.community import blocks
from server.play import history, positions
from server.store.engine import Base
from server.store.facts import Fact
from server.store.models import (
    Absence,
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
SECRET = {"digest", "nonce", "seed", "said", "noted", "origin", "used_by"}
"""Columns that are left out: they would open something, reveal a deal, or tell what others say and note unseen, or from
which networks they write.

So are the numbers that the database gives to rows: their gaps would tell how many orders and words others have.
"""


def archive(session: Session, person_id: int) -> bytes:
    """Return a person's data: JSON with the rows about them, and the record of each game as their seat may see it."""
    about = select(Mail).where(Mail.person_id == person_id).order_by(Mail.id)
    seats = session.scalars(select(Seat).where(Seat.person_id == person_id).order_by(Seat.game_id)).unique()
    held = [(session.get_one(Game, seat.game_id), seat) for seat in seats]
    files = {
        "account.json": _rows([session.get_one(Person, person_id)]),
        "games.json": [
            _row(seat) | {"game": _row(game), "orders": _orders(session, seat)} for game, seat in held
        ],
        "emails.json": _rows(session.scalars(about)),
    }
    for table in (Absence, BrowserSession, IncomingMail, Link, ModeratorAction, Wish):
        theirs = select(table).where(table.person_id == person_id).order_by(table.id)
        files[f"{table.__tablename__}.json"] = _rows(session.scalars(theirs))
    for beside in (Tenure, Standing, Conduct, Presence):
        kept = select(beside).where(beside.person_id == person_id).order_by(beside.game_id)
        files[f"{beside.__tablename__}.json"] = _rows(session.scalars(kept))
    shown = select(Reliability).where(Reliability.person_id == person_id)
    files["reliability.json"] = _rows(session.scalars(shown))
    blocked = [{"name": row.name, "at": _value(row.at)} for row in blocks.listed(session, person_id)]
    former = select(FormerHandle).where(FormerHandle.person_id == person_id).order_by(FormerHandle.until)
    files |= {"blocked.json": blocked, "former_handles.json": _rows(session.scalars(former))}
    for spoken in (Word, Notes, Mute):
        written = select(spoken).where(spoken.person_id == person_id).order_by(*spoken.__table__.primary_key)
        files[f"{spoken.__tablename__}.json"] = _rows(session.scalars(written))
    for word in files["word.json"]:
        del word["number"]
    organised = select(Game).where(Game.organiser_id == person_id).order_by(Game.created_at)
    files["organised.json"] = _rows(session.scalars(organised).unique())
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, content in files.items():
            zipped.writestr(name, json.dumps(content, ensure_ascii=False, indent=2))
        for game, seat in held:
            if game.started_at is not None and seat.status == "seated":
                zipped.writestr(f"records/{game.id}.jsonl", _record(session, game, seat))
    return out.getvalue()


def _record(session: Session, game: Game, seat: Seat) -> str:
    try:
        return record.write(history.record_for(session, game, seat.seat))
    except positions.Broken:  # the game is on hold
        return ""


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
        if name not in SECRET and not (name == "id" and isinstance(value, int))
    }


def _value(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, Fact) else value
