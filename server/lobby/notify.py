"""The mails of a game that has not begun, and the limits on how many an organiser can cause."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import Integer, func, literal, or_, select
from sqlalchemy.orm import Session

from byzanz import chance
from server import play
from server.community import blocks
from server.errors import Crowded, TooMany
from server.play import history, names, positions
from server.play.game import load
from server.store import links, mail_kinds, operations, outbox
from server.store import networks as store_networks
from server.store.facts import Fact
from server.store.mail_kinds import MailKind
from server.store.models import (
    HELD_INVITATION,
    NOT_NUMEROUS,
    SINGLE_INVITATION,
    WAITING,
    Game,
    GameStatus,
    LinkPurpose,
    Mail,
    MailStatus,
    Person,
    Seat,
    SeatStatus,
)
from server.store.networks import HOUR, Caused, Limits
from server.store.statements import GameRow

DAY = timedelta(days=1)
REACH_A_STRANGER = 3
"""Mails with invitations that reach an address within a day which has never accepted one."""
FROM_NETWORKS = Limits(networks=(30, 40, 50), share=10)
"""Emails that count (`server/store/mail_kinds.py`) within an hour, from one visitor's networks: a /64 or one IPv4
address, a /56, and a /48 or a /24 of IPv4. They count whether or not the address is confirmed: nobody may learn that.
"""
INVITATIONS_AN_HOUR = 300
"""What all networks together add within an hour, of emails to addresses that nobody has confirmed; more raise an alert.

Further invitations are held until the hour is over, and newcomers are refused."""
INVITATIONS_A_DAY = 20
"""Invitations and reminders that one organiser can cause within a day."""
MOST_UNCONFIRMED = 5
"""Unconfirmed games that strangers can request under one address within a day."""


EVERY_MAIL: tuple[LinkPurpose, ...] = (LinkPurpose.SEAT, LinkPurpose.STOP)
"""The links in every email of a running game, made when it begins so that no email has to."""


def check_invitations(session: Session, organiser_id: int | None, count: int, now: datetime) -> None:
    """Check that an organiser may cause this many more invitations today.

    Raises:
        TooMany: the message says how many are left.
    """
    filters = (Mail.game_id == Game.id, Game.organiser_id == organiser_id)
    today = (Mail.kind.in_(mail_kinds.INVITATIONS), Mail.created_at > now - DAY)
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
        Crowded: the requester's networks have caused too many emails.
    """
    delay = check_crowd(session, now) if limited else 0
    kind = MailKind.CONFIRM
    filters = (Mail.game_id == Game.id, Mail.kind == kind, Mail.person_id == organiser.id)
    waiting = select(func.count(Mail.id)).where(
        *filters, Mail.created_at > now - DAY, Game.status == GameStatus.ASKED
    )
    if (session.scalar(waiting) or 0) >= MOST_UNCONFIRMED and limited:
        raise TooMany(
            "%(most)s games under this address are waiting to be confirmed. Confirm one of them or call it off first.",
            most=MOST_UNCONFIRMED,
        )
    outbox.enqueue(
        session,
        key=f"confirm:{game.id}",
        kind=kind,
        person_id=organiser.id,
        now=now,
        game_id=game.id,
        details=details,
        delay=delay,
    )


def requested_name(session: Session, game: Game) -> str:
    """Return the organiser's name in the request; a stranger may have typed it until they confirm it."""
    mails = outbox.find(session, Mail.key == f"confirm:{game.id}")
    return str(outbox.details(mails[0])["name"]) if mails else session.get_one(Person, game.organiser_id).name


def lock_people(session: Session, game: Game) -> None:
    """Lock the organiser and the people at a table, before any of them changes, so that nobody else counts their mails.

    They are locked in one order: otherwise two people who invite each other would wait for each other.
    """
    seated = select(Seat.person_id).where(Seat.game_id == game.id)
    ids = seated.union(select(literal(game.organiser_id, Integer)))
    everybody = select(Person.id).where(Person.id.in_(ids))
    session.execute(everybody.order_by(Person.id).with_for_update(key_share=True))


def invite(session: Session, seat: Seat, now: datetime, *, reminder: bool = False) -> None:
    """Email a person their invitation, or a reminder of it; if they get too many, it is held for a day."""
    assert seat.person_id is not None
    kind = MailKind.REMIND_INVITATION if reminder else MailKind.INVITE
    if not reminder:
        seat.invited_at = now
    person = session.get_one(Person, seat.person_id, with_for_update={"key_share": True})
    origin = store_networks.current() or _earlier_origin(session, seat)
    waits = _waits(session, person)
    host_id = session.get_one(Game, seat.game_id).organiser_id
    held_until = max(waits, now) if waits else _held_until(session, person, host_id, origin, now)
    before = select(func.count()).where(
        Mail.kind.in_((kind, *mail_kinds.HELD_INVITATIONS)),
        Mail.game_id == seat.game_id,
        Mail.person_id == seat.person_id,
    )
    outbox.enqueue(
        session,
        key=f"{kind}:{seat.game_id}:{seat.seat}:{seat.person_id}:{session.scalar(before)}",
        kind=MailKind.HELD if held_until else kind,
        person_id=seat.person_id,
        now=now,
        game_id=seat.game_id,
        seat=seat.seat,
        delay=(held_until - now).total_seconds() if held_until else 0,
        origin=origin,
        counts=waits is None,  # else one email tells them all
    )


