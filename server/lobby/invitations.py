"""Invitations: what an invited person can do, and what the organiser can."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Select, exists, literal_column, or_, select
from sqlalchemy.orm import Session

from server import errors, play, validation
from server.community import blocks
from server.errors import Closed, NoSuchLink, TooMany
from server.lobby import notify, rematch
from server.lobby.create import (
    check_asked,
    check_name_free,
    learn_name,
    lock_organised_game,
    renumber,
    seat_bot,
    seat_person,
    wait_for_players,
)
from server.lobby.settings import NO_HOURS, OwnHours, TimeControl, clean_time_control
from server.play import names, positions
from server.play.game import load
from server.play.moderation import has_looked
from server.store import links, log, mail_kinds, people
from server.store.engine import reading, transaction
from server.store.models import (
    Game,
    GameSettings,
    GameStatus,
    LinkPurpose,
    Mail,
    Person,
    Seat,
    SeatStatus,
)
from server.store.statements import GameRow, LinkRow
from server.validation import Guest

# ---- invited people ----


@dataclass(frozen=True, slots=True)
class Invitation:
    """The person and game behind an invitation's link; `seat` is None if it is no longer reserved for them."""

    link: LinkRow
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
            seat.stored_name = name
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
        free.stored_name, free.person_id = name, person_id
        person = session.get_one(Person, person_id)
        learn_name(person, name)
        hours.propose_to(person, now)
        _seat_and_notify(session, game, free, cut, now, "joined")
        return number


# ---- the organiser ----

REMIND_INVITATION_AFTER = timedelta(hours=48)
"""After this time an unanswered invitation is repeated once, and the organiser gets an email."""
REMINDER_INTERVAL = timedelta(hours=24)


def organised_game(session: Session, token: str, now: datetime) -> Game | None:
    """Return the game whose organiser's page this token opens, or None if it is unknown or revoked."""
    link = links.find(session, LinkPurpose.ORGANISE, token, now)
    game = session.get(Game, link.game_id) if link and link.game_id else None
    return game if link and game and game.organiser_id == link.person_id else None


@contextmanager
def _before_start(token: str, now: datetime) -> Iterator[tuple[Session, Game]]:
    """Open a transaction on a locked game that is still inviting."""
    with transaction(token) as session:
        game = lock_organised_game(session, token, now)
        if game.status == GameStatus.ASKED:
            raise Closed("Send the invitations first.")
        if game.status != GameStatus.INVITING:
            raise Closed("The game has begun or was called off; its seats can no longer change.")
        yield session, game
        wait_for_players(session, game, now)


def keep_open(token: str, now: datetime) -> None:
    """Let an open table wait for players for three weeks from now."""
    with _before_start(token, now):
        pass


def _open_seat(session: Session, game: Game, number: int) -> Seat:
    """Return a seat that nobody has taken yet."""
    seat = _seat(session, game, number)
    if seat.status == SeatStatus.SEATED:
        raise Closed("%(name)s has taken this seat.", name=names.of(GameRow.of(game), seat, names.ORGANISER))
    return seat


def _seat(session: Session, game: Game, number: int) -> Seat:
    seat = session.get(Seat, (game.id, number))
    if seat is None:
        raise Closed("This game has no such seat.")
    return seat


def drop(token: str, number: int, now: datetime) -> None:
    """Free the seat of an invited or seated person or of a bot; its cut is deleted."""
    with _before_start(token, now) as (session, game):
        _free(session, game, _seat(session, game, number), now)


def _free(session: Session, game: Game, seat: Seat, now: datetime) -> None:
    notify.notify_cancelled(session, game, seat, "withdrawn", now)
    seat.status, seat.stored_name, seat.cut = SeatStatus.FREE, "", ""
    seat.person_id = seat.bot = seat.invited_at = seat.answered_at = None
    seat.uncut = seat.silent = False


