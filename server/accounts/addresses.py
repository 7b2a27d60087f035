"""Changing an address: both mailboxes prove it, the old one may object for a day, and only then anything moves.

A change goes through three steps, each one transaction that locks the person first:

1. It is asked for (`ask`), in a browser that has just signed in with a link from the old mailbox.
2. The reader of the new mailbox confirms it (`confirm`). The old mailbox is told and gets a link that stops it.
3. A day after that email was sent, the scheduler carries it out (`carry_out_due`).

The person who asks never learns whether the new address has an account: only its reader sees that, behind the link.
An operator's change (`move`) begins with the second step; both mailboxes can stop it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from server import play, validation
from server.accounts import merging, personal_data
from server.errors import Closed, InvalidInput, NoSuchLink, Refused, TooMany
from server.lobby import notify
from server.mail import deliverability
from server.play import clock, powers, turns
from server.store import links, networks, outbox, people
from server.store.engine import reading, transaction, truncate_log
from server.store.mail_kinds import MailKind
from server.store.models import AddressChange, BrowserSession, Link, LinkPurpose, Mail, Person
from server.store.statements import LinkRow

LOGGER = logging.getLogger(__name__)
CONFIRM_WITHIN = timedelta(days=2)
"""How long a change waits to be confirmed: its email may be a day late, and its link then works for a day."""
OBJECT_WITHIN = timedelta(days=1)
"""How long the old mailbox may object, counted from the moment at which a mail server took the email about it."""
LONGEST_WAIT = timedelta(days=3)
"""After this time a change is carried out even if no mail server has taken that email."""
CHANGES_A_DAY = 3
"""Changes that one person may ask for within a day, and emails about them to one new address."""
_OWN: tuple[LinkPurpose, ...] = (LinkPurpose.MOVE, LinkPurpose.OBJECT)


@dataclass(frozen=True, slots=True)
class Pending:
    """A change that has not been carried out.

    Args:
        link: in the email to the new or the old mailbox, by which it was found.
        person: whose address changes.
        other: the account at the new address, if somebody uses it.
        refusal: why the two cannot become one account; None if they can, or if there is nothing to join.
    """

    change: AddressChange
    link: LinkRow
    person: Person
    other: Person | None
    refusal: Refused | None

    @property
    def not_before(self) -> datetime | None:
        """The earliest moment at which it is carried out; None until it is confirmed."""
        return not_before(self.change)


def not_before(change: AddressChange) -> datetime | None:
    """Return the earliest moment at which a change is carried out; None until it is confirmed."""
    return change.confirmed_at + OBJECT_WITHIN if change.confirmed_at else None


def of_person(session: Session, person_id: int, now: datetime) -> AddressChange | None:
    """Return the change of a person's address that waits to be confirmed or carried out, or None."""
    change = session.get(AddressChange, person_id)
    return None if change is None or _is_expired(change, now) else change


def _is_expired(change: AddressChange, now: datetime) -> bool:
    return change.confirmed_at is None and change.asked_at <= now - CONFIRM_WITHIN


def by_link(session: Session, purpose: LinkPurpose, token: str, now: datetime) -> Pending | None:
    """Return the change behind a link of the purpose `move` or `object`; None if the link is unknown or has ended."""
    link = links.find(session, purpose, token, now)
    change = session.get(AddressChange, link.person_id) if link is not None else None
    if link is None or change is None:
        return None
    other = people.find(session, change.email)
    other = other if other is not None and personal_data.is_in_use(session, other) else None
    person = session.get_one(Person, change.person_id)
    return Pending(change, link, person, other, _why_not(session, person, other))


def has_ended(session: Session, purpose: LinkPurpose, token: str) -> bool:
    """Whether a link belonged to a change that was stopped, carried out, or not confirmed in time."""
    return links.find_any(session, purpose, token) is not None


def _why_not(session: Session, person: Person, other: Person | None) -> Refused | None:
    if other is None:
        return None
    try:
        merging.check(session, person.id, other.id)
    except merging.NotOne as refusal:
        return refusal
    return None


# ---- asking ----


