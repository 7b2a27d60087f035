"""Processing incoming mail: moves and orders are played, words are said, bounces and complaints are handled."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from email.utils import parseaddr
from typing import TYPE_CHECKING

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from server.config import settings
from server.mail import deliverability, subscriptions
from server.mail.incoming import bounces, commands, mime, reply
from server.mail.incoming.commands import Outcome
from server.mail.incoming.mime import Part
from server.mail.incoming.reply import Reply
from server.mail.outgoing.smtp import ascii_domain
from server.play import names
from server.play.positions import NoRules, on_hold
from server.store import links, log, operations, outbox, people
from server.store.engine import insert, reading, transaction
from server.store.facts import Fact
from server.store.links import SeatAccess
from server.store.mail_kinds import MailKind
from server.store.models import IncomingMail, LinkPurpose, Mail, Person
from server.store.statements import MailRow

if TYPE_CHECKING:
    import dns.resolver


@dataclass(frozen=True, slots=True)
class Arrived:
    """A mail at the door, parsed once.

    Args:
        raw: as received.
        sender, recipient: of its envelope; the sender is empty for `<>`.
    """

    raw: bytes
    message: Part
    sender: str
    recipient: str


# ---- signatures of the trial mail ----

SECONDS = 5.0
"""How long one question to the DNS may take."""
MOST = 5
"""Signatures that are checked."""
PASS, NONE = "pass", "none"
"""What is said of a right signature, and of an email without one."""


def checked(mail: Arrived) -> Fact:
    """Return what the signatures of an email are worth for the domain of its author; one that is right is enough."""
    author = reply.author(mail.message)[0].rpartition("@")[2].lower()
    said = [
        _verified(mail.raw, number, author)
        for number in range(min(MOST, len(mail.message.all_headers("dkim-signature"))))
    ]
    best = PASS if PASS in said else said[0] if said else NONE
    return Fact("dkim", {"domain": author, "said": best})


def _verified(raw: bytes, number: int, author: str) -> str:
    """Return PASS, or why a signature does not count for the author's domain."""
    import dkim  # here, and DNS below: only the answer to a test email needs them

    try:
        signature = dkim.DKIM(raw, timeout=int(SECONDS))
        right = signature.verify(number, dnsfunc=_key)
        domain = (signature.domain or b"").decode("ascii", "replace").lower()
    except dkim.DKIMException as error:
        return f"{error}"[:200] or type(error).__name__
    if not right:
        return f"the signature of {domain} does not fit the published key"
    if domain != author and not author.endswith(f".{domain}"):
        return f"the signature is of {domain}, another domain"
    return PASS


def _key(name: bytes, timeout: int = int(SECONDS)) -> bytes | None:
    """Return the key that the DNS publishes under a name."""
    import dns.exception

    asked = name.decode("ascii", "replace")
    try:
        answer = resolver().resolve(asked, "TXT", lifetime=timeout)
    except (dns.exception.DNSException, OSError):
        return None
    return b"".join(next(iter(answer)).strings)


def resolver() -> dns.resolver.Resolver:
    """Return whom to ask: this machine's own resolver."""
    import dns.resolver

    return dns.resolver.Resolver()


# ---- what becomes of a mail ----
# A mail is delivered at least once. It is recorded before anything is done about it, processing it twice has the
# effect of once, and it is marked as done in the transaction that queues the answer.

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
STOPS: tuple[LinkPurpose, ...] = (
    LinkPurpose.STOP,
    LinkPurpose.NOINVITE,
    LinkPurpose.NOPLAYERS,
    LinkPurpose.WISH,
)
"""The purposes of the links that stop emails."""
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
    mail = Arrived(raw, mime.parse(raw), sender, recipient)
    try:
        return _receive(mail, local, now)
    except NoSuchAddress:  # perhaps a restored backup has lost it
        _search(mail, now)
        raise


def _receive(mail: Arrived, local: str, now: datetime) -> str:
    way, plus, token = local.partition("+")
    if way in links.ADDRESSES:
        return _reply(mail, local, now)
    if plus and way in ("stop", "stoptalk"):
        return _unsubscribe(mail, token, now, only_talk=way == "stoptalk")
    if local == COMPLAINTS:  # one address for everybody: mail from strangers is not even recorded
        mail_id = bounces.reported_mail_id(mail.message)
        if mail_id is None:
            _search(mail, now)
        return (
            _left_alone("unknown", "not about one of our emails")
            if mail_id is None
            else _report(mail, mail_id, now)
        )
    mail_id = deliverability.mail_id_in(mail.recipient)
    if mail_id is None:
        raise NoSuchAddress
    return _report(mail, mail_id, now)


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
    if not re.fullmatch(
        r"(?:play|talk|stop|stoptalk)\+[a-z2-7]{26}|bounce\+[0-9a-z]{1,14}-[a-z2-7]{10}|complaints", local
    ):
        raise NoSuchAddress
    return local


