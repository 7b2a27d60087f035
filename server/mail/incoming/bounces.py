"""Bounces and complaints: which of our mails a report is about, and what it says.

Each of our mails has its own envelope sender (VERP), so the address to which a report is sent identifies the mail.
What it says is read from the fields of RFC 3464 and RFC 5965, or guessed from the wording of mail servers that use
neither. Where both say nothing, flufl.bounce is asked, which knows the formats of many old mail servers; its verdict
counts only if it names the recipient of our mail, and never about a mail that a person or an autoresponder wrote.
"""

from __future__ import annotations

import email
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from server.mail import causes, deliverability
from server.mail.incoming import mime, reply
from server.mail.incoming.mime import Part
from server.mail.text import quoted
from server.store.facts import Fact

LOGGER = logging.getLogger(__name__)
LARGEST_REPORT = 256 * 1024
"""Bytes of a report that are read: what it says stands before the copy of our mail."""
LONGEST_TEXT = 4000
"""Characters of a report's words that are read."""
FOR_OTHERS = 64 * 1024
"""Bytes of a report that another library reads, in lines of at most `LONGEST_LINE` characters."""
LONGEST_LINE = 300
MOST_LINES = 1000
_STATUS = re.compile(r"(?<![0-9.])([245])\.[0-9]{1,3}\.[0-9]{1,3}\b")
_CODE = re.compile(r"(?<![0-9.])([45])[0-9]{2}[ -](?=[^0-9 ])")
_REPLY = re.compile(r"(?<![0-9.])[45][0-9]{2}[ -]#?[45]\.[0-9]{1,3}\.[0-9]{1,3}\b")
"""A code followed by an enhanced one: no telephone number and no date looks like it."""
_COPY = re.compile(
    r"[\s>]*(?:return-path|received|dkim-signature|authentication-results|x-spam-\w+) ?:"
    r"|[ >]*-{2,}.{0,40}\b(?:copy|original|below|returned|headers|kopie|message follows)\b",
    re.IGNORECASE,
)
"""The line at which the copy of our mail begins."""
_SUBJECT = re.compile(
    r"[\s>]*(?:subject|betreff|onderwerp|objet|asunto|oggetto|assunto|temat) ?:", re.IGNORECASE
)
"""Quotes the name of a game, which may contain any words."""
_FAILED = re.compile(
    r"undeliver|could not be delivered|couldn't be delivered|delivery (?:has )?failed|failure|returned|permanent"
    r"|gave up|given up|unzustellbar|nicht zugestellt|konnte nicht|onbestelbaar|niet (?:worden )?(?:be|af)geleverd"
    r"|rejected|no such user|unknown user|user unknown|error has occurred while attempting",
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
        kind: a cause (`causes.Cause`): the address has `failed`, the mail has `expired`, or the server objects to
            `ours`; `delayed` but still being tried, `complaint`, or `nothing` of these.
        diagnostic: the reporting server's own words, on one line.
    """

    kind: causes.Cause | Literal["delayed", "complaint", "nothing"]
    diagnostic: Fact


DELIVERED = BounceReport("nothing", Fact("no_failure"))
"""A report that says that the mail arrived."""
_SUCCESSES = ("delivered", "relayed", "expanded")


def reported_mail_id(message: Part) -> int | None:
    """Return the id of our mail that a report quotes: complaints all arrive at one address."""
    for part in mime.walk(message.shortened(LARGEST_REPORT)):
        found = deliverability.mail_id_in(
            " ".join(value for _name, value in part.headers) + " " + part.text()
        )
        if found is not None:
            return found
    return None


def parse_report(message: Part, envelope_sender: str, recipient: str = "") -> BounceReport:
    """Read a parsed mail as a report; never raises.

    Args:
        envelope_sender: of `MAIL FROM`, empty for `<>`, with which mail servers send their reports.
        recipient: of our mail that it is about, if known.
    """
    message = message.shortened(LARGEST_REPORT)
    found = list(mime.walk(message))
    complaint = _complaint(message, found)
    if complaint is not None:
        return complaint
    status = next((part for part in found if part.kind.startswith("message/delivery-status")), None)
    if status is None:
        status = next((part for part in found if part.kind == "message/global-delivery-status"), None)
    del found  # copies of all parts
    verdict = _from_status(list(_blocks(status.text())), message) if status is not None else None
    verdict = verdict or _from_text(message)
    if verdict.kind != "nothing" or verdict == DELIVERED or _is_answer(message, recipient):
        return verdict
    by_a_server = status is not None or reply.is_null(envelope_sender)
    if not by_a_server:
        return verdict
    return _from_old_format(message, recipient) or _from_text(message, by_a_server=True)


def _is_answer(message: Part, recipient: str) -> bool:
    """Whether an autoresponder or the recipient wrote the mail: mail servers report in their own names."""
    sender, _name = reply.author(message)
    own = bool(recipient) and _same(sender, recipient)
    return own or reply.answers_by_itself(message) or reply.is_absence(message)


def _same(address: str, recipient: str) -> bool:
    """Whether two addresses are one; mail servers may name it without what follows a `+`."""
    local, at, domain = recipient.casefold().rpartition("@")
    return address.strip(" <>").casefold() in (
        f"{local}{at}{domain}",
        f"{local.partition('+')[0]}{at}{domain}",
    )


def _complaint(message: Part, parts: list[Part]) -> BounceReport | None:
    """Return what a complaint says: a report of RFC 5965, or the copy of our mail that Hotmail sends (JMRP)."""
    feedback = next((part for part in parts if part.kind == "message/feedback-report"), None)
    if feedback is None:
        copies = [mime.parse(part.body) for part in parts if part.kind == "message/rfc822"]
        named = any(copy.header("x-hmxmroriginalrecipient") for copy in copies)
        said = reply.subject(message).lower().startswith("complaint about message from")
        return (
            BounceReport("complaint", quoted(reply.subject(message))) if named or (said and copies) else None
        )
    fields = dict(_fields(feedback.text()))
    kind = fields.get("feedback-type", "abuse").lower()
    if kind in ("not-spam", "auth-failure", "dmarc"):
        return BounceReport("nothing", quoted(kind))
    return BounceReport("complaint", quoted(f"{kind}, {fields.get('user-agent', '')}".strip(", ")))


def _from_status(blocks: list[dict[str, str]], message: Part) -> BounceReport | None:
    """Return the verdict on the first recipient that has one: our mails have one each. None if nothing is said."""
    delivered = False
    for fields in blocks:
        action = fields.get("action", "").partition(" ")[0].lower()
        status = _STATUS.search(fields.get("status", ""))
        said = fields.get("diagnostic-code", "").partition(";")[2] or fields.get("diagnostic-code", "")
        diagnostic = _with_status(status[0] if status else "", said)
        known = action in ("failed", "delayed", *_SUCCESSES)
        if action == "failed" or (not known and status and status[1] == "5"):
            return _given_up(said.strip(), status[0] if status else "", message)
        if action == "delayed" or (not known and status and status[1] == "4"):
            return BounceReport("delayed", quoted(diagnostic) if diagnostic else Fact("mail_delayed"))
        delivered |= action in _SUCCESSES or bool(status and status[1] == "2")
    return DELIVERED if delivered else None


def _with_status(status: str, said: str) -> str:
    """Return what a mail server said, behind the status unless the words have it."""
    return said.strip() if status and status in said else f"{status} {said}".strip()


def _given_up(said: str, status: str, message: Part) -> BounceReport:
    """Return why a mail was given up: by the reply that the report quotes or, if there is none, by its words."""
    words = "" if said or (status and not status.endswith(".0.0")) else _words(message)
    cause = causes.cause_of(said or words, status)
    diagnostic = _with_status(status, said or _telling_line(words, cause))
    return BounceReport(cause, quoted(diagnostic) if diagnostic else Fact("not_delivered"))


def _coded_line(text: str) -> str:
    """Return the first line with the code of a reply, or ""."""
    return next((line for line in text.split("\n") if _STATUS.search(line) or _CODE.match(line.strip())), "")


def _telling_line(text: str, cause: causes.Cause | None) -> str:
    """Return the line with the code of a reply, else the first that names the cause, or ""."""
    lines = (line for line in text.split("\n") if cause and line.strip())
    return _coded_line(text) or next((line for line in lines if causes.recognized(line) == cause), "")


def _words(message: Part) -> str:
    """Return what a report says to people, without the copy of our mail."""
    lines = reply.body_text(message)[:LONGEST_TEXT].split("\n")
    copy = next((number for number, line in enumerate(lines) if number and _COPY.match(line)), len(lines))
    return "\n".join(line for line in lines[:copy] if not _SUBJECT.match(line))


def _from_text(message: Part, by_a_server: bool = False) -> BounceReport:
    """Guess from a report written for people; a mail that a person or an autoresponder wrote is no report.

    Args:
        by_a_server: its parts or its envelope are those of a report; but autoresponders may use the same envelope, so
            only its subject or a status code counts.
    """
    sender, _name = reply.author(message)
    text, subject = _words(message), reply.subject(message)
    certain = _is_by_a_mail_server(message, sender, text)
    if not certain and (reply.answers_by_itself(message) or not by_a_server):
        return BounceReport("nothing", Fact("no_report"))
    told = text if certain else "\n".join(line for line in text.split("\n") if _is_reply(line))
    lasting = [found[1] for found in (_STATUS.search(told), _CODE.search(told)) if found]
    words = text if certain else ""
    cause = causes.recognized(_coded_line(told)) or causes.recognized(words)
    diagnostic = quoted(_telling_line(text, cause) or subject)
    if _DELAYED.search(subject) or (not _FAILED.search(subject + words) and _DELAYED.search(words)):
        return BounceReport("delayed", diagnostic)
    if "5" in lasting or _FAILED.search(subject + " " + words) or (certain and cause and "4" not in lasting):
        return BounceReport(cause or "failed", diagnostic)
    return BounceReport("delayed" if "4" in lasting else "nothing", diagnostic)


def _is_reply(line: str) -> bool:
    """Whether a line quotes a mail server rather than a date (5.4.26) or a telephone number."""
    coded = _REPLY.search(line) or _CODE.match(line.strip())
    return bool(coded or (_STATUS.search(line) and causes.recognized(_STATUS.sub(" ", line))))


def _is_by_a_mail_server(message: Part, sender: str, text: str) -> bool:
    named = bool(message.header("x-failed-recipients"))
    machine = re.match(r"(?:mailer-?daemon|postmaster|mail-?daemon)\b", sender) is not None
    return named or machine or "qmail-send program" in text


def _from_old_format(message: Part, recipient: str) -> BounceReport | None:
    """Return the verdict of flufl.bounce on our recipient; None if it has none."""
    from flufl.bounce import all_failures  # here: few reports come this far

    try:
        delayed, failed = all_failures(
            email.message_from_bytes(b"".join(islice(_capped(message), MOST_LINES))[:FOR_OTHERS])
        )
        found = [[address.decode("ascii", "replace") for address in each] for each in (failed, delayed)]
    except Exception as error:  # it reads mails of strangers, by rules that are not ours
        LOGGER.info("a report cannot be read: %s", type(error).__name__)
        return None
    for kind, addresses in zip(("failed", "delayed"), found, strict=True):
        if any(_same(address, recipient) for address in addresses):
            if kind == "delayed":
                return BounceReport("delayed", Fact("mail_delayed"))
            cause = causes.cause_of(_words(message))
            said = _telling_line(_words(message), cause)
            return BounceReport(cause, quoted(said) if said else Fact("not_delivered"))
    return None


def _capped(part: Part) -> Iterator[bytes]:
    """Yield a mail again with short lines and without encodings or the copy of ours, in which lines could hide."""
    if part.kind.startswith("message/") and "delivery-status" not in part.kind:
        return
    for name, value in part.headers:
        if name != "content-transfer-encoding":
            yield f"{name}: {value[:LONGEST_LINE]}\n".encode()
    yield b"\n"
    boundary = part.parameter("boundary").encode()
    for piece in part.subparts():
        yield b"\n--" + boundary + b"\n"
        yield from _capped(mime.parse(piece, part.depth + 1))
    if part.kind.startswith("multipart/"):
        yield b"\n--" + boundary + b"--\n"
        return
    for line in part.text()[:FOR_OTHERS].split("\n", MOST_LINES)[:MOST_LINES]:
        yield line[:LONGEST_LINE].encode("utf-8", "replace") + b"\n"


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
