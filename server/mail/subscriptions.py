"""Which emails a person gets: none of a game, none that were not requested, no invitations; and how often about turns.

The choices of pages, and what the unsubscribe link or address of an email does without any.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from server import play
from server.errors import InvalidInput
from server.store.engine import transaction
from server.store.models import Game, GameStatus, LinkPurpose, Person, Seat, Wish
from server.store.statements import LinkRow

CADENCES = ("each", "once", "digest")
"""How often a person can be emailed about their turns."""
TALK = ("turns", "once", "never")
"""How table talk can come by email: with the emails about turns, at once in emails of its own, or not at all."""


def stop(link: LinkRow, now: datetime, *, only_talk: bool = False) -> None:
    """Do what the link to stop an email does when its reader makes no choice, as mail programs use it.

    Args:
        link: for `stop`, without a game it stops all emails; for `noinvite`, invitations; for `noplayers`,
            those about the players of games in the reader's charge; for `wish`, those about open tables.
        only_talk: it is that of an email about nothing but table talk, and stops only these.
    """
    if link.purpose == LinkPurpose.NOINVITE:
        refuse_invitations(link.person_id, True)
    elif link.purpose == LinkPurpose.NOPLAYERS:
        refuse_player_news(link.person_id, True)
    elif link.purpose == LinkPurpose.WISH:
        with transaction() as session:
            session.execute(delete(Wish).where(Wish.person_id == link.person_id))
    elif only_talk:
        set_talk(link.person_id, "turns")
    elif link.game_id:
        mute(link.game_id, link.person_id, True, now)
    else:
        mute_all(link.person_id, True, now)


def refuse_invitations(person_id: int, refuse: bool) -> None:
    """Keep all further invitations from a person, or let them through again; nobody else learns of it."""
    with transaction() as session:
        session.get_one(Person, person_id).no_invitations = refuse


def refuse_player_news(person_id: int, refuse: bool) -> None:
    """Stop or resume emails to a person about the players of games that they organise or moderate."""
    with transaction() as session:
        session.get_one(Person, person_id).no_player_news = refuse


def mute(game_id: str, person_id: int, silent: bool, now: datetime) -> None:
    """Mute or unmute a person's mails about one game; do nothing if they have no seat there.

    If the mail of an open turn has not been sent, its clock starts at once: no mail will ever start it.
    """
    with transaction() as session:
        with play.in_hand(session, game_id, now) as table:
            seat = next((seat for seat in table.seats if seat.person_id == person_id), None)
            if seat is not None:
                seat.silent = silent
        if seat is not None:
            session.get_one(Person, person_id).digest_at = now
            if silent:
                play.mail_switched_off(session, game_id, seat.seat, now)


def mute_all(person_id: int, silent: bool, now: datetime) -> None:
    """Switch all email to a person off or on, except sign-in links and others that they request."""
    with transaction() as session:
        places = _lock_running_games(session, person_id) if silent else []
        person = session.get_one(Person, person_id)
        person.silent, person.digest_at = silent, now
        for seat in places:
            play.mail_switched_off(session, seat.game_id, seat.seat, now)


def set_cadence(person_id: int, cadence: str, now: datetime, talk: str | None = None) -> None:
    """Set how often a person is emailed about their turns: `each`, `once` (no reminder) or `digest` (once a day).

    On leaving the digest, the person is emailed the turns that none has listed yet.

    Args:
        talk: how table talk comes by email, one of `TALK`; None leaves that as it is.

    Raises:
        InvalidInput: there is no such choice.
    """
    if cadence not in CADENCES:
        raise InvalidInput("Choose how often you want emails about your turns.", field="cadence")
    if talk is not None:
        _check_talk(talk)
    with transaction() as session:
        places = _lock_running_games(session, person_id) if cadence != "digest" else []
        person = session.get_one(Person, person_id)
        before, person.cadence, person.digest_at = person.cadence, cadence, now
        person.talk = talk or person.talk
        if before != "digest" or person.silent:
            return
        for seat in places:
            play.digest_switched_off(session, seat.game_id, seat.seat, now)


def set_talk(person_id: int, talk: str) -> None:
    """Set how a person is emailed what is said at their tables, one of `TALK`; no clock depends on it.

    Raises:
        InvalidInput: there is no such choice.
    """
    _check_talk(talk)
    with transaction() as session:
        session.get_one(Person, person_id).talk = talk


def _check_talk(talk: str) -> None:
    if talk not in TALK:
        raise InvalidInput("Choose how you want to get table talk by email.", field="talk")


def _lock_running_games(session: Session, person_id: int) -> Sequence[Seat]:
    """Return a person's seats in running games, and those games locked.

    Games are locked before the person, as everywhere else: otherwise two transactions could wait for each other.
    """
    theirs = select(Seat).join(Game, Game.id == Seat.game_id).where(Seat.person_id == person_id)
    seats = session.scalars(theirs.where(Game.status == GameStatus.RUNNING).order_by(Seat.game_id)).all()
    for seat in seats:
        play.lock_game(session, seat.game_id)
    return seats
