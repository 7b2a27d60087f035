"""What `byzanz doctor` finds out about email: what waits, whom it fails to reach, and how a trial mail fares."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, make_msgid, parseaddr
from pathlib import Path

from flask import Flask
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from server import config
from server.config import ConfigError, Settings
from server.mail import deliverability
from server.mail.incoming import lmtp, mime, receive, reply
from server.mail.outgoing.smtp import DeliveryFailure, Message, Transport, ascii_domain, parse_mail_url
from server.ops import checks
from server.ops.checks import Finding, minute
from server.store import engine, outbox
from server.store.facts import Fact
from server.store.models import Heartbeat, IncomingMail, Mail, MailStatus, Person, Turn

# ---- whether mail-in answers ----

FILE = "mail-in.address"
"""The file in the folder of the database, or in the home."""
SECONDS = 3.0
"""How long an answer may take."""
LMTP, SILENT, ABSENT = "lmtp", "silent", "absent"
"""What answers at an address: `mail-in`, a program that says nothing, or none; else the first words of another one."""


def note(settings: Settings, listener: socket.socket) -> None:
    """Write down the address; it stays when the process ends, so that its absence is noticed."""
    host, port = listener.getsockname()[:2]
    if (path := _path(settings)) is not None:
        with suppress(OSError):  # only doctor misses it
            path.write_text(f"{socket.gethostname()} {host} {port}\n")


def forget(settings: Settings) -> None:
    """Forget the address, since a program hands over each email now."""
    if (path := _path(settings)) is not None:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def noted(settings: Settings) -> tuple[str, int] | None:
    """Return host and port where `mail-in` has last listened on this machine, None if that is unknown."""
    path = _path(settings)
    try:
        machine, host, port = path.read_text().split() if path is not None else ("", "", "")
        if machine != socket.gethostname():  # such as another container that shares the folder
            return None
        return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host), int(port)  # noqa: S104 - compared only
    except (OSError, ValueError):
        return None


def _path(settings: Settings) -> Path | None:
    file = config.database_file(settings)
    folder = file.parent if file is not None else settings.home
    return None if folder is None else folder / FILE


def answers(host: str, port: int) -> str:
    """Return what answers at an address: LMTP, SILENT, ABSENT, or the first words of something else."""
    try:
        with socket.create_connection((host, port), timeout=SECONDS) as connection:
            return _greeting(connection)
    except OSError:
        return ABSENT


def _greeting(connection: socket.socket) -> str:
    try:
        with connection.makefile("rwb") as stream:
            first = stream.readline(500)
            if first.startswith(b"220"):
                stream.write(b"LHLO doctor\r\n")
                stream.flush()
                if stream.readline(500).startswith(b"250"):
                    return LMTP
            return first.decode("ascii", "replace").strip()[:60] or SILENT
    except OSError:
        return SILENT


# ---- the mail server and the outbox ----

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
        Mail.status == MailStatus.WAITING, Mail.attempts > 0
    )
    tried, oldest = session.execute(waiting).one()
    if oldest and now - oldest > outbox.STUCK_AFTER:
        reply = session.scalar(select(Mail.error).where(Mail.created_at == oldest).limit(1))
        remedy = "see what the mail server replies; emails are retried automatically"
        return Finding(False, f"{tried} emails not accepted since {minute(oldest)} ({reply})", remedy)
    count = session.scalar(select(func.count()).where(Mail.status == MailStatus.WAITING))
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
    if (place := noted(settings)) is not None:
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
    found, where = answers(host, port), f"{host} port {port}"
    if found == LMTP:
        return Finding(True, f"byzanz mail-in answers on {where}")
    if found == ABSENT:
        remedy = "start it again: until then replies and bounces wait in the mail server, which gives up after days"
        return Finding(False, f"byzanz mail-in has stopped: nothing answers on {where}", remedy)
    if found == SILENT:
        remedy = "see its log and restart it; meanwhile replies and bounces wait in the mail server"
        return Finding(
            False, f"byzanz mail-in does not answer on {where}, though something listens there", remedy
        )
    remedy = "stop that program, or run `byzanz mail-in` on another port and tell the mail server"
    return Finding(False, f"on {where} another program answers ({found!r}) instead of byzanz mail-in", remedy)


def _listens() -> bool:
    """Whether something listens where `byzanz mail-in` does unless told otherwise."""
    return answers(lmtp.HOST, lmtp.PORT) != ABSENT


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
    return deliverability.envelope_sender(deliverability.TRIAL) or parseaddr(settings.mail_from)[1]


# ---- the trial mail ----

PATIENCE = 60.0
"""Seconds in which an email comes back from the mail server to `byzanz mail-in`."""
PAUSE = 0.5
TEXT = """\
This is a test that an administrator of {base} sent with `byzanz doctor --mail`.

