"""The next game of the same people: one for each finished game.

The first player to press makes it, or the server does a day after the end of a game that is to keep going.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import Select, delete, select
from sqlalchemy.orm import Session

from server import play
from server.community import blocks
from server.errors import Closed, NotEverybody
from server.lobby import create, notify
from server.lobby.create import GameRequest, create_rows, renumber, seat_person
from server.play import names, positions
from server.play.game import Table
from server.store import links, log
from server.store.engine import reading, transaction
from server.store.models import (
    Game,
    GameSettings,
    GameStatus,
    Link,
    LinkPurpose,
    Person,
    Rematch,
    Seat,
    SeatStatus,
)
from server.store.statements import GameRow, LinkRow
from server.validation import Guest

OFFERED_AFTER = timedelta(days=1)
"""How long after its end the game that follows one that keeps going is offered by itself."""
LONGEST_NAME = 60
"""Characters of the name of a game that follows another; organisers type shorter ones."""
_NUMBERED = re.compile(r"(?P<name>.*) \((?P<number>[2-9]|[1-9][0-9]{1,2})\)")


class NextGame(NamedTuple):
    """The game that follows another.

    Args:
        created: by this request.
        link: to the place of the person who asked; None without one, or if a moderator has revoked one of their links.
    """

    game_id: str
    created: bool
    link: LinkRow | None


def again(game_id: str, person_id: int, now: datetime) -> NextGame:
    """Make the game that follows a finished one, organised by one of its players, or return the one there is.

    It has the same options, time control and bots. Everybody moves on by one seat. The organiser is seated at once;
    the others are invited.

    Raises:
        Closed: the game is not over, or the person has left it. NotEverybody: somebody cannot be invited again.
        TooMany: more invitations than the organiser can send today.
    """
    with transaction(game_id) as session:
        game = play.lock_game(session, game_id)
        seats = positions.seats_of(session, game.id)
        check_over(game, seats, person_id)
        found = next_game(session, game.id)
        made = found or _make(session, game, seats, person_id, now, seated=True)
        return NextGame(made.id, found is None, _place(session, made, person_id, now))


def check_over(game: Game, seats: Sequence[Seat], person_id: int) -> None:
    """Check that a person may ask for the game that follows this one.

    Raises:
        Closed: it is not over, or is a visitor's, or they did not hold a seat to its end.
    """
    if game.quarantine:
        raise Closed("This game is on hold while we look into an error. Nothing has been lost.")
    if game.status != GameStatus.OVER or game.trial:
        raise Closed("You can play again with the same people once this game is over.")
    if not any(seat.person_id == person_id and not seat.left for seat in seats):
        raise Closed("You left this game before its end. Create a new game instead.")


def next_game(session: Session, game_id: str) -> Game | None:
    """Return the game that follows another, or None."""
    return session.scalar(
        select(Game).join(Rematch, Rematch.game_id == Game.id).where(Rematch.after_id == game_id)
    )


def game_before(session: Session, game_id: str) -> Game | None:
    """Return the game that another follows, or None."""
    return session.scalar(
        select(Game).join(Rematch, Rematch.after_id == Game.id).where(Rematch.game_id == game_id)
    )


def invitable(session: Session, seats: Sequence[Seat], host_id: int) -> list[Seat]:
    """Return the seats of a finished game whose bots and people can sit at another table of one of them.

    Not those who left, were erased or want no invitations, nor those whom the organiser blocks. People who block the
    organiser are invited like everybody else, and their invitation is never sent (`relevance`): left out, they would be
    missing for this organiser and for no other.
    """
    blocked = blocks.blocked_by(session, host_id)
    return [seat for seat in seats if seat.bot or (seat.person_id not in blocked and _may_return(seat))]


def _may_return(seat: Seat) -> bool:
    return not (seat.left or seat.person is None or not seat.person.email or seat.person.no_invitations)


def _make(
    session: Session, game: Game, seats: Sequence[Seat], host_id: int, now: datetime, *, seated: bool
) -> Game:
    """Make the game that follows a locked one, and send its invitations.

    Args:
        seated: the organiser is seated at once; otherwise they are invited like the others.
    """
    asked = [seat for seat in seats if not (seated and seat.person_id == host_id)]
    if len(invitable(session, asked, host_id)) < len(asked):
        raise NotEverybody("Not everyone can be invited again. Create a new game with the others.")
    host = session.get_one(Person, host_id)
    turned = [seats[-1], *seats[:-1]]
    request = _request(game, turned, host)
    persons = {seat.person.email: seat.person for seat in seats if seat.person} | {host.email: host}
    made = create_rows(session, request, {address or "": person for address, person in persons.items()}, now)
    made.status = GameStatus.INVITING
    session.add(Rematch(after_id=game.id, game_id=made.id))
    renumber(session, made, _order(turned, host_id))
    _invite(session, made, host_id, now, seated=seated)
    return made


def _request(game: Game, turned: Sequence[Seat], host: Person) -> GameRequest:
    """Return the same game once more, for those on these seats."""
    own = next((seat for seat in turned if seat.person_id == host.id), None)
    return GameRequest(
        organiser=Guest(
            names.of(GameRow.of(game), own, names.ORGANISER) if own else host.name, host.email or ""
        ),
        name=next_name(game.name),
        settings=GameSettings.of(game),
        players=[
            Guest(names.of(GameRow.of(game), seat, names.ORGANISER), seat.person.email or "")
            for seat in turned
            if seat.person and seat is not own
        ],
        bots=[seat.bot for seat in turned if seat.bot],
        plays=own is not None,
    )


def _order(turned: Sequence[Seat], host_id: int) -> list[int]:
    """Return the numbers that `create_rows` gives to these seats: the organiser's first, then people, then bots."""
    ranks = [(seat.bot is not None, seat.person_id != host_id) for seat in turned]
    first = sorted(range(len(turned)), key=lambda place: ranks[place])
    return [first.index(place) for place in range(len(turned))]


