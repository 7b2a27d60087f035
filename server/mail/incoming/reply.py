"""Reading an incoming mail as a reply: its author, their own lines, or why it is ignored.

Pure: bytes in, text out. `receive` decides what is done about it.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from server.mail.incoming import automatic, html_text, mime, quoting
from server.mail.incoming.mime import Part
from server.mail.incoming.quoting import OwnLine
from server.store.facts import Fact

LARGEST_MAIL = 5 * 1024 * 1024
"""Bytes of a mail that are read: enough for a photograph in a signature, not for a film."""
MOST_OWN_LINES = 40
"""The writer's own lines; a mail with more is no answer to a question."""
LONGEST_FROM = 1000
"""Characters of a From header with one person."""
_ADDRESS = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.\u0080-\U0010ffff-]{1,64}@[A-Za-z0-9.\u0080-\U0010ffff_-]{1,255}"
_BARE = re.compile(_ADDRESS)
_IN_ANGLES = re.compile(rf"([^<>]*)<\s*({_ADDRESS})\s*>\s*")


@dataclass(frozen=True, slots=True)
class Reply:
    """A parsed mail.

    Args:
        sender: the only address in its From, lower-case; empty if there is none, or more than one.
        lines: the writer's own lines, without quotes and signature and, unless all are talk, without greetings.
        ignored: why it is not a person's reply; None if it may be one.
        doubt: what suggests that no person wrote it; then it counts only if it can be read.
    """

    sender: str
    lines: tuple[OwnLine, ...] = ()
    ignored: Fact | None = None
    doubt: Fact | None = None


def parse_reply(raw: bytes, envelope_sender: str, *, talk: bool = False) -> Reply:
    """Parse a mail; accepts any bytes and never raises.

    Args:
        raw: the mail as received.
        envelope_sender: of `MAIL FROM`, empty for `<>`.
        talk: all that its writer wrote is meant for people.
    """
    if len(raw) > LARGEST_MAIL:
        return Reply("", ignored=Fact("too_big"))
    message = mime.parse(raw)
    sender, name = author(message)
    reason = automatic.proof(message, envelope_sender)
    if reason is not None:
        return Reply(sender, ignored=reason)
    lines = quoting.own_lines(body_text(message), name, talk=talk)[: MOST_OWN_LINES + 1]
    return Reply(sender, lines, doubt=automatic.sign(message, envelope_sender, sender))


def fingerprint(raw: bytes, recipient: str) -> str:
    """Return what identifies a delivered mail (models: Received): its Message-ID, or else its body, and its recipient.

    Args:
        recipient: of the envelope.
    """
    message = mime.parse(raw[: 256 * 1024])
    mail_id = message.header("message-id").strip()
    same = mail_id.encode("utf-8", "replace") or hashlib.sha256(message.body).digest()
    return hashlib.sha256(recipient.lower().encode("utf-8", "replace") + b"\n" + same).hexdigest()


def author(message: Part) -> tuple[str, str]:
    """Return address and name from the From header; both empty unless there is exactly one header with one person."""
    headers = message.all_headers("from")
    if len(headers) != 1 or len(headers[0]) > LONGEST_FROM:
        return "", ""
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', " ", headers[0])
    for _ in range(3):
        bare = re.sub(r"\([^()]*\)", " ", bare)
    name = mime.decode_header(headers[0].partition("<")[0]).strip().strip('"')
    angles = _IN_ANGLES.fullmatch(bare)
    if angles is not None:
        alone = not re.search(r"[@,:;]", angles[1]) or angles[1].strip(" '") == angles[2]
        return (angles[2].lower(), name) if alone else ("", "")
    return (bare.strip().lower(), "") if _BARE.fullmatch(bare.strip()) else ("", "")


def subject(message: Part) -> str:
    """Return the decoded subject."""
    return mime.decode_header(message.header("subject"))


def body_text(message: Part) -> str:
    """Return the text of a mail, or its HTML converted to text; empty if it has neither."""
    pages = ""
    for part in mime.walk(message):
        if part.is_attachment or part.kind not in ("text/plain", "text/html"):
            continue
        if part.kind == "text/plain":
            text = part.text()
            if text.strip():
                flowed = part.parameter("format").lower() == "flowed"
                return unflow(text, joined=part.parameter("delsp").lower() == "yes") if flowed else text
        elif not pages:
            pages = html_text.as_text(part.text())
    return pages


def unflow(text: str, *, joined: bool = False) -> str:
    """Join the lines of a flowed text, in which a blank at the end of a line means that it continues (RFC 3676).

    Args:
        joined: that blank is not part of the text (`DelSp=yes`).
    """
    lines: list[str] = []
    depth_before = -1
    for line in text.split("\n"):
        bare = line.lstrip(">")
        depth = len(line) - len(bare)
        bare = bare.removeprefix(" ")
        if depth_before == depth and len(lines[-1]) < mime.LONGEST_HEADER:
            lines[-1] += bare
        else:
            lines.append(">" * depth + (" " if depth else "") + bare)
        flows = bare.endswith(" ") and bare != "-- "
        if flows and joined:
            lines[-1] = lines[-1][:-1]
        depth_before = depth if flows else -1
    return "\n".join(lines)
