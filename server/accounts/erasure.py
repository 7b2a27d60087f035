"""Erasure: a person leaves for good. Name, address and settings go; what others need to check their games stays.

The log, the number of the seat, the moves and the cut stay, under another name. Running games go on without the
person, as if they had left. Backups keep erased data until they expire (docs/deploy.md).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Mapping
from datetime import datetime
from functools import cache

from sqlalchemy import Column, delete, or_, select, update
from sqlalchemy.orm import Session

from server import play, validation
from server.community import blocks, profiles, reports
from server.errors import Refused
from server.lobby import invitations, organiser
from server.mail import deliverability
from server.play import positions, powers
from server.play.notes import kept
from server.play.powers import Asker
from server.store import facts, outbox
from server.store.engine import Base, reading, transaction, truncate_log
from server.store.facts import Fact
from server.store.models import (
    WAITING,
    Absence,
    AddressChange,
    Alert,
    BrowserSession,
    Conduct,
    Game,
    IncomingMail,
    Link,
    Mail,
    Mute,
    Notes,
    Person,
    Presence,
    Reliability,
    Seat,
    Standing,
    Tenure,
    Wish,
    Word,
)

LOGGER = logging.getLogger(__name__)
BY_MODERATOR = kept("A moderator has erased the data of this player.")
BY_ADMINISTRATOR = kept("The administrator has erased the data of this player.")
NAME = "Former player"
"""The name of an erased person, with a number where a table has several."""
EMAILED = {"outbox", "received", "link"}
"""Tables in which an address leaves rows to which something was only emailed."""
ABOUT_OTHERS = ("answered", "refused", "vacant")
"""Kinds of mail whose details name a person who is not the reader."""


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
        held = theirs.where(Seat.person_id == person_id, Seat.status == "seated", Game.status == "running")
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
    before = own.name
    own.name = validation.unique_name(NAME, [seat.name for seat in seats if seat is not own])
    return before


def _leave_game(session: Session, game: Game, person_id: int, now: datetime) -> None:
    """Give up a person's seat in a game that has not begun, and cancel it if they organise it."""
    seat = invitations.seat_for(session, game, person_id)
    if game.status in ("asked", "inviting"):
        if game.organiser_id == person_id:
            organiser.cancel_locked(session, game, now)
        elif seat is not None:
            invitations.withdraw(session, game, seat, now)
    if game.organiser_id == person_id:
        game.organiser_id, game.message = None, ""
    if seat is not None and game.status == "running":
        session.flush()
        # If they could not leave, a turn is open, and no email will ever start its clock.
        play.mail_switched_off(session, game.id, seat.seat, now)
        play.forget_reason(session, game.id, seat.seat)


def _forget_words(
    session: Session, game_ids: Collection[str], person_id: int, names: Collection[str], now: datetime
) -> None:
    """Delete what waiting mails, alerts and the outbox say about a person."""
    outbox.forget_reader(session, person_id, now)
    waiting = select(Mail).where(WAITING, Mail.game_id.in_(game_ids), Mail.kind.in_(ABOUT_OTHERS))
    for mail in session.scalars(waiting):
        details = outbox.details(mail)
        if details.get("name") in names:
            hidden = {"name": NAME} | (
                {"error": facts.stored(Fact("no_address"))} if "error" in details else {}
            )
            mail.details = json.dumps(details | hidden)
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
