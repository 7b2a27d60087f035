"""The one statement that reads what was said at a table, for a reader and nobody else.

A block or a mute hides words from the person who made it and from nobody else: words that vanished from another page
would tell of it. A page of a seat and an email run it, so it is compiled once, and brings the reader's notes along.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import and_, bindparam, exists, literal_column, null, select, union_all
from sqlalchemy.orm import Session

from server.config import settings
from server.store.engine import connection_of
from server.store.models import Block, Mute, Notes, Seat, Word
from server.store.prepared import Prepared

ALL_OF_THEM = 1_000_000
_word, _mute, _block, _notes = Word.__mapper__.c, Mute.__mapper__.c, Block.__mapper__.c, Notes.__mapper__.c
_held, _own = Seat.__table__.alias("held").c, Seat.__table__.alias("own").c
_reader: Any = bindparam("reader")
_game: Any = bindparam("game")
_SEATED = exists().where(
    _own.game_id == _game, _own.person_id == _reader, _own.status == literal_column("'seated'")
)
_MUTED = exists().where(_mute.person_id == _reader, _mute.other_id == _word.person_id)
_BLOCKED = exists().where(_block.person_id == _reader, _block.other_id == _word.person_id)
_said = (
    select(
        _word.number,
        _word.request_id,
        _word.seat,
        _word.person_id,
        _word.text,
        _word.at,
        _word.seq,
        _word.hidden_at,
        _word.hidden_why,
        _held.name,
        _held.person_id.label("holder_id"),
    )
    .join(_held.seat.table, and_(_held.game_id == _word.game_id, _held.seat == _word.seat))
    .where(_word.game_id == _game, _word.seq >= bindparam("seq"))
    .where(_SEATED, ~_MUTED, ~_BLOCKED)
    .order_by(_word.number.desc())
    .limit(bindparam("most"))
    .subquery()
)
_zero: Any = literal_column("0")
_noted = select(
    _zero, null(), _zero, _notes.person_id, _notes.text, _notes.changed_at, _zero, *[null()] * 4
).where(_notes.game_id == _game, _notes.person_id == _reader)
WORDS = Prepared(union_all(select(_said), _noted))
"""The newest words that a person seated may read, the newest first, and as number 0 what they noted for themselves."""


@dataclass(slots=True)
class WordRow:
    """A word with the seat at which it was said; the first columns are explained in `models.Word`.

    Args:
        name: of the seat now.
        holder_id: who holds it now.
    """

    game_id: str
    number: int
    request_id: str
    seat: int
    person_id: int
    text: str
    at: datetime
    seq: int
    hidden_at: datetime | None
    hidden_why: str | None
    name: str
    holder_id: int | None

    @property
    def id(self) -> str:
        """The id that its readers know, as of `public_id`."""
        return public_id(self.game_id, self.person_id, self.request_id)


def public_id(game_id: str, person_id: int, request_id: str) -> str:
    """Return the id of a word for those who read it: the same for all of them, and without meaning at another table.

    It is made from who said it with which request, for the number of a word would tell how many are hidden. Without the
    server's key nobody can guess one, read a person's number out of it, or recognise them elsewhere.
    """
    return hmac.digest(
        settings().key("words"), f"{game_id}\n{person_id}\n{request_id}".encode(), "sha256"
    ).hex()[:16]


def read(
    session: Session, game_id: str, reader_id: int, *, seq: int = 0, most: int = ALL_OF_THEM
) -> tuple[list[WordRow], str]:
    """Return the newest words that a person may read, oldest first, and their own notes at this game.

    Args:
        seq: only words said after this entry.
    """
    values = {"game": game_id, "reader": reader_id, "seq": seq, "most": most}
    rows = [WordRow(game_id, *found) for found in WORDS.all(connection_of(session), values)]
    said = sorted((row for row in rows if row.number), key=lambda row: row.number)
    return said, next((row.text for row in rows if not row.number), "")
