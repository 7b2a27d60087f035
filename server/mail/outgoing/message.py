"""The bytes of an email: headers, a text part and an HTML part.

The email package would build and fold an object for each header and each part; that took a quarter of an email's time.
Two rules keep people's words in their place: a header consists of printable characters only, so that none ends it, and
whatever a mail program might decode is encoded (RFC 2047).
"""

from __future__ import annotations

import re
from binascii import b2a_qp
from collections.abc import Iterable
from email.header import Header
from email.utils import quote

from server.i18n.characters import hides_something, without_isolates
from server.mail.outgoing.smtp import PermanentFailure, ascii_domain
from server.store.facts import Fact

LONGEST_LINE = 998
"""The longest line that mail servers pass on."""
_SPECIAL = re.compile(r'[()<>[\]:;@\\,."]')
"""What a name must not contain, unless it is quoted."""
_ADDRESS = re.compile(r'[^\s()<>[\]:;@\\,"]+@[^\s()<>:;@\\,"]+')


def header(name: str, text: str, address: str = "") -> str:
    """Return a header on one line, since folding would break ids and links; only encoded words are folded.

    Args:
        text: its text, or the name that belongs to the address.
        address: as `reachable` returns it.

    Raises:
        ValueError: a character could end the header.
    """
    seen = text.isprintable() or not hides_something(without_isolates(text))
    if not (seen and address.isprintable()):
        raise ValueError(f"the header {name} contains a character that is not printable")
    encodable = address.isascii()  # else the mail server must take UTF-8 anyway
    if encodable and ("=?" in text or not text.isascii()):
        text = Header(text, "utf-8", maxlinelen=75, header_name=name).encode(linesep="\r\n")
        text += "\r\n" if address else ""
    elif address and _SPECIAL.search(text):
        text = f'"{quote(text)}"'
    address = f" <{address}>" if address and text else address
    return f"{name}: {text}{address}\r\n"


def reachable(address: str) -> str:
    """Return an address with its domain in ASCII form.

    Raises:
        PermanentFailure: no mail can be sent there.
    """
    try:
        found = ascii_domain(address)
    except UnicodeError:
        found = ""
    if not _ADDRESS.fullmatch(found):
        raise PermanentFailure(Fact("bad_address"))
    return found


def content(headers: Iterable[str], text: str, html: str, boundary: str) -> bytes:
    """Return a mail in text and in HTML.

    Args:
        boundary: between the parts; it contains "=_", which no encoded part does.
    """
    kind = f'multipart/alternative; boundary="{boundary}"'
    head = "".join((*headers, "MIME-Version: 1.0\r\n", f"Content-Type: {kind}\r\n"))
    # With character references HTML needs no encoding, which would cost a third of the time that its template takes.
    parts = (_part("plain", text.encode()), _part("html", html.encode("ascii", "xmlcharrefreplace")))
    between = f"\r\n--{boundary}".encode()
    return b"".join((head.encode(), *(between + b"\r\n" + part for part in parts), between, b"--\r\n"))


def _part(subtype: str, text: bytes) -> bytes:
    lines = [line.rstrip() for line in text.splitlines()]
    body = b"\r\n".join((*lines, b""))
    encoding = "7bit"
    if not body.isascii() or max(map(len, lines), default=0) >= LONGEST_LINE:
        encoding, body = "quoted-printable", b2a_qp(body)
    head = f'Content-Type: text/{subtype}; charset="utf-8"\r\nContent-Transfer-Encoding: {encoding}\r\n\r\n'
    return head.encode() + body
