"""However a mail is built, twice of it costs at most about twice as much to read, and there is an end to it."""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import partial

import pytest

from server.mail import causes
from server.mail.incoming import bounces, mime, reply
from server.mail.text import quoted
from server.store import log
from tests.conftest import NOW
from tests.support.costs import costs_at_most

ALICE = "alice@example.org"
HEAD = b"From: <mailer-daemon@mx.example>\nSubject: x\nMIME-Version: 1.0\nContent-Type: "
KNOWN = b"failed addresses follow:\n"
"""A line after which flufl.bounce looks for addresses."""
PLAIN, HTML = HEAD + b"text/plain\n\n", HEAD + b"text/html\n\n"
STATUS = HEAD + (
    b"multipart/report; boundary=b\n\n--b\nContent-Type: message/delivery-status\n\n"
    b"Action: failed\nStatus: 5.0.0\nDiagnostic-Code: smtp; "
)
BASE64 = b"text/plain\nContent-Transfer-Encoding: base64\n\n"
QUOTED = HEAD + b"text/plain\nContent-Transfer-Encoding: quoted-printable\n\n"
RECEIVED = b"Received: from a (b [192.0.2.1]) by c with ESMTP; Mon, 1 Jan 2026 00:00:00 +0000\n"

REPEATED: dict[str, tuple[bytes, bytes, bytes]] = {
    "a long line": (PLAIN + KNOWN, b"A", b""),
    "a line of addresses": (PLAIN + KNOWN, b"a@", b""),
    "commas": (PLAIN, b",a@b", b""),
    "angles": (PLAIN, b"<", b""),
    "short lines": (PLAIN, b"a\n", b""),
    "empty lines": (PLAIN, b"\n", b""),
    "lines of addresses": (PLAIN + KNOWN, b"a@b.example\n", b""),
    "attributions": (PLAIN, b"On a wrote\n", b""),
    "labels": (PLAIN, b"From: a@b\n", b""),
    "rules": (PLAIN, b"_", b""),
    "blanks": (PLAIN, b" ", b"x"),
    "quoted lines": (PLAIN, b"> a\n", b""),
    "marks": (PLAIN, b"##-a", b""),
    "our addresses": (PLAIN, b"bounce+1-abcdefghij@", b""),
    "codes": (PLAIN, b"5.1.1 ", b""),
    "flowed lines": (HEAD + b"text/plain; format=flowed\n\n", b"a \n", b""),
    "parts": (HEAD + b"multipart/mixed; boundary=b\n\n", b"--b\n\nx\n", b""),
    "mails in mails": (b"", b"Content-Type: message/rfc822\n\n", b""),
    "headers": (b"", b"X-A: b\n", PLAIN),
    "a long header": (b"X-A: ", b"b", b"\n" + PLAIN),
    "relays": (b"", RECEIVED, PLAIN),
    "a folded header": (b"Subject: x\n", b" y\n", PLAIN),
    "encoded words": (b"Subject: ", b"=?utf-8?b?YQ==?= ", b"\n" + PLAIN),
    "encoded words without an end": (b"Subject: ", b"=?utf-8?q?", b"\n" + PLAIN),
    "quotes in an address": (b"From: ", b'\\"', b"\n\nx"),
    "comments in an address": (b"From: ", b"(", b" <a@b.example>\n\nx"),
    "parameters": (HEAD + b"text/plain", b"; a*0*=b", b"\n\nx"),
    "blank parameters": (HEAD + b"multipart/mixed;", b" ", b"x\n\nx"),
    "a diagnostic": (STATUS, b"A", b""),
    "a diagnostic of tokens": (STATUS, b"a" * 25 + b" ", b""),
    "a diagnostic of words": (STATUS, b"user a b c ", b""),
    "a folded diagnostic": (STATUS, b"A" * 70 + b"\n ", b""),
    "fields": (STATUS + b"x\n", b"X: y\n", b""),
    "blocks of fields": (STATUS + b"x\n\n", b"X: y\n\n", b""),
    "nested elements": (HTML, b"<div>", b""),
    "nested quotes": (HTML, b"<blockquote>a", b""),
    "tags without an end": (HTML, b"<p ", b""),
    "comments without an end": (HTML, b"<!--", b""),
    "character references": (HTML, b"&amp;&#5", b""),
    "attributes": (HTML, b"<p id=a_b_c_", b""),
    "styles": (HTML, b"<p style='display:none'>", b""),
    "scripts": (HTML, b"<script>", b""),
    "soft breaks": (QUOTED, b"=41=\n", b""),
    "equals signs": (QUOTED, b"=", b""),
    "an unknown charset": (HEAD + b"text/plain; charset=utf-7\n\n", b"+AAA-", b""),
    "shifts": (HEAD + b"text/plain; charset=iso-2022-jp\n\n", b"\x1b$B", b""),
    "half of a pair": (HEAD + b"text/plain; charset=utf-16\n\n", b"\xd8\x00", b""),
    "zeros": (PLAIN, b"\0", b""),
    "accents": (PLAIN, "\u0301".encode(), b""),
}
"""By name: what stands before, what is repeated, and what stands behind it."""