# Reports


KINDS = dict.fromkeys(("failed", "expired", "ours", "delayed"), "bounce") | {
    "complaint": "complaint",
    "nothing": "auto",
}
"""How a report is remembered, by its kind."""
OUTCOMES = {"ours": "blocked"}
"""The codes of the outcomes that are not called as the kind of their report."""


def _report(arrived: Arrived, mail_id: int, now: datetime) -> str:
    row = _claim(arrived, now)
    if row is None:
        return _left_alone("repeated", "seen before")
    report = bounces.parse_report(arrived.message, arrived.sender, _reader(mail_id))
    if mail_id == deliverability.TRIAL and report.kind == "nothing":
        report = replace(report, diagnostic=checked(arrived))
    mail: MailRow | None = None
    if report.kind in ("failed", "expired", "ours"):
        mail = deliverability.handle_bounce(mail_id, report.diagnostic, now, cause=report.kind)
    elif report.kind == "complaint":
        mail = deliverability.handle_complaint(mail_id, report.diagnostic, now)
    outcome = Fact(OUTCOMES.get(report.kind, report.kind), {"said": report.diagnostic})
    with transaction() as session:
        _mark_done(session, row, KINDS[report.kind], outcome, mail)
    about: dict[str, object] = {"mail": mail_id}
    if mail is not None:
        about |= {"person": mail.person_id} | ({"game": mail.game_id} if mail.game_id else {})
    return _log(row, KINDS[report.kind], str(outcome), about)


def _reader(mail_id: int) -> str:
    """Return the address to which one of our mails went, or ""."""
    with reading() as session:
        theirs = select(Person.email).join(Mail, Mail.person_id == Person.id).where(Mail.id == mail_id)
        return session.scalar(theirs) or ""


def _unsubscribe(mail: Arrived, token: str, now: datetime, *, only_talk: bool) -> str:
    """Stop emails as the link of the same token does, for any sender: the address stood in the email's header."""
    with reading() as session:
        link = next((link for way in STOPS if (link := links.find(session, way, token, now))), None)
    if link is None:
        raise NoSuchAddress
    row = _claim(mail, now)
    if row is None:
        return _left_alone("repeated", "seen before")
    subscriptions.stop(link, now, only_talk=only_talk)
    outcome = Fact("unsubscribed")
    with transaction() as session:
        _mark_done(session, row, "reply", outcome, None)
    return _log(row, "reply", str(outcome), {"person": link.person_id})


# Replies


def _reply(mail: Arrived, local: str, now: datetime) -> str:
    with reading() as session:
        access = links.address_access(session, local, now)
        if access is None:
            raise NoSuchAddress
        person = session.get_one(Person, access.link.person_id)
    talk = access.link.purpose == LinkPurpose.TALK
    row = _claim(mail, now)
    if row is None:
        return _left_alone("repeated", "seen before")
    known = reply.known_of(
        (names.of(access.game, access.seat, access.seat.seat), person.name), person.email or ""
    )
    message = reply.parse_reply(mail.message, mail.sender, talk=talk, known=known)
    ignored = _why_ignored(message, _same_address(message.sender, person.email or ""), talk)
    if ignored is not None:
        return _finish(row, access, "auto", Fact("ignored", {"why": ignored}), now)
    if not _same_address(message.sender, person.email or ""):
        strange = Outcome(fault=_another_address(talk))
        return _finish(row, access, "refused", Fact("another_address"), now, strange, talk, seldom=True)
    if talk and not message.answers:
        unasked = Outcome(fault=_no_reply())
        return _finish(row, access, "refused", unasked.as_fact(), now, unasked, talk, seldom=True)
    try:
        asked = (
            commands.read_talk(access, message.lines) if talk else commands.read_reply(access, message.lines)
        )
        understood = commands.is_understood(access, asked)
    except NoRules as missing:
        held = Outcome(fault=on_hold(missing))
        return _finish(row, access, held.kind, held.as_fact(), now, held, talk, seldom=True)
    if message.doubt is not None and not commands.is_understood(access, asked, wholly=True):
        return _finish(row, access, "auto", Fact("ignored", {"why": message.doubt}), now)
    if understood and not asked.only_words:
        people.note(person.id, now, access.game.id)
        people.store()
    if understood:
        deliverability.mark_reachable(person.id, now)
    done = commands.carry_out(access, asked, row, now)
    done.cut = done.said and message.doubtful
    told = done if done.needs_answer else None
    return _finish(row, access, done.kind, done.as_fact(), now, told, talk, seldom=not understood)