def next_name(name: str, most: int = LONGEST_NAME) -> str:
    """Return the name of the game that follows one with this name: “Table (2)” after “Table”, then “Table (3)”.

    Args:
        most: characters, to which it is cut.
    """
    found = _NUMBERED.fullmatch(name)
    stem, number = (found["name"], int(found["number"]) + 1) if found else (name, 2)
    ending = f" ({number})"
    return stem[: most - len(ending)].rstrip() + ending


def _invite(session: Session, game: Game, host_id: int, now: datetime, *, seated: bool) -> None:
    notify.lock_people(session, game)
    seats = [seat for seat in positions.seats_of(session, game.id) if seat.status == SeatStatus.INVITED]
    own = [seat for seat in seats if seated and seat.person_id == host_id]
    notify.check_invitations(session, host_id, len(seats) - len(own), now)
    for seat in seats:
        if seat in own:
            seat_person(session, game, seat, create.random_cut(), now, uncut=True)
        else:
            notify.invite(session, seat, now)
    notify.begin_if_full(session, game, now)


def _place(session: Session, game: Game, person_id: int, now: datetime) -> LinkRow | None:
    """Return the link to a person's place in a game: their seat, their invitation or their organiser's page.

    Once a moderator has revoked one of their links, the way to the new one is their email alone.
    """
    theirs = (Link.person_id == person_id, Link.game_id == game.id)
    if session.scalar(select(Link.id).where(*theirs, Link.revoked_at.is_not(None)).limit(1)) is not None:
        return None
    seat = session.scalar(select(Seat).where(Seat.game_id == game.id, Seat.person_id == person_id))
    if game.status != GameStatus.INVITING:
        return links.existing(session, LinkPurpose.SEAT, person_id, game.id) if seat else None
    if game.organiser_id == person_id and (seat is None or seat.status == SeatStatus.SEATED):
        return links.link_for(session, LinkPurpose.ORGANISE, person_id, game.id, now)
    return links.link_for(session, LinkPurpose.INVITE, person_id, game.id, now) if seat else None


def forget(session: Session, game_id: str) -> None:
    """Let another game follow the one that a cancelled game followed."""
    session.execute(delete(Rematch).where(Rematch.game_id == game_id))


def stop_if_declined(session: Session, game: Game) -> bool:
    """Let no further game follow by itself, since somebody declines this one; return whether one would have.

    Args:
        game: locked. In the first game of a table the organiser asks somebody else instead.
    """
    if not game.keep_going or game_before(session, game.id) is None:
        return False
    game.keep_going = False
    return True


def may_keep_going(table: Table, now: datetime) -> bool:
    """Whether the organiser can still choose that the next game is offered by itself, or that it is not."""
    game = table.game
    if game.status != GameStatus.OVER:
        return game.status != GameStatus.CANCELLED and not game.trial
    recent = game.ended_at is not None and game.ended_at > now - OFFERED_AFTER
    return recent and not game.trial and next_game(table.session, game.id) is None


def due(now: datetime, limit: int = 100) -> Sequence[str]:
    """Return the ids of games that ended a day ago and are to keep going, those waiting longest first."""
    with reading() as session:
        return session.scalars(_due(now).order_by(Game.ended_at).limit(limit)).all()


def _due(now: datetime) -> Select[str]:
    # Without a condition on the status, whose index the planner would prefer: a cancelled game does not keep going.
    return select(Game.id).where(Game.keep_going, Game.ended_at <= now - OFFERED_AFTER)


def offer(game_id: str, now: datetime) -> bool:
    """Make the next game of one that keeps going, in the name of its organiser, and invite everybody; once.

    If somebody has made it already or not everybody can be invited, there is no offer, now or later.

    Returns:
        Whether it was made.

    Raises:
        TooMany: the organiser has sent too many invitations today; it stays due.
    """
    with transaction(game_id) as session:
        game = session.get(Game, game_id) if log.lock(session, game_id, skip_locked=True) else None
        if game is None or session.scalar(_due(now).where(Game.id == game_id)) is None:
            return False
        made = False
        if game.organiser_id is not None and not game.quarantine and next_game(session, game.id) is None:
            with suppress(NotEverybody):
                seats = positions.seats_of(session, game.id)
                made = bool(_make(session, game, seats, game.organiser_id, now, seated=False))
        game.keep_going = False
        return made
