"""Deciding when a mail waits: until quiet hours end, or for another mail with the same news.

Several waiting mails to one reader about one game are merged by one rule: a mail waits while another one waits that
can tell its news (`MERGED_INTO`). That one collects the news when it is written, and the transaction that marks it as
sent drops the merged mails. If it is never sent, the first goes out alone: nothing is lost, and each keeps its
Message-ID.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from server.config.zones import zone_of
from server.mail.outgoing.relevance import REQUESTED, MailRows
from server.play import clock
from server.store import outbox
from server.store.statements import AnyMail

IMMEDIATE = REQUESTED | {"turn", "digest"}
"""Mails that are sent in quiet hours, too: no clock counts those hours, and a digest has a time of its own."""
MERGED_INTO = {
    "act": {"turn", "over", "act"},
    "timeout": {"turn", "over", "timeout"},
    "answered": {"answered"},
    "held": {"held"},
    "talk": {"turn", "over", "talk"},
}
"""For each kind of mail, the kinds of mail about the same game to the same reader that can include its news; held
invitations to all games are told in one."""


class Postponed(Exception):
    """The mail is to be sent, but not before `until`."""

    def __init__(self, until: datetime) -> None:
        super().__init__(until)
        self.until = until


def check_sendable(rows: MailRows, now: datetime) -> None:
    """Check that a relevant mail may be sent now.

    Raises:
        Postponed: it is the reader's quiet hours, or another mail with the same news waits.
    """
    if rows.mail.kind not in IMMEDIATE and (end := _quiet_until(rows, now)) is not None:
        raise Postponed(end)
    kinds = MERGED_INTO.get(rows.mail.kind, ())
    for other in rows.beside:
        if other.kind in kinds and _covers(rows, other, rows.mail):
            raise Postponed(max(other.not_before, now + timedelta(seconds=outbox.FIRST_RETRY)))


def _quiet_until(rows: MailRows, now: datetime) -> datetime | None:
    """Return the end of the reader's quiet hours, or None outside them."""
    person = rows.person
    if person.quiet_from is None or person.quiet_to is None:
        return None
    zone = zone_of(person, rows.game)
    return clock.night_end(now, clock.Hours(zone, (person.quiet_from, person.quiet_to)))


def mergeable(rows: MailRows) -> list[AnyMail]:
    """Return those of the mails waiting beside a mail that it can include."""
    kinds = [kind for kind, including in MERGED_INTO.items() if rows.mail.kind in including]
    return [other for other in rows.beside if other.kind in kinds and _covers(rows, rows.mail, other)]


def _covers(rows: MailRows, mail: AnyMail, other: AnyMail) -> bool:
    """Whether a mail can include another: the younger of one kind, or a turn's while it is open."""
    if mail.kind == "turn":
        turn = rows.table.turns.get(mail.seat) if rows.table is not None and mail.seat is not None else None
        return turn is not None and turn.opened_seq == mail.seq
    return mail.kind != other.kind or mail.id > other.id
