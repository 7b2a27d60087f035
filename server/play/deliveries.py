"""The effects of delivered and failed emails, and of players' mail settings, on the clocks of turns.

A clock starts when a mail server accepts the email about the turn, stops when that email cannot reach its player, and
goes on with the next one that does. Each function works in the transaction of its caller, which marks the email or
stores the setting in the same commit. The games concerned are locked first, before anything about mails or people.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Select, select, update
from sqlalchemy.orm import Session

from byzanz.record import Cause
from server.play import events, positions, running, turns
from server.play.game import Table
from server.store import facts, log, statements
from server.store.engine import connection_of
from server.store.facts import Fact
from server.store.models import Seat, Turn
from server.store.statements import GameRow, SeatRow, TurnRow

LATEST_DIGEST = timedelta(hours=24)
"""The clock of a turn starts after this long even if no digest has named it."""
MOST_STOPS = 2
"""How often bounces stop a seat's clocks in one game (docs/promises.md 5)."""


@dataclass(frozen=True, slots=True)
class NamedTurn:
    """A turn that a digest names.

    Args:
        due: the deadline that the digest prints.
        starts: whether its clock starts, or goes on, with this digest.
    """

    game_id: str
    seat: int
    opened_seq: int
    due: datetime
    starts: bool


TurnKey = tuple[str, int, int]
"""A turn as a mail refers to it: the game's id, the seat, and the head of the log when it opened."""


def lock_games(session: Session, game_ids: Collection[str]) -> list[str]:
    """Lock games in the order in which all do, before anything is written about mails or people; "" is none.

    Returns:
        The ids of those that exist, in order.
    """
    return [game_id for game_id in sorted(game_ids) if game_id and log.lock(session, game_id)]


def mail_accepted(session: Session, key: TurnKey, times: turns.Times, now: datetime) -> None:
    """Start the clock of a turn whose first email a mail server has accepted; its game is locked.

    Args:
        times: those printed in the email.
    """
    values = dict(zip(("game", "number", "opened"), key, strict=True))
    hints = {"started_at": now, "due_at": times.due, "remind_at": times.remind}
    statements.START_TURN.run(connection_of(session), [values | hints])


def mail_dropped(session: Session, key: TurnKey, now: datetime) -> None:
    """Start the clock of a turn whose player wants no email about it, because none will ever start it."""
    with running.in_hand(session, key[0], now) as table:
        turn = _turn_of(table, key)
        if turn is not None and _waits_for_mail(turn):
            turns.start(table, turn, now)


def mail_failed(session: Session, key: TurnKey, why: Fact, now: datetime, *, bounced: bool) -> bool:
    """Stop the clock of a turn an email about which was refused, bounced or was withheld; its game is locked.

    Args:
        why: what the mail server said.
        bounced: a report says so, which the player could have written; otherwise a mail server refused the email.

    Returns:
        Whether the clock stands still.
    """
    with running.in_hand(session, key[0], now) as table:
        turn = _turn_of(table, key)
        return turn is not None and _stop(table, turn, why, now, bounced)


def _stop(table: Table, turn: TurnRow, why: Fact, now: datetime, bounced: bool) -> bool:
    """Stop the clock of a turn, or let it run in spite of the failure; returns whether it stands still.

    Nothing proves a bounce against its own recipient, who has the whole email, so bounces stop a clock once in a turn
    and `MOST_STOPS` times in a seat. So does what a player's own mail server refuses once the clock runs.
    """
    seat = table.seats[turn.seat]
    if turn.refused is None and (bounced or turn.started_at is not None):
        if turn.anew or seat.bounces >= MOST_STOPS:
            _go_on(table, turn, now)
            return False
        seat.bounces += 1
    turns.stop(turn, why, now)
    return True


def _go_on(table: Table, turn: TurnRow, now: datetime) -> None:
    turn.mail_failed = True
    if turn.started_at is None:
        turns.start(table, turn, now)
    seat = table.seats[turn.seat]
    if seat.bounces == MOST_STOPS and not table.game.quarantine:
        seat.bounces += 1  # the table is told once
        position = running.position(table)
        table.append(seat=turn.seat, by=Cause.CLOCK, move="!note", now=now, note=facts.CLOCK_GOES_ON)
        positions.save(table, position)


def _turn_of(table: Table, key: TurnKey) -> TurnRow | None:
    """A turn, if it is still open."""
    turn = table.turns.get(key[1])
    return turn if turn is not None and turn.opened_seq == key[2] else None


def _waits_for_mail(turn: TurnRow) -> bool:
    """Whether a turn waits for an email to start its clock; after a bounce it waits for a better address."""
    return turn.started_at is None and turn.refused is None


