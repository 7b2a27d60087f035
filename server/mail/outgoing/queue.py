"""The emails about running games: a consumer of the events of `play`, which queues them in the same transaction."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from sqlalchemy import Select, exists, func, or_, select
from sqlalchemy.orm import Session

from byzanz.rules import PUBLIC
from server.config import settings
from server.play import events, names
from server.play.events import Event
from server.play.game import Table
from server.store import links, outbox, people
from server.store.mail_kinds import MailKind
from server.store.models import WAITING, Block, LinkPurpose, Mail, MailStatus, Mute, Person, Seat, SeatStatus
from server.store.statements import LinkRow

OWN_TURN_DELAY = 120
"""Seconds before a turn is emailed that its player's own move has just opened: most players go on at once."""

Row = dict[str, Any]
"""The columns of a new mail."""


def queue(table: Table, told: Sequence[Event]) -> None:
    """Queue the emails about what happened, with the reply addresses that they give."""
    mails: list[Row] = []
    addresses: list[LinkRow] = []
    for event in told:
        if isinstance(event, events.ClockWaits):
            mails.append(_about_turn(table, event))
            addresses.extend(_reply_address(table, event))
        elif isinstance(event, events.Acted):
            own = {each.seat for each in told if isinstance(each, OWN) and each.seq == event.seq}
            mails.extend(
                _to_table(table, MailKind.ACT, f"act:{table.game.id}:{event.seq}", event, event.seq, own)
            )
        elif type(event) in MAILS:
            mails.extend(MAILS[type(event)](table, event))
    if addresses:
        links.add_all(table.session, addresses)
    if mails:
        outbox.add_all(table.session, mails)


def _row(table: Table, kind: str, key: str, person_id: int, event: Event, **about: Any) -> Row:
    return outbox.row(kind=kind, key=key, person_id=person_id, now=event.at, game_id=table.game.id, **about)


def _holder(table: Table, seat: int) -> int:
    person_id = table.seats[seat].person_id
    assert person_id is not None
    return person_id


# ---- turns ----


def _about_turn(table: Table, event: events.ClockWaits) -> Row:
    key = f"turn:{table.game.id}:{event.seat}:{event.opened_seq}"
    if event.again:
        key += f":again{int(event.at.timestamp() * 1e6)}"
    delay = OWN_TURN_DELAY if event.at_page else 0
    about = {"seat": event.seat, "seq": event.opened_seq, "delay": delay}
    return _row(table, MailKind.TURN, key, _holder(table, event.seat), event, **about)


def _reply_address(table: Table, event: events.ClockWaits) -> Iterator[LinkRow]:
    """The address at which a turn is answered by email; every email about the turn gives the same."""
    if not event.again and settings().mail_domain:
        person_id = _holder(table, event.seat)
        yield links.new(LinkPurpose.REPLY, person_id, event.at, table.game.id, seq=event.opened_seq)


def _deadline_nears(table: Table, event: events.DeadlineNears) -> Iterator[Row]:
    key = f"remind:{table.game.id}:{event.seat}:{event.opened_seq}"
    about = {"seat": event.seat, "seq": event.opened_seq}
    yield _row(table, MailKind.REMIND_TURN, key, _holder(table, event.seat), event, **about)


def _turn_missed(table: Table, event: events.TurnMissed) -> Iterator[Row]:
    person_id = table.seats[event.seat].person_id
    if person_id is None:
        return
    kind = MailKind.AUTOPILOT if event.autopilot else MailKind.TIMEOUT  # one email, also if both happened
    key = f"{kind}:{table.game.id}:{event.seat}:{event.first}"
    about = {"seat": event.seat, "seq": event.first, "details": {"last": event.last}}
    yield _row(table, kind, key, person_id, event, **about)


# ---- seats ----


def _seat_vacant(table: Table, event: events.SeatVacant) -> Iterator[Row]:
    """Ask the organiser and moderators for another player, once a day, and tell a player who left how to return."""
    game, day = table.game.id, f"{event.at:%Y-%m-%d}"
    why = "left" if event.left else "lost"
    details = {"name": event.name, "why": "erased" if event.erased else why}
    for reader in people.organiser_and_moderators(table.session, table.game.organiser_id) - {event.person_id}:
        key = f"vacant:{game}:{event.person_id}:{why}:{day}:{reader}"
        yield _row(table, MailKind.VACANT, key, reader, event, details=details)
    if event.left and event.person_id is not None:
        key = f"left:{game}:{event.person_id}:{day}"
        yield _row(table, MailKind.LEFT, key, event.person_id, event, seat=event.seat)


