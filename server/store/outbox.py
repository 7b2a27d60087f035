"""The outbox: emails are queued with the change they report, leased, sent and marked, each at least once.

A mail's key says what it is about, so the same news is never queued twice. If a mailer dies after the mail server
accepted a mail and before it is marked, another copy goes out with the same Message-ID (docs/promises.md 6).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import CursorResult, func, or_, select, update
from sqlalchemy.orm import Session

from server.store.engine import UtcTime, insert, reading, transaction
from server.store.facts import Fact
from server.store.models import Mail

LEASE = timedelta(minutes=10)
"""How long a mailer may take over a batch before another may start on it."""
FIRST_RETRY = 15
LONGEST_RETRY = 15 * 60
"""Seconds until a mail that was not accepted is tried again: the first time, and at most."""
STUCK_AFTER = timedelta(days=1)
"""A mail that waits longer than this raises an alert."""


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
    """Queue a mail in the transaction that makes its news true; do nothing if its key was ever queued.

    Args:
        key: what the mail is about (`turn:GAME:SEAT:OPENED_SEQ`), up to 120 characters.
        kind: which templates render it (`turn`, `remind`, `over` …).
        seq: the entry it is about; for a turn, the head at which it opened.
        details: data that its templates need and cannot look up, stored as JSON.
        delay: seconds to wait before the first attempt.
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
    insert(session, Mail, row, key="key")


def lease(now: datetime, n: int) -> list[Mail]:
    """Lease up to `n` due mails, those waiting longest first; no other mailer gets them until the lease ends."""
    free = (Mail.status == "waiting", or_(Mail.leased_until.is_(None), Mail.leased_until <= now))
    due = select(Mail.id).where(*free, Mail.not_before <= now).order_by(Mail.not_before, Mail.id).limit(n)
    with reading() as session:
        if session.scalar(due.limit(1)) is None:  # usually nothing is due, and nothing is written
            return []
    with transaction() as session:
        ids = session.scalars(due.with_for_update(skip_locked=True)).all()
        # The condition is repeated: this update decides who gets the lease, not the query before it.
        take = update(Mail).where(Mail.id.in_(ids), *free).values(leased_until=now + LEASE).returning(Mail)
        taken = session.scalars(take, execution_options={"synchronize_session": False}).all()
    return sorted(taken, key=lambda mail: (mail.not_before, mail.id))


def release(mails: list[Mail]) -> None:
    """Return leased mails unsent; they stay due."""
    with transaction() as session:
        for mail in mails:
            _mark(session, mail, if_leased=True)


def mark_sent(session: Session, mail: Mail, now: datetime) -> bool:
    """Record that a mail server accepted the mail, even if the lease has expired; False if it was marked before."""
    return _mark(session, mail, if_leased=False, status="sent", finished_at=now, error=None)


def mark_dropped(session: Session, mail: Mail, now: datetime, reason: Fact) -> bool:
    """Record that the mail is outdated or unwanted and will not be sent."""
    return _mark(session, mail, if_leased=True, status="dropped", finished_at=now, error=reason)


def mark_failed(session: Session, mail: Mail, now: datetime, error: Fact) -> bool:
    """Record that a mail server rejected the mail for good; `error` is what it replied."""
    return _mark(session, mail, if_leased=True, status="failed", finished_at=now, error=error)


def mark_bounced(session: Session, mail: Mail, now: datetime, error: Fact) -> None:
    """Record that an accepted mail came back; `error` is what the report said."""
    change = update(Mail).where(Mail.id == mail.id, Mail.status.in_(("waiting", "sent")))
    finished = func.coalesce(Mail.finished_at, now, type_=UtcTime)
    change = change.values(status="failed", finished_at=finished, error=error, leased_until=None)
    session.execute(change, execution_options={"synchronize_session": False})


def mark_merged(session: Session, mail_ids: Collection[int], now: datetime) -> None:
    """Drop waiting mails whose news another mail contained, in the transaction that marks that one as sent."""
    query = update(Mail).where(Mail.id.in_(mail_ids), Mail.status == "waiting")
    # The reason does not name that mail: its id would reveal how many mails others get.
    reason = Fact("told_by_another")
    change = query.values(status="dropped", finished_at=now, error=reason, leased_until=None)
    session.execute(change, execution_options={"synchronize_session": False})


def postpone(session: Session, mail: Mail, until: datetime) -> bool:
    """Make the mail wait until `until`, without counting an attempt."""
    return _mark(session, mail, if_leased=True, not_before=until)


def retry_later(session: Session, mail: Mail, now: datetime, error: Fact, jitter: float) -> bool:
    """Schedule another attempt; the wait grows with each attempt, up to `LONGEST_RETRY`.

    Args:
        error: why, for moderators.
        jitter: from 0 to 1, to spread the next attempts of many mails.
    """
    later = now + timedelta(seconds=backoff(mail.attempts, jitter))
    tries = mail.attempts + 1
    return _mark(session, mail, if_leased=True, attempts=tries, not_before=later, error=error)


def backoff(attempts: int, jitter: float) -> float:
    """Return the seconds until the next attempt: doubling up to a cap, plus or minus a quarter.

    Args:
        jitter: from 0 (a quarter less) to 1 (a quarter more).
    """
    wait = min(LONGEST_RETRY / 1.25, FIRST_RETRY * 2.0 ** min(attempts, 20))
    return wait * (0.75 + jitter / 2)


def reset_future_times(session: Session, now: datetime) -> None:
    """Make mails due again that a clock running ahead had scheduled or leased into the future."""
    waiting = update(Mail).where(Mail.status == "waiting")
    later = now + timedelta(seconds=LONGEST_RETRY)
    session.execute(waiting.where(Mail.not_before > later).values(not_before=now))
    session.execute(waiting.where(Mail.leased_until > now + LEASE).values(leased_until=None))


def details(mail: Mail) -> dict[str, Any]:
    """Return the data that was given to `enqueue`."""
    found = json.loads(mail.details)
    return found if isinstance(found, dict) else {}


def _mark(session: Session, mail: Mail, *, if_leased: bool, **values: Any) -> bool:
    """End the lease of a waiting mail and set other values; False if the mail was marked before.

    Args:
        if_leased: also change nothing and return False if another mailer has leased the mail since.
    """
    change = update(Mail).where(Mail.id == mail.id, Mail.status == "waiting")
    if if_leased:
        change = change.where(Mail.leased_until == mail.leased_until)
    change = change.values(leased_until=None, **values)
    result = session.execute(change, execution_options={"synchronize_session": False})
    assert isinstance(result, CursorResult)
    return result.rowcount == 1


def count_queued(session: Session, kinds: tuple[str, ...], person_id: int, since: datetime) -> int:
    """Count the mails of these kinds queued to a person since a moment."""
    filters = (Mail.kind.in_(kinds), Mail.person_id == person_id, Mail.created_at > since)
    return session.scalar(select(func.count()).where(*filters)) or 0