def ask(person_id: int, address: str, now: datetime, language: str | None = None) -> None:
    """Email a new address the link that confirms it; a change that waits already is replaced.

    The same happens whether or not the address has an account. Beyond the daily limit of an address nothing is sent.

    Args:
        address: as typed.
        language: of the page.

    Raises:
        InvalidInput: it is not an address, or the person has it already. TooMany: they have asked too often, or the
            server has emailed too many strangers within the last hour.
    """
    address = validation.clean_address(address)
    with transaction() as session:
        networks.wait_for_others(session)
        if not (full := notify.too_many(session, now)):
            person = _lock(session, person_id)
            _check_new(person, address)
            _check_often(session, person_id, now)
            links_of = _begin(session, person, address, now)
            _mail_new(session, address, links_of[LinkPurpose.MOVE], now, {"language": language})
    if full:
        raise TooMany("Too many emails have gone to new addresses. Try again in an hour.")


def _lock(session: Session, person_id: int) -> Person:
    # Not its key: others who email this person meanwhile need not wait.
    person = session.get_one(Person, person_id, with_for_update={"key_share": True})
    if person.email is None:
        raise Closed("This account has no address.")
    return person


def _check_new(person: Person, address: str) -> None:
    if address == person.email:
        raise InvalidInput("This is already the address of the account.", field="address")


def _check_often(session: Session, person_id: int, now: datetime) -> None:
    asked = (
        Link.person_id == person_id,
        Link.purpose == LinkPurpose.MOVE,
        Link.created_at > now - timedelta(days=1),
    )
    if (session.scalar(select(func.count()).select_from(Link).where(*asked)) or 0) >= CHANGES_A_DAY:
        raise TooMany(
            "You can ask for %(most)s changes of your address a day. Try again tomorrow.", most=CHANGES_A_DAY
        )


def _begin(session: Session, person: Person, address: str, now: datetime) -> dict[LinkPurpose, LinkRow]:
    """Store a change in place of the one that waits, and return its links."""
    before = session.get(AddressChange, person.id)
    if before is not None:
        _end(session, before, now)
    session.add(AddressChange(person_id=person.id, email=address, asked_at=now))
    return {purpose: links.issue(session, purpose, person.id, now) for purpose in _OWN}


def _mail_new(
    session: Session, address: str, link: LinkRow, now: datetime, details: Mapping[str, object]
) -> None:
    reader = people.get_or_create(session, address, validation.name_from_address(address), now)
    if not reader.accepted:  # no stranger's words in the mail
        reader.name = validation.name_from_address(address)
    day = now - timedelta(days=1)
    if "by" not in details and outbox.count_queued(session, MailKind.MOVE, reader.id, day) >= CHANGES_A_DAY:
        return
    _mail(session, MailKind.MOVE, reader.id, link, now, details)


def _mail(
    session: Session, kind: str, reader_id: int, link: LinkRow, now: datetime, details: Mapping[str, object]
) -> None:
    given = {**details, "link": link.id}
    outbox.enqueue(session, key=_key(kind, link.id), kind=kind, person_id=reader_id, now=now, details=given)


def _key(kind: str, link_id: int) -> str:
    return f"{kind}:{link_id}"


# ---- confirming ----


def confirm(
    token: str, now: datetime, *, signed_in: int | None = None, join: bool = False, other_handle: bool = False
) -> None:
    """Confirm a new address; the old mailbox is told, and a day later the change is carried out. Twice is once.

    An account at the new address becomes one with the asker's only in a browser that is signed in as the asker: so a
    person who opens a stranger's link by mistake gives nothing away.

    Args:
        signed_in: the person who is signed in to this browser.
        join: the reader wants the two accounts to become one.
        other_handle: of two handles, that of the account at the new address stays.

    Raises:
        NoSuchLink: the link is dead. Closed: the other account is not to be joined, or not in this browser.
        NotOne: the two accounts cannot become one.
    """
    with transaction() as session:
        pending = _locked(session, LinkPurpose.MOVE, token, now)
        change = pending.change
        if change.confirmed_at is not None:
            return
        if pending.other is not None:
            if pending.refusal is not None:
                raise pending.refusal
            if not join or signed_in != change.person_id:
                raise Closed(
                    "This address has an account. Sign in to your other account in this browser first."
                )
        change.joins, change.other_handle = pending.other is not None, other_handle
        objection = _objection(session, change.person_id)
        _confirm(session, change, pending.link, objection, now)
        reader = people.find(session, change.email)
    if reader is not None:  # the link was in our email, so an address that had bounced takes email again
        deliverability.mark_reachable(reader.id, now)


