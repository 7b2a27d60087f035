"""Parsing incoming mail: headers, parts, text. Bounded in every direction, and never raises.

Anybody can write to us, so nothing is trusted: depth, number of parts, headers and characters are limited, only
charsets in common use are decoded, and nonsense is ignored.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from urllib.parse import unquote_to_bytes

MOST_NESTED = 8
"""How deep parts may be nested; real mails have four levels."""
MOST_PARTS = 100
MOST_LINES = 2000
"""Lines of a header block, including continuation lines."""
LARGEST_HEAD = 256 * 1024
LONGEST_HEADER = 4000
LARGEST_BODY = 256 * 1024
"""Bytes of one text that are decoded; a mail program puts what its writer typed before what it quotes."""
LONGEST_BODY = 200_000
"""Characters of one text that are read."""
_CHARSET = re.compile(
    r"utf-?8|(?:us-)?ascii|iso-?8859-[0-9]{1,2}|(?:windows-?|cp)12(?:5[0-8])|latin-?[19]|macintosh|koi8-[ru]"
    r"|gb2312|gbk|gb18030|big5(?:-?hkscs)?|euc-(?:kr|jp)|shift[_-]jis|iso-2022-(?:jp(?:-[123])?|kr)|utf-?(?:16|32)(?:le|be)?"
    r"|ks_c_5601-1987|(?:windows-|cp)(?:874|932|949|950|1361)|tis-?620|cp(?:437|850|852|855|866)|hz-gb-2312|mac-cyrillic",
    re.IGNORECASE,
)
_PYTHON_NAMES = {
    "ks_c_5601-1987": "cp949",
    "iso-8859-8-i": "iso-8859-8",
    "iso-8859-8-e": "iso-8859-8",
    "hz-gb-2312": "hz",
    "tis620": "tis-620",
    "windows-31j": "cp932",
    "unicode-1-1-utf-8": "utf-8",
    "x-gbk": "gbk",
    "x-sjis": "cp932",
    "x-euc-jp": "euc-jp",
    "x-big5": "big5",
}
"""What charsets are called in mails, and by Python."""
_ENCODED = re.compile(r"=\?([^?\s]{1,40})\?([bBqQ])\?([^?\s]{0,200})\?=")
_PARAMETER = re.compile(
    r';\s*([\w-]{1,40}(?:\*[0-9]{1,2})?\*?)\s*=\s*(?:"((?:[^"\\]|\\.){0,400})"|([^;\s"]{0,400}))'
)
_BLANK_LINES = (b"\n\n", b"\n\r\n", b"\r\r")
_MARK_END = re.compile(rb"(--)?[ \t\r\f\v]*(?=\n|\Z)")
_NO_BASE64 = re.compile(rb"[^A-Za-z0-9+/]+")


@dataclass(frozen=True, slots=True)
class Part:
    """A mail, or a part of one.

    Args:
        headers: lower-case names and unfolded values, in their order.
        body: as received; `begins`: at which byte.
        depth: in how many parts it is nested.
    """

    headers: tuple[tuple[str, str], ...]
    body: bytes
    depth: int = 0
    fallback: str = field(default="text/plain")
    begins: int = 0

    @property
    def size(self) -> int:
        """Return how many bytes it has."""
        return self.begins + len(self.body)

    def shortened(self, most: int) -> Part:
        """Return its first bytes, at most so many."""
        return self if self.size <= most else replace(self, body=self.body[: max(0, most - self.begins)])

    def header(self, name: str) -> str:
        """Return the first header with this lower-case name, or ""."""
        return next((value for found, value in self.headers if found == name), "")

    def all_headers(self, name: str) -> list[str]:
        """Return all headers with this name."""
        return [value for found, value in self.headers if found == name]

    @property
    def kind(self) -> str:
        """The content type, such as `text/plain`."""
        named = self.header("content-type").partition(";")[0].strip().lower()
        return named if re.fullmatch(r"[a-z0-9.+_-]{1,60}/[a-z0-9.+_-]{1,80}", named) else self.fallback

    def parameter(self, name: str, header: str = "content-type") -> str:
        """Return a parameter of a header, or ""; it may be given in pieces or encoded (RFC 2231)."""
        given: dict[str, str] = {}
        for found, quoted, bare in _PARAMETER.findall(self.header(header)):
            given.setdefault(found.lower(), re.sub(r"\\(.)", r"\1", quoted) or bare)
        if name in given:
            return given[name]
        pieces = []
        for key in (name, *(f"{name}*{number}" for number in range(100))):
            piece = given.get(f"{key}*", given.get(key))
            if piece is None and key != name:
                break
            pieces.append((piece or "", f"{key}*" in given))
        return _from_pieces(pieces)

    @property
    def is_attachment(self) -> bool:
        """Whether it is an attached file rather than text of the mail."""
        return self.header("content-disposition").strip().lower().startswith("attachment")

    @property
    def is_named(self) -> bool:
        """Whether it has the name of a file."""
        return bool(self.parameter("name") or self.parameter("filename", "content-disposition"))

    def children(self) -> Iterator[Part]:
        """Yield the parts of a multipart; nothing for anything else."""
        fallback = "message/rfc822" if self.kind == "multipart/digest" else "text/plain"
        most = LARGEST_BODY if self.depth > 1 else None  # large pictures stand further out
        for piece in self.subparts():
            yield replace(parse(piece[:most], self.depth + 1), fallback=fallback)

    def subparts(self) -> list[bytes]:
        """Return the raw parts of a multipart; empty for anything else."""
        boundary = self.parameter("boundary")
        if not self.kind.startswith("multipart/") or not boundary or self.depth >= MOST_NESTED:
            return []
        return _split(self.body, boundary.encode())

    def text(self) -> str:
        """Return the content as text, whatever charset and encoding it claims."""
        return decode(self._content(), self.parameter("charset"))[:LONGEST_BODY]

    def _content(self) -> bytes:
        encoding = self.header("content-transfer-encoding").strip().lower()
        body = with_newlines(self.body[:LARGEST_BODY])
        if encoding == "base64":
            return _from_base64(body)
        return binascii.a2b_qp(body) if encoding == "quoted-printable" else body


def parse(raw: bytes, depth: int = 0) -> Part:
    """Parse a mail, or a part of one; accepts any bytes. Nothing but its header is looked at yet."""
    if b"\n" not in raw:
        raw = with_newlines(raw)
    if raw.startswith((b"\n", b"\r\n")):
        begins = 1 + raw.startswith(b"\r")
        return Part((), raw[begins:], depth, begins=begins)
    end, begins = _blank_line(raw, LARGEST_HEAD) or _blank_line(raw, len(raw)) or (len(raw), len(raw))
    headers = tuple(_headers(with_newlines(raw[: min(end, LARGEST_HEAD)])))
    return Part(headers, raw[begins:], depth, begins=begins)


def _blank_line(raw: bytes, within: int) -> tuple[int, int] | None:
    """Return where the first empty line begins and ends."""
    found = ((raw.find(blank, 0, within), blank) for blank in _BLANK_LINES)
    return min(((at, at + len(blank)) for at, blank in found if at >= 0), default=None)


def with_newlines(raw: bytes) -> bytes:
    """Return a text with all its lines ended by `\\n`."""
    return raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def walk(root: Part) -> Iterator[Part]:
    """Yield a part and all parts within it, in order, up to `MOST_PARTS`."""
    yield root
    waiting = [root.children()]
    for _ in range(MOST_PARTS - 1):
        while waiting:
            part = next(waiting[-1], None)
            if part is not None:
                break
            waiting.pop()
        else:
            return
        yield part
        waiting.append(part.children())


def decode(content: bytes, charset: str) -> str:
    """Decode bytes: with the claimed charset if it is in common use, else as UTF-8 or Windows-1252."""
    charset = charset.strip().lower()
    charset = _PYTHON_NAMES.get(charset, charset).replace("windows-", "cp")
    if _CHARSET.fullmatch(charset) and charset not in ("us-ascii", "ascii"):
        try:
            return content.decode(charset, "replace")
        except LookupError:
            pass
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")


def decode_header(value: str) -> str:
    """Decode the encoded words of a header meant for people; never use it for an address."""
    return _ENCODED.sub(_decode_word, re.sub(r"(\?=)\s+(?==\?)", r"\1", value))


def _decode_word(found: re.Match[str]) -> str:
    charset, how, text = found.groups()
    if how in "bB":
        return decode(_from_base64(text.encode()), charset)
    return decode(binascii.a2b_qp(text.encode().replace(b"_", b" ")), charset)


def _from_pieces(pieces: list[tuple[str, bool]]) -> str:
    """Return the value of a parameter from its pieces, each with whether it is encoded; the first names the charset."""
    text = "".join(unquote_to_bytes(piece).decode("latin-1") if coded else piece for piece, coded in pieces)
    if not any(coded for _piece, coded in pieces):
        return text
    charset, mark, rest = text.partition("'")
    value = rest.partition("'")[2] if mark else text
    return decode(value.encode("latin-1", "replace"), charset if mark else "")


def _from_base64(body: bytes) -> bytes:
    letters = _NO_BASE64.sub(b"", body)
    root = letters[: len(letters) - 1] if len(letters) % 4 == 1 else letters
    return binascii.a2b_base64(root + b"=" * (-len(root) % 4))


def _headers(head: bytes) -> Iterator[tuple[str, str]]:
    name, value = "", ""
    for line in head.split(b"\n", MOST_LINES)[:MOST_LINES]:
        text = decode(line[:LONGEST_HEADER], "")
        if text[:1] in (" ", "\t"):
            value = f"{value} {text.strip()}"[:LONGEST_HEADER]
            continue
        if name:
            yield name, value
        found = re.match(r"([!-9;-~]{1,80})[ \t]*:(.*)", text, re.DOTALL)
        name, value = (found[1].lower(), found[2].strip()) if found else ("", "")
    if name:
        yield name, value


def _split(body: bytes, boundary: bytes) -> list[bytes]:
    """Return the parts between the boundaries; the rest if the last boundary is missing."""
    body, mark = b"\n" + body, b"\n--" + boundary
    pieces, start = [], 0
    at = body.find(mark)
    while at >= 0:
        found = _MARK_END.match(body, at + len(mark))
        if found is not None:
            if start:
                pieces.append(body[start:at].removesuffix(b"\r"))
            start = found.end() + 1
            if found[1] or len(pieces) == MOST_PARTS:
                return pieces
        at = body.find(mark, at + len(mark) if found is None else found.end())
    return [*pieces, body[start:]] if start else pieces
