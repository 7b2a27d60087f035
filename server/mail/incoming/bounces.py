"""Bounces and complaints: which of our mails a report is about, and what it says.

Each of our mails has its own envelope sender (VERP), so the address to which a report is sent identifies the mail.
What it says is read from the fields of RFC 3464 and RFC 5965, or guessed from the wording of mail servers that use
neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from server.mail import envelope
from server.mail.incoming import mime, reply
from server.mail.incoming.mime import Part
from server.mail.text import quoted
from server.store.facts import Fact

LARGEST_REPORT = 1024 * 1024
"""Bytes of a report that are read: it quotes one of our mails, which are far smaller."""
_STATUS = re.compile(r"\b([245])\.[0-9]{1,3}\.[0-9]{1,3}\b")
_CODE = re.compile(r"(?<![0-9.])([45])[0-9]{2}[ -]")
_FAILED = re.compile(
    r"undeliver|could not be delivered|couldn't be delivered|delivery (?:has )?failed|failure|returned|permanent"
    r"|gave up|given up|unzustellbar|nicht zugestellt|konnte nicht|onbestelbaar|niet (?:worden )?(?:be|af)geleverd"
    r"|rejected|no such user|unknown user|user unknown",
    re.IGNORECASE,
)
_DELAYED = re.compile(
    r"delayed|\bdelay\b|\bwarning\b|will (?:be retried|keep trying|continue)|not yet|verzögert|vertraagd|vertraging"
    r"|noch nicht zugestellt",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class BounceReport:
    """The content of a mail to one of our envelope senders.

    Args:
        kind: `failed` for good, `delayed` but still being tried, `complaint`, or `nothing` of these.
        diagnostic: the reporting server's own words, on one line.
    """

    kind: Literal["failed", "delayed", "complaint", "nothing"]
    diagnostic: Fact


def reported_mail_id(raw: bytes) -> int | None:
    """Return the id of our mail that a report quotes: complaints all arrive at one address."""
    message = mime.parse(raw[:LARGEST_REPORT])
    for part in mime.walk(message):
        found = envelope.mail_id_in(" ".join(value for _name, value in part.headers) + " " + part.text())
        if found is not None:
            return found
    return None


def parse_report(raw: bytes) -> BounceReport:
    """Parse a report; accepts any bytes and never raises."""
    message = mime.parse(raw[:LARGEST_REPORT])
    found = list(mime.walk(message))
    feedback = next((part for part in found if part.kind == "message/feedback-report"), None)
    if feedback is not None:
        return _complaint(feedback)
    status = next((part for part in found if part.kind.startswith("message/delivery-status")), None)
    if status is None:
        status = next((part for part in found if part.kind == "message/global-delivery-status"), None)
    if status is not None:
        return _from_status(list(_blocks(status.text())))
    return _from_text(message)


def _complaint(part: Part) -> BounceReport:
    fields = dict(_fields(part.text()))
    kind = fields.get("feedback-type", "abuse").lower()
    if kind in ("not-spam", "auth-failure", "dmarc"):
        return BounceReport("nothing", quoted(kind))
    return BounceReport("complaint", quoted(f"{kind}, {fields.get('user-agent', '')}".strip(", ")))


def _from_status(blocks: list[dict[str, str]]) -> BounceReport:
    """Return the verdict on the first recipient that has one: our mails have one recipient each."""
    for fields in blocks:
        action = fields.get("action", "").partition(" ")[0].lower()
        status = _STATUS.search(fields.get("status", ""))
        diagnostic = fields.get("diagnostic-code", "").partition(";")[2] or fields.get("diagnostic-code", "")
        diagnostic = f"{status[0] if status else ''} {diagnostic}".strip()
        if action == "failed" or (not action and status and status[1] == "5"):
            return BounceReport("failed", quoted(diagnostic) if diagnostic else Fact("not_delivered"))
        if action == "delayed" or (not action and status and status[1] == "4"):
            return BounceReport("delayed", quoted(diagnostic) if diagnostic else Fact("mail_delayed"))
    return BounceReport("nothing", Fact("no_failure"))


def _from_text(message: Part) -> BounceReport:
    """Guess from a report written for people; a mail that a person or an autoresponder wrote is no report."""
    sender, _name = reply.author(message)
    text = reply.body_text(message)[:4000]
    subject = reply.subject(message)
    named = bool(message.header("x-failed-recipients"))
    machine = re.match(r"(?:mailer-?daemon|postmaster|mail-?daemon)\b", sender) is not None
    qmail = "qmail-send program" in text
    if not (named or machine or qmail):
        return BounceReport("nothing", Fact("no_report"))
    diagnostic = quoted(
        next((line for line in text.split("\n") if _STATUS.search(line) or _CODE.match(line)), subject)
    )
    lasting = [found[1] for found in (_STATUS.search(text), _CODE.search(text)) if found]
    if _DELAYED.search(subject) or (not _FAILED.search(subject + text) and _DELAYED.search(text)):
        return BounceReport("delayed", diagnostic)
    if "5" in lasting or _FAILED.search(subject + " " + text):
        return BounceReport("failed", diagnostic)
    return BounceReport("delayed" if "4" in lasting else "nothing", diagnostic)


def _blocks(text: str) -> Iterator[dict[str, str]]:
    for block in re.split(r"\n[ \t]*\n", text):
        fields = dict(_fields(block))
        if fields:
            yield fields


def _fields(text: str) -> Iterator[tuple[str, str]]:
    unfolded = re.sub(r"\n[ \t]+", " ", text)
    for line in unfolded.split("\n")[:200]:
        name, colon, value = line.partition(":")
        if colon:
            yield name.strip().lower(), value.strip()