def remind(token: str, number: int, now: datetime) -> None:
    """Remind a person of their invitation, a day after the last mail at the earliest."""
    with _before_start(token, now) as (session, game):
        seat = _open_seat(session, game, number)
        if seat.status != SeatStatus.INVITED or seat.person_id is None:
            raise Closed("Nobody is invited to this seat.")
        recent = select(Mail.id).where(
            Mail.kind.in_(mail_kinds.INVITATIONS),
            Mail.game_id == game.id,
            Mail.person_id == seat.person_id,
            Mail.created_at > now - REMINDER_INTERVAL,
        )
        if session.scalar(recent.limit(1)) is not None:
            raise TooMany(
                "%(name)s was emailed within the last 24 hours. Try again later.",
                name=names.of(GameRow.of(game), seat, names.ORGANISER),
            )
        notify.check_invitations(session, game.organiser_id, 1, now)
        notify.invite(session, seat, now, reminder=True)


def reinvite(token: str, number: int, guest: Guest, now: datetime) -> None:
    """Invite another person to a seat that nobody has taken yet, or the same person at another address.

    Raises:
        InvalidInput: name or address is invalid, or this person is at the table already.
    """
    name = validation.clean_name(guest.name, "guest")
    address = validation.clean_address(guest.address, "guest")
    with _before_start(token, now) as (session, game):
        seat = _open_seat(session, game, number)
        person = people.get_or_create(session, address, validation.name_from_address(address), now)
        others = [other for other in positions.seats_of(session, game.id) if other.seat != number]
        if any(other.person_id == person.id for other in others):
            raise errors.InvalidInput("%(address)s is already at this table.", field="guest", address=address)
        notify.check_invitations(session, game.organiser_id, 1, now)
        if seat.person_id != person.id:
            _free(session, game, seat, now)
        seat.stored_name = validation.unique_name(name, names.taken(others))
        seat.person_id, seat.status = person.id, SeatStatus.INVITED
        notify.invite(session, seat, now)


def invite_again(token: str, number: int, now: datetime) -> None:
    """Invite a person who has declined once more; they can decline again."""
    with _before_start(token, now) as (session, game):
        seat = _open_seat(session, game, number)
        if seat.status != SeatStatus.DECLINED or seat.person_id is None:
            raise Closed("Nobody has declined this seat.")
        notify.check_invitations(session, game.organiser_id, 1, now)
        seat.status, seat.answered_at = SeatStatus.INVITED, None
        notify.invite(session, seat, now)


def remove(token: str, number: int, now: datetime) -> bool:
    """Remove a seat that nobody has taken, and move the others up; return whether the game has begun with it.

    Raises:
        InvalidInput: too few seats would remain.
    """
    with _before_start(token, now) as (session, game):
        seat = _open_seat(session, game, number)
        others = [other.seat for other in positions.seats_of(session, game.id) if other.seat != number]
        validation.check_player_count(positions.rules_of(GameRow.of(game)), len(others), "seat")
        notify.notify_cancelled(session, game, seat, "withdrawn", now)
        session.delete(seat)
        renumber(session, game, others)
        return notify.begin_if_full(session, game, now)


def fill(token: str, number: int, bot: str, now: datetime) -> bool:
    """Give a seat that nobody has taken to a bot; return whether the game has begun with it.

    Args:
        bot: its kind, `random`, `greedy` or `search`.
    """
    kind = validation.clean_bot(bot, "bot")
    with _before_start(token, now) as (session, game):
        seat = _open_seat(session, game, number)
        _free(session, game, seat, now)
        seat_bot(seat, kind, names.taken(positions.seats_of(session, game.id)), now)
        session.flush()
        return notify.begin_if_full(session, game, now)


def fill_all(token: str, bot: str, now: datetime) -> bool:
    """Give every free seat to a bot; return whether the game has begun with it.

    Args:
        bot: their kind, `random`, `greedy` or `search`.
    """
    kind = validation.clean_bot(bot, "bot")
    with _before_start(token, now) as (session, game):
        seats = positions.seats_of(session, game.id)
        for seat in seats:
            if seat.status == SeatStatus.FREE:
                seat_bot(seat, kind, names.taken(seats), now)
        return notify.begin_if_full(session, game, now)


