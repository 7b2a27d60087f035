"""Mails that are to go out: queued with the news they carry, leased to a mailer, marked; each at least once.

A mail's key says what it is about, so the same news is never queued twice. A mailer that dies between the
mail server's "accepted" and the mark causes one more copy, with the same Message-ID (promises.md 6).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import CursorResult, func, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from server.store.engine import UtcTime, reading, transaction
from server.store.models import Mail

LEASE = timedelta(minutes=10)
"""How long a mailer may take over one batch before another one may start on it."""
FIRST_RETRY = 15
LONGEST_RETRY = 15 * 60
"""Seconds before a mail that was not taken is tried again: the first time, and at most."""
STUCK_AFTER = timedelta(days=1)
"""A mail that waits longer than this is worth an alarm."""


def enqueue(
    session: Session,
    *,
    key: str,
    kind: str,
    person_id: int,
    now: datetime,
    game_id: str | None = None,
    seat: int | None = None,
    seq: int | None = None,
    details: Mapping[str, Any] | None = None,
    delay: float = 0,
) -> None:
    """Queue a mail in the transaction that makes its news true; nothing happens if its key was ever queued.

    Args:
        key: what the mail is about (`turn:GAME:SEAT:OPENED_SEQ`), up to 120 characters.
        kind: the templates that write it (`turn`, `remind`, `over` …).
        seq: the entry it is about; of a turn, the head at which it opened.
        details: what its templates need and cannot look up; JSON.
        delay: seconds to wait before the first try.
    """
    row = {
        "key": key,
        "kind": kind,
        "person_id": person_id,
        "created_at": now,
        "not_before": now + timedelta(seconds=delay),
        "game_id": game_id,
        "seat": seat,
        "seq": seq,
        "details": json.dumps(details or {}),
    }
    insert = postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert
    session.execute(insert(Mail).values(row).on_conflict_do_nothing(index_elements=["key"]))


def lease(now: datetime, n: int) -> list[Mail]:
    """Take up to `n` mails that are due, longest waiting first; nobody else gets them till the lease ends."""
    free = (Mail.status == "waiting", or_(Mail.leased_until.is_(None), Mail.leased_until <= now))
    due = select(Mail.id).where(*free, Mail.not_before <= now).order_by(Mail.not_before, Mail.id).limit(n)
    with reading() as session:
        if session.scalar(due.limit(1)) is None:  # the usual case writes nothing
            return []
    with transaction() as session:
        ids = session.scalars(due.with_for_update(skip_locked=True)).all()
        # The condition again: what says who has the lease is this update, not the look before it.
        take = update(Mail).where(Mail.id.in_(ids), *free).values(leased_until=now + LEASE).returning(Mail)
        taken = session.scalars(take, execution_options={"synchronize_session": False}).all()
    return sorted(taken, key=lambda mail: (mail.not_before, mail.id))


def release(mails: list[Mail]) -> None:
    """Give leased mails back untried; they are due as before."""
    with transaction() as session:
        for mail in mails:
            _mark(session, mail, if_leased=True, leased_until=None)


def mark_sent(session: Session, mail: Mail, now: datetime) -> bool:
    """A mail server has taken it. False if it was marked before; true even if the lease has run out."""
    return _mark(
        session, mail, if_leased=False, status="sent", finished_at=now, error=None, leased_until=None
    )


def mark_dropped(session: Session, mail: Mail, now: datetime, why: str) -> bool:
    """It is no longer news, or its reader wants none; it will not be sent."""
    return _mark(
        session, mail, if_leased=True, status="dropped", finished_at=now, error=why, leased_until=None
    )


def mark_failed(session: Session, mail: Mail, now: datetime, error: str) -> bool:
    """A mail server has refused it for good; `error` is what it said."""
    return _mark(
        session, mail, if_leased=True, status="failed", finished_at=now, error=error, leased_until=None
    )


def mark_bounced(session: Session, mail: Mail, now: datetime, error: str) -> None:
    """It had been accepted, marked so or not yet, and came back; `error` is what the report said."""
    change = update(Mail).where(Mail.id == mail.id, Mail.status.in_(("waiting", "sent")))
    finished = func.coalesce(Mail.finished_at, now, type_=UtcTime)
    change = change.values(status="failed", finished_at=finished, error=error, leased_until=None)
    session.execute(change, execution_options={"synchronize_session": False})


def mark_merged(session: Session, mail_ids: Collection[int], now: datetime) -> None:
    """What waited has been told by a mail that was sent: dropped in the transaction that marks that one."""
    told = update(Mail).where(Mail.id.in_(mail_ids), Mail.status == "waiting")
    # Not which mail: its number would tell players how many mails others have had.
    why = "another mail has told it"
    change = told.values(status="dropped", finished_at=now, error=why, leased_until=None)
    session.execute(change, execution_options={"synchronize_session": False})


def postpone(session: Session, mail: Mail, until: datetime) -> bool:
    """It is to go later, through nobody's fault: no try is counted."""
    return _mark(session, mail, if_leased=True, not_before=until, leased_until=None)


def retry_later(session: Session, mail: Mail, now: datetime, error: str, jitter: float) -> bool:
    """It could not be handed over this time; it waits longer after each try, never more than `LONGEST_WAIT`.

    Args:
        error: why, for moderators.
        draw: from 0 to 1, spreads the next tries of many mails.
    """
    later = now + timedelta(seconds=backoff(mail.attempts, jitter))
    tries = mail.attempts + 1
    return _mark(
        session, mail, if_leased=True, attempts=tries, not_before=later, error=error, leased_until=None
    )


def backoff(attempts: int, jitter: float) -> float:
    """Seconds until the next try after `attempts` earlier ones: doubling up to a cap, a quarter more or less.

    Args:
        draw: from 0 (a quarter less) to 1 (a quarter more).
    """
    wait = min(LONGEST_RETRY / 1.25, FIRST_RETRY * 2.0 ** min(attempts, 20))
    return wait * (0.75 + jitter / 2)


def reset_future_times(session: Session, now: datetime) -> None:
    """After the clock was set back: no mail waits for a moment, or for a lease, of the time that was wrong."""
    waiting = update(Mail).where(Mail.status == "waiting")
    later = now + timedelta(seconds=LONGEST_RETRY)
    session.execute(waiting.where(Mail.not_before > later).values(not_before=now))
    session.execute(waiting.where(Mail.leased_until > now + LEASE).values(leased_until=None))


def details(mail: Mail) -> dict[str, Any]:
    """What the mail's templates were given at `enqueue`."""
    found = json.loads(mail.details)
    return found if isinstance(found, dict) else {}


def _mark(session: Session, mail: Mail, *, if_leased: bool, **values: Any) -> bool:
    """Change a waiting mail and say whether it was still waiting and, if `mine`, leased to this mailer."""
    change = update(Mail).where(Mail.id == mail.id, Mail.status == "waiting")
    if if_leased:
        change = change.where(Mail.leased_until == mail.leased_until)
    result = session.execute(change.values(**values), execution_options={"synchronize_session": False})
    assert isinstance(result, CursorResult)
    return result.rowcount == 1


def count_queued(session: Session, kinds: tuple[str, ...], person_id: int, since: datetime) -> int:
    """How many mails of these kinds were queued to a person since then."""
    theirs = (Mail.kind.in_(kinds), Mail.person_id == person_id, Mail.created_at > since)
    return session.scalar(select(func.count()).where(*theirs)) or 0
