"""Plain text of several lines as a person typed it: made safe for pages and emails, never interpreted."""

from __future__ import annotations

import re
import unicodedata

from server.errors import InvalidInput
from server.i18n.characters import is_drawn

_SPACES = re.compile(r"\s")
_BREAKS = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")


def cleaned(text: str, *, longest: int, most_lines: int, field: str = "text") -> str:
    """Return a text without control, invisible and direction characters; line breaks stay, outer blanks go.

    Args:
        longest: in characters, counted after cleaning.
        field: the form field, for the error.

    Raises:
        InvalidInput: it is too long or has too many lines.
    """
    lines = (_line(line) for line in _BREAKS.sub("\n", text[: 4 * longest + 1000]).split("\n"))
    found = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    found = unicodedata.normalize("NFC", found)
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


def _line(text: str) -> str:
    return "".join(
        _SPACES.sub(" ", char) for at, char in enumerate(text) if char == "\t" or is_drawn(text, at)
    ).rstrip()