def _earlier_origin(session: Session, seat: Seat) -> str | None:
    """Return the origin of the last invitation to a seat, whose reminder has the same one."""
    about = (
        Mail.game_id == seat.game_id,
        Mail.person_id == seat.person_id,
        Mail.kind.in_(mail_kinds.INVITATIONS),
    )
    return session.scalar(select(Mail.origin).where(*about).order_by(Mail.id.desc()).limit(1))


def _held_until(
    session: Session, person: Person, host_id: int | None, origin: str | None, now: datetime
) -> datetime | None:
    """Return until when an invitation to a person is held, or None; all that wait are told in one mail.

    Args:
        host_id: the organiser.
        origin: of their request.
    """
    if person.accepted:
        return None
    theirs = (NOT_NUMEROUS, Mail.person_id == person.id)
    sent = HELD_INVITATION & (Mail.status == MailStatus.SENT) & (Mail.finished_at > now - DAY)
    reached = or_(SINGLE_INVITATION & (Mail.created_at > now - DAY), sent)
    if (session.scalar(select(func.count(Mail.id)).where(*theirs, reached)) or 0) >= REACH_A_STRANGER:
        return now + DAY
    until = max(room_from(session, now, origin, proven=_is_proven(session, host_id)))
    return until if until > now else None


def _waits(session: Session, person: Person) -> datetime | None:
    """Return until when earlier invitations to a person are held, None if none is."""
    if person.accepted:
        return None
    held = (NOT_NUMEROUS, Mail.person_id == person.id, HELD_INVITATION, WAITING)
    return session.scalar(select(func.min(Mail.not_before)).where(*held))


def _is_proven(session: Session, host_id: int | None) -> bool:
    """Whether somebody has accepted an invitation of this organiser before: they keep a share of their own."""
    held = select(Seat.seat).join(Game, Game.id == Seat.game_id).join(Person, Person.id == Seat.person_id)
    theirs = held.where(Game.organiser_id == host_id, Seat.person_id != host_id, ~Game.trial)
    accepted = theirs.where(Seat.status == SeatStatus.SEATED, Person.accepted)
    return host_id is not None and session.scalar(accepted.limit(1)) is not None


class Room(NamedTuple):
    """From when on one more email to a stranger may go out: now, unless too many have.

    Args:
        networks: as far as the visitor's own networks have caused too many.
        everybody: as far as all together have.
    """

    networks: datetime
    everybody: datetime


def room_from(session: Session, now: datetime, origin: str | None, *, proven: bool = False) -> Room:
    """Return from when on one more email to a stranger may go out; the moderators are alerted if all cause too many.

    Args:
        origin: of the request that causes it.
        proven: for an organiser whose earlier invitations were accepted, who has half as much again.
    """
    query = select(Mail.origin, Mail.counts_at, Person.accepted).join(Person, Person.id == Mail.person_id)
    rows = session.execute(query.where(Mail.counts_at.is_not(None), Mail.counts_at > now - HOUR)).all()
    caused = [(Caused(found, at), accepted) for found, at, accepted in rows if at is not None]
    limits, most = FROM_NETWORKS, INVITATIONS_AN_HOUR
    to_strangers = [each for each, accepted in caused if not accepted]
    total = limits.total(to_strangers, now)
    if total >= most:
        operations.raise_alert(session, "many-invitations", Fact("many_invitations", {"most": most}), now)
    if proven:
        limits, most = limits.half_more(), most * 3 // 2
    own = limits.room_for(origin, [each for each, _ in caused], now)
    return Room(own, limits.below(most, to_strangers, now) if total >= most else now)


def too_many(session: Session, now: datetime) -> bool:
    """Whether the visitor's networks, or all together, have caused too many emails to strangers within an hour."""
    return max(room_from(session, now, store_networks.current())) > now


def check_crowd(session: Session, now: datetime) -> float:
    """Check that a visitor may cause an email to an address that they have typed.

    Returns:
        For how many seconds the email waits because all together have caused too many.

    Raises:
        Crowded: the visitor's own networks have caused too many; this says nothing about the address.
    """
    room = room_from(session, now, store_networks.current())
    if room.networks > now:
        raise Crowded(
            "Your network has requested too many emails within the last hour. Try again in an hour."
        )
    return (room.everybody - now).total_seconds()


def confirm_seat(session: Session, game: Game, seat: Seat, now: datetime) -> None:
    """Email a person who has just cut the deck what was fixed before, so that they can check it after the game."""
    assert seat.person_id is not None
    session.flush()
    table = load(session, game.id, now)
    others = [other for other in table.seats if other.seat != seat.seat]
    own = chance.fingerprint(game.id, seat.cut)
    outbox.enqueue(
        session,
        key=f"seated:{game.id}:{seat.person_id}:{seat.cut_number}:{own[:16]}",
        kind=MailKind.SEATED,
        person_id=seat.person_id,
        now=now,
        game_id=game.id,
        seat=seat.seat,
        details={
            "commitment": game.commitment,
            "cut": own,
            "before": list(history.fixed_cuts(table.game, others, seat.seat).values()),
        },
    )