def start(token: str, now: datetime) -> None:
    """Begin with those who are seated: the other seats are removed, and the rest move up in order.

    Raises:
        InvalidInput: there are too few.
    """
    with _before_start(token, now) as (session, game):
        seats = positions.seats_of(session, game.id)
        seated = [seat for seat in seats if seat.status == SeatStatus.SEATED]
        validation.check_player_count(positions.rules_of(GameRow.of(game)), len(seated), "start")
        for seat in seats:
            if seat.status != SeatStatus.SEATED:
                notify.notify_cancelled(session, game, seat, "started", now)
                session.delete(seat)
        renumber(session, game, [seat.seat for seat in seated])
        notify.begin_if_full(session, game, now)


def cancel(token: str, now: datetime) -> None:
    """Cancel the game and tell the people who were emailed about it. Cancelling twice changes nothing."""
    with transaction(token) as session:
        game = lock_organised_game(session, token, now)
        if game.status not in {GameStatus.ASKED, GameStatus.INVITING, GameStatus.CANCELLED}:
            raise Closed("The game has begun; only a moderator can end it.")
        if game.status != GameStatus.CANCELLED:
            cancel_locked(session, game, now)


def cancel_locked(session: Session, game: Game, now: datetime, why: str = "cancelled") -> None:
    """Cancel a locked game that has not begun; `why` as in the mail `cancelled`."""
    for seat in positions.seats_of(session, game.id):
        if game.status == GameStatus.INVITING:
            notify.notify_cancelled(session, game, seat, why, now)
    game.status = GameStatus.CANCELLED
    game.ended_at, game.keep_going, game.open_until = now, False, None
    rematch.forget(session, game.id)


def set_listed(token: str, listed: bool, now: datetime) -> None:
    """Show the game in the lobby, where anyone may watch it and take a free seat, or hide it."""
    with transaction(token) as session:
        game = lock_organised_game(session, token, now)
        game.listed = listed
        wait_for_players(session, game, now)


def set_keep_going(token: str, keep: bool, now: datetime) -> None:
    """Offer the next game by itself a day after the end of this one, or let it be."""
    with transaction(token) as session:
        game = lock_organised_game(session, token, now)
        if game.status == GameStatus.CANCELLED:
            raise Closed("This game was called off.")
        if not rematch.may_keep_going(load(session, game.id, now), now):
            raise Closed("It is too late to change this. Start the next game from the result page.")
        game.keep_going = keep


def set_time_control(token: str, pace: TimeControl, now: datetime) -> None:
    """Change the time control of a game that has not begun; once others are seated, it can only give more time.

    So nobody finds less time than they accepted, and nobody needs an email about it.

    Raises:
        InvalidInput: the time control is out of bounds. Closed: the game has begun or was called off, or somebody
            seated would have less time.
    """
    pace = clean_time_control(pace)
    with transaction(token) as session:
        game = lock_organised_game(session, token, now)
        if game.status not in {GameStatus.ASKED, GameStatus.INVITING}:
            raise Closed("The game has begun or was called off; its time control can no longer change.")
        seated = [seat for seat in positions.seats_of(session, game.id) if seat.status == SeatStatus.SEATED]
        others = [seat for seat in seated if seat.person_id not in (None, game.organiser_id)]
        if others and not pace.gives_at_least(TimeControl.of(GameSettings.of(game))):
            raise Closed(
                "%(name)s has accepted this time control. From now on you can only give more time.",
                name=names.of(GameRow.of(game), others[0], names.ORGANISER),
            )
        play.set_time_control(game, *pace)