def _seat_taken(table: Table, event: events.SeatTaken) -> Iterator[Row]:
    if event.former_id is not None:
        details = {"by": names.of(table.game, table.seats[event.seat], PUBLIC), "reason": event.reason}
        key = f"former:{table.game.id}:{event.seq}"
        yield _row(table, MailKind.FORMER, key, event.former_id, event, seq=event.seq, details=details)
    if table.seats[event.seat].person_id is not None:
        yield from _to_holder(MailKind.REPLACED, table, event, {"by": event.by})


def _to_holder(
    kind: str, table: Table, event: events.SeatEvent, details: dict[str, str] | None = None
) -> Iterator[Row]:
    """The email to the present player of a seat about an act on it."""
    about = {"seat": event.seat, "seq": event.seq, "details": details or {"reason": event.reason}}
    key = f"{kind}:{table.game.id}:{event.seq}"
    yield _row(table, kind, key, _holder(table, event.seat), event, **about)


# ---- the whole table ----


def _to_table(
    table: Table, kind: str, key: str, event: Event, seq: int, leave_out: Collection[int] = ()
) -> Iterator[Row]:
    """An email to each player; their ids are added to the key."""
    for seat in table.seats:
        if seat.person_id is not None and seat.seat not in leave_out:
            of_person = f"{key}:{seat.person_id}"
            yield _row(table, kind, of_person, seat.person_id, event, seat=seat.seat, seq=seq)


def _game_rests(table: Table, event: events.GameRests) -> Iterator[Row]:
    return _to_table(table, MailKind.ACT, f"rest:{table.game.id}:{event.seq}", event, event.seq)


def _game_over(table: Table, event: events.GameOver) -> Iterator[Row]:
    return _to_table(table, MailKind.OVER, f"over:{table.game.id}", event, event.seq)


# ---- table talk ----
# Nothing of a word is stored in its emails. What they tell is read when they are sent, as their reader may read it
# then.

_TALK = MailKind.TALK
PATIENCE = timedelta(minutes=2)
"""How long an email waits: people often say several things in a row, and their readers may be here."""
APART = timedelta(hours=1)
"""The least time between two of these emails about one game to one reader."""


def _word_said(table: Table, event: events.WordSaid) -> Iterator[Row]:
    """An email to each reader who wants one, unless one waits already, which will tell it."""
    for person_id, seat in table.session.execute(_readers(table.game.id, event.person_id)).all():
        at = _next_at(table.session, table.game.id, person_id, event.at)
        if at is not None:
            # A restored server gives a word's number to another one, and mail programs drop ids that they know.
            key = f"talk:{table.game.id}:{person_id}:{int(event.at.timestamp() * 1e6)}"
            delay = (at - event.at).total_seconds()
            yield _row(table, _TALK, key, person_id, event, seat=seat, delay=delay)


def _readers(game_id: str, speaker_id: int) -> Select[int, int]:
    """Return the query for those at a table who want to hear at once what a person says there."""
    deaf = or_(
        exists().where(Mute.person_id == Person.id, Mute.other_id == speaker_id),
        exists().where(Block.person_id == Person.id, Block.other_id == speaker_id),
    )
    wants = (Person.talk == "once", ~Person.silent, Person.email.is_not(None), Person.id != speaker_id, ~deaf)
    here = (Seat.game_id == game_id, Seat.status == SeatStatus.SEATED, ~Seat.silent, ~Seat.left)
    query = select(Person.id, Seat.seat).join(Seat, Seat.person_id == Person.id)
    return query.where(*here, *wants).order_by(Seat.seat)


def _next_at(session: Session, game_id: str, person_id: int, now: datetime) -> datetime | None:
    """Return when the next email to a reader may go out; None if one waits that will tell what is said now.

    One that a mailer holds may be written already.
    """
    theirs = (Mail.game_id == game_id, Mail.person_id == person_id, Mail.kind == _TALK)
    held = Mail.leased_until > now
    waiting = session.scalars(select(held).where(*theirs, WAITING)).all()
    if any(not each for each in waiting):
        return None
    sent = session.scalar(select(func.max(Mail.finished_at)).where(*theirs, Mail.status == MailStatus.SENT))
    last = now if waiting else sent
    return max(now + PATIENCE, last + APART) if last is not None else now + PATIENCE


# ---- all of them ----

OWN = (events.SeatTaken, events.AutopilotSwitchedOn)
"""Acts on a seat whose player gets an email of their own, instead of the one to the table."""
MAILS: dict[type[Event], Callable[[Table, Any], Iterator[Row]]] = {
    events.DeadlineNears: _deadline_nears,
    events.TurnMissed: _turn_missed,
    events.SeatVacant: _seat_vacant,
    events.SeatTaken: _seat_taken,
    events.AutopilotSwitchedOn: partial(_to_holder, MailKind.AUTOPILOT),
    events.LinkRequested: partial(_to_holder, MailKind.FRESH),
    events.GameRests: _game_rests,
    events.GameOver: _game_over,
    events.WordSaid: _word_said,
}
