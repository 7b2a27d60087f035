"""The outbox: emails are queued with the change they report, leased, sent and marked, each at least once.

A mail's key says what it is about, so the same news is never queued twice. If a mailer dies after the mail server
accepted a mail and before it is marked, another copy goes out with the same Message-ID (docs/promises.md 6).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, NotRequired, TypedDict, Unpack

from sqlalchemy import ColumnElement, CursorResult, delete, func, literal, select, update
from sqlalchemy.orm import Session

from server.config import settings
from server.store import log, mail_kinds, networks, statements
from server.store.engine import UtcTime, connection_of, insert, reading, transaction
from server.store.facts import Fact
from server.store.mail_kinds import Lists
from server.store.models import NOT_NUMEROUS, WAITING, Game, Mail, MailStatus
from server.store.prepared import Prepared
from server.store.statements import MailRow

LEASE = timedelta(minutes=10)
"""How long a mailer may take over a batch before another may start on it."""
UNNAMED = "mailer"
"""The name of a mailer to which the settings give none."""
FIRST_RETRY = 15
LONGEST_RETRY = 15 * 60
"""Seconds until a mail that was not accepted is tried again: the first time, and at most."""
STUCK_AFTER = timedelta(days=1)
"""A mail that waits longer than this raises an alert."""
RETENTION = timedelta(days=30)
"""How long a mail is kept after its game has ended, or after it was sent if it is about no game."""
ORIGIN_RETENTION = timedelta(days=3)
"""How long it is kept whose networks caused a mail: the reminder of an invitation, two days later, asks for it."""
DELETED_AT_ONCE = 500
BATCHES = 20
"""Transactions of one purge, so that a large backlog does not keep the other writers waiting."""


class About(TypedDict, total=False):
    """What a mail is about, besides its game.

    Args:
        seq: the entry; for a turn, the head at which it opened.
        details: data that its templates need and cannot look up, stored as JSON.
        delay: seconds to wait before the first attempt.
        origin: of the visitor who caused it; by default, of the one whose request queues it.
        counts: whether it counts among the emails that strangers may have caused; by default, as its kind says.
    """

    seat: int | None
    seq: int | None
    details: Mapping[str, Any] | None
    delay: float
    origin: str | None
    counts: bool


class NewMail(About):
    """A mail to be queued.

    Args:
        key: what the mail is about (`turn:GAME:SEAT:OPENED_SEQ`), up to 120 characters.
        kind: a `MailKind`, or a text that a newer version may know.
    """

    key: str
    kind: str
    person_id: int
    now: datetime
    game_id: NotRequired[str | None]


def enqueue(session: Session, **mail: Unpack[NewMail]) -> None:
    """Queue a mail in the transaction that makes its news true; do nothing if its key was ever queued."""
    insert(session, Mail, row(**mail), key="key")


def find(session: Session, *conditions: ColumnElement[bool]) -> list[MailRow]:
    """Return the mails for which these conditions hold, in the order in which they were queued."""
    query = select(*statements.MAIL).where(*conditions).order_by(Mail.id)
    return [MailRow(*row) for row in session.execute(query)]


def add_all(session: Session, mails: Sequence[Mapping[str, Any]]) -> None:
    """Queue new mails (`row`) with one statement; those whose keys were ever queued are left out."""
    statements.ADD_MAILS.run(connection_of(session), mails)


def was_queued(session: Session, key: str) -> bool:
    """Whether a mail with this key was ever queued."""
    return session.scalar(select(Mail.id).where(Mail.key == key)) is not None


def row(**mail: Unpack[NewMail]) -> dict[str, Any]:
    """Return the columns of a new mail.

    A mail that a stranger may have caused counts when it is due, for the networks of the visitor who caused it.
    """
    not_before = mail["now"] + timedelta(seconds=mail.get("delay", 0))
    counts = mail.get("counts", mail_kinds.of(mail["kind"]).counts)
    return {
        "key": mail["key"],
        "kind": mail["kind"],
        "person_id": mail["person_id"],
        "created_at": mail["now"],
        "not_before": not_before,
        "counts_at": not_before if counts else None,
        "origin": (mail.get("origin") or networks.current()) if counts else None,
        "game_id": mail.get("game_id"),
        "seat": mail.get("seat"),
        "seq": mail.get("seq"),
        "details": json.dumps(mail.get("details") or {}),
    }


def lease(now: datetime, n: int) -> list[MailRow]:
    """Lease up to `n` due mails, those waiting longest first; no other mailer gets them until the lease ends."""
    with reading() as session:
        if not statements.DUE.all(connection_of(session), {"now": now}):  # usually; then nothing is written
            return []
    with transaction() as session:
        values = {"now": now, "until": now + LEASE, "n": n, "mailer": settings().mailer or UNNAMED}
        taken = [MailRow(*found) for found in statements.LEASE.all(connection_of(session), values)]
    return sorted(taken, key=lambda mail: (mail.not_before, mail.id))


def free_leases(mailer: str) -> None:
    """Free the leases that a mailer of this name held when it ended."""
    held = (WAITING, Mail.leased_until.is_not(None), Mail.leased_by == mailer)
    with transaction() as session:
        session.execute(update(Mail).where(*held).values(leased_until=None))


def renew(mail: MailRow, now: datetime) -> MailRow | None:
    """Renew the lease of a mail whose outcome the database has not taken yet, unless another mailer holds it by now.

    Returns:
        The mail with its lease; None if it does not wait any more, or another mail has its id since a restore.
    """
    until = now + LEASE
    same = (Mail.id == mail.id, Mail.key == mail.key, Mail.status == MailStatus.WAITING)
    mine = update(Mail).where(*same, Mail.leased_until == mail.leased_until)
    with transaction() as session:
        held = session.execute(
            mine.values(leased_until=until).returning(Mail.id),
            execution_options={"synchronize_session": False},
        ).first()
        if held is not None:
            return replace(mail, leased_until=until)
        return mail if session.scalar(select(Mail.id).where(*same)) else None


def release(mails: list[MailRow]) -> None:
    """Return leased mails unsent; they stay due."""
    with transaction() as session:
        for mail in mails:
            _mark(session, mail)


def waiting_beside(session: Session, mail: MailRow) -> list[MailRow] | None:
    """Return what waits for the same reader about the same game, oldest first; None if the mail itself does not.

    Held invitations wait beside each other, whatever games they are to.
    """
    about = {"mail": mail.id, "person": mail.person_id, "game": mail.game_id}
    statement = statements.HELD if mail_kinds.of(mail.kind).lists is Lists.INVITATIONS else statements.BESIDE
    found = [MailRow(*row) for row in statement.all(connection_of(session), about)]
    others = [other for other in found if other.id != mail.id]
    return others if len(others) < len(found) else None


def mark_sent(session: Session, mail: MailRow, now: datetime) -> bool:
    """Record that a mail server accepted the mail, even if the lease has expired; False if it was marked before."""
    return _finish(session, statements.FINISH, mail.id, MailStatus.SENT, now)


def mark_dropped(session: Session, mail: MailRow, now: datetime, reason: Fact) -> bool:
    """Record that the mail is outdated or unwanted and will not be sent."""
    return _finish(session, statements.FINISH, mail.id, MailStatus.DROPPED, now, reason, mail.leased_until)


def mark_failed(session: Session, mail: MailRow, now: datetime, error: Fact) -> bool:
    """Record that a mail server rejected the mail for good; `error` is what it replied."""
    return _finish(session, statements.FINISH, mail.id, MailStatus.FAILED, now, error, mail.leased_until)


def mark_bounced(session: Session, mail: MailRow, now: datetime, error: Fact) -> None:
    """Record that an accepted mail came back; `error` is what the report said."""
    _finish(session, statements.RETURN, mail.id, MailStatus.FAILED, now, error)


def mark_merged(session: Session, mail_ids: Collection[int], now: datetime) -> None:
    """Drop waiting mails whose news another mail contained, in the transaction that marks that one as sent."""
    # The reason does not name that mail: its id would reveal how many mails others get.
    for mail_id in mail_ids:
        _finish(session, statements.FINISH, mail_id, MailStatus.DROPPED, now, Fact("told_by_another"))


def forget_reader(session: Session, person_id: int, now: datetime) -> None:
    """Drop the waiting mails to a person, and delete what their mails say about them; the rows stay."""
    gone = Fact("no_address")
    waiting = select(Mail.id).where(Mail.person_id == person_id, WAITING)
    for mail_id in session.scalars(waiting).all():
        _finish(session, statements.FINISH, mail_id, MailStatus.DROPPED, now, gone)
    theirs = update(Mail).where(Mail.person_id == person_id)
    for change in (
        theirs.where(Mail.error.is_not(None)).values(error=gone),
        theirs.values(details="{}"),
    ):
        session.execute(change, execution_options={"synchronize_session": False})


def _finish(
    session: Session,
    how: Prepared,
    mail_id: int,
    status: MailStatus,
    now: datetime,
    why: Fact | None = None,
    leased: datetime | None = None,
) -> bool:
    values = {"mail": mail_id, "became": status, "now": now, "expires": now + RETENTION, "why": why}
    return how.first(connection_of(session), values | {"leased": leased}) is not None


def postpone(session: Session, mail: MailRow, until: datetime) -> bool:
    """Make the mail wait until `until`, without counting an attempt."""
    return _mark(session, mail, not_before=until)


def retry_later(session: Session, mail: MailRow, now: datetime, error: Fact, jitter: float) -> bool:
    """Schedule another attempt; the wait grows with each attempt, up to `LONGEST_RETRY`.

    Args:
        error: why, for moderators.
        jitter: from 0 to 1, to spread the next attempts of many mails.
    """
    later = now + timedelta(seconds=backoff(mail.attempts, jitter))
    tries = mail.attempts + 1
    first = func.coalesce(Mail.tried_at, literal(now, UtcTime()))
    return _mark(session, mail, attempts=tries, not_before=later, error=error, tried_at=first)


def backoff(attempts: int, jitter: float) -> float:
    """Return the seconds until the next attempt: doubling up to a cap, plus or minus a quarter.

    Args:
        jitter: from 0 (a quarter less) to 1 (a quarter more).
    """
    wait = min(LONGEST_RETRY / 1.25, FIRST_RETRY * 2.0 ** min(attempts, 20))
    return wait * (0.75 + jitter / 2)


def reset_future_times(session: Session, now: datetime) -> None:
    """Make mails due again that a clock running ahead had scheduled or leased into the future."""
    waiting = update(Mail).where(WAITING)
    later = now + timedelta(seconds=LONGEST_RETRY)
    session.execute(waiting.where(Mail.not_before > later).values(not_before=now))
    session.execute(waiting.where(Mail.leased_until > now + LEASE).values(leased_until=None))


def details(mail: MailRow) -> dict[str, Any]:
    """Return the data that was given to `enqueue`."""
    found: dict[str, Any] = json.loads(mail.details)
    return found


def _mark(session: Session, mail: MailRow, **values: Any) -> bool:
    """End the lease of a waiting mail and set other values; False if it was marked or leased again since."""
    change = update(Mail).where(Mail.id == mail.id, Mail.status == MailStatus.WAITING)
    change = change.where(Mail.leased_until == mail.leased_until).values(leased_until=None, **values)
    result = session.execute(change, execution_options={"synchronize_session": False})
    assert isinstance(result, CursorResult)
    return result.rowcount == 1


def count_queued(session: Session, kind: str, person_id: int, since: datetime, prefix: str = "") -> int:
    """Count the mails of a kind, which is not a numerous one, queued to a person since a moment.

    Args:
        prefix: how their keys begin.
    """
    filters = [NOT_NUMEROUS, Mail.kind == kind, Mail.person_id == person_id, Mail.created_at > since]
    filters += [Mail.key.startswith(prefix, autoescape=True)] if prefix else []
    return session.scalar(select(func.count()).where(*filters)) or 0


def purge(now: datetime) -> int:
    """Delete old mails, those about games that ended long ago among them; return how many are gone.

    Whose networks caused mails is deleted much earlier.
    """
    _forget_origins(now)
    gone = 0
    for _ in range(BATCHES):
        deleted = _delete_some(now)
        gone += deleted
        if not deleted and not _date_some(now):
            break
    return gone


def _forget_origins(now: datetime) -> None:
    """Forget the origins of mails that are counted no more."""
    old = (
        Mail.counts_at.is_not(None),
        Mail.counts_at < now - ORIGIN_RETENTION,
        Mail.status != MailStatus.WAITING,
    )
    with reading() as session:
        found = session.scalars(select(Mail.id).where(*old).limit(DELETED_AT_ONCE)).all()
    if found:
        with transaction() as session:
            forget = update(Mail).where(Mail.id.in_(found)).values(counts_at=None, origin=None)
            session.execute(forget, execution_options={"synchronize_session": False})


def _delete_some(now: datetime) -> int:
    """Delete some of the mails whose date has come, except the newest: its id would be given to another one."""
    old = select(Mail.id).where(Mail.delete_at <= now).order_by(Mail.delete_at).limit(DELETED_AT_ONCE)
    with reading() as session:
        found = session.scalars(old).all()
        newest = session.scalar(select(func.max(Mail.id))) if found else None
    ids = [mail_id for mail_id in found if mail_id != newest]
    if not ids:
        return 0
    with transaction() as session:
        gone = delete(Mail).where(Mail.id.in_(ids))
        session.execute(gone, execution_options={"synchronize_session": False})
    return len(ids)


def _date_some(now: datetime) -> bool:
    """Date the deletion of some mails about a game that ended long ago; mails finished later get their date then.

    Not as soon as it ends: the dates and their index would take a tenth of what a move stores.
    """
    ended = select(Game.id).where(Game.ended_at <= now - RETENTION, ~Game.mails_dated)
    with reading() as session:
        game_id = session.scalar(ended.order_by(Game.ended_at).limit(1))
    if game_id is None:
        return False
    with transaction() as session:
        log.lock(session, game_id)
        game = session.get_one(Game, game_id)
        assert game.ended_at is not None
        undated = select(Mail.id).where(Mail.game_id == game_id, Mail.delete_at.is_(None))
        some = undated.where(Mail.status != MailStatus.WAITING).limit(DELETED_AT_ONCE)
        date = update(Mail).where(Mail.id.in_(some)).values(delete_at=game.ended_at + RETENTION)
        result = session.execute(date, execution_options={"synchronize_session": False})
        assert isinstance(result, CursorResult)
        game.mails_dated = result.rowcount < DELETED_AT_ONCE
    return True
