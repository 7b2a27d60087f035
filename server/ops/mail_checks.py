"""What `byzanz doctor` finds out about email: what waits, whom it does not reach, and whether replies come in."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from email.utils import parseaddr

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from server.config import ConfigError, Settings
from server.mail import envelope
from server.mail.incoming import lmtp, receive
from server.mail.outgoing.smtp import DeliveryFailure, Transport, ascii_domain, parse_mail_url
from server.ops import mail_in_probe
from server.ops.finding import Finding, minute
from server.store import engine, outbox
from server.store.models import Heartbeat, IncomingMail, Mail, Person, Turn

MAIL_TIMEOUT = 10.0
"""Seconds for one reply of the mail server."""
MOST_NAMED = 5
"""Games that one finding names."""
SETTINGS_HINT = "check user, password and BYZANZ_MAIL_FROM, and that the mail server relays for this machine"


def findings(session: Session, settings: Settings, now: datetime) -> Iterator[Finding]:
    """Yield what the database tells about email."""
    yield _waiting_mail(session, now)
    yield _refused(session)
    yield from _mail_in(session, settings, now)


def _waiting_mail(session: Session, now: datetime) -> Finding:
    waiting = select(func.count(), func.min(Mail.created_at)).where(
        Mail.status == "waiting", Mail.attempts > 0
    )
    tried, oldest = session.execute(waiting).one()
    if oldest and now - oldest > outbox.STUCK_AFTER:
        reply = session.scalar(select(Mail.error).where(Mail.created_at == oldest).limit(1))
        remedy = "see what the mail server replies; emails are retried automatically"
        return Finding(False, f"{tried} emails not accepted since {minute(oldest)} ({reply})", remedy)
    count = session.scalar(select(func.count()).where(Mail.status == "waiting"))
    return Finding(True, f"outbox: {count} emails waiting, {tried} of them retried")


def _refused(session: Session) -> Finding:
    stopped = session.execute(
        select(Turn.game_id, Turn.refused).where(Turn.refused.is_not(None)).order_by(Turn.refused_at)
    ).all()
    if stopped:
        games = list(dict.fromkeys(game_id for game_id, _ in stopped))
        named = ", ".join(games[:MOST_NAMED]) + (" …" if len(games) > MOST_NAMED else "")
        what = f"{len(stopped)} turns are stopped because their email was rejected (games {named})"
        remedy = "correct the address or replace the player on the game's moderation page"
        return Finding(False, f"{what}: {stopped[0].refused}", remedy)
    return Finding(True, "no turn is stopped because of rejected email")


def _mail_in(session: Session, settings: Settings, now: datetime) -> Iterator[Finding]:
    """Check that replies and bounces arrive, as far as past mail and `byzanz mail-in` itself can tell."""
    if not settings.mail_domain:
        yield Finding(True, "replies by email are off: BYZANZ_MAIL_DOMAIN is not set")
        return
    half = select(func.count(), func.min(IncomingMail.at)).where(
        IncomingMail.outcome == receive.IN_PROGRESS, IncomingMail.at < now - outbox.LEASE
    )
    count, since = session.execute(half).one()
    if count:
        remedy = "processing failed: see the log of `byzanz mail-in`; the mail server delivers them again"
        yield Finding(False, f"{count} incoming emails were not processed, since {minute(since)}", remedy)
    last = session.scalar(select(func.max(IncomingMail.at)))
    if (place := mail_in_probe.noted(settings)) is not None:
        yield _answers(*place)
        yield _last(settings, last)
        return
    beat = session.get(Heartbeat, lmtp.PART)
    if beat is not None and abs(now - beat.at) <= 3 * lmtp.HEARTBEAT:
        yield Finding(True, "byzanz mail-in is running")
    elif beat is not None and (last is None or last <= beat.at):
        remedy = "start it again: until then replies and bounces wait in the mail server, which gives up after days"
        yield Finding(False, f"byzanz mail-in has not run since {minute(beat.at)}", remedy)
    elif last is None and not _listens():
        remedy = (
            "run `byzanz mail-in` and have the mail server deliver all email for that domain to it (docs/deploy.md), "
            "or unset BYZANZ_MAIL_DOMAIN: emails tell players to reply there. If the mail server uses a pipe, "
            "`byzanz doctor --mail YOUR-ADDRESS` tries it"
        )
        yield Finding(False, f"nothing takes in email for {settings.mail_domain}", remedy)
        return
    yield _last(settings, last)


def _last(settings: Settings, last: datetime | None) -> Finding:
    if last is None:
        return Finding(True, f"no email has arrived at {settings.mail_domain} yet")
    return Finding(True, f"incoming email at {settings.mail_domain}: the last one on {minute(last)}")


def _answers(host: str, port: int) -> Finding:
    """Ask `byzanz mail-in` where it has last listened on this machine."""
    found, where = mail_in_probe.answers(host, port), f"{host} port {port}"
    if found == mail_in_probe.LMTP:
        return Finding(True, f"byzanz mail-in answers on {where}")
    if found == mail_in_probe.ABSENT:
        remedy = "start it again: until then replies and bounces wait in the mail server, which gives up after days"
        return Finding(False, f"byzanz mail-in has stopped: nothing answers on {where}", remedy)
    if found == mail_in_probe.SILENT:
        remedy = "see its log and restart it; meanwhile replies and bounces wait in the mail server"
        return Finding(
            False, f"byzanz mail-in does not answer on {where}, though something listens there", remedy
        )
    remedy = "stop that program, or run `byzanz mail-in` on another port and tell the mail server"
    return Finding(False, f"on {where} another program answers ({found!r}) instead of byzanz mail-in", remedy)


def _listens() -> bool:
    """Whether something listens where `byzanz mail-in` does unless told otherwise."""
    return mail_in_probe.answers(lmtp.HOST, lmtp.PORT) != mail_in_probe.ABSENT


def relay(settings: Settings) -> Finding:
    """Ask the mail server whether it would take an email to a moderator; none is sent.

    This runs in the application's context.
    """
    person = select(Person.email).where(Person.moderator, Person.email.is_not(None)).order_by(Person.id)
    with engine.reading() as session:
        address = session.scalar(person.limit(1))
    if address is None:
        what = "whether the mail server relays was not checked: there is no moderator"
        return Finding(True, f"{what} (byzanz moderator add YOUR-ADDRESS)")
    try:
        with transport(settings) as connection:
            connection.check_recipient(sender(settings), ascii_domain(address))
    except (ConfigError, DeliveryFailure, UnicodeError) as error:
        return Finding(
            False, f"the mail server would not take an email to a moderator: {error}", SETTINGS_HINT
        )
    return Finding(True, "the mail server takes email to a moderator (asked without sending any)")


def transport(settings: Settings) -> Transport:
    """Return a connection to the mail server that does not wait long.

    Raises:
        ConfigError: BYZANZ_MAIL_URL names no mail server.
    """
    server = parse_mail_url(settings.mail_url)
    return Transport(server, settings.sender_domain, timeout=MAIL_TIMEOUT, send_timeout=2 * MAIL_TIMEOUT)


def sender(settings: Settings) -> str:
    """Return an envelope sender like those of our emails, of an email that does not exist."""
    return envelope.envelope_sender(envelope.TRIAL) or parseaddr(settings.mail_from)[1]
