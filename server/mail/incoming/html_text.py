"""Converting the HTML of a mail to the text that its writer saw, in one pass; never raises."""

from __future__ import annotations

import html
import re

RULE = "_" * 32
"""The line that stands for a horizontal rule: Outlook draws one above quoted text."""
_BLOCKS = frozenset(
    (
        *(
            "address",
            "article",
            "blockquote",
            "br",
            "div",
            "dd",
            "dl",
            "dt",
            "footer",
            "form",
            "header",
            "hr",
        ),
        *("h1", "h2", "h3", "h4", "h5", "h6", "li", "main", "ol", "p", "pre", "section", "ul"),
        *("table", "tbody", "tfoot", "thead", "tr"),
    )
)
_SPACED = frozenset(("td", "th"))
_INVISIBLE = frozenset(
    ("head", "script", "style", "title", "template", "textarea", "select", "svg", "noscript")
)
_LOWERCASE = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
"""Lower-cases ASCII letters only, so that no offset changes."""
_NAME = re.compile(r"/?([a-zA-Z][a-zA-Z0-9:]{0,20})")
_QUOTE_START = re.compile(
    r"""(?:id|class|name)\s*=\s*["']?(?:\w*[_-])?(?:appendonsend|divRplyFwdMsg|stopSpelling|OutlookMessageHeader)"""
    r"""|border-top:\s*solid\s+\#(?:E1E1E1|B5C4DF)""",
    re.IGNORECASE | re.VERBOSE,
)


def as_text(markup: str) -> str:
    """Convert HTML to text, one paragraph or line each; quoted text is marked with `> `.

    Args:
        markup: HTML of any quality.
    """
    reader = _TextBuilder()
    lower = markup.translate(_LOWERCASE)
    here = 0
    while (opened := markup.find("<", here)) >= 0:
        reader.add_text(markup[here:opened])
        here = _read_tag(lower, opened, reader, markup)
    reader.add_text(markup[here:])
    return "\n".join((*reader.lines, reader.current_line()))


def _read_tag(lower: str, opened: int, reader: _TextBuilder, markup: str) -> int:
    """Read what begins at a `<` and return the offset after it."""
    if lower.startswith("<!--", opened):
        return _skip_past(lower, "-->", opened + 4)
    named = _NAME.match(markup, opened + 1)
    if named is None:
        if lower[opened + 1 : opened + 2] in ("!", "?"):
            return _skip_past(lower, ">", opened + 1)
        reader.add_text("<")
        return opened + 1
    closed = lower.find(">", opened)
    if closed < 0:
        return len(lower)
    name = named[1].lower()
    ends = lower[opened + 1] == "/"
    if name in _INVISIBLE and not ends and lower[closed - 1] != "/":
        return _skip_past(lower, ">", _skip_past(lower, f"</{name}", closed))
    reader.add_tag(name, ends, markup[opened : min(closed, opened + 2000)])
    return closed + 1


def _skip_past(text: str, end: str, start: int) -> int:
    """Return the offset behind an ending, or the end of the text if there is none."""
    found = text.find(end, start)
    return len(text) if found < 0 else found + len(end)


def _unescape(text: str) -> str:
    """Resolve character references; return the text unchanged if one is a number that Python cannot read."""
    try:
        return html.unescape(text)
    except ValueError:
        return text


class _TextBuilder:
    """Collects lines while tags are read."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._pieces: list[str] = []
        self._quotes = 0

    def add_text(self, text: str) -> None:
        """Add the text between two tags."""
        if text:
            self._pieces.append(text)

    def current_line(self) -> str:
        """Return the current line with whitespace collapsed."""
        text = " ".join(_unescape("".join(self._pieces)).split())
        return f"{'> ' * min(self._quotes, 3)}{text}".rstrip() if self._quotes else text

    def add_tag(self, name: str, ends: bool, whole: str) -> None:
        """Handle a tag."""
        if name in _SPACED:
            self._pieces.append(" ")
        if name not in _BLOCKS:
            return
        if self._pieces or name == "br":
            self.lines.append(self.current_line())
            self._pieces = []
        if name == "hr" or (not ends and _QUOTE_START.search(whole)):
            self.lines.append(RULE)
        if name == "blockquote":
            self._quotes = max(0, self._quotes - 1) if ends else self._quotes + 1
        elif name == "p" and ends:
            self.lines.append("")
