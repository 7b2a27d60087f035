"""Texts from people and mail servers, reduced to one line that is safe to store, show and email."""

from __future__ import annotations

import re
import textwrap

from server.i18n.characters import Name, is_drawn, isolated
from server.store.facts import Fact

LINE = 78
"""Characters in a line of an email (RFC 5322)."""
_HANGS = re.compile(r" *(- |\S+:  +)?")
_WHOLE = re.compile(r"://|[0-9a-f]{64}")
"""What keeps its line: a link, and a fingerprint, so that nobody's words bring one to the beginning of a line."""
LONGEST_QUOTE = 300
_LONGEST_READ = 1000
"""Characters of a stranger's text of which a quotation is made: it is cut before anything else looks at it."""
_TOKEN = re.compile(r"[a-z2-7]{26}")
_WORD = re.compile(r"[^\s<>]+")


def one_line(text: str) -> str:
    """A text for a header or a sentence: anything that could end the line or hide in it becomes a blank.

    A name that is written from right to left is isolated from what stands around it.
    """
    drawn = (
        text if text.isprintable() else "".join(s if is_drawn(text, at) else " " for at, s in enumerate(text))
    )
    line = " ".join(drawn.split())
    return isolated(line) if isinstance(text, Name) else line


def quoted(text: str) -> Fact:
    """The words of a mail server or a stranger: one line of at most 300 characters, tokens and addresses masked."""
    if len(text) > _LONGEST_READ:  # without the last word, of which a part of a token could be left
        text = " ".join([*text[:_LONGEST_READ].split()[:-1], "…"])
    return Fact("text", {"text": one_line(_WORD.sub(_masked, text))[:LONGEST_QUOTE]})


def _masked(word: re.Match[str]) -> str:
    return "…" if "@" in word[0][1:-1] else _TOKEN.sub("…", word[0])


def phrases(text: str, flags: int = 0, *, before: str = "") -> re.Pattern[str]:
    """Return a pattern of phrases, which are parted by " | " or stand on lines of their own.

    Args:
        before: a pattern of what may stand before any of them.
    """
    found = (each.strip() for line in text.split("\n") for each in line.strip().split(" | "))
    return re.compile(f"{before}(?:{'|'.join(each for each in found if each)})", flags)


def wrapped(text: str) -> str:
    """A text with its long lines broken between words; the rest of an item of a list is indented."""
    return "\n".join(line if _WHOLE.search(line) else _broken(line) for line in text.split("\n"))


def _broken(line: str) -> str:
    if len(line) <= LINE:
        return line
    hangs = _HANGS.match(line)
    indent = " " * (hangs.end() if hangs else 0)
    return textwrap.fill(line, LINE, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
