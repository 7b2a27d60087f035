"""When a mail that is news waits all the same: for the end of quiet hours, or for a mail that tells its news as well.

Several news for one reader about one game that have not gone out yet become one mail, by one rule: a mail waits while
another waits that can tell the same (`TOLD_BY`). That one gathers what it tells when it is written, and what it told
is dropped in the transaction that marks it as sent. If it comes to nothing, the first goes out by itself: nothing is
lost, and each keeps its Message-ID.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from server.mail.outgoing.relevance import REQUESTED, MailRows, Outdated
from server.play import clock
from server.store import outbox
from server.store.models import Mail, Turn

IMMEDIATE = REQUESTED | {"turn", "digest"}
"""Mails that go in quiet hours, too: no clock counts those, and a digest has an hour of its own."""
MERGED_INTO = {
    "act": {"turn", "over", "act"},
    "timeout": {"turn", "over", "timeout"},
    "answered": {"answered"},
}
"""By kind of news: the kinds of mails about the same game to the same reader that can tell it as well."""


class Postponed(Exception):
    """This mail is to be sent, but not before `until`."""

    def __init__(self, until: datetime) -> None:
        super().__init__(until)
        self.until = until


def check_sendable(session: Session, rows: MailRows, now: datetime) -> None:
    """Whether a mail that is news may go now.

    Raises:
        Later: it is its reader's quiet hour, or a mail that can tell the same waits to be sent. OldNews: one has.
    """
    if session.scalar(select(Mail.status).where(Mail.id == rows.mail.id)) != "waiting":
        raise Outdated("another mail has told it")
    if rows.mail.kind not in IMMEDIATE and (end := _quiet_until(rows, now)) is not None:
        raise Postponed(end)
    for other in _waiting_mails(session, rows.mail, MERGED_INTO.get(rows.mail.kind, ())):
        if _covers(session, other, rows.mail):
            raise Postponed(max(other.not_before, now + timedelta(seconds=outbox.FIRST_RETRY)))


def _quiet_until(rows: MailRows, now: datetime) -> datetime | None:
    """When the reader's quiet hours end, as they are set now; None if this is none of them."""
    person = rows.person
    if person.quiet_from is None or person.quiet_to is None:
        return None
    zone = person.time_zone or (rows.game.time_zone if rows.game else "UTC")
    return clock.night_end(now, clock.Hours(zone, (person.quiet_from, person.quiet_to)))


def mergeable(session: Session, mail: Mail) -> list[Mail]:
    """The news that waits for the same reader about the same game and that this mail can tell, too, oldest first."""
    kinds = [kind for kind, tellers in MERGED_INTO.items() if mail.kind in tellers]
    return [other for other in _waiting_mails(session, mail, kinds) if _covers(session, mail, other)]


def _waiting_mails(session: Session, mail: Mail, kinds: Collection[str]) -> Sequence[Mail]:
    """The other mails of these kinds that wait for the same reader about the same game."""
    if not kinds or mail.game_id is None:
        return ()
    query = select(Mail).where(Mail.person_id == mail.person_id, Mail.game_id == mail.game_id)
    query = query.where(Mail.status == "waiting", Mail.kind.in_(kinds), Mail.id != mail.id)
    return session.scalars(query.order_by(Mail.id)).all()


def _covers(session: Session, teller: Mail, news: Mail) -> bool:
    """Whether one mail can tell the news of another: of the same kind the younger one, of a turn while it is open."""
    if teller.kind == "turn":
        turn = session.get(Turn, (teller.game_id, teller.seat))
        return turn is not None and turn.opened_seq == teller.seq
    return teller.kind != news.kind or teller.id > news.id
