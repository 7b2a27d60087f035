"""Answering an invitation, and taking a free seat in the lobby."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from server import play, validation
from server.community import blocks
from server.errors import Closed, NoSuchLink
from server.lobby import notify, rematch
from server.lobby.create import check_asked, check_name_free, learn_name, seat_person, wait_for_players
from server.lobby.settings import NO_HOURS, OwnHours
from server.play import positions
from server.play.moderation import has_looked
from server.store import links
from server.store.engine import transaction
from server.store.models import Game, GameStatus, Link, LinkPurpose, Person, Seat, SeatStatus


@dataclass(frozen=True, slots=True)
class Invitation:
    """The person and game behind an invitation's link; `seat` is None if it is no longer reserved for them."""

    link: Link
    game: Game
    seat: Seat | None
    person: Person


def invitation(session: Session, token: str, now: datetime) -> Invitation | None:
    """Return the invitation with this token, or None if it is unknown or revoked."""
    link = links.find(session, LinkPurpose.INVITE, token, now)
    game = session.get(Game, link.game_id) if link and link.game_id else None
    if link is None or game is None:
        return None
    person = session.get_one(Person, link.person_id)
    return Invitation(link, game, seat_for(session, game, person.id), person)


def seat_for(session: Session, game: Game, person_id: int) -> Seat | None:
    """Return the seat that is reserved for a person or held by them, or None."""
    return session.scalar(select(Seat).where(Seat.game_id == game.id, Seat.person_id == person_id))


def _lock_invited_seat(session: Session, token: str, now: datetime) -> tuple[Game, Seat]:
    """Return the locked game and the seat for which this invitation can still be answered."""
    link = links.find(session, LinkPurpose.INVITE, token, now)
    if link is None or link.game_id is None:
        raise NoSuchLink("This link is not valid.")
    game = play.lock_game(session, link.game_id)
    seat = seat_for(session, game, link.person_id)
    if game.status == GameStatus.CANCELLED:
        raise Closed("This game was called off.")
    if seat is None:
        raise Closed("This seat is no longer reserved for you.")
    return game, seat


def accept(
    token: str,
    name: str,
    cut: str,
    now: datetime,
    language: str | None = None,
    hours: OwnHours = NO_HOURS,
) -> str:
    """Accept an invitation; the game begins when all seats are taken. Accepting twice changes nothing.

    Args:
        token: of the invitation.
        name: the player's name at this table.
        cut: their cut of the deck, public for good.
        language: of the page with the button; it becomes the player's unless they have chosen one.
        hours: theirs, unless they have chosen some.

    Returns:
        The game's id.

    Raises:
        NoSuchLink, Closed (the seat is gone), InvalidInput (name or cut).
    """
    name, cut = validation.clean_name(name), validation.clean_cut(cut)
    with transaction(token) as session:
        game, seat = _lock_invited_seat(session, token, now)
        if game.status == GameStatus.INVITING and seat.status != SeatStatus.SEATED:
            check_name_free(session, seat, name)
            seat.name = name
            guest = session.get_one(Person, seat.person_id)
            learn_name(guest, name)
            guest.language, guest.accepted = guest.language or language, True
            hours.propose_to(guest, now)
            _seat_and_notify(session, game, seat, cut, now, "accepted")
        return game.id


def _seat_and_notify(session: Session, game: Game, seat: Seat, cut: str, now: datetime, answer: str) -> None:
    seat_person(session, game, seat, cut, now)
    session.flush()
    begun = notify.begin_if_full(session, game, now)
    wait_for_players(session, game, now)
    notify.notify_organiser(session, game, seat, answer, now, begun=begun)


def decline(token: str, now: datetime) -> str:
    """Decline, or leave again before the start, which withdraws the cut. Declining twice changes nothing.

    Returns:
        The game's id.

    Raises:
        NoSuchLink, Closed (the seat is gone, or the game has begun).
    """
    with transaction(token) as session:
        game, seat = _lock_invited_seat(session, token, now)
        if game.status != GameStatus.INVITING:
            raise Closed("The game has begun; you can no longer decline.")
        withdraw(session, game, seat, now)
        return game.id


def withdraw(session: Session, game: Game, seat: Seat, now: datetime) -> None:
    """Give up a seat, or decline the invitation to it, in a locked game that has not begun."""
    if seat.status != SeatStatus.DECLINED:
        answer = "left" if seat.status == SeatStatus.SEATED else "declined"
        seat.status, seat.cut, seat.answered_at = SeatStatus.DECLINED, "", now
        ends = rematch.stop_if_declined(session, game)
        notify.notify_organiser(session, game, seat, answer, now, ends=ends)
        wait_for_players(session, game, now)


def take_free_seat(
    game_id: str, person_id: int, name: str, cut: str, now: datetime, hours: OwnHours = NO_HOURS
) -> int:
    """Let a signed-in person take a free seat of a listed game; it begins when all are taken.

    Args:
        hours: theirs, unless they have chosen some.

    Returns:
        The number of the seat.

    Raises:
        NoSuchGame, Closed (not open, no seat free, asked for more reliable players), InvalidInput (name or cut).
    """
    name, cut = validation.clean_name(name), validation.clean_cut(cut)
    with transaction(game_id) as session:
        game = play.lock_game(session, game_id)
        if not game.listed or game.status != GameStatus.INVITING:
            raise Closed("This game has no free seats.")
        seats = positions.seats_of(session, game.id)
        if any(seat.person_id == person_id for seat in seats):
            raise Closed("You already have a seat or an invitation at this table.")
        if has_looked(session, game.id, person_id):
            raise Closed("You have viewed hidden hands in this game, so you cannot take a seat.")
        free = next((seat for seat in seats if seat.status == SeatStatus.FREE), None)
        if free is None or blocks.at_table(session, game, person_id):  # nobody is told of a block
            raise Closed("All seats are taken.")
        check_asked(session, game, person_id)
        check_name_free(session, free, name)
        number = free.seat
        free.name, free.person_id = name, person_id
        person = session.get_one(Person, person_id)
        learn_name(person, name)
        hours.propose_to(person, now)
        _seat_and_notify(session, game, free, cut, now, "joined")
        return number
