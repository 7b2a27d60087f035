"""What is done about a mail that came in: moves and orders are played, bounces and complaints are heeded.

A mail is delivered at least once. It is remembered before anything is done about it, doing it twice does it once,
and it is marked as done in the transaction that queues its answer.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from email.utils import parseaddr

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from byzanz.moves import RulesError
from server.config import settings
from server.errors import Refused
from server.mail import deliverability
from server.mail.incoming import bounces, commands, reply
from server.mail.incoming.reply import Reply
from server.mail.outgoing.smtp import ascii_domain
from server.store import links, outbox, people
from server.store.engine import insert, reading, transaction
from server.store.facts import Fact
from server.store.links import Place
from server.store.models import IncomingMail, Mail, Person

IN_HAND = Fact("in_hand")
"""The outcome of a mail that is being acted upon, or was when the server died."""
ANSWERS_A_DAY = 40
"""Mails that one person is answered within a day: whatever answers itself in turn comes to rest."""
REMEMBERED = timedelta(days=90)
"""How long it is known what came in: no mail server delivers the same mail again so late."""
COMPLAINTS = "complaints"
"""Where feedback loops send their reports, before the `@`."""


class NoSuchAddress(Exception):
    """No mail is taken for this recipient."""


def receive(raw: bytes, sender: str, recipient: str, now: datetime) -> str:
    """Do what a mail asks for, once however often it is delivered.

    Args:
        raw: the mail as it came in.
        sender: of its envelope; empty for `<>`.
        recipient: of its envelope.

    Returns:
        What was done, for logs and moderators: one line without addresses or tokens.

    Raises:
        NoSuchAddress: nobody and nothing has this address. SQLAlchemyError: the database did not take it: deliver it
            again later.
    """
    local = _local(recipient)
    if local.startswith("play+"):
        return _reply(raw, sender, local.removeprefix("play+"), recipient, now)
    if local == COMPLAINTS:  # an address for all: what strangers write there is not even remembered
        mail_id = bounces.mail_in_report(raw)
        return "about no mail of ours" if mail_id is None else _report(raw, sender, recipient, mail_id, now)
    mail_id = bounces.mail_named(recipient)
    if mail_id is None:
        raise NoSuchAddress
    return _report(raw, sender, recipient, mail_id, now)


def is_ours(recipient: str) -> bool:
    """Whether this may be an address of ours, going by its form alone."""
    try:
        return bool(_local(recipient))
    except NoSuchAddress:
        return False


def _local(recipient: str) -> str:
    local, at, domain = recipient.strip("<> ").lower().rpartition("@")
    if not at or not settings().mail_domain or domain != settings().mail_domain.lower():
        raise NoSuchAddress
    if not re.fullmatch(r"play\+[a-z2-7]{26}|bounce\+[0-9a-z]{1,14}-[a-z2-7]{10}|complaints", local):
        raise NoSuchAddress
    return local


# Reports


def _report(raw: bytes, sender: str, recipient: str, mail_id: int, now: datetime) -> str:
    report = bounces.read(raw, sender)
    row = _take_in_hand(reply.digest(raw, recipient), now)
    if row is None:
        return "seen before"
    mail: Mail | None = None
    if report.kind == "failed":
        mail = deliverability.bounced(mail_id, report.said, now)
    elif report.kind == "complaint":
        mail = deliverability.complained(mail_id, report.said, now)
    kinds = {"failed": "bounce", "delayed": "bounce", "complaint": "complaint", "nothing": "auto"}
    outcome = Fact(report.kind, {"said": report.said})
    with transaction() as session:
        _done(session, row, kinds[report.kind], outcome, mail)
    return str(outcome)


# Replies


def _reply(raw: bytes, sender: str, token: str, recipient: str, now: datetime) -> str:
    with reading() as session:
        place = links.seat_of(session, token, now, "reply")
        if place is None:
            raise NoSuchAddress
        person = session.get_one(Person, place.link.person_id)
    row = _take_in_hand(reply.digest(raw, recipient), now)
    if row is None:
        return "seen before"
    letter = reply.read(raw, sender)
    if letter.ignored is None and _is_ours(letter.sender):
        letter = Reply(letter.sender, ignored=Fact("ours"))
    if letter.ignored is not None:
        return _finish(row, place, "auto", Fact("ignored", {"why": letter.ignored}), now)
    if not _same_address(letter.sender, person.email or ""):
        strange = commands.BadMail(
            "A reply to this turn came from another address, so nothing was played. Reply from this address, or use "
            "your link."
        )
        return _finish(row, place, "refused", Fact("another_address"), now, [], strange)
    deliverability.again(person.id, now)
    lines, fault = commands.carried_out(place, letter.lines, row, now)
    played = sum(bool(line.done) for line in lines)
    kind = "reply" if played else "refused"
    outcome = Fact("carried_out", {"done": played, "of": len(lines)})
    return _finish(row, place, kind, outcome, now, lines, fault)


def _is_ours(address: str) -> bool:
    """Whether a mail comes from where we send from: it came back, or two machines answer each other."""
    ours = parseaddr(settings().mail_from)[1].lower()
    return address == ours or re.match(r"(?:play|bounce)\+.*@", address) is not None


def _same_address(sender: str, registered: str) -> bool:
    """Whether a mail comes from the address we write to; what a person has put behind a `+` is left out of answers."""
    if not sender or not registered:
        return False
    wished = _plainly(registered)
    local, _at, domain = wished.rpartition("@")
    return _plainly(sender) in (wished, f"{local.partition('+')[0]}@{domain}")


def _plainly(address: str) -> str:
    try:
        return ascii_domain(people.address(address))
    except UnicodeError:
        return address


# What is remembered


def _take_in_hand(digest: str, now: datetime) -> IncomingMail | None:
    """The row of a mail that is to be acted upon, made if it is new; None if it was done before."""
    values = {"digest": digest, "at": now, "kind": "reply", "outcome": IN_HAND}
    with transaction() as session:
        insert(session, IncomingMail, values, key="digest")
        row = session.scalars(select(IncomingMail).where(IncomingMail.digest == digest)).one()
        return row if row.outcome == IN_HAND else None


def _finish(
    row: IncomingMail,
    place: Place,
    kind: str,
    outcome: Fact,
    now: datetime,
    lines: list[commands.Line] | None = None,
    fault: RulesError | Refused | None = None,
) -> str:
    """Mark a reply as done and queue its answer; none to an automatic mail (`lines` is None), nor too many a day."""
    with transaction() as session:
        if not _done(session, row, kind, outcome, place) or lines is None:
            return str(outcome)
        if _answers(session, place.link.person_id, now) >= ANSWERS_A_DAY:
            return f"{outcome}; not answered, for there were too many today"
        first = min((line.seq for line in lines if line.done == "played"), default=None)
        outbox.enqueue(
            session,
            key=f"answer:{row.digest}",
            kind="answer",
            person_id=place.link.person_id,
            now=now,
            game_id=place.game.id,
            seat=place.seat.seat,
            seq=first,
            details={
                "reply": place.link.id,
                "lines": [line.kept() for line in lines],
                **commands.sentence(fault),
            },
        )
    return str(outcome)


def _done(session: Session, row: IncomingMail, kind: str, outcome: Fact, about: Place | Mail | None) -> bool:
    """Mark a mail as done; False if somebody else has."""
    mark = update(IncomingMail).where(IncomingMail.id == row.id, IncomingMail.outcome == IN_HAND)
    mark = mark.values(kind=kind, outcome=outcome)
    if isinstance(about, Mail):
        mark = mark.values(person_id=about.person_id, game_id=about.game_id, seat=about.seat)
    elif about is not None:
        mark = mark.values(person_id=about.link.person_id, game_id=about.game.id, seat=about.seat.seat)
    return session.scalar(mark.returning(IncomingMail.id)) is not None


def forget(now: datetime) -> None:
    """Forget what came in long ago, all but the newest, which tells that mail finds its way here."""
    old = IncomingMail.at < now - REMEMBERED
    with reading() as session:
        newest = session.scalar(select(func.max(IncomingMail.id)))
        if session.scalar(select(IncomingMail.id).where(old, IncomingMail.id != newest).limit(1)) is None:
            return
    with transaction() as session:
        session.execute(delete(IncomingMail).where(old, IncomingMail.id != newest))


def _answers(session: Session, person_id: int, now: datetime) -> int:
    sent = (Mail.kind == "answer", Mail.person_id == person_id, Mail.created_at > now - timedelta(days=1))
    return session.scalar(select(func.count()).where(*sent)) or 0
