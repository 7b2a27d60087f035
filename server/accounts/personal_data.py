"""A person's data: erasing them, and a copy of all that is stored about them.

The log, the number of the seat, the moves and the cut stay, under another name. Running games go on without the
person, as if they had left. Backups keep erased data until they expire (docs/deploy.md).
"""

from __future__ import annotations

import io
import json
import logging
import textwrap
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from functools import cache
from itertools import count
from typing import IO, Any, cast

from sqlalchemy import Column, Select, delete, or_, select, update
from sqlalchemy.orm import Session

from byzanz import record
from server import play, validation
from server.community import blocks, profiles, reports
from server.errors import Refused
from server.lobby import invitations
from server.mail import deliverability
from server.play import history, names, positions, powers
from server.play.game import load
from server.play.powers import Asker
from server.store import facts, mail_kinds, outbox, people
from server.store.engine import Base, reading, transaction, truncate_log, utc_now
from server.store.facts import Fact, kept
from server.store.models import (
    WAITING,
    Absence,
    AddressChange,
    Alert,
    BrowserSession,
    Conduct,
    FormerHandle,
    Game,
    GameStatus,
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
    SeatStatus,
    Standing,
    StandingOrder,
    Tenure,
    Wish,
    Word,
)
from server.store.statements import GameRow

LOGGER = logging.getLogger(__name__)
BY_MODERATOR = kept("A moderator has erased the data of this player.")
BY_ADMINISTRATOR = kept("The administrator has erased the data of this player.")
NAME = names.FORMER
"""The name of an erased person, with a number where a table has several."""
EMAILED = {"outbox", "received", "link"}
"""Tables in which an address leaves rows to which something was only emailed."""


def erase_as_moderator(person_id: int, by: Asker, now: datetime) -> bool:
    """Erase a person who asked a moderator for it; the deed keeps the reason, and the logs say who did it.

    Returns:
        As for `erase`.

    Raises:
        Conflict: the moderator and the person have to do with the same unfinished game.
        InvalidInput: there is no reason, or it tells who they were.
    """
    with transaction() as session:
        person = session.get_one(Person, person_id)
        power = powers.ERASE_MODERATOR if person.moderator else "erase"
        powers.use(session, power, by, now, about_id=person_id)
    return erase(person_id, now, why=BY_MODERATOR)


def erase_as_operator(person_id: int, reason: str, now: datetime) -> bool:
    """Erase a person at the shell; the deed keeps the reason, and the logs say that the administrator did it.

    Returns:
        As for `erase`.

    Raises:
        InvalidInput: there is no reason, or it tells who they were.
    """
    with transaction() as session:
        powers.note_operator(session, "erase", reason, now, about_id=person_id)
    return erase(person_id, now, why=BY_ADMINISTRATOR)


def erase(person_id: int, now: datetime, why: str | None = None) -> bool:
    """Erase a person; if it is interrupted, erasing them again completes it.

    Args:
        why: the note that the logs of their running games get, if it was not their own doing.

    Returns:
        False if SQLite's write-ahead log could not be emptied yet; the scheduler will do that.
    """
    _stay(person_id, now)
    _leave_running_games(person_id, now, why)
    with transaction() as session:
        games = _lock_games(session, person_id)
        person = session.get_one(Person, person_id)
        names = {person.name, *(_rename(session, game, person_id) for game in games.values())}
        for game in games.values():
            _leave_game(session, game, person_id, now)
        session.flush()
        _forget_words(session, games, person_id, names, now)
        session.execute(delete(Mute).where(Mute.other_id == person_id))
        for table in (
            BrowserSession,
            Absence,
            Link,
            Presence,
            IncomingMail,
            Conduct,
            Reliability,
            Wish,
            Word,
            Mute,
            Notes,
        ):
            session.execute(delete(table).where(table.person_id == person_id))
        powers.forget(session, person_id)
        for held in (Tenure, Standing):
            session.execute(update(held).where(held.person_id == person_id).values(person_id=None))
        blocks.forget(session, person_id)
        profiles.forget(session, person, now)
        clear(person)
    return truncate_log()


@cache
def references() -> list[Column[int]]:
    """Return every column of every table that refers to a person, as the tables themselves say."""
    return [
        column
        for table in Base.metadata.sorted_tables
        for column in table.columns
        if any(key.column.table.name == Person.__tablename__ for key in column.foreign_keys)
    ]


def is_in_use(session: Session, person: Person) -> bool:
    """Whether a person has anything of their own here: more than an address to which emails went."""
    if person.accepted or person.moderator or person.handle:
        return True
    own = (column for column in references() if column.table.name not in EMAILED)
    return any(session.scalar(select(column).where(column == person.id).limit(1)) for column in own)


def forget_unused(session: Session, address: str, now: datetime) -> None:
    """Forget an address that was only typed into a form, and what was emailed to it.

    If its reader wants no email, or a mail server rejects it, that stays known.
    """
    person = session.scalar(select(Person).where(Person.email == address))
    if person is None or is_in_use(session, person):
        return
    linked = session.scalar(select(Link.id).where(Link.person_id == person.id).limit(1))
    wanted = session.scalar(select(AddressChange.person_id).where(AddressChange.email == address).limit(1))
    if linked or wanted or person.silent or person.no_invitations or person.suppressed or person.unreachable:
        return
    outbox.forget_reader(session, person.id, now)
    clear(person)


