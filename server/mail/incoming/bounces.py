"""Bounces and complaints: which of our mails a report is about, and what it says.

Each of our mails has its own envelope sender (VERP), so the address to which a report is sent identifies the mail.
What it says is read from the fields of RFC 3464 and RFC 5965, or guessed from the wording of mail servers that use
neither. Where both say nothing, flufl.bounce is asked, which knows the formats of many old mail servers.
"""

from __future__ import annotations

import email
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from flufl.bounce import all_failures

from server.mail import envelope
from server.mail.incoming import mime, reply
from server.mail.incoming.mime import Part
from server.mail.text import quoted
from server.store.facts import Fact

LOGGER = logging.getLogger(__name__)
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
        kind: `failed` for good, `expired`: given up after failures that may pass, `delayed` but still being tried,
            `complaint`, or `nothing` of these.
        diagnostic: the reporting server's own words, on one line.
    """

    kind: Literal["failed", "expired", "delayed", "complaint", "nothing"]
    diagnostic: Fact


DELIVERED = BounceReport("nothing", Fact("no_failure"))
"""A report that says that the mail arrived."""
_SUCCESSES = ("delivered", "relayed", "expanded")


def reported_mail_id(raw: bytes) -> int | None:
    """Return the id of our mail that a report quotes: complaints all arrive at one address."""
    message = mime.parse(raw[:LARGEST_REPORT])
    for part in mime.walk(message):
        found = envelope.mail_id_in(" ".join(value for _name, value in part.headers) + " " + part.text())
        if found is not None:
            return found
    return None


def parse_report(raw: bytes, envelope_sender: str) -> BounceReport:
    """Parse a report; accepts any bytes and never raises.

    Args:
        raw: the mail as received.
        envelope_sender: of `MAIL FROM`, empty for `<>`, with which mail servers send their reports.
    """
    raw = raw[:LARGEST_REPORT]
    message = mime.parse(raw)
    found = list(mime.walk(message))
    feedback = next((part for part in found if part.kind == "message/feedback-report"), None)
    if feedback is not None:
        return _complaint(feedback)
    status = next((part for part in found if part.kind.startswith("message/delivery-status")), None)
    if status is None:
        status = next((part for part in found if part.kind == "message/global-delivery-status"), None)
    verdict = _from_status(list(_blocks(status.text()))) if status is not None else None
    verdict = verdict or _from_text(message)
    if verdict.kind != "nothing" or verdict == DELIVERED:
        return verdict
    by_a_server = status is not None or not envelope_sender.strip("<> ")
    return _from_old_format(raw) or (_from_text(message, by_a_server=True) if by_a_server else verdict)


def _complaint(part: Part) -> BounceReport:
    fields = dict(_fields(part.text()))
    kind = fields.get("feedback-type", "abuse").lower()
    if kind in ("not-spam", "auth-failure", "dmarc"):
        return BounceReport("nothing", quoted(kind))
    return BounceReport("complaint", quoted(f"{kind}, {fields.get('user-agent', '')}".strip(", ")))


def _from_status(blocks: list[dict[str, str]]) -> BounceReport | None:
    """Return the verdict on the first recipient that has one: our mails have one each. None if nothing is said."""
    delivered = False
    for fields in blocks:
        action = fields.get("action", "").partition(" ")[0].lower()
        status = _STATUS.search(fields.get("status", ""))
        reply = fields.get("diagnostic-code", "").partition(";")[2] or fields.get("diagnostic-code", "")
        diagnostic = f"{status[0] if status else ''} {reply}".strip()
        known = action in ("failed", "delayed", *_SUCCESSES)
        if action == "failed" or (not known and status and status[1] == "5"):
            exact = status is not None and status[0] != "5.0.0"  # which stands for anything
            passing = _is_passing(status[0] if status and exact else reply)
            said = quoted(diagnostic) if diagnostic else Fact("not_delivered")
            return BounceReport("expired" if passing else "failed", said)
        if action == "delayed" or (not known and status and status[1] == "4"):
            return BounceReport("delayed", quoted(diagnostic) if diagnostic else Fact("mail_delayed"))
        delivered |= action in _SUCCESSES or bool(status and status[1] == "2")
    return DELIVERED if delivered else None


def _is_passing(line: str) -> bool:
    """Whether the reply of a mail server says that its failure may pass."""
    found = _STATUS.search(line) or _CODE.match(line.strip())
    return found is not None and found[1] == "4"


def _from_text(message: Part, by_a_server: bool = False) -> BounceReport:
    """Guess from a report written for people; a mail that a person or an autoresponder wrote is no report.

    Args:
        by_a_server: its parts or its envelope are those of a report; but autoresponders may use the same envelope, so
            only its subject or a status code counts.
    """
    sender, _name = reply.author(message)
    text = reply.body_text(message)[:4000]
    subject = reply.subject(message)
    named = bool(message.header("x-failed-recipients"))
    machine = re.match(r"(?:mailer-?daemon|postmaster|mail-?daemon)\b", sender) is not None
    qmail = "qmail-send program" in text
    certain = named or machine or qmail
    answered = message.header("auto-submitted").strip().lower().startswith("auto-replied")
    if not certain and (answered or not by_a_server):
        return BounceReport("nothing", Fact("no_report"))
    line = next((line for line in text.split("\n") if _STATUS.search(line) or _CODE.match(line)), subject)
    diagnostic, passing = quoted(line), _is_passing(line)
    lasting = [found[1] for found in (_STATUS.search(text), _CODE.search(text)) if found]
    words = text if certain else ""
    if _DELAYED.search(subject) or (not _FAILED.search(subject + words) and _DELAYED.search(words)):
        return BounceReport("delayed", diagnostic)
    if "5" in lasting or _FAILED.search(subject + " " + words):
        return BounceReport("expired" if passing else "failed", diagnostic)
    return BounceReport("delayed" if "4" in lasting else "nothing", diagnostic)


def _from_old_format(raw: bytes) -> BounceReport | None:
    """Return the verdict of flufl.bounce; None if it has none."""
    try:
        delayed, failed = all_failures(email.message_from_bytes(raw))
    except Exception as error:  # it reads mails of strangers, by rules that are not ours
        LOGGER.info("a report cannot be read: %s", type(error).__name__)
        return None
    if failed:
        return BounceReport("failed", Fact("not_delivered"))
    return BounceReport("delayed", Fact("mail_delayed")) if delayed else None


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