def _locked(session: Session, purpose: LinkPurpose, token: str, now: datetime) -> Pending:
    """Return the change behind a link, its person locked.

    Raises:
        NoSuchLink: the link is dead.
    """
    link = links.find(session, purpose, token, now)
    if link is not None:
        _lock(session, link.person_id)
    pending = by_link(session, purpose, token, now)  # a stop may have been faster
    if pending is None:
        raise NoSuchLink("This link is not valid.")
    return pending


def _objection(session: Session, person_id: int) -> LinkRow:
    """Return the link with which the old mailbox can stop a change."""
    found = links.existing(session, LinkPurpose.OBJECT, person_id, None)
    assert found is not None
    return found


def _confirm(
    session: Session, change: AddressChange, link: LinkRow, objection: LinkRow, now: datetime
) -> None:
    change.confirmed_at = now
    session.execute(update(Link).where(Link.id == link.id).values(expires_at=None))
    until = (now + OBJECT_WITHIN).isoformat()
    details = {"until": until} | ({"by": "operator"} if change.by_operator else {})
    _mail(session, MailKind.MOVING, change.person_id, objection, now, details)


# ---- by the operator ----


def move(person_id: int, address: str, now: datetime, *, reason: str, join: bool = False) -> None:
    """Begin a change for a person who wrote to the operator; both mailboxes are told, and both can stop it for a day.

    Args:
        address: the new one.
        reason: kept with the operator's deed.
        join: the account at the new address becomes one with this one.

    Raises:
        InvalidInput: it is not an address, the person has it already, or there is no reason or one with a name or an
            address in it. Closed: the address has an account that is not to be joined, or has none to join. NotOne: the
            two cannot become one account.
    """
    address = validation.clean_address(address)
    with transaction() as session:
        person = _lock(session, person_id)
        check_move(session, person, address, join=join)
        powers.note_operator(session, "move", reason, now, about_id=person_id)
        links_of = _begin(session, person, address, now)
        change = session.get_one(AddressChange, person_id)
        change.joins, change.by_operator = join, True
        _confirm(session, change, links_of[LinkPurpose.MOVE], links_of[LinkPurpose.OBJECT], now)
        until = (now + OBJECT_WITHIN).isoformat()
        _mail_new(session, address, links_of[LinkPurpose.MOVE], now, {"by": "operator", "until": until})
        reader = people.find(session, address)
    if reader is not None and reader.unreachable is not None:  # it bounced long ago: now it is tried again
        deliverability.mark_reachable(reader.id, now, proven=False)


def check_move(session: Session, person: Person, address: str, *, join: bool) -> None:
    """Check whether an operator may let a person have an address; the errors are those of `move`."""
    _check_new(person, address)
    other = people.find(session, address)
    used = other is not None and personal_data.is_in_use(session, other)
    if used and not join:
        raise Closed("There is an account at the new address; --join joins the two.")
    if join and not used:
        raise Closed("There is no account at the new address to join; leave out --join.")
    if other is not None and used:
        merging.check(session, person.id, other.id)


# ---- stopping ----


def stop(person_id: int, now: datetime) -> bool:
    """Stop the change of a person's address; return whether there was one."""
    with transaction() as session:
        return _stop(session, person_id, now)


def stop_as_operator(person_id: int, reason: str, now: datetime) -> bool:
    """Stop the change of a person's address at the shell; return whether there was one, which leaves a deed.

    Raises:
        InvalidInput: there is no reason, or it contains a name or an address.
    """
    with transaction() as session:
        stopped = _stop(session, person_id, now)
        if stopped:
            powers.note_operator(session, "stop_move", reason, now, about_id=person_id)
        return stopped


def _stop(session: Session, person_id: int, now: datetime) -> bool:
    _lock(session, person_id)
    change = session.get(AddressChange, person_id)
    if change is not None:
        _end(session, change, now)
    return change is not None


def stop_by_link(purpose: LinkPurpose, token: str, now: datetime) -> None:
    """Stop a change with the link in the email to the new or the old mailbox.

    If the old mailbox objects, somebody else was signed in as this person: every browser is signed out.

    Raises:
        NoSuchLink: the link is dead, or the change was carried out or stopped before.
    """
    with transaction() as session:
        pending = _locked(session, purpose, token, now)
        if purpose == LinkPurpose.OBJECT:
            session.execute(delete(BrowserSession).where(BrowserSession.person_id == pending.person.id))
        _end(session, pending.change, now)