def repeated(name: str) -> Callable[[int], bytes]:
    """Return what builds a mail of about a size."""
    before, unit, behind = REPEATED[name]
    return lambda size: before + (unit * (size // len(unit) + 1))[:size] + behind


def in_base64(size: int) -> bytes:
    """Return a mail with a line that no mail server can fold."""
    return HEAD + BASE64 + base64.encodebytes(KNOWN + b"A" * (size * 3 // 4))


def in_base64_within(size: int) -> bytes:
    """Return the same in a mail within the mail."""
    within = b"multipart/mixed; boundary=b\n\n--b\nContent-Type: message/rfc822\n\nContent-Type: "
    return HEAD + within + BASE64 + base64.encodebytes(KNOWN + b"A" * (size * 3 // 4)) + b"\n--b--\n"


def nested(size: int) -> bytes:
    """Return parts in parts."""
    heads_of = (b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(size // 60))
    return b"".join(heads_of)


def with_a_picture(size: int) -> bytes:
    """Return a mail as it comes over the network, with a picture between two texts."""
    top = b"multipart/mixed; boundary=b\n\n--b\n\npass\n--b\nContent-Type: image/png\n"
    picture = b"Content-Transfer-Encoding: base64\n\n" + base64.encodebytes(b"A" * (size * 3 // 4))
    return (HEAD + top + picture + b"--b\n\nx\n--b--\n").replace(b"\n", b"\r\n")


SHAPES = {name: repeated(name) for name in REPEATED} | {
    "a long line in base64": in_base64,
    "a long line in base64 within": in_base64_within,
    "parts in parts": nested,
    "a picture": with_a_picture,
}
SMALL, MOST = 32_000, 1_000_000


def read_report(raw: bytes) -> object:
    return bounces.parse_report(mime.parse(raw), "", ALICE)


def read_reply(raw: bytes) -> object:
    return reply.parse_reply(mime.parse(raw), ALICE)


@pytest.mark.parametrize("reader", [read_report, read_reply])
@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_reading_takes_time_in_proportion_and_has_an_end(
    shape: str, reader: Callable[[bytes], object]
) -> None:
    sizes = (SMALL, 2 * SMALL, bounces.LARGEST_REPORT, MOST)
    raws = [SHAPES[shape](size) for size in sizes]
    small, twice, capped, most = (partial(reader, raw) for raw in raws)
    assert costs_at_most(2.3, twice, small)
    assert costs_at_most(3, most, capped)


@pytest.mark.parametrize("unit", ["A", "a@", "<", "a" * 25 + " ", "user a b c ", "mailbox is too ", "\n"])
@pytest.mark.parametrize("read", [quoted, causes.cause_of])
def test_so_does_a_reply_of_a_mail_server(unit: str, read: Callable[[str], object]) -> None:
    texts = [(unit * (size // len(unit) + 1))[:size] for size in (20_000, 2_000_000)]
    small, much = (partial(read, text) for text in texts)
    assert costs_at_most(2, much, small)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.usefixtures("app")
@pytest.mark.parametrize(
    "unit", ["a", "a.1.", "game.1.0123456789abcdef.0123456789abcdef ", "bounce+1-abcdefghij@"]
)
def test_so_does_the_search_for_our_own_marks(unit: str) -> None:
    def look(size: int) -> Callable[[], object]:
        text = (unit * (size // len(unit) + 1))[:size]
        return lambda: (log.report_missing(text, NOW), bounces.reported_mail_id(mime.parse(text.encode())))

    assert costs_at_most(2.3, look(2 * SMALL), look(SMALL))