If you read it among your spam, look at its header Authentication-Results: spf, dkim and dmarc
should all say "pass".
"""


def send_trial(app: Flask, settings: Settings, address: str, now: datetime) -> int:
    """Send the emails and print the findings; return 0 if they went through, else 1.

    Args:
        address: to whom the first one goes.
    """
    with app.app_context():
        found = list(_printed(trial_findings(settings, address, now)))
        engine.db.engine.dispose()
    return 0 if all(finding.ok for finding in found) else 1


def _printed(found: Iterator[Finding]) -> Iterator[Finding]:
    for finding in found:
        print(finding, flush=True)
        yield finding


def trial_findings(
    settings: Settings, address: str, now: datetime, sleep: Callable[[float], None] = time.sleep
) -> Iterator[Finding]:
    """Send the emails and yield the findings; this runs in the application's context."""
    own_address = sender(settings)
    try:
        with transport(settings) as connection:
            connection.send(_message(settings, own_address, ascii_domain(address), now))
            what = (
                f"the mail server took an email to {address}: see whether it arrives, and not among the spam"
            )
            yield Finding(True, what)
            if not settings.mail_domain:
                yield Finding(True, "replies by email are off: BYZANZ_MAIL_DOMAIN is not set")
                return
            own = _message(settings, own_address, own_address, now)
            connection.send(own)
    except (ConfigError, DeliveryFailure, UnicodeError) as error:
        yield Finding(False, f"the mail server did not take the email: {error}", SETTINGS_HINT)
        return
    yield from _comes_back(settings, own, sleep)


def _message(settings: Settings, sender: str, recipient: str, now: datetime) -> Message:
    mail = EmailMessage(policy=SMTP.clone(max_line_length=998))
    mail["From"] = settings.mail_from
    mail["To"] = recipient
    mail["Subject"] = "Byzanz: a test"
    mail["Date"] = format_datetime(now)
    mail["Message-ID"] = make_msgid(domain=settings.sender_domain)
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(TEXT.format(base=settings.base_url))
    return Message(sender, recipient, mail.as_bytes())


def _comes_back(settings: Settings, own: Message, sleep: Callable[[float], None]) -> Iterator[Finding]:
    digest, waited = reply.fingerprint(mime.parse(own.content), own.recipient), 0.0
    while waited < PATIENCE:
        with engine.reading() as session:
            outcome = session.scalar(select(IncomingMail.outcome).where(IncomingMail.digest == digest))
        if outcome is not None and outcome != receive.IN_PROGRESS:
            yield Finding(True, f"an email to {settings.mail_domain} came back to byzanz mail-in")
            yield from _dkim(settings, outcome)
            return
        sleep(PAUSE)
        waited += PAUSE
    what = f"an email to {settings.mail_domain} did not come back to byzanz mail-in within {PATIENCE:.0f} s"
    remedy = (
        "see the log of the mail server: its MX, its transport for that domain, and mail-in (docs/deploy.md)"
    )
    yield Finding(False, what, remedy)


def _dkim(settings: Settings, outcome: Fact) -> Iterator[Finding]:
    """Tell what `byzanz mail-in` found out about the signatures of the email that came back."""
    found = outcome.values.get("said")
    author = parseaddr(settings.mail_from)[1].rpartition("@")[2].lower()
    if not isinstance(found, Fact) or found.code != "dkim" or "." not in author:
        return
    said = str(found.values["said"])
    if said == receive.PASS:
        yield Finding(True, f"DKIM: its signature of {author} is right")
    elif said == receive.NONE:
        remedy = f"let your mail server sign what Byzanz sends {checks.DOCUMENT}"
        yield Finding(False, f"the email that came back has no DKIM signature of {author}", remedy)
    else:
        remedy = (
            f"publish the key that your mail server signs with, under the selector it names {checks.DOCUMENT}"
        )
        yield Finding(False, f"the DKIM signature of the email that came back is wrong: {said}", remedy)
