"""Plain text of several lines as a person typed it: made safe for pages and emails, never interpreted.

What others read shows no email address, no matter whose, and no link that would open something for them.
"""

from __future__ import annotations

import re
import unicodedata

from server.errors import InvalidInput
from server.i18n.characters import is_drawn

_SPACES = re.compile(r"\s")
_BREAKS = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
ADDRESS, LINK = "[address]", "[link]"
"""What others read instead of an email address, and of a link that carries a token."""
_DELIMITERS = r"\s<>()\[\]{},;:\"“”„«»、。，；：（）【】"
_AT = r"@|＠|﹫|%40"
_LOCAL = rf"(?:\"[^\"\n]{{1,64}}\"|[^{_DELIMITERS}/@＠﹫]{{1,200}})"
_DOMAIN = rf"(?:\[[0-9a-fA-F:.]{{2,40}}\]|[^{_DELIMITERS}/@＠﹫]{{1,255}})"
_CHAR, _LETTER = rf"[^{_DELIMITERS}/@＠﹫]", r"[^\W\d_]"
_BREAK = r"[ \t]{0,40}(?:\n[ \t>|]{0,40}){1,3}"
"""Between two lines, of which the second may be quoted."""
_GAP = rf"(?:{_BREAK}| )?"
_SPACED = rf"(?:{_GAP}(?:{_AT}){_GAP}|{_GAP}[(\[{{] ?(?:at|@) ?[)\]}}]{_GAP})"
_DOT = r"(?:\.| ?[(\[{] ?(?:dot|\.) ?[)\]}] ?)"
"""As people write it who hide an address from machines; then its domain has to look like one."""
_END = rf"{_DOT}{_LETTER}{{2}}{_CHAR}{{0,60}}"
_REST = rf"(?:{_BREAK}{_CHAR}{{0,200}}?{_END}|\.{_BREAK}(?-i:[a-z]{{2,24}}\b))"
_BROKEN = rf"(?=\d*{_LETTER})(?:(?!\.){_CHAR}){{1,200}}{_REST}"
"""A domain whose first part ends with its line."""
_EMAIL = re.compile(
    rf"{_LOCAL}(?:{_AT}){_BROKEN}|{_LOCAL}(?:(?:{_AT}){_DOMAIN})+|{_LOCAL}{_SPACED}{_CHAR}{{1,200}}{_END}",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"(?:(?<![A-Za-z0-9])|(?<=%[0-9A-Fa-f]{2}))[A-Za-z2-7]{26}(?![A-Za-z0-9])")
_PIECES = re.compile(r"([\s<>()\[\]{}\"“”„«»]+)")


def cleaned(
    text: str, *, longest: int, most_lines: int, field: str = "text", for_others: bool = False
) -> str:
    """Return a text without control, invisible and direction characters; line breaks stay, outer blanks go.

    Args:
        longest: in characters, counted after cleaning.
        for_others: other people read it, so it is `masked`.
        field: the form field, for the error.

    Raises:
        InvalidInput: it is too long or has too many lines.
    """
    lines = (_line(line) for line in _BREAKS.sub("\n", text[: 4 * longest + 1000]).split("\n"))
    found = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    found = unicodedata.normalize("NFC", found)
    found = masked(found) if for_others else found
    if not any(unicodedata.category(char)[0] in "LNPS" for char in found):
        return ""
    if len(found) > longest or found.count("\n") >= most_lines:
        raise InvalidInput(
            "Write at most %(longest)s characters and %(lines)s lines; this text has %(length)s characters.",
            field=field,
            longest=longest,
            lines=most_lines,
            length=len(found),
        )
    return found


def masked(text: str) -> str:
    """Return a text with `ADDRESS` in place of each email address, and `LINK` in place of whatever carries a token."""
    return "".join(map(_without_tokens, _PIECES.split(_EMAIL.sub(_without_address, text))))


def is_masked(text: str) -> bool:
    """Whether something in a text has been replaced, so that its writer can be told."""
    return ADDRESS in text or LINK in text


def _without_address(found: re.Match[str]) -> str:
    """Replace an email address; what only has its form, as `3@5`, stays, and so does a final full stop."""
    domain = re.split(_AT, found[0])[-1]
    if not re.search(r"[^\W\d_]|[0-9.:]{7}", domain):
        return found[0]
    return ADDRESS + found[0][len(found[0].rstrip(".!?…'’*_")) :]


def _without_tokens(piece: str) -> str:
    if "/" in piece and _TOKEN.search(piece):
        return LINK
    return _TOKEN.sub(LINK, piece)


def _line(text: str) -> str:
    return "".join(
        _SPACES.sub(" ", char) for at, char in enumerate(text) if char == "\t" or is_drawn(text, at)
    ).rstrip()
