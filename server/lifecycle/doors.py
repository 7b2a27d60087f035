"""Links that somebody asks for: to sign in, or a fresh one for a dead one. They go to the address on file."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import get_args

from sqlalchemy import CursorResult, select, update
from sqlalchemy.orm import Session

from server import outbox, people
from server.db import transaction
from server.lifecycle import news, wishes
from server.schema import Game, Link, Person, Seat

LINK_LIFE = timedelta(hours=1)
"""How long a sign-in link may be redeemed."""
AN_HOUR = 3
"""Links that are mailed to one person within an hour, however often they are asked for."""


def mail_sign_in(address: str, now: datetime) -> None:
    """Mail a sign-in link to the person with this address; nothing for others, and nobody is told which.

    Raises:
        BadWish: the text is no address at all.
    """
    address = wishes.clean_address(address)
    with transaction() as session:
        person = session.scalar(select(Person).where(Person.email == people.address(address)))
        if person is not None:
            _mail_sign_in(session, person, now)


def _mail_sign_in(session: Session, person: Person, now: datetime) -> None:
    if news.queued(session, ("signin",), person.id, now - timedelta(hours=1)) >= AN_HOUR:
        return
    link = people.issue(session, "signin", person.id, now, expires_at=now + LINK_LIFE)
    _queue(session, "signin", person, now, details={"link": link.id})


def _queue(
    session: Session,
    kind: str,
    person: Person,
    now: datetime,
    details: dict[str, object],
    game_id: str | None = None,
) -> None:
    outbox.enqueue(
        session,
        key=f"{kind}:{person.id}:{int(now.timestamp() * 1e6)}",
        kind=kind,
        person_id=person.id,
        now=now,
        game_id=game_id,
        details=details,
    )


def redeem(token: str, now: datetime) -> Person | None:
    """Use up a sign-in link; the person who may sign in by it, or None: unknown, expired or used."""
    with transaction() as session:
        link = people.find(session, "signin", token, now)
        if link is None:
            return None
        use = update(Link).where(Link.id == link.id, Link.used_at.is_(None)).values(used_at=now)
        first = session.execute(use)
        assert isinstance(first, CursorResult)
        return session.get(Person, link.person_id) if first.rowcount == 1 else None


def mail_fresh_link(token: str, now: datetime) -> None:
    """Somebody opened a dead link: mail its owner what he may still open; nothing if there is nothing."""
    with transaction() as session:
        found = (people.find_any(session, purpose, token) for purpose in get_args(people.Purpose))
        link = next((link for link in found if link is not None), None)
        person = session.get(Person, link.person_id) if link else None
        if link is None or person is None or person.email is None:
            return
        if link.purpose == "signin":
            _mail_sign_in(session, person, now)
            return
        purpose = _still_open(session, link)
        asked = news.queued(session, ("fresh",), person.id, now - timedelta(hours=1))
        if purpose is not None and asked < AN_HOUR:
            _queue(session, "fresh", person, now, {"purpose": purpose}, link.game_id)


def _still_open(session: Session, link: Link) -> people.Purpose | None:
    """What the owner of a link into a game may open there today."""
    game = session.get_one(Game, link.game_id)
    if link.purpose == "organise":
        return "organise" if game.organiser_id == link.person_id else None
    seat = session.scalar(select(Seat).where(Seat.game_id == game.id, Seat.person_id == link.person_id))
    if seat is None:
        return None
    return "seat" if game.started_at and seat.status == "seated" else "invite"
