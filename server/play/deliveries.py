"""The effects of delivered and failed emails, and of players' mail settings, on the clocks of turns.

A clock starts when a mail server accepts the email about the turn, stops when that email cannot reach its player, and
goes on with the next one that does. Each function works in the transaction of its caller, which marks the email or
stores the setting in the same commit. The games concerned are locked first, before anything about mails or people.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from server.play import mailing, turns
from server.store import log, outbox
from server.store.engine import transaction
from server.store.facts import Fact
from server.store.models import Game, Mail, Seat, Turn

LATEST_DIGEST = timedelta(hours=24)
"""The clock of a turn starts after this long even if no digest has named it."""


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


def mail_accepted(
    session: Session, game: Game | None, mail: Mail, due: datetime | None, now: datetime
) -> None:
    """Start the clock of a turn whose email a mail server has accepted.

    Args:
        game: the game of the mail, locked; None if it is about no game.
        due: the deadline printed in the email.
    """
    turn = _turn_of(session, game, mail)
    if mail.kind == "turn" and game is not None and turn is not None and _waits_for_mail(turn):
        turns.start(session, game, turn, now, due)


def mail_dropped(session: Session, game: Game | None, mail: Mail, now: datetime) -> None:
    """Start the clock of a turn whose player wants no email about it, because none will ever start it.

    Args:
        game: as for `mail_accepted`.
    """
    mail_accepted(session, game, mail, None, now)


def mail_failed(session: Session, game: Game | None, mail: Mail, why: Fact, now: datetime) -> bool:
    """Stop the clock of a turn whose email was refused, bounced or was withheld.

    Args:
        game: as for `mail_accepted`.
        why: what the mail server said.

    Returns:
        Whether the turn is still open.
    """
    turn = _turn_of(session, game, mail)
    if turn is not None:
        turns.stop(turn, why, now)
    return turn is not None


def _turn_of(session: Session, game: Game | None, mail: Mail) -> Turn | None:
    """The turn that a mail was queued for, if it is still open."""
    if game is None or mail.seat is None or mail.kind not in ("turn", "remind"):
        return None
    turn = session.get(Turn, (game.id, mail.seat))
    return turn if turn is not None and turn.opened_seq == mail.seq else None


def _waits_for_mail(turn: Turn) -> bool:
    """Whether a turn waits for an email to start its clock; after a bounce it waits for a better address."""
    return turn.started_at is None and turn.refused is None


def digest_accepted(session: Session, named: Iterable[NamedTurn], now: datetime) -> None:
    """Start the clocks of the turns that an accepted digest named, also of those stopped by a bounce.

    Args:
        named: their games are locked.
    """
    for place in named:
        game, turn = session.get(Game, place.game_id), session.get(Turn, (place.game_id, place.seat))
        if game is None or turn is None or turn.opened_seq != place.opened_seq or not place.starts:
            continue
        if turn.started_at is None or turn.refused:
            turns.start(session, game, turn, now, place.due)


def digest_failed(
    session: Session, games: Mapping[str, Game], named: Iterable[TurnKey], why: Fact, now: datetime
) -> list[Game]:
    """Stop the clocks of the turns that a refused or bounced digest named.

    Args:
        games: locked, by id.
        why: what the mail server said.

    Returns:
        The games in which a clock has stopped.
    """
    stopped = []
    for game_id, seat, opened_seq in named:
        game, turn = games.get(game_id), session.get(Turn, (game_id, seat), populate_existing=True)
        if game is None or turn is None or turn.opened_seq != opened_seq:
            continue
        turns.stop(turn, why, now)
        stopped.append(game)
    return stopped


def digest_overdue(game_id: str, seat: int, now: datetime) -> bool:
    """Start the clock of a turn that no digest has named in time; one transaction, which locks the game.

    Returns:
        Whether it started: everything is checked again under the lock.
    """
    with transaction() as session:
        game = log.lock_game(session, game_id, skip_locked=True)
        turn = session.get(Turn, (game_id, seat)) if game else None
        if game is None or turn is None or not _waits_for_mail(turn):
            return False
        if turn.opened_at > now - LATEST_DIGEST:
            return False
        turns.start(session, game, turn, turn.opened_at + LATEST_DIGEST)
        return True


def has_stopped_turns(session: Session, person_id: int) -> bool:
    """Whether a clock of this person is stopped because no email reached them; reads only."""
    return session.execute(_stopped(person_id)).first() is not None


def address_works(session: Session, person_id: int, now: datetime) -> None:
    """Email a person their stopped turns again: their clocks go on when a mail server accepts that email.

    Locks the games; the caller changes the person only afterwards, because games are locked first everywhere.
    """
    for game_id, seat in session.execute(_stopped(person_id)).all():
        game = log.lock_game(session, game_id)
        turn = session.get(Turn, (game_id, seat))
        if game is not None and turn is not None and turn.refused:
            turns.await_mail(session, game, turn)
            when = f":again{int(now.timestamp() * 1e6)}"
            mailing.mail_turn(session, game, turn, person_id, now, again=when)


def _stopped(person_id: int) -> Select[str, int]:
    """The turns of a person whose clocks are stopped because no email reached them, by game."""
    places = (Seat.game_id == Turn.game_id) & (Seat.seat == Turn.seat)
    own = select(Turn.game_id, Turn.seat).join(Seat, places).where(Seat.person_id == person_id)
    return own.where(Turn.refused.is_not(None)).order_by(Turn.game_id, Turn.seat)


def mail_switched_off(session: Session, game: Game, seat: Seat, now: datetime) -> None:
    """Start the clock of a seat's turn at once if it has not: no email will ever start it.

    Args:
        game: locked.
    """
    turn = session.get(Turn, (game.id, seat.seat), populate_existing=True)
    if turn is not None and turn.started_at is None:
        turns.start(session, game, turn, now)


def digest_switched_off(session: Session, game: Game, seat: Seat, now: datetime) -> None:
    """Email a seat's turn that no digest has named yet, now that its player wants no digest.

    Args:
        game: locked.
    """
    turn = session.get(Turn, (game.id, seat.seat), populate_existing=True)
    if turn is not None and _waits_for_mail(turn) and not seat.silent:
        assert seat.person_id is not None
        mailing.mail_turn(session, game, turn, seat.person_id, now)


def turns_for_digest(session: Session, person_id: int) -> list[tuple[Game, Seat, Turn]]:
    """Return the turns that a digest to this person lists now, leaving out muted games."""
    return [place for place in turns.of_person(session, person_id) if not place[1].silent]


def turns_in_digest(session: Session, mail: Mail) -> list[TurnKey]:
    """Return the turns that a digest listed when it was accepted or, if it was not, would list now.

    Returns:
        Of each the game's id, the seat, and the head at which the turn opened.
    """
    kept = outbox.details(mail).get("named")
    if kept is not None:
        return [(str(game_id), int(seat), int(opened)) for game_id, seat, opened in kept]
    return [
        (game.id, turn.seat, turn.opened_seq) for game, _, turn in turns_for_digest(session, mail.person_id)
    ]