def digest_accepted(session: Session, named: Iterable[NamedTurn], now: datetime) -> None:
    """Start the clocks of the turns that an accepted digest named, also of those stopped by a bounce.

    Args:
        named: their games are locked.
    """
    for place in named:
        if not place.starts:
            continue
        with running.in_hand(session, place.game_id, now) as table:
            turn = table.turns.get(place.seat)
            if turn is None or turn.opened_seq != place.opened_seq:
                continue
            if turn.started_at is None or turn.refused:
                turns.start(table, turn, now, place.due)


def digest_failed(
    session: Session, named: Iterable[TurnKey], why: Fact, now: datetime, *, bounced: bool
) -> list[str]:
    """Stop the clocks of the turns that a refused, bounced or withheld digest named, as `mail_failed` does.

    Args:
        named: their games are locked.

    Returns:
        The ids of the games in which a clock has stopped.
    """
    stopped = []
    for game_id, seat, opened_seq in named:
        with running.in_hand(session, game_id, now) as table:
            turn = table.turns.get(seat)
            if turn is None or turn.opened_seq != opened_seq:
                continue
            if _stop(table, turn, why, now, bounced):
                stopped.append(game_id)
    return stopped


def digest_overdue(game_id: str, seat: int, now: datetime) -> bool:
    """Start the clock of a turn that no digest has named in time; one transaction, which locks the game.

    Returns:
        Whether it started: everything is checked again under the lock.
    """

    def work(table: Table) -> bool:
        turn = table.turns.get(seat)
        if turn is None or not _waits_for_mail(turn) or turn.opened_at > now - LATEST_DIGEST:
            return False
        turns.start(table, turn, turn.opened_at + LATEST_DIGEST)
        return True

    return bool(running.change_if_free(game_id, now, work))


def has_stopped_turns(session: Session, person_id: int) -> bool:
    """Whether a clock of this person is stopped because no email reached them; reads only."""
    return session.execute(_stopped(person_id)).first() is not None


def games_with_stopped_turns(session: Session, person_ids: Collection[int]) -> list[str]:
    """The games in which a clock of one of these people is stopped because no email reached them, in order."""
    places = (Seat.game_id == Turn.game_id) & (Seat.seat == Turn.seat)
    stopped = select(Turn.game_id, Seat.person_id).join(Seat, places).where(Turn.refused.is_not(None))
    wanted = set(person_ids)
    return sorted({game_id for game_id, person_id in session.execute(stopped) if person_id in wanted})


def address_works(session: Session, person_id: int, now: datetime, *, proven: bool = True) -> None:
    """Let a person's stopped turns wait for another email: their clocks go on when a mail server accepts it.

    Locks the games; the caller changes the person only afterwards, because games are locked first everywhere.

    Args:
        proven: there is a sign of the person; otherwise this is an attempt some hours after a failure.
    """
    for game_id, seat in session.execute(_stopped(person_id)).all():
        with running.in_hand(session, game_id, now) as table:
            turn = table.turns.get(seat)
            if turn is not None and turn.refused:
                turns.await_mail(turn, proven=proven)
                table.tell(events.ClockWaits(at=now, seat=seat, opened_seq=turn.opened_seq, again=True))


def _stopped(person_id: int) -> Select[str, int]:
    """The turns of a person whose clocks are stopped because no email reached them, by game."""
    places = (Seat.game_id == Turn.game_id) & (Seat.seat == Turn.seat)
    own = select(Turn.game_id, Turn.seat).join(Seat, places).where(Seat.person_id == person_id)
    return own.where(Turn.refused.is_not(None)).order_by(Turn.game_id, Turn.seat)


def mail_switched_off(session: Session, game_id: str, seat: int, now: datetime) -> None:
    """Start the clock of a seat's turn at once if it has not: no email will ever start it."""
    with running.in_hand(session, game_id, now) as table:
        turn = table.turns.get(seat)
        if turn is not None and turn.started_at is None:
            turns.start(table, turn, now)


def digest_switched_off(session: Session, game_id: str, seat: int, now: datetime) -> None:
    """Let a seat's turn that no digest has named yet wait for an email of its own: its player wants no digest."""
    with running.in_hand(session, game_id, now) as table:
        turn, own = table.turns.get(seat), table.seats[seat]
        if turn is not None and _waits_for_mail(turn) and not own.silent:
            table.tell(events.ClockWaits(at=now, seat=seat, opened_seq=turn.opened_seq))


def turns_for_digest(session: Session, person_id: int) -> list[tuple[GameRow, SeatRow, TurnRow]]:
    """Return the turns that a digest to this person lists now, leaving out muted games and a visitor's."""
    found = turns.of_person(session, person_id)
    return [place for place in found if not place[1].silent and not place[0].trial]


def forget_reason(session: Session, game_id: str, seat: int) -> None:
    """Replace what a mail server said about an erased player, because of which their turn's clock is stopped."""
    stopped = (Turn.game_id == game_id, Turn.seat == seat, Turn.refused.is_not(None))
    session.execute(update(Turn).where(*stopped).values(refused=Fact("no_address")))
