"""What happened to an email, a game or a person, and what is waited for, in plain words for `byzanz … show`.

No link, no hidden card, no text of a reply; people by their ID, with an address only where the administrator gave it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from sqlalchemy import ColumnElement, and_, or_, select
from sqlalchemy.orm import Session

from byzanz import games
from server.accounts import absences, addresses
from server.config import settings
from server.play import autopilot, positions, turns
from server.play.game import Table, load
from server.store import mail_kinds, operations, people
from server.store.models import (
    NOT_NUMEROUS,
    AddressChange,
    Alert,
    Game,
    GameStatus,
    IncomingMail,
    Mail,
    MailStatus,
    Person,
    Seat,
    SeatStatus,
)
from server.store.statements import GameRow, SeatRow, TurnRow

NEWEST = 5
"""How many of the newest emails are listed."""
_DONE: dict[str, str] = {
    MailStatus.SENT: "Sent",
    MailStatus.DROPPED: "Dropped",
    MailStatus.FAILED: "Rejected or returned",
}


def mail(session: Session, mail: Mail, now: datetime) -> Iterator[str]:
    """Tell what an outgoing email is about, and whether it was sent."""
    about = [f"to person {mail.person_id}"]
    about += [f"about game {mail.game_id}"] if mail.game_id else []
    about += [f"seat {mail.seat}"] if mail.seat is not None else []
    about += [f"entry {mail.seq}"] if mail.seq is not None else []
    yield f"Email {mail.id} ({mail.kind}) {', '.join(about)}."
    yield f"Queued {_at(mail.created_at)}."
    yield f"{_fate(mail, now)}."
    if mail.status == MailStatus.WAITING and mail.tried_at:
        yield f"The first of {_times(mail.attempts, 'failed attempt')} was {_at(mail.tried_at)}."
    table = load(session, mail.game_id, now) if mail.game_id else None
    turn = _turn_of(table, mail) if table is not None else None
    if table is not None and turn is not None:
        yield f"Its turn is open: {_clock(session, table.game, turn)}."
    elif mail_kinds.of(mail.kind).about_turn:
        yield "Its turn is over."


def _turn_of(table: Table, mail: Mail) -> TurnRow | None:
    if not mail_kinds.of(mail.kind).about_turn or mail.seat is None:
        return None
    turn = table.turns.get(mail.seat)
    return turn if turn is not None and turn.opened_seq == mail.seq else None


def _fate(mail: Mail, now: datetime) -> str:
    why = f": {mail.error}" if mail.error else ""
    if mail.status != MailStatus.WAITING:
        done = _DONE[mail.status]
        return f"{done} {_at(mail.finished_at)}{why}"
    if mail.leased_until is not None and mail.leased_until > now:
        return "It is being sent"
    if mail.not_before > now:
        return f"It waits until {_at(mail.not_before)}{why}"
    return f"It has been due since {_at(mail.not_before)} and waits for the mailer{why}"


def game(session: Session, game: Game, now: datetime) -> Iterator[str]:
    """Tell how a game stands and who is to move, since when and until when."""
    title = games.title_of(game.slug)
    table = load(session, game.id, now)
    seats = table.seats
    began = f", began {_at(game.started_at)}" if game.started_at else ""
    ended = f", ended {_at(game.ended_at)}" if game.ended_at else ""
    yield f"Game {game.id} “{game.name}”: {title} with {len(seats)} seats, {game.status}{began}{ended}."
    yield f"Its log has {_times(game.head, 'entry')}."
    yield f"Time per move {_span(game.allowance)}, time bank {_span(game.bank)}."
    yield from _obstacles(table, now)
    yield from _to_move(table, now)
    for seat in seats:
        yield f"Seat {seat.seat}: {_seat(seat)}."
    for alert in session.scalars(select(Alert).where(Alert.game_id == game.id, Alert.cleared_at.is_(None))):
        yield f"Open alert since {_at(alert.at)}: {alert.text}"
    yield from _newest(session, Mail.game_id == game.id, IncomingMail.game_id == game.id, now)


def _obstacles(table: Table, now: datetime) -> Iterator[str]:
    """Tell what keeps the game, or the clocks of all games, from going on."""
    session, game = table.session, table.game
    if game.quarantine and game.quarantine.code == positions.NO_RULES:
        yield f"It is on hold: {game.quarantine} It goes on when they are, after a restart."
    elif game.quarantine:
        yield f"It is on hold: {game.quarantine}. A moderator resumes it once its log replays."
    elif autopilot.is_unattended(table):
        yield "It is paused because nobody is responding. It resumes when a player returns."
    elif game.paused:
        yield "A moderator has paused it, and only a moderator resumes it."
    if operations.open_alert(session, operations.CLOCK_JUMPED):
        yield "No deadline is enforced: the server's clock jumped (byzanz doctor --clock-is-right)."
    elif operations.enforced_until(session, now, settings().tick) is None:
        yield "No deadline is enforced: the web or the scheduler sends no heartbeat."


def _to_move(table: Table, now: datetime) -> Iterator[str]:
    session, game = table.session, table.game
    for turn in sorted(table.turns.values(), key=lambda turn: turn.seat):
        since = f"{_at(turn.opened_at)} (entry {turn.opened_seq})"
        yield f"Seat {turn.seat} is to move since {since}: {_clock(session, game, turn)}."
        told = select(Mail).where(
            Mail.game_id == game.id, Mail.seat == turn.seat, Mail.seq == turn.opened_seq
        )
        for mail in session.scalars(told.where(Mail.kind.in_(mail_kinds.ABOUT_A_TURN)).order_by(Mail.id)):
            yield f"  Email {mail.id} ({mail.kind}) to person {mail.person_id}: {_fate(mail, now)}."
    if not table.turns and game.status == GameStatus.RUNNING:
        yield "Nobody is to move."


def _clock(session: Session, game: GameRow, turn: TurnRow) -> str:
    """Tell what a turn waits for, and until when."""
    if turn.bot:
        return "a bot moves at the scheduler's next tick"
    if turn.refused:
        last = turns.give_up_time(session, turn)
        until = f"; the server plays for the seat from {_at(last)}" if last else ""
        return f"the clock has stood since {_at(turn.refused_at)} because no email arrives ({turn.refused}){until}"
    if game.trial:
        return "no clock runs in a visitor's game"
    times = turns.times(session, game, turn)
    if times is None:
        return "the clock starts when the email is sent"
    bank = f", then the time bank until {_at(times.due)}" if times.due > times.allowance_end else ""
    return f"the clock has run since {_at(times.start)}; time until {_at(times.allowance_end)}{bank}"


def _seat(seat: SeatRow) -> str:
    if seat.bot:
        return f"the bot {seat.bot}"
    if seat.person_id is None:
        return seat.status
    invited = f" {_at(seat.invited_at)}" if seat.status == SeatStatus.INVITED else ""
    notes = [f"person {seat.person_id}, {seat.status}{invited}"]
    notes += ["has left"] if seat.left else ["on autopilot"] if seat.autopilot else []
    notes += [f"missed {_times(seat.missed, 'deadline')} in a row"] if seat.missed else []
    notes += ["emails off"] if seat.silent else []
    notes += [f"time bank {_span(seat.bank)}"] if seat.bank else []
    return ", ".join(notes)


def person(session: Session, person: Person, now: datetime) -> Iterator[str]:
    """Tell whether email reaches a person, and where they are to move."""
    seen = people.last(session, person.id)
    known = "" if seen is None else f", last at a table {_at(seen)}"
    yield f"Person {person.id}, since {_at(person.created_at)}{known}{', moderator' if person.moderator else ''}."
    if zone := people.unknown_zone(session, person.id):
        yield f"This machine does not know their time zone {zone!r}; each table's counts instead."
    if person.unreachable:
        says = "rejects the address" if person.retry_at is None else "does not take emails for now"
        yield f"A mail server {says}: {person.unreachable}"
    if person.suppressed:
        yield f"Only requested email goes to the address: {person.suppressed}"
    if person.silent:
        yield "They have turned off all emails."
    yield from _change(addresses.of_person(session, person.id, now))
    cadence = {"each": "for each turn, and a reminder", "once": "for each turn", "digest": "once a day"}
    yield f"They get emails {cadence[person.cadence]}."
    for away in absences.absences_of(session, person.id, now):
        yield f"Away from {_at(away.from_at)} to {_at(away.to_at)}."
    for game, seat, turn in turns.of_person(session, person.id):
        where = f"game {game.id}, seat {seat.seat}"
        yield f"To move in {where}, since {_at(turn.opened_at)}: {_clock(session, game, turn)}."
    seats = select(Seat.game_id, Seat.seat, Game.status).join(Game, Game.id == Seat.game_id)
    seats = seats.where(
        Seat.person_id == person.id,
        Game.status.in_((GameStatus.ASKED, GameStatus.INVITING, GameStatus.RUNNING)),
    )
    held = session.execute(seats.order_by(Game.created_at)).all()
    for game_id, number, status in held:
        yield f"Seat {number} in game {game_id} ({status})."
    # One index has the emails about games, another those about no turn.
    about = or_(NOT_NUMEROUS, Mail.game_id.in_([game_id for game_id, *_ in held]))
    mails = and_(Mail.person_id == person.id, about)
    yield from _newest(session, mails, IncomingMail.person_id == person.id, now)


def _change(change: AddressChange | None) -> Iterator[str]:
    """Tell that a person's address is about to change; the new one stays between them and their mailboxes."""
    if change is None:
        return
    by = " by the operator" if change.by_operator else ""
    asked = f"A change of the address was asked for{by} {_at(change.asked_at)}"
    if change.confirmed_at is None:
        yield f"{asked}; the new address has not confirmed it."
        return
    joins = ", and joins the account there" if change.joins else ""
    soonest = change.confirmed_at + addresses.OBJECT_WITHIN
    yield f"{asked}; it is carried out {_at(soonest)} at the earliest{joins}, unless a mailbox objects."


def _newest(
    session: Session, out: ColumnElement[bool], came: ColumnElement[bool], now: datetime
) -> Iterator[str]:
    """Describe the newest emails, outgoing and incoming."""
    for mail in session.scalars(select(Mail).where(out).order_by(Mail.id.desc()).limit(NEWEST)):
        yield f"Email {mail.id} ({mail.kind}) to person {mail.person_id}: {_fate(mail, now)}."
    for row in session.scalars(
        select(IncomingMail).where(came).order_by(IncomingMail.id.desc()).limit(NEWEST)
    ):
        yield f"Incoming email {row.id} ({row.kind}) of person {row.person_id}, {_at(row.at)}: {row.outcome}."


def _at(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC" if moment else "at an unknown time"


def _span(seconds: int) -> str:
    return f"{seconds / 3600:.4g} h"


def _times(n: int, what: str) -> str:
    return (
        f"1 {what}"
        if n == 1
        else f"{n} {what.removesuffix('y') + 'ies' if what.endswith('y') else what + 's'}"
    )
