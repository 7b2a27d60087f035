"""The seats of a game that has not begun: who gets one, with their cut of the deck, and their order."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from server import errors, validation
from server.community import reliability
from server.lobby import names, notify
from server.play import positions
from server.store.models import Game, Person, Seat

WAITS = timedelta(days=21)
"""How long a listed table waits for players after the last change of its seats."""


def wait_for_players(session: Session, game: Game, now: datetime) -> None:
    """Let a locked game with free seats wait for players from now on if it is listed; call it after each change."""
    session.flush()
    free = select(Seat.seat).where(Seat.game_id == game.id, Seat.status == "free").limit(1)
    waits = game.listed and game.status == "inviting" and session.scalar(free) is not None
    game.open_until = now + WAITS if waits else None
    if waits:
        game.listed_at = game.listed_at or now


def check_asked(session: Session, game: Game, person_id: int) -> None:
    """Check that a person who takes a seat answers as reliably as the organiser asks.

    Raises:
        Closed: they do not, or too little is known of them.
    """
    if not game.asks:
        return
    shown = reliability.shown(session, [person_id])[person_id]
    if shown.new or shown.percent < game.asks:
        raise errors.Closed(
            "This table asks for players who have answered at least %(percent)s%% of their decisions in time.",
            percent=game.asks,
        )


def seat_bot(seat: Seat, kind: str, taken: Sequence[str], now: datetime) -> None:
    """Give a seat to a bot; its cut is its name (docs/formats.md §3).

    Args:
        taken: the names at the table.
    """
    seat.name = validation.unique_name(names.bot_name(kind, taken), taken)
    seat.bot, seat.cut, seat.status = kind, seat.name, "seated"
    seat.person_id, seat.uncut, seat.answered_at = None, False, now


def seat_person(
    session: Session, game: Game, seat: Seat, cut: str, now: datetime, *, uncut: bool = False
) -> None:
    """Seat the person for whom a seat is reserved; if they had muted the invitation, they get the mails of the game.

    Args:
        game: locked.
        cut: their cut of the deck, validated.
        uncut: they were not asked; the cut is the server's offer, and no email says what was fixed before it.
    """
    seat.cut, seat.uncut, seat.status, seat.answered_at = cut, uncut, "seated", now
    seat.silent = False
    game.cuts_made += 1
    seat.cut_number = game.cuts_made
    if not uncut:
        notify.confirm_seat(session, game, seat, now)


def has_name(person: Person) -> bool:
    """Whether the account of a person has a name of its own, not one made from the address."""
    return person.name != validation.name_from_address(person.email or "")


def learn_name(person: Person, name: str) -> None:
    """Let a name that a person types at a table be that of the account if it has none; else it is for this table."""
    if not has_name(person):
        person.name = name


def check_name_free(session: Session, seat: Seat, name: str) -> None:
    """Check that nobody else at the table has a name that looks like this one.

    Raises:
        InvalidInput: somebody has.
    """
    others = positions.seats_of(session, seat.game_id)
    if validation.is_taken(name, [other.name for other in others if other.seat != seat.seat and other.name]):
        raise errors.InvalidInput(
            "Another player at this table is already called %(name)s.", field="name", name=name
        )


def shuffle_seats(session: Session, game: Game) -> None:
    """Seat everybody at random in a locked game in which no player has cut the deck yet.

    Later, anyone who knows the seed could choose among the deals to which the orders of the seats lead.
    """
    order = [seat.seat for seat in positions.seats_of(session, game.id)]
    secrets.SystemRandom().shuffle(order)
    renumber(session, game, order)


def renumber(session: Session, game: Game, order: Sequence[int]) -> None:
    """Number the seats of a locked game from 0, in this order of all their present numbers."""
    session.flush()
    aside = 1 + max(order)  # each moves to a number that is free
    for number, seat in [(aside + n, seat) for n, seat in enumerate(order)] + [
        (n, aside + n) for n in range(len(order))
    ]:
        move = update(Seat).where(Seat.game_id == game.id, Seat.seat == seat).values(seat=number)
        session.execute(move, execution_options={"synchronize_session": False})
    session.expire_all()
