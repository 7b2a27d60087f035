"""The mails of a game that has not begun, and the limits on how many an organiser can cause."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from server import play
from server.errors import TooMany
from server.play import positions
from server.store import links, outbox
from server.store.models import Game, Mail, Person, Seat

DAY = timedelta(days=1)
INVITATIONS_A_DAY = 20
"""Invitations and reminders that one organiser can cause within a day."""
MOST_UNCONFIRMED = 5
"""Unconfirmed games that strangers can request under one address within a day."""


def check_invitations(session: Session, organiser_id: int | None, count: int, now: datetime) -> None:
    """Check that an organiser may cause this many more invitations today.

    Raises:
        TooMany: the message says how many are left.
    """
    filters = (Mail.game_id == Game.id, Game.organiser_id == organiser_id)
    today = (Mail.kind.in_(("invite", "nudge")), Mail.created_at > now - DAY)
    sent = session.scalar(select(func.count(Mail.id)).where(*filters, *today))
    left = max(0, INVITATIONS_A_DAY - (sent or 0))
    if count > left:
        raise TooMany(
            "Organisers can send %(most)s invitations a day; you have %(left)s left today.",
            most=INVITATIONS_A_DAY,
            left=left,
        )


def ask_to_confirm(
    session: Session, game: Game, organiser: Person, details: dict[str, str], now: datetime, *, limited: bool
) -> None:
    """Email the organiser the page with the button that sends the invitations.

    Args:
        asked: the organiser's `name` in the request, kept for that page, and their `language`, if known.
        limited: a stranger may be asking.

    Raises:
        TooMany: too many games wait under this address unconfirmed.
    """
    filters = (Mail.game_id == Game.id, Mail.kind == "confirm", Mail.person_id == organiser.id)
    waiting = select(func.count(Mail.id)).where(*filters, Mail.created_at > now - DAY, Game.status == "asked")
    if (session.scalar(waiting) or 0) >= MOST_UNCONFIRMED and limited:
        raise TooMany(
            "%(most)s games under this address are waiting to be confirmed. Confirm one of them or call it off first.",
            most=MOST_UNCONFIRMED,
        )
    outbox.enqueue(
        session,
        key=f"confirm:{game.id}",
        kind="confirm",
        person_id=organiser.id,
        now=now,
        game_id=game.id,
        details=details,
    )


def requested_name(session: Session, game: Game) -> str:
    """Return the organiser's name in the request; a stranger may have typed it until they confirm it."""
    mail = session.scalar(select(Mail).where(Mail.key == f"confirm:{game.id}"))
    return str(outbox.details(mail)["name"]) if mail else session.get_one(Person, game.organiser_id).name


def invite(session: Session, seat: Seat, now: datetime, kind: str = "invite") -> None:
    """Email a person their invitation, or (`nudge`) a reminder of it."""
    assert seat.person_id is not None
    if kind == "invite":
        seat.invited_at = now
    before = select(func.count()).where(
        Mail.kind == kind, Mail.game_id == seat.game_id, Mail.person_id == seat.person_id
    )
    outbox.enqueue(
        session,
        key=f"{kind}:{seat.game_id}:{seat.seat}:{seat.person_id}:{session.scalar(before)}",
        kind=kind,
        person_id=seat.person_id,
        now=now,
        game_id=seat.game_id,
        seat=seat.seat,
    )


def notify_organiser(
    session: Session, game: Game, seat: Seat, answer: str, now: datetime, *, begun: bool = False
) -> None:
    """Email the organiser about an answer that is not their own; `answer` as listed in this package's docstring."""
    if game.organiser_id is None or seat.person_id == game.organiser_id:
        return
    outbox.enqueue(
        session,
        key=f"answered:{game.id}:{seat.person_id}:{answer}:{int(now.timestamp() * 1e6)}",
        kind="answered",
        person_id=game.organiser_id,
        now=now,
        game_id=game.id,
        seat=seat.seat,
        details={"name": seat.name, "answer": answer, "begun": begun},
    )


def notify_cancelled(session: Session, game: Game, seat: Seat, why: str, now: datetime) -> None:
    """Tell a person who was emailed about a seat that it is gone; never the organiser, who knows."""
    if seat.person_id is None or seat.person_id == game.organiser_id:
        return
    if seat.status not in {"invited", "seated"} or (seat.status == "invited" and seat.invited_at is None):
        return
    outbox.enqueue(
        session,
        key=f"cancelled:{game.id}:{seat.person_id}:{int(now.timestamp() * 1e6)}",
        kind="cancelled",
        person_id=seat.person_id,
        now=now,
        game_id=game.id,
        details={"why": why},
    )


def begin_if_full(session: Session, game: Game, now: datetime) -> bool:
    """Begin a locked game with invitations sent once every seat is taken; return whether it has begun.

    All links to seats are created here, so that pages that create none can show them.
    """
    session.flush()
    session.expire_all()  # seats may have been renumbered, and people just seated are not loaded yet
    seats = positions.seats_of(session, game.id)
    if game.status != "inviting" or any(seat.status != "seated" for seat in seats):
        return False
    play.begin(session, game, now)
    for seat in seats:
        if seat.person_id is not None:
            links.link_for(session, "seat", seat.person_id, game.id, now)
    return True