def _stay(person_id: int, now: datetime) -> None:
    """Stop the change of their address first: an erasure that is interrupted must find them where they were."""
    with transaction() as session:
        session.get_one(Person, person_id, with_for_update=True)
        change = session.get(AddressChange, person_id)
        if change is not None:
            session.delete(change)
            session.flush()
            forget_unused(session, change.email, now)


def _leave_running_games(person_id: int, now: datetime, why: str | None) -> None:
    theirs = select(Seat.game_id, Seat.seat).join(Game, Game.id == Seat.game_id)
    with reading() as session:
        held = theirs.where(
            Seat.person_id == person_id, Seat.status == SeatStatus.SEATED, Game.status == GameStatus.RUNNING
        )
        seats = session.execute(held.order_by(Seat.game_id)).all()
    for game_id, seat in seats:
        try:
            play.leave(game_id, seat, now=now, erased=why)
        except Refused as refused:  # it is on hold, or they have left too often: their deadlines decide
            LOGGER.info("game %s: the erased player of seat %s has not left: %s", game_id, seat, refused)


def _lock_games(session: Session, person_id: int) -> Mapping[str, Game]:
    """Return the games in which a person has or had a seat or which they organise, locked in the order of their ids."""
    seated = select(Seat.game_id).where(Seat.person_id == person_id)
    held = select(Tenure.game_id).where(Tenure.person_id == person_id)
    theirs = or_(Game.organiser_id == person_id, Game.id.in_(seated), Game.id.in_(held))
    ids = session.scalars(select(Game.id).where(theirs).order_by(Game.id)).all()
    return {game_id: play.lock_game(session, game_id) for game_id in ids}


def _rename(session: Session, game: Game, person_id: int) -> str:
    """Give a person's seat another name; return the name that they had at this table, empty without a seat."""
    seats = positions.seats_of(session, game.id)
    own = next((seat for seat in seats if seat.person_id == person_id), None)
    if own is None:
        return ""
    before = names.of(GameRow.of(game), own, own.seat)
    own.stored_name = validation.unique_name(NAME, names.taken(seats, but=own))
    return before


def _leave_game(session: Session, game: Game, person_id: int, now: datetime) -> None:
    """Give up a person's seat in a game that has not begun, and cancel it if they organise it."""
    seat = invitations.seat_for(session, game, person_id)
    if game.status in (GameStatus.ASKED, GameStatus.INVITING):
        if game.organiser_id == person_id:
            invitations.cancel_locked(session, game, now)
        elif seat is not None:
            invitations.withdraw(session, game, seat, now)
    if game.organiser_id == person_id:
        game.organiser_id, game.message = None, ""
    if seat is not None and game.status == GameStatus.RUNNING:
        session.flush()
        # If they could not leave, a turn is open, and no email will ever start its clock.
        play.mail_switched_off(session, game.id, seat.seat, now)
        play.forget_reason(session, game.id, seat.seat)


def _forget_words(
    session: Session, game_ids: Collection[str], person_id: int, names: Collection[str], now: datetime
) -> None:
    """Delete what waiting mails, alerts and the outbox say about a person."""
    outbox.forget_reader(session, person_id, now)
    waiting = (WAITING, Mail.game_id.in_(game_ids), Mail.kind.in_(mail_kinds.NAMING_ANOTHER))
    for mail in outbox.find(session, *waiting):
        details = outbox.details(mail)
        if details.get("name") in names:
            hidden = {"name": NAME} | (
                {"error": facts.stored(Fact("no_address"))} if "error" in details else {}
            )
            told = json.dumps(details | hidden)
            session.execute(update(Mail).where(Mail.id == mail.id).values(details=told))
    quoting = deliverability.alert_keys(person_id, game_ids)
    reported = Alert.key.startswith(reports.alert_prefix(person_id))
    session.execute(delete(Alert).where(or_(Alert.key.in_(quoting), reported)))


def clear(person: Person) -> None:
    """Leave nothing in the row of a person whose account has ended."""
    person.email, person.name = None, NAME
    person.time_zone = person.language = person.quiet_from = person.quiet_to = None
    person.unreachable = person.suppressed = person.lost_at = person.retry_at = None
    person.moderator, person.silent, person.cadence = False, True, "each"
    person.accepted = person.no_invitations = person.no_player_news = False
    person.silenced_until = person.silenced_why = None
    person.talk = "turns"


# ---- a copy of the data ----

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
        theirs = (Seat.person_id == person_id, Seat.status == SeatStatus.SEATED, Game.started_at.is_not(None))
        query = select(Seat.game_id, Seat.seat).join(Game, Game.id == Seat.game_id).where(*theirs)
        found = [(game_id, seat) for game_id, seat in session.execute(query.order_by(Seat.game_id))]
    yield from found


def _record(game_id: str, seat: int) -> str:
    with reading() as session:
        try:
            return record.write(history.record_for(load(session, game_id, utc_now()), seat))
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
