"""Forms that were sent: each is carried out once, however often a browser sends it.

The row is written by the first transaction of the request, so it stands exactly when something has changed.
"""

from __future__ import annotations

import hashlib
import re
from datetime import datetime, timedelta

from sqlalchemy import CursorResult, delete, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from server.store import links
from server.store.engine import reading, transaction
from server.store.models import Link, Submission

KEPT_FOR = timedelta(days=7)
"""How long a form that was sent is recognised."""
LONGEST_ANSWER = 300
_LINK = re.compile(r"\{link (\d+)\}")


class Repeated(Exception):
    """The form has been sent before, and something has changed."""


def claim(session: Session, key: str, now: datetime) -> None:
    """Note in a transaction that a form is being carried out.

    Raises:
        Repeated: it has been, by another request, which this one may have waited for.
    """
    try:
        session.execute(insert(Submission).values(key=key, at=now))
    except IntegrityError:
        raise Repeated from None


def answered(key: str, location: str) -> None:
    """Store where the answer to a form leads; a token in it stays out of the database."""
    with transaction() as session:
        token = links.token_in(location)
        digest = hashlib.sha256(token.encode()).hexdigest()
        link = session.scalar(select(Link.id).where(Link.digest == digest)) if token else None
        masked = location.replace(token, f"{{link {link}}}") if token and link else location
        answer = masked if len(masked) <= LONGEST_ANSWER and not (token and link is None) else None
        session.execute(update(Submission).where(Submission.key == key).values(answer=answer))


def forget(key: str) -> None:
    """Let a form be sent once more: it was refused after all."""
    with transaction() as session:
        session.execute(delete(Submission).where(Submission.key == key))


def find(key: str) -> tuple[str | None] | None:
    """Return where the answer to a form that was sent leads, None in place of it if that is not known; None if new."""
    with reading() as session:
        found = session.get(Submission, key)
        if found is None:
            return None
        match = _LINK.search(found.answer or "")
        if match is None or found.answer is None:
            return (found.answer,)
        link = links.get(session, int(match[1]))
        return (found.answer.replace(match[0], links.token(link)) if link else None,)


def purge(now: datetime) -> int:
    """Delete the forms that are no longer recognised; return how many."""
    with transaction() as session:
        result = session.execute(delete(Submission).where(Submission.at <= now - KEPT_FOR))
        assert isinstance(result, CursorResult)
        return result.rowcount