def notify_organiser(
    session: Session,
    game: Game,
    seat: Seat,
    answer: str,
    now: datetime,
    *,
    begun: bool = False,
    ends: bool = False,
) -> None:
    """Email the organiser about an answer that is not their own; `answer` as listed in this package's docstring.

    Args:
        begun: the game has begun with it.
        ends: no further game is offered by itself after it.
    """
    if game.organiser_id is None or seat.person_id == game.organiser_id:
        return
    outbox.enqueue(
        session,
        key=f"answered:{game.id}:{seat.person_id}:{answer}:{int(now.timestamp() * 1e6)}",
        kind=MailKind.ANSWERED,
        person_id=game.organiser_id,
        now=now,
        game_id=game.id,
        seat=seat.seat,
        details={"name": names.of(GameRow.of(game), seat, names.ORGANISER), "answer": answer, "begun": begun}
        | ({"ends": True} if ends else {}),
    )


def notify_cancelled(session: Session, game: Game, seat: Seat, why: str, now: datetime) -> None:
    """Tell a person who was emailed about a seat that it is gone; the organiser only if it was not their own doing."""
    if seat.person_id is None or (seat.person_id == game.organiser_id and why != "expired"):
        return
    if seat.status not in {SeatStatus.INVITED, SeatStatus.SEATED} or (
        seat.status == SeatStatus.INVITED and seat.invited_at is None
    ):
        return
    if seat.status == SeatStatus.INVITED and not _has_heard(session, seat):
        return
    person = session.get_one(Person, seat.person_id)
    if person.unreachable and person.retry_at is None:  # such an email would only be rejected as well
        return
    if seat.status == SeatStatus.INVITED and is_kept_from(session, game, seat.person_id):
        return
    outbox.enqueue(
        session,
        key=f"cancelled:{game.id}:{seat.person_id}:{int(now.timestamp() * 1e6)}",
        kind=MailKind.CANCELLED,
        person_id=seat.person_id,
        now=now,
        game_id=game.id,
        details={"why": why},
    )


def is_kept_from(session: Session, game: Game, person_id: int) -> bool:
    """Whether a block keeps the invitation to a game from a person: one that has arrived stays."""
    if not blocks.between(session, person_id, [game.organiser_id or 0]):
        return False
    # An email makes the link when it goes out.
    return links.existing(session, LinkPurpose.INVITE, person_id, game.id) is None


def games_of(session: Session, person_id: int) -> list[tuple[Game, Seat]]:
    """Return the games of a person that still send them email, newest first."""
    query = (
        select(Game, Seat)
        .join(Seat, Seat.game_id == Game.id)
        .where(Seat.person_id == person_id, Game.status.in_((GameStatus.INVITING, GameStatus.RUNNING)))
        .order_by(Game.created_at.desc())
    )
    return [
        (game, seat)
        for game, seat in session.execute(query).unique()
        if seat.status != SeatStatus.INVITED or not is_kept_from(session, game, person_id)
    ]


def open_table_key(game_id: str, open_until: datetime) -> str:
    """Return the key of the email that asks the organiser of a table what to do before it ends at this time."""
    return f"open_table:{game_id}:{int(open_until.timestamp())}"


def ask_about_open_table(session: Session, game: Game, now: datetime) -> None:
    """Ask the organiser of an open table what to do, since it ends soon."""
    assert game.organiser_id is not None
    assert game.open_until is not None
    outbox.enqueue(
        session,
        key=open_table_key(game.id, game.open_until),
        kind=MailKind.OPEN_TABLE,
        person_id=game.organiser_id,
        now=now,
        game_id=game.id,
        details={"until": game.open_until.isoformat()},
    )


def _has_heard(session: Session, seat: Seat) -> bool:
    """Whether a person has been mailed the invitation that is withdrawn now, and not only an earlier one."""
    about = (
        Mail.game_id == seat.game_id,
        Mail.person_id == seat.person_id,
        Mail.created_at >= seat.invited_at,
    )
    mailed = or_(SINGLE_INVITATION, HELD_INVITATION & (Mail.status != MailStatus.WAITING))
    return session.scalar(select(Mail.id).where(*about, mailed).limit(1)) is not None


def begin_if_full(session: Session, game: Game, now: datetime) -> bool:
    """Begin a locked game with invitations sent once every seat is taken; return whether it has begun.

    All links to seats are created here, so that pages that create none can show them.
    """
    seats = positions.seats_of(session, game.id)
    if game.status != GameStatus.INVITING or any(seat.status != SeatStatus.SEATED for seat in seats):
        return False
    play.begin(session, game.id, now)
    session.refresh(game)
    for seat in seats:
        if seat.person_id is not None:
            for purpose in EVERY_MAIL:
                links.link_for(session, purpose, seat.person_id, game.id, now)
    return True
