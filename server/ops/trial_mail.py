"""`byzanz doctor --mail ADDRESS`: send an email as the server does, and another one to `byzanz mail-in` itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, make_msgid, parseaddr

from flask import Flask
from sqlalchemy import select

from server.config import ConfigError, Settings
from server.mail.incoming import receive, reply, signatures
from server.mail.outgoing.smtp import DeliveryFailure, Message, ascii_domain
from server.ops import dns_checks, mail_checks
from server.ops.finding import Finding
from server.store import engine
from server.store.facts import Fact
from server.store.models import IncomingMail

PATIENCE = 60.0
"""Seconds in which an email comes back from the mail server to `byzanz mail-in`."""
PAUSE = 0.5
TEXT = """\
This is a test that an administrator of {base} sent with `byzanz doctor --mail`.

If you read it among your spam, look at its header Authentication-Results: spf, dkim and dmarc
should all say "pass".
"""


def run(app: Flask, settings: Settings, address: str, now: datetime) -> int:
    """Send the emails and print the findings; return 0 if they went through, else 1.

    Args:
        address: to whom the first one goes.
    """
    with app.app_context():
        found = list(_printed(findings(settings, address, now)))
        engine.db.engine.dispose()
    return 0 if all(finding.ok for finding in found) else 1


def _printed(found: Iterator[Finding]) -> Iterator[Finding]:
    for finding in found:
        print(finding, flush=True)
        yield finding


def findings(
    settings: Settings, address: str, now: datetime, sleep: Callable[[float], None] = time.sleep
) -> Iterator[Finding]:
    """Send the emails and yield the findings; this runs in the application's context."""
    sender = mail_checks.sender(settings)
    try:
        with mail_checks.transport(settings) as connection:
            connection.send(_message(settings, sender, ascii_domain(address), now))
            what = (
                f"the mail server took an email to {address}: see whether it arrives, and not among the spam"
            )
            yield Finding(True, what)
            if not settings.mail_domain:
                yield Finding(True, "replies by email are off: BYZANZ_MAIL_DOMAIN is not set")
                return
            own = _message(settings, sender, sender, now)
            connection.send(own)
    except (ConfigError, DeliveryFailure, UnicodeError) as error:
        yield Finding(False, f"the mail server did not take the email: {error}", mail_checks.SETTINGS_HINT)
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
    digest, waited = reply.fingerprint(own.content, own.recipient), 0.0
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
    if said == signatures.PASS:
        yield Finding(True, f"DKIM: its signature of {author} is right")
    elif said == signatures.NONE:
        remedy = f"let your mail server sign what Byzanz sends {dns_checks.DOCUMENT}"
        yield Finding(False, f"the email that came back has no DKIM signature of {author}", remedy)
    else:
        remedy = f"publish the key that your mail server signs with, under the selector it names {dns_checks.DOCUMENT}"
        yield Finding(False, f"the DKIM signature of the email that came back is wrong: {said}", remedy)
