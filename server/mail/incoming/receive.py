"""Processing incoming mail: moves and orders are played, words are said, bounces and complaints are handled.

A mail is delivered at least once. It is recorded before anything is done about it, processing it twice has the effect
of once, and it is marked as done in the transaction that queues the answer.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from email.utils import parseaddr

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from server.config import settings
from server.mail import deliverability, envelope
from server.mail.incoming import bounces, commands, reply, words
from server.mail.incoming.reply import Reply
from server.mail.incoming.words import Outcome
from server.mail.outgoing.smtp import ascii_domain
from server.play.positions import NoRules, on_hold
from server.store import heads, links, outbox, people, presence, totals
from server.store.engine import insert, reading, transaction
from server.store.facts import Fact
from server.store.links import SeatAccess
from server.store.models import IncomingMail, Mail, Person

LOGGER = logging.getLogger(__name__)
IN_PROGRESS = Fact("in_hand")
"""The outcome of a mail that is being processed, or was when the server died."""
ANSWERS_A_DAY = 40
"""How many answers one person gets within a day, so that two autoresponders cannot go on forever."""
RETENTION = timedelta(days=90)
"""How long incoming mails are remembered: no mail server delivers a mail again as late as that."""
PURGED_AT_ONCE = 500
LARGEST_SEARCHED = 256 * 1024
"""Bytes of a mail in which heads of logs are looked for: its header, and what it quotes."""
COMPLAINTS = "complaints"
"""The local part of the address to which feedback loops send their reports."""


class NoSuchAddress(Exception):
    """No mail is accepted for this recipient."""


def receive(raw: bytes, sender: str, recipient: str, now: datetime) -> str:
    """Process a mail; delivering it again has no further effect.

    Args:
        raw: the mail as received.
        sender: of its envelope; empty for `<>`.
        recipient: of its envelope.

    Returns:
        What was done, for logs and moderators: one line without addresses or tokens.

    Raises:
        NoSuchAddress: nothing has this address. SQLAlchemyError: the database failed; deliver it again later.
    """
    local = _local_part(recipient)
    heads.report_missing(raw[:LARGEST_SEARCHED].decode("latin-1"), now)
    way, plus, token = local.partition("+")
    if plus and way in ("play", "talk"):
        return _reply(raw, sender, token, recipient, now, talk=way == "talk")
    if local == COMPLAINTS:  # one address for everybody: mail from strangers is not even recorded
        mail_id = bounces.reported_mail_id(raw)
        return (
            _left_alone("unknown", "not about one of our emails")
            if mail_id is None
            else _report(raw, sender, recipient, mail_id, now)
        )
    mail_id = envelope.mail_id_in(recipient)
    if mail_id is None:
        raise NoSuchAddress
    return _report(raw, sender, recipient, mail_id, now)


def is_ours(recipient: str) -> bool:
    """Whether this could be an address of ours, judging by its form alone."""
    try:
        return bool(_local_part(recipient))
    except NoSuchAddress:
        return False


def _local_part(recipient: str) -> str:
    local, at, domain = recipient.strip("<> ").lower().rpartition("@")
    if not at or not settings().mail_domain or domain != settings().mail_domain.lower():
        raise NoSuchAddress
    if not re.fullmatch(r"(?:play|talk)\+[a-z2-7]{26}|bounce\+[0-9a-z]{1,14}-[a-z2-7]{10}|complaints", local):
        raise NoSuchAddress
    return local


# Reports


def _report(raw: bytes, sender: str, recipient: str, mail_id: int, now: datetime) -> str:
    report = bounces.parse_report(raw, sender)
    row = _claim(reply.fingerprint(raw, recipient), now)
    if row is None:
        return _left_alone("repeated", "seen before")
    mail: Mail | None = None
    if report.kind in ("failed", "expired"):
        lasting = report.kind == "failed"
        mail = deliverability.handle_bounce(mail_id, report.diagnostic, now, lasting=lasting)
    elif report.kind == "complaint":
        mail = deliverability.handle_complaint(mail_id, report.diagnostic, now)
    kinds = {
        "failed": "bounce",
        "expired": "bounce",
        "delayed": "bounce",
        "complaint": "complaint",
        "nothing": "auto",
    }
    outcome = Fact(report.kind, {"said": report.diagnostic})
    with transaction() as session:
        _mark_done(session, row, kinds[report.kind], outcome, mail)
    about: dict[str, object] = {"mail": mail_id}
    if mail is not None:
        about |= {"person": mail.person_id} | ({"game": mail.game_id} if mail.game_id else {})
    return _log(row, kinds[report.kind], str(outcome), about)


# Replies


def _reply(raw: bytes, sender: str, token: str, recipient: str, now: datetime, *, talk: bool) -> str:
    with reading() as session:
        access = links.seat_access(session, token, now, "reply")
        if access is None:
            raise NoSuchAddress
        person = session.get_one(Person, access.link.person_id)
    row = _claim(reply.fingerprint(raw, recipient), now)
    if row is None:
        return _left_alone("repeated", "seen before")
    message = reply.parse_reply(raw, sender, talk=talk)
    if message.ignored is None and _is_ours(message.sender):
        message = Reply(message.sender, ignored=Fact("ours"))
    if message.ignored is not None:
        return _finish(row, access, "auto", Fact("ignored", {"why": message.ignored}), now)
    if not _same_address(message.sender, person.email or ""):
        strange = Outcome(fault=_another_address(talk))
        return _finish(row, access, "refused", Fact("another_address"), now, strange, talk)
    try:
        asked = words.read_talk(access, message.lines) if talk else words.read_reply(access, message.lines)
    except NoRules as missing:
        held = Outcome(fault=on_hold(missing))
        return _finish(row, access, held.kind, held.as_fact(), now, held, talk)
    if not asked.only_words:
        presence.note(person.id, now, access.game.id)
        presence.store()
    deliverability.mark_reachable(person.id, now)
    done = words.carry_out(access, asked, row, now)
    return _finish(row, access, done.kind, done.as_fact(), now, done if done.needs_answer else None, talk)


def _another_address(talk: bool) -> commands.BadReply:
    if talk:
        return commands.BadReply(
            "A message to this table came from a different address, so nothing was said. "
            "Reply from this address or use your link."
        )
    return commands.BadReply(
        "A reply to this turn came from a different address, so nothing was played. "
        "Reply from this address or use your link."
    )


def _is_ours(address: str) -> bool:
    """Whether a mail comes from our own address: it came back, or two machines answer each other."""
    ours = parseaddr(settings().mail_from)[1].lower()
    return address == ours or re.match(r"(?:play|talk|bounce)\+.*@", address) is not None


def _same_address(sender: str, registered: str) -> bool:
    """Whether a mail comes from the registered address; replies usually lack what a person added behind a `+`."""
    if not sender or not registered:
        return False
    expected = _comparable(registered)
    local, _at, domain = expected.rpartition("@")
    return _comparable(sender) in (expected, f"{local.partition('+')[0]}@{domain}")


def _comparable(address: str) -> str:
    try:
        return ascii_domain(people.normalize_address(address))
    except UnicodeError:
        return address


# Stored rows


def _claim(digest: str, now: datetime) -> IncomingMail | None:
    """Return the row of a mail to be processed, created if it is new; None if it was processed before."""
    values = {"digest": digest, "at": now, "kind": "reply", "outcome": IN_PROGRESS}
    with transaction() as session:
        insert(session, IncomingMail, values, key="digest")
        row = session.scalars(select(IncomingMail).where(IncomingMail.digest == digest)).one()
        return row if row.outcome == IN_PROGRESS else None


def _finish(
    row: IncomingMail,
    access: SeatAccess,
    kind: str,
    outcome: Fact,
    now: datetime,
    done: Outcome | None = None,
    talk: bool = False,
) -> str:
    """Mark a reply as done and queue its answer; none if `done` is None, or over the limit."""
    said = str(outcome)
    with transaction() as session:
        if _mark_done(session, row, kind, outcome, access) and done is not None:
            said += _answer(session, row, access, now, done, talk)
    return _log(row, kind, said, {"game": access.game.id, "person": access.link.person_id})


def _answer(
    session: Session, row: IncomingMail, access: SeatAccess, now: datetime, done: Outcome, talk: bool
) -> str:
    """Queue the answer to a reply; return what to add to its outcome."""
    since = now - timedelta(days=1)
    before = outbox.count_queued(session, ("answer",), access.link.person_id, since)
    if before >= ANSWERS_A_DAY:
        return "; not answered: too many answers today"
    first = min((line.seq for line in done.lines if line.done == "played"), default=None)
    outbox.enqueue(
        session,
        key=f"answer:{row.digest}",
        kind="answer",
        person_id=access.link.person_id,
        now=now,
        game_id=access.game.id,
        seat=access.seat.seat,
        seq=first,
        details={
            "reply": access.link.id,
            "talk": talk,
            "final": before + 1 == ANSWERS_A_DAY,
            **done.as_details(),
        },
    )
    return ""


def _left_alone(kind: str, said: str) -> str:
    totals.count(f"mail_in:{kind}")
    LOGGER.info("incoming mail: %(outcome)s", {"outcome": said})
    return said


def _log(row: IncomingMail, kind: str, said: str, about: Mapping[str, object]) -> str:
    """Log and count what was done about an incoming mail, and return it."""
    totals.count(f"mail_in:{kind}")
    of = ", ".join(f"{name} %({name})s" for name in about)
    values = {**about, "incoming": row.id, "kind": kind, "outcome": said}
    LOGGER.info(f"incoming mail %(incoming)s (%(kind)s, {of}): %(outcome)s", values)
    return said


def _mark_done(
    session: Session, row: IncomingMail, kind: str, outcome: Fact, about: SeatAccess | Mail | None
) -> bool:
    """Mark a mail as done; False if it already was."""
    mark = update(IncomingMail).where(IncomingMail.id == row.id, IncomingMail.outcome == IN_PROGRESS)
    mark = mark.values(kind=kind, outcome=outcome)
    if isinstance(about, Mail):
        mark = mark.values(person_id=about.person_id, game_id=about.game_id, seat=about.seat)
    elif about is not None:
        mark = mark.values(person_id=about.link.person_id, game_id=about.game.id, seat=about.seat.seat)
    return session.scalar(mark.returning(IncomingMail.id)) is not None


def purge(now: datetime) -> None:
    """Delete old rows except the newest, which shows that incoming mail works."""
    while ids := _oldest(now - RETENTION):
        with transaction() as session:
            session.execute(delete(IncomingMail).where(IncomingMail.id.in_(ids)))


def _oldest(before: datetime) -> list[int]:
    """Return some of the rows from before a moment, oldest first, without the newest of all."""
    first = select(IncomingMail.id, IncomingMail.at).order_by(IncomingMail.id).limit(PURGED_AT_ONCE + 1)
    with reading() as session:
        rows = session.execute(first).all()
    return [row_id for row_id, at in rows[:-1] if at < before]