def _end(session: Session, change: AddressChange, now: datetime) -> None:
    """Delete a change that is not carried out, with its address unless that is somebody's."""
    ends = update(Link).where(Link.person_id == change.person_id, Link.purpose.in_(_OWN))
    session.execute(ends.where(Link.revoked_at.is_(None)).values(revoked_at=now))
    session.delete(change)
    session.flush()
    personal_data.forget_unused(session, change.email, now)


# ---- carrying out ----


def due(now: datetime, until: datetime) -> list[int]:
    """Return the people whose change is to be carried out, or was not confirmed in time: a hint without a lock.

    Args:
        until: the last moment at which every part of the server is known to have been up.
    """
    with reading() as session:
        changes = session.scalars(select(AddressChange).order_by(AddressChange.asked_at)).all()
        return [row.person_id for row in changes if _is_expired(row, now) or _is_due(session, row, until)]


def carry_out(person_id: int, now: datetime, until: datetime) -> bool:
    """Carry out the change of one person, or drop it if nobody confirmed it; return whether that was done now.

    Everything that a change does is one transaction: if it is interrupted, the next tick begins anew.
    """
    done = _drop_expired(person_id, now) or _carry_out(person_id, now, until)
    if done:
        truncate_log()
    return done


def _drop_expired(person_id: int, now: datetime) -> bool:
    with transaction() as session:
        session.get_one(Person, person_id, with_for_update={"key_share": True})
        change = session.get(AddressChange, person_id)
        if change is None or not _is_expired(change, now):
            return False
        _end(session, change, now)
        return True


def _is_due(session: Session, change: AddressChange, until: datetime) -> bool:
    """Whether the old mailbox has had its time to object; outages, in which nobody can, do not count."""
    if change.confirmed_at is None:
        return False
    told = _told_at(session, change)
    if told is None:
        return until >= change.confirmed_at + LONGEST_WAIT
    stops = turns.outages(session, told)
    return until >= clock.due(told, OBJECT_WITHIN.total_seconds(), stops)


def _told_at(session: Session, change: AddressChange) -> datetime | None:
    """Return when the email to the old mailbox was sent or given up; None while it waits."""
    key = _key(MailKind.MOVING, _objection(session, change.person_id).id)
    return session.scalar(select(Mail.finished_at).where(Mail.key == key))


def _carry_out(person_id: int, now: datetime, until: datetime) -> bool:
    """Carry out a change that was not stopped; the next tick does if the person has just joined another game."""
    with transaction() as session:
        found = session.get(AddressChange, person_id)
        if found is None or not _is_due(session, found, until):
            return False
        other = people.get_or_create(session, found.email, validation.name_from_address(found.email), now)
        games = merging.games_of(session, person_id, other.id)
        play.lock_games(session, games)  # before the people, as everywhere else
        both = select(Person).where(Person.id.in_((person_id, other.id))).order_by(Person.id)
        session.scalars(both.with_for_update().execution_options(populate_existing=True)).all()
        again = select(AddressChange).where(AddressChange.person_id == person_id)
        change = session.scalar(again.execution_options(populate_existing=True))
        if change is None or not _is_due(session, change, until):
            return False
        if change.email != other.email or merging.games_of(session, person_id, other.id) != games:
            return False
        _finish(session, change, other, now)
        return True


def _finish(session: Session, change: AddressChange, other: Person, now: datetime) -> None:
    """Let the address change; only say so if an account has come to be there that was not to be joined, or if the
    operator has mistyped it and email to it has failed."""
    person, address = session.get_one(Person, change.person_id), change.email
    objection = _objection(session, person.id)
    used = personal_data.is_in_use(session, other)
    refusal = _why_not(session, person, other if used else None)
    lost = change.by_operator and other.unreachable is not None and other.retry_at is None
    done = refusal is None and (change.joins or not used) and not lost
    if done:
        pair = merging.Pair(session, person, other, now)
        merging.merge(pair, address, other_handle=change.other_handle)
    else:
        _end(session, change, now)
    if lost:
        LOGGER.warning(
            "person %s keeps their address: email to the one given by the operator fails", person.id
        )
    key = _key(MailKind.MOVED, objection.id)
    outbox.enqueue(
        session,
        key=key,
        kind=MailKind.MOVED,
        person_id=person.id,
        now=now,
        details={"done": done, "lost": lost},
    )