def _why_ignored(message: Reply, own: bool, talk: bool) -> Fact | None:
    """Return why a mail is ignored before it is read.

    Signs of a program count against a stranger's mail, and against one to the table, of which anything would be said
    that an absence note contains.

    Args:
        own: it comes from the player's own address.
    """
    if message.ignored is None and _is_ours(message.sender):
        return Fact("ours")
    note = message.doubt is not None and message.doubt.code == "automatic_subject"
    return message.ignored or (message.doubt if not own or (talk and note) else None)


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


def _no_reply() -> commands.BadReply:
    """Refuse a mail to the table that may be an absence note: nothing in its words would tell."""
    return commands.BadReply(
        "Your email is not a reply to one of ours, so nothing was said. Reply to an email about table talk and leave "
        "its subject as it is."
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


def _claim(mail: Arrived, now: datetime) -> IncomingMail | None:
    """Return the row of a mail to be processed, created if it is new; None if it was processed before.

    This comes before the text of the mail is read, so that none is read at each of its deliveries.
    """
    digest = reply.fingerprint(mail.message, mail.recipient)
    values = {"digest": digest, "at": now, "kind": "reply", "outcome": IN_PROGRESS}
    with transaction() as session:
        insert(session, IncomingMail, values, key="digest")
        row = session.scalars(select(IncomingMail).where(IncomingMail.digest == digest)).one()
    if row.outcome != IN_PROGRESS:
        return None
    _search(mail, now)
    return row


def _search(mail: Arrived, now: datetime) -> None:
    """Report the heads in a mail that our logs lack."""
    log.report_missing(mail.raw[:LARGEST_SEARCHED].decode("latin-1"), now)


def _finish(
    row: IncomingMail,
    access: SeatAccess,
    kind: str,
    outcome: Fact,
    now: datetime,
    done: Outcome | None = None,
    talk: bool = False,
    *,
    seldom: bool = False,
) -> str:
    """Mark a reply as done and queue its answer; none if `done` is None, or over a limit.

    Args:
        seldom: a program may have written it, so that two of them could go on answering each other; only the first
            such mail of a turn is answered.
    """
    said = str(outcome)
    with transaction() as session:
        if _mark_done(session, row, kind, outcome, access) and done is not None:
            said += _answer(session, row, access, now, done, talk, seldom)
    return _log(row, kind, said, {"game": access.game.id, "person": access.link.person_id})


def _answer(
    session: Session,
    row: IncomingMail,
    access: SeatAccess,
    now: datetime,
    done: Outcome,
    talk: bool,
    seldom: bool,
) -> str:
    """Queue the answer to a reply; return what to add to its outcome."""
    since = now - timedelta(days=1)
    before = outbox.count_queued(session, MailKind.ANSWER, access.link.person_id, since)
    if before >= ANSWERS_A_DAY:
        return "; not answered: too many answers today"
    key = f"answer:{row.digest}"
    if seldom:
        # The link is that of one turn; the one of table talk is that of a whole game.
        key = f"answer:unread:{access.link.id}" + ("" if access.link.seq is not None else f":{now:%Y-%m-%d}")
        if outbox.was_queued(session, key):
            return "; not answered: one such email was answered before"
    first = min((line.seq for line in done.lines if line.done == "played"), default=None)
    outbox.enqueue(
        session,
        key=key,
        kind=MailKind.ANSWER,
        person_id=access.link.person_id,
        now=now,
        game_id=access.game.id,
        seat=access.seat.seat,
        seq=first,
        details={
            "reply": access.link.id,
            "talk": talk,
            "final": before + 1 == ANSWERS_A_DAY,
            "only": seldom,
            **done.as_details(),
        },
    )
    return ""


def _left_alone(kind: str, said: str) -> str:
    operations.count_figure(f"mail_in:{kind}")
    LOGGER.info("incoming mail: %(outcome)s", {"outcome": said})
    return said


def _log(row: IncomingMail, kind: str, said: str, about: Mapping[str, object]) -> str:
    """Log and count what was done about an incoming mail, and return it."""
    operations.count_figure(f"mail_in:{kind}")
    of = ", ".join(f"{name} %({name})s" for name in about)
    values = {**about, "incoming": row.id, "kind": kind, "outcome": said}
    LOGGER.info(f"incoming mail %(incoming)s (%(kind)s, {of}): %(outcome)s", values)
    return said


def _mark_done(
    session: Session, row: IncomingMail, kind: str, outcome: Fact, about: SeatAccess | MailRow | None
) -> bool:
    """Mark a mail as done; False if it already was."""
    mark = update(IncomingMail).where(IncomingMail.id == row.id, IncomingMail.outcome == IN_PROGRESS)
    mark = mark.values(kind=kind, outcome=outcome)
    if isinstance(about, MailRow):
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
