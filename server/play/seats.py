"""Other people at the seats of a running game: seats that are offered, and visitors' games kept by somebody.

A seat may be offered once its player has left, or has been on autopilot for 72 hours. Who takes it becomes its holder
as by a moderator's `!replace`; the entry is by the player who does it. The offer ends when the player returns.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from byzanz.moves import Outcome
from byzanz.record import Cause
from byzanz.rules import PUBLIC
from server.errors import Closed
from server.play import events, names, positions, running
from server.play.game import Table, hand_over_tenures
from server.play.moderation import Act, Newcomer, has_looked, replace
from server.store import links, log
from server.store.engine import parse_stamp
from server.store.models import GameStatus, Person
from server.store.statements import SeatRow

ABSENT = timedelta(hours=72)
"""How long a seat is on autopilot before it may be offered; at once if its player has left."""
LONG_ABSENT = timedelta(days=7)
"""How long a player is away before the others at the table may offer the seat."""


def absent_since(session: Session, game_id: str) -> dict[int, datetime]:
    """Return since when the player of each seat on autopilot is away: they left, or the server began to play."""
    since: dict[int, datetime] = {}
    for act in log.acts(session, [game_id], "!autopilot", "!leave", "!replace"):
        words = act.move.split(" ")
        if words[0] == "!leave" or words[-1] == "on":
            since.setdefault(int(words[1]), parse_stamp(act.at))
        else:
            since.pop(int(words[1]), None)
    return since


def offered_from(seat: SeatRow, since: datetime, *, by_player: bool) -> datetime:
    """Return when a seat on autopilot may be offered.

    Args:
        since: when its player went away.
        by_player: by anybody at the table; otherwise by the organiser or a moderator.
    """
    if by_player:
        return since + LONG_ABSENT
    return since if seat.left else since + ABSENT


def offer_seat(session: Session, game_id: str, number: int, now: datetime, *, by_player: bool) -> None:
    """Offer a seat to other players; offering it twice changes nothing.

    Args:
        by_player: anybody at the table offers it; otherwise the organiser or a moderator.

    Raises:
        Closed: there is no such seat, its player is present, or has not been away for long enough.
        NotRunning: the game has not begun, is over, or is on hold.
    """
    with running.in_hand(session, game_id, now) as table:
        positions.check_running(table.game)
        seat = table.seats[number] if number < len(table.seats) else None
        if seat is None or seat.person_id is None or not seat.autopilot:
            raise Closed("Only a seat whose player is away can be offered.")
        since = absent_since(session, game_id).get(number)
        if since is None or now < offered_from(seat, since, by_player=by_player):
            name = names.of(table.game, seat, PUBLIC)
            raise Closed("%(name)s has not been away for long enough. Try again later.", name=name)
        seat.offered_at = seat.offered_at or now


def withdraw_offer(session: Session, game_id: str, number: int, now: datetime) -> None:
    """End the offer of a seat; ending it twice changes nothing."""
    with running.in_hand(session, game_id, now) as table:
        if number < len(table.seats):
            table.seats[number].offered_at = None


def take_seat(session: Session, game_id: str, number: int, person: Person, name: str, now: datetime) -> int:
    """Give an offered seat to a person, with its hand and its cut; return the seq of the `!replace`.

    Args:
        person: with an address; the caller has checked whether they may have the seat.
        name: at this table; nobody else there has it.

    Raises:
        Closed: the seat is not offered. NotRunning: the game cannot change. Broken: its log does not replay.
    """
    assert person.email is not None
    with running.in_hand(session, game_id, now) as table:
        position = running.position(table)
        if number >= len(table.seats) or table.seats[number].offered_at is None:
            raise not_offered()
        newcomer = Newcomer(name, person.email)
        act = Act(("!replace", str(number)), "", person.id, now, newcomer, by=Cause.PLAYER)
        seq = replace(table, position, act)
        table.tell(events.Acted(at=now, seq=seq))
        return seq


def not_offered() -> Closed:
    """The refusal of a takeover, whatever stands against it."""
    return Closed("This seat is no longer offered.")


# ---- visitors' games ----


def keep_trial(session: Session, game_id: str, person: Person, name: str, now: datetime) -> None:
    """Give a visitor's seat to a person, whose clock and emails begin; the link of another visitor ends.

    Args:
        name: at this table.

    Raises:
        Closed: it is no visitor's game any more, or the person has seen its hidden hands.
    """
    with running.in_hand(session, game_id, now) as table:
        if not table.game.trial:
            raise Closed("This game has been kept already, or it has ended.")
        if has_looked(session, game_id, person.id):
            raise Closed("You have viewed hidden hands in this game and cannot take a seat.")
        seat = next(seat for seat in table.seats if seat.person_id is not None)
        assert seat.person_id is not None
        if seat.person_id != person.id:
            links.revoke(session, seat.person_id, game_id, now)
            hand_over_tenures(session, game_id, seat.person_id, person.id)
        table.game.trial, table.game.origin = False, None
        table.sit(seat, person, now)
        seat.stored_name = name
        if table.game.status == GameStatus.RUNNING:
            position = running.position(table)
            seats = frozenset({seat.seat})
            running.advance(table, position, position.state, now, mover=seat.seat, restart=seats)


def end_trial(game_id: str, now: datetime) -> bool:
    """End a visitor's game that nobody has kept, and its link; return whether it was one.

    Raises:
        NotRunning: its log does not replay; now it is on hold, and the next call ends it.
    """

    def work(table: Table) -> bool:
        if not table.game.trial:
            return False
        for seat in table.seats:
            if seat.person_id is not None:
                links.revoke(table.session, seat.person_id, game_id, now)
        if table.game.status == GameStatus.RUNNING and not table.game.quarantine:
            position = running.position(table)
            table.append(seat=None, by=Cause.CLOCK, move="!abandon", now=now)
            positions.save(table, position)
            scores = tuple(position.rules.scores(position.state))
            running.finish(table, Outcome(scores, (), "abandoned"), now)
        table.game.trial, table.game.origin = False, None
        return True

    return bool(running.change_if_free(game_id, now, work))
