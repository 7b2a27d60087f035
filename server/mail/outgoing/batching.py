"""Deciding when a mail waits: until quiet hours end, or for another mail with the same news.

Several waiting mails to one reader about one game are merged by one rule: a mail waits while another one waits that
can tell its news (`MERGED_INTO`). That one collects the news when it is written, and the transaction that marks it as
sent drops the merged mails. If it is never sent, the first goes out alone: nothing is lost, and each keeps its
Message-ID.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from server.mail.outgoing.relevance import REQUESTED, MailRows, Outdated
from server.play import clock
from server.store import outbox
from server.store.facts import Fact
from server.store.models import Mail, Turn

IMMEDIATE = REQUESTED | {"turn", "digest"}
"""Mails that are sent in quiet hours, too: no clock counts those hours, and a digest has a time of its own."""
MERGED_INTO = {
    "act": {"turn", "over", "act"},
    "timeout": {"turn", "over", "timeout"},
    "answered": {"answered"},
}
"""For each kind of mail, the kinds of mail about the same game to the same reader that can include its news."""


class Postponed(Exception):
    """The mail is to be sent, but not before `until`."""

    def __init__(self, until: datetime) -> None:
        super().__init__(until)
        self.until = until


def check_sendable(session: Session, rows: MailRows, now: datetime) -> None:
    """Check that a relevant mail may be sent now.

    Raises:
        Postponed: it is the reader's quiet hours, or another mail with the same news waits. Outdated: one was sent.
    """
    if session.scalar(select(Mail.status).where(Mail.id == rows.mail.id)) != "waiting":
        raise Outdated(Fact("told_by_another"))
    if rows.mail.kind not in IMMEDIATE and (end := _quiet_until(rows, now)) is not None:
        raise Postponed(end)
    for other in _waiting_mails(session, rows.mail, MERGED_INTO.get(rows.mail.kind, ())):
        if _covers(session, other, rows.mail):
            raise Postponed(max(other.not_before, now + timedelta(seconds=outbox.FIRST_RETRY)))


def _quiet_until(rows: MailRows, now: datetime) -> datetime | None:
    """Return the end of the reader's quiet hours, or None outside them."""
    person = rows.person
    if person.quiet_from is None or person.quiet_to is None:
        return None
    zone = person.time_zone or (rows.game.time_zone if rows.game else "UTC")
    return clock.night_end(now, clock.Hours(zone, (person.quiet_from, person.quiet_to)))


def mergeable(session: Session, mail: Mail) -> list[Mail]:
    """Return the waiting mails to the same reader and about the same game that this mail can include, oldest first."""
    kinds = [kind for kind, including in MERGED_INTO.items() if mail.kind in including]
    return [other for other in _waiting_mails(session, mail, kinds) if _covers(session, mail, other)]


def _waiting_mails(session: Session, mail: Mail, kinds: Collection[str]) -> Sequence[Mail]:
    """Return the other waiting mails of these kinds to the same reader about the same game."""
    if not kinds or mail.game_id is None:
        return ()
    query = select(Mail).where(Mail.person_id == mail.person_id, Mail.game_id == mail.game_id)
    query = query.where(Mail.status == "waiting", Mail.kind.in_(kinds), Mail.id != mail.id)
    return session.scalars(query.order_by(Mail.id)).all()


def _covers(session: Session, mail: Mail, other: Mail) -> bool:
    """Whether a mail can include another: the younger of one kind, or a turn's while it is open."""
    if mail.kind == "turn":
        turn = session.get(Turn, (mail.game_id, mail.seat))
        return turn is not None and turn.opened_seq == mail.seq
    return mail.kind != other.kind or mail.id > other.id
