"""Issues for moderators: late turns, unreachable players, and games that are stuck, stopped or on hold.

Each kind of issue is a selection of games, for the search, and a list of occurrences, for the desk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Select, String, and_, cast, exists, func, or_, select, tuple_, union
from sqlalchemy.orm import Session

from server.store.engine import stamp
from server.store.models import FAILED, Alert, Entry, Game, GameStatus, Mail, Person, Seat, SeatStatus, Turn

DUE_SOON = timedelta(hours=6)
"""Turns that are due within this time are listed."""
OVERDUE_MAIL = timedelta(hours=1)
"""A turn whose mail has not been sent for this long is listed; digest subscribers may wait a day."""
STALLED_AFTER = timedelta(days=7)
"""A game without a log entry for this long is stuck."""
RECENT = timedelta(days=7)
"""How long a failed mail is listed."""
MOST_SHOWN = 8
"""Occurrences of one kind that the desk shows; the search has all."""

_Selection = Select[*tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class IssueList:
    """The first few occurrences.

    Args:
        rows: up to MOST_SHOWN.
        count: how many there are in all.
    """

    rows: Sequence[Any]
    count: int


def _is_active() -> ColumnElement[bool]:
    """The game runs: it is neither paused nor on hold."""
    return and_(_is_running(), Game.paused.is_(False), Game.quarantine.is_(None))


def _is_running() -> ColumnElement[bool]:
    """The game has begun and is not over; nobody waits for a visitor."""
    return and_(Game.status == GameStatus.RUNNING, Game.trial.is_(False))


def _waiting_turns(*what: Any) -> _Selection:
    """Select the open turns of people in active games."""
    joined = select(*what).select_from(Turn).join(Game, Game.id == Turn.game_id)
    return joined.where(_is_active(), Turn.bot.is_(False))


def _late(now: datetime, *what: Any) -> _Selection:
    return _waiting_turns(*what).where(Turn.due_at <= now + DUE_SOON)


def _unsent(now: datetime, *what: Any) -> _Selection:
    """Select turns whose mail should have been sent long ago."""
    found = _waiting_turns(*what).join(Seat, (Seat.game_id == Turn.game_id) & (Seat.seat == Turn.seat))
    found = found.join(Person, Person.id == Seat.person_id).where(Person.cadence != "digest")
    return found.where(
        Turn.started_at.is_(None), Turn.refused.is_(None), Turn.opened_at <= now - OVERDUE_MAIL
    )


def _unreached(*what: Any) -> _Selection:
    """Select seats whose players get no mail, and turns whose clocks are stopped for that."""
    persons = select(Person.id).where(_is_lost())
    lost = select(Seat.game_id, Seat.seat).where(Seat.person_id.in_(persons))
    stopped = select(Turn.game_id, Turn.seat).where(Turn.refused_at.is_not(None))
    found = select(*what).select_from(Seat).join(Game, Game.id == Seat.game_id)
    found = found.join(Person, Person.id == Seat.person_id)
    found = found.outerjoin(Turn, (Turn.game_id == Seat.game_id) & (Turn.seat == Seat.seat))
    return found.where(_is_expected(), tuple_(Seat.game_id, Seat.seat).in_(union(lost, stopped)))


def _is_lost() -> ColumnElement[bool]:
    """The person gets no mail."""
    return or_(Person.unreachable.is_not(None), Person.suppressed.is_not(None))


def _is_expected() -> ColumnElement[bool]:
    """Somebody has the seat in a game that is not over, or is invited to it."""
    return and_(
        Game.status.in_((GameStatus.INVITING, GameStatus.RUNNING)),
        Seat.status.in_((SeatStatus.INVITED, SeatStatus.SEATED)),
    )


def _is_listed() -> ColumnElement[bool]:
    """`unreached` lists a seat of the person of an email; it is found from the email, for few emails have failed."""
    seats = select(Seat.seat).join(Game, Game.id == Seat.game_id).where(Seat.person_id == Mail.person_id)
    seats = seats.outerjoin(Turn, (Turn.game_id == Seat.game_id) & (Turn.seat == Seat.seat))
    found = seats.where(_is_expected(), or_(_is_lost(), Turn.refused_at.is_not(None)))
    return found.correlate(Mail, Person).exists()


def _stuck(now: datetime, *what: Any) -> _Selection:
    """Select games that are paused, or whose last entry is long ago."""
    last = (Entry.game_id == Game.id) & (Entry.seq == Game.head)
    found = select(*what).select_from(Game).join(Entry, last)
    found = found.where(_is_running(), Game.quarantine.is_(None))
    return found.where(or_(Game.paused, Entry.at <= stamp(now - STALLED_AFTER)))


def _on_autopilot(*what: Any) -> _Selection:
    """Select seats for which the server plays: their players do not answer or have left."""
    found = select(*what).select_from(Seat).join(Game, Game.id == Seat.game_id)
    return found.where(Seat.autopilot, _is_running())


KINDS = ("late", "mail", "stuck", "aside", "away")
"""The kinds of issues, as the search names them."""


def games(kind: str, now: datetime) -> ColumnElement[bool]:
    """Select the games with this kind of issue; with any for `trouble`."""
    match kind:
        case "late":
            return Game.id.in_(_late(now, Turn.game_id))
        case "mail":
            return or_(Game.id.in_(_unreached(Seat.game_id)), Game.id.in_(_unsent(now, Turn.game_id)))
        case "stuck":
            return Game.id.in_(_stuck(now, Game.id))
        case "aside":
            return Game.quarantine.is_not(None)
        case "away":
            return Game.id.in_(_on_autopilot(Seat.game_id))
    return or_(*(games(each, now) for each in KINDS))


def late(session: Session, now: datetime) -> IssueList:
    """List turns that are due soon or overdue, the most urgent first: (game, seat, turn)."""
    own = (Seat.game_id == Turn.game_id) & (Seat.seat == Turn.seat)
    return _first_rows(
        session, _late(now, Game, Seat, Turn).join(Seat, own).order_by(Turn.due_at, Turn.game_id)
    )


def unsent(session: Session, now: datetime) -> IssueList:
    """List turns whose mail has not been sent: (game, seat, turn)."""
    return _first_rows(session, _unsent(now, Game, Seat, Turn).order_by(Turn.opened_at, Turn.game_id))


def unreached(session: Session) -> IssueList:
    """List seats that no mail reaches: (game, seat, person, open turn or None)."""
    order = (Turn.refused_at.is_(None), Turn.refused_at, Seat.game_id, Seat.seat)
    return _first_rows(session, _unreached(Game, Seat, Person, Turn).order_by(*order))


def stuck(session: Session, now: datetime) -> IssueList:
    """List stuck games, the longest first: (game, last entry)."""
    return _first_rows(session, _stuck(now, Game, Entry).order_by(Entry.at, Game.id))


def quarantined(session: Session) -> IssueList:
    """List games that are on hold: (game,)."""
    return _first_rows(session, select(Game).where(Game.quarantine.is_not(None)).order_by(Game.id))


def on_autopilot(session: Session) -> IssueList:
    """List seats on autopilot: (game, seat)."""
    return _first_rows(session, _on_autopilot(Game, Seat).order_by(Game.id, Seat.seat))


def refused(session: Session, now: datetime) -> IssueList:
    """List recently failed mails to people who are still in the game, newest first: (mail, person, game or None).

    Those about which `unreached` or `alerts` lists something are left out.
    """
    found = select(Mail, Person, Game).join(Person, Person.id == Mail.person_id)
    found = found.outerjoin(Game, Game.id == Mail.game_id)
    seated = exists().where(Seat.game_id == Mail.game_id, Seat.person_id == Mail.person_id)
    concerned = or_(Mail.game_id.is_(None), Game.organiser_id == Mail.person_id, seated)
    alert = exists().where(
        Alert.key == "refused:" + Mail.game_id + ":" + cast(Mail.person_id, String),
        Alert.cleared_at.is_(None),
    )
    found = found.where(FAILED, Mail.not_before > now - RECENT, concerned, ~_is_listed(), ~alert)
    return _first_rows(session, found.order_by(Mail.not_before.desc(), Mail.id.desc()))


def alerts(session: Session) -> IssueList:
    """List open alerts, newest first: (alert, its game or None).

    Those about what another list has with its remedy are left out.
    """
    person, own = cast(Seat.person_id, String), Seat.game_id + ":" + cast(Seat.seat, String)
    about = union(  # as `deliverability`, `autopilot` and `quarantines` name them
        _unreached("refused:" + Seat.game_id + ":" + person),
        _unreached("complaint:" + person),
        _on_autopilot("left:" + own),
        _on_autopilot("lost:" + own),
        select("quarantine:" + Game.id).where(Game.quarantine.is_not(None)),
        select("rests:" + Game.id).where(_is_running(), Game.paused, Game.quarantine.is_(None)),
    )
    found = select(Alert, Game).outerjoin(Game, Game.id == Alert.game_id)
    found = found.where(Alert.cleared_at.is_(None), Alert.key.not_in(about))
    return _first_rows(session, found.order_by(Alert.at.desc(), Alert.id.desc()))


def _first_rows(session: Session, query: _Selection) -> IssueList:
    rows = session.execute(query.limit(MOST_SHOWN)).all()
    if len(rows) < MOST_SHOWN:
        return IssueList(rows, len(rows))
    count = query.order_by(None).with_only_columns(func.count(), maintain_column_froms=True)
    return IssueList(rows, session.scalar(count) or 0)
