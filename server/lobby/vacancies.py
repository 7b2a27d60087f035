"""Seats of running games that need a player: who may offer one, and who may take it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from byzanz.record import Cause
from server import play, validation
from server.community import blocks
from server.errors import Closed, NoSuchLink, TooMany
from server.lobby import notify
from server.lobby.create import check_asked, check_name_free, learn_name, lock_organised_game
from server.play import positions, powers
from server.play.moderation import has_looked
from server.play.powers import Asker
from server.store import links, log
from server.store.engine import transaction
from server.store.models import Game, GameStatus, Link, LinkPurpose, Person, Seat, SeatStatus, Tenure

FIRST_DECISIONS = 3
"""Who takes a seat and leaves before so many decisions may not take another for a while."""
NO_OTHER = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Vacancy:
    """A seat whose player is away.

    Args:
        since: when they went away.
        offered_from: when the reader may offer the seat.
    """

    seat: Seat
    since: datetime
    offered_from: datetime


def vacancies(session: Session, game: Game, *, by_player: bool) -> list[Vacancy]:
    """Return the seats of a running game whose players are away, in order.

    Args:
        by_player: for anybody at the table; otherwise for the organiser or a moderator.
    """
    seats = [
        seat for seat in positions.seats_of(session, game.id) if seat.autopilot and seat.person_id is not None
    ]
    if game.status != GameStatus.RUNNING or not seats:
        return []
    since = play.absent_since(session, game.id)
    return [
        Vacancy(seat, since[seat.seat], play.offered_from(seat, since[seat.seat], by_player=by_player))
        for seat in seats
        if seat.seat in since
    ]


def offer_as_organiser(token: str, number: int, now: datetime, *, offered: bool = True) -> None:
    """Offer a seat of the game whose organiser's page this token opens, or end the offer.

    Raises:
        NoSuchLink, Closed (the player is present, or not away for long enough), NotRunning.
    """
    with transaction(token) as session:
        _offer(session, lock_organised_game(session, token, now), number, now, offered)


def offer_as_moderator(game_id: str, number: int, by: Asker, now: datetime, *, offered: bool = True) -> None:
    """Offer a seat of any game, or end the offer.

    Raises:
        Conflict: the moderator has a stake at this table; if the only one goes on, the log gets a note.
        NoSuchGame, Closed (the player is present, or not away for long enough), NotRunning.
        InvalidInput: there is no reason.
    """
    with transaction(game_id) as session:
        game = play.lock_game(session, game_id)
        powers.use(session, "offer" if offered else "withdraw", by, now, game_id=game_id)
        _offer(session, game, number, now, offered)
        told = powers.standing(session, game_id, by.person_id).stake is not None
    if told:
        play.moderate(game_id, "!note", reason=by.reason, person_id=by.person_id, now=now, warned=by.warned)


def _offer(session: Session, game: Game, number: int, now: datetime, offered: bool) -> None:
    if offered:
        play.offer_seat(session, game, number, now, by_player=False)
    else:
        play.withdraw_offer(session, game, number)


def offer_as_player(token: str, number: int, now: datetime) -> None:
    """Offer another seat of the game in which this token opens a seat.

    Raises:
        NoSuchLink, Closed (the player is present, or not away for long enough), NotRunning.
    """
    with transaction(token) as session:
        link = links.find(session, LinkPurpose.SEAT, token, now)
        game = play.lock_game(session, link.game_id) if link and link.game_id else None
        if link is None or game is None or links.seat_access(session, token, now) is None:
            raise NoSuchLink("This link is not valid.")
        play.offer_seat(session, game, number, now, by_player=True)


def offered_seat(
    session: Session, game_id: str, number: int, reader_id: int | None
) -> tuple[Game, Seat] | None:
    """Return an offered seat; None if it is not offered to this reader, whatever the reason."""
    game, seat = session.get(Game, game_id), session.get(Seat, (game_id, number))
    if (
        game is None
        or seat is None
        or seat.offered_at is None
        or game.status != GameStatus.RUNNING
        or game.quarantine
    ):
        return None
    return None if reader_id is not None and _is_blocked(session, game, reader_id) else (game, seat)


def _is_blocked(session: Session, game: Game, person_id: int) -> bool:
    """Whether a block stands between a person and anybody at a table."""
    people = {seat.person_id for seat in positions.seats_of(session, game.id)} | {game.organiser_id}
    return bool(blocks.between(session, person_id, {each for each in people if each is not None}))


def take(game_id: str, number: int, person_id: int, name: str, now: datetime) -> str:
    """Let a signed-in person take an offered seat; return the address of the seat. Repeating it changes nothing.

    Raises:
        NoSuchGame, Closed (not offered, or not to them), TooMany (they have given one up lately), InvalidInput (name),
        NotRunning, Broken.
    """
    name = validation.clean_name(name)
    with transaction(game_id) as session:
        game = play.lock_game(session, game_id)
        person = session.get_one(Person, person_id, with_for_update={"key_share": True})
        found = offered_seat(session, game_id, number, person_id)
        if found is None:
            if (own := _url_of_own(session, game, number, person_id)) is not None:
                return own
            raise play.not_offered()
        _check_taker(session, game, person_id, now)
        check_asked(session, game, person_id)
        check_name_free(session, found[1], name)
        learn_name(person, name)
        play.take_seat(session, game_id, number, person, name, now)
        made = [links.link_for(session, purpose, person_id, game_id, now) for purpose in notify.EVERY_MAIL]
        person.accepted = True
        return links.url(made[0])


def _url_of_own(session: Session, game: Game, number: int, person_id: int) -> str | None:
    """Return the address of a seat that this person holds: they have pressed the button that took it twice."""
    seat = session.get(Seat, (game.id, number))
    own = (
        seat is not None
        and seat.person_id == person_id
        and seat.status == SeatStatus.SEATED
        and not seat.left
    )
    link = links.existing(session, LinkPurpose.SEAT, person_id, game.id) if own else None
    return links.url(link) if link else None


def _check_taker(session: Session, game: Game, person_id: int, now: datetime) -> None:
    """Check that a person has not seen hidden cards of this game, and keeps the seats that they take.

    Raises:
        Closed, TooMany.
    """
    sat = select(Seat.seat).where(Seat.game_id == game.id, Seat.person_id == person_id)
    opened = select(Link.id).where(
        Link.person_id == person_id, Link.game_id == game.id, Link.purpose == LinkPurpose.SEAT
    )
    if session.scalar(sat.limit(1)) is not None or session.scalar(opened.limit(1)) is not None:
        raise Closed("You have or had a seat at this table, so you cannot take another.")
    if has_looked(session, game.id, person_id):
        raise Closed("You have viewed hidden hands in this game, so you cannot take a seat.")
    if _gave_up_lately(session, person_id, now):
        raise TooMany("You left a game right after you took a seat in it. Take another one 30 days later.")


def _gave_up_lately(session: Session, person_id: int, now: datetime) -> bool:
    """Whether a person has taken an offered seat and left it again within their first decisions, a short time ago."""
    left = _left_lately(session, person_id, now)
    return any(log.count_decisions(session, *held) < FIRST_DECISIONS for held in left)


def _left_lately(session: Session, person_id: int, now: datetime) -> list[tuple[str, int, int, int]]:
    """Return the seats that a person took when they were offered and left a short time ago.

    Returns:
        For each: the game, the seat, and the seqs of the `!replace` and the `!leave`.
    """
    query = select(Tenure.game_id, Tenure.seat, Tenure.from_seq, Tenure.to_seq)
    rows = session.execute(query.where(Tenure.person_id == person_id))
    ended = [(game_id, seat, first, end) for game_id, seat, first, end in rows if end is not None]
    times = log.times(session, [(game_id, end) for game_id, _, _, end in ended])
    late = [held for held in ended if times[held[0], held[3]] > now - NO_OTHER]
    games = {held[0] for held in late}
    taken = {(act.game_id, act.seq) for act in log.acts(session, games, "!replace") if act.by == Cause.PLAYER}
    left = {(act.game_id, act.seq) for act in log.acts(session, games, "!leave")}
    return [held for held in late if (held[0], held[2]) in taken and (held[0], held[3]) in left]