def set_talk(token: str, allowed: bool, now: datetime) -> None:
    """Close the talk of the table, or allow it again before the game has begun.

    Raises:
        Closed: it can no longer be allowed: a moderator may have closed it.
    """
    with transaction(token) as session:
        game = lock_organised_game(session, token, now)
        if allowed and game.status not in (GameStatus.ASKED, GameStatus.INVITING):
            raise Closed("The game has begun. Only a moderator can open its table talk again.")
        game.talk = allowed


def send_invitation_reminders(now: datetime, limit: int = 100) -> int:
    """Remind people of invitations unanswered for 48 hours, each once, and tell the organisers; return how many."""
    with reading() as session:
        hints = list(session.execute(_unanswered(now).limit(limit)))
    return sum(_remind_invited(game_id, person_id, now) for game_id, person_id in hints)


def _unanswered(now: datetime) -> Select[str, int | None]:
    reminded = exists().where(
        Mail.kind.in_(mail_kinds.INVITATIONS),
        or_(*(Mail.key.startswith(f"{kind}:") for kind in mail_kinds.INVITATION_REMINDERS)),
        Mail.game_id == Seat.game_id,
        Mail.person_id == Seat.person_id,
        Mail.created_at >= Seat.invited_at,
    )
    # Both are tested seat by seat, and the status is no bound value, so that the planner sees the index of invitations.
    inviting = exists().where(Game.id == Seat.game_id, Game.status == GameStatus.INVITING)
    invited = (
        Seat.status == literal_column(f"'{SeatStatus.INVITED}'"),
        Seat.invited_at <= now - REMIND_INVITATION_AFTER,
    )
    query = select(Seat.game_id, Seat.person_id).where(*invited, inviting, ~reminded)
    return query.order_by(Seat.invited_at)


def _remind_invited(game_id: str, person_id: int | None, now: datetime) -> int:
    with transaction() as session:
        still = _unanswered(now).where(Seat.game_id == game_id, Seat.person_id == person_id)
        if not log.lock(session, game_id, skip_locked=True) or session.execute(still).first() is None:
            return 0
        game = session.get_one(Game, game_id)
        seat = session.scalar(select(Seat).where(Seat.game_id == game_id, Seat.person_id == person_id))
        assert seat is not None
        notify.invite(session, seat, now, reminder=True)
        notify.notify_organiser(session, game, seat, "silent", now)
        return 1


# ---- games that never began ----

WARNED = timedelta(days=7)
"""How long before its end the organiser of a table is asked what to do."""


def tend_open_tables(now: datetime) -> int:
    """Ask the organisers of tables that end within a week, each once, and end those whose time has come.

    Returns:
        How many tables were concerned.
    """
    with reading() as session:
        soon = select(Game.id, Game.open_until).where(
            Game.open_until <= now + WARNED, Game.quarantine.is_(None)
        )
        found = [
            (game_id, until) for game_id, until in session.execute(soon.order_by(Game.open_until)) if until
        ]
        keys = [notify.open_table_key(game_id, until) for game_id, until in found]
        asked = set(session.scalars(select(Mail.key).where(Mail.key.in_(keys))))
    due = [
        game_id for key, (game_id, until) in zip(keys, found, strict=True) if until <= now or key not in asked
    ]
    return sum(_tend(game_id, now) for game_id in due)


def _tend(game_id: str, now: datetime) -> bool:
    with transaction() as session:
        game = session.get(Game, game_id) if log.lock(session, game_id, skip_locked=True) else None
        if game is None or game.open_until is None or game.open_until > now + WARNED:
            return False
        if not _is_asked(session, game):
            # Nothing ends unannounced: after an outage a table waits another week.
            game.open_until = max(game.open_until, now + WARNED)
            notify.ask_about_open_table(session, game, now)
            return True
        if game.open_until > now:
            return False
        cancel_locked(session, game, now, "expired")
        return True


def _is_asked(session: Session, game: Game) -> bool:
    if game.organiser_id is None or game.open_until is None:
        return True
    key = notify.open_table_key(game.id, game.open_until)
    return session.scalar(select(Mail.id).where(Mail.key == key)) is not None
