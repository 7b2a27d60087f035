"""Texts of mails: from people and mail servers as one safe line, and lines of a mail as they are compared and read."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from functools import lru_cache
from html import unescape

from server.i18n.characters import Name, is_drawn, isolated
from server.store.facts import Fact

LINE = 78
"""Characters in a line of an email (RFC 5322)."""
_TAGS = re.compile(r"<!--.*?-->|<[^>]*>", re.DOTALL)
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


@lru_cache(4096)
def _broken(line: str) -> str:
    if len(line) <= LINE:
        return line
    hangs = _HANGS.match(line)
    indent = " " * (hangs.end() if hangs else 0)
    return textwrap.fill(line, LINE, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def as_text(html: object) -> str:
    """Return the text of HTML for the text part of an email: without tags, its characters unescaped, line by line.

    Unlike Jinja's `striptags` it keeps lines and blanks, so that a board stays a board.
    """
    given = html.__html__() if hasattr(html, "__html__") else str(html)
    if "<" in given:
        given = _TAGS.sub("", given)
    if "&" in given:
        given = unescape(given)
    lines = [line.rstrip() for line in given.splitlines()]
    text = "\n".join(lines).strip("\n")
    return text if "\n" in text else text.strip()


# ---- lines of an incoming mail ----

_COLONS = str.maketrans("∶꞉։፡፥፦׃՝", "::::::::")
"""What stands for a colon in some scripts; Unicode's compatibility forms cover the others."""
_ASKING = re.compile(r"QUESTION|INTERROBANG|THINKING FACE$")
"""What Unicode names marks and emoji that ask."""
LONGEST_MARK = 10
"""Characters of a line without letters and digits that is no obstacle to the moves around it."""
_COMMAS = str.maketrans(dict.fromkeys(",،、﹑؛", " "))
_STOPS = " .:!…。।॥۔።။།"
"""What ends a line and says nothing, in all scripts."""
_SMILEY = re.compile(r"(?:\s+|(?<=[.!,]))(?:[:;=]['’]?-?[()DPp]{1,3}|\^_?\^)$")
_BLANKS = frozenset("\u115f\u1160\u1427\u2800\u3164\uffa0\ufe0e\ufe0f")
"""Letters and marks that look blank, and the dot that trackers of mails leave."""
_UNSEEN = frozenset(("Cf", "Mn", "Mc", "Me"))
_BULLET = re.compile(r"(?:[-*•·‣▪>]|[0-9]{1,2}[.)])\s+")
_QUOTES = "\"'`´‘’‚‛“”„‟«»‹›*_"


def visible(line: str) -> str:
    """Return a line as patterns compare it: without what cannot be seen, and without marks over and under letters."""
    if line.isascii():
        return line.strip()
    text = unicodedata.normalize("NFKC", line).translate(_COLONS)
    shown = (" " if char in _BLANKS else char for char in text if unicodedata.category(char) not in _UNSEEN)
    return "".join(shown).strip()


def normalize_line(line: str) -> str:
    """Normalise a line for parsing: no invisible characters, emoji, smileys, bullets, quotes or final punctuation.

    Whatever `asks` stays, as `?`: a question is no move.
    """
    kept = []
    for char in unicodedata.normalize("NFKC", "".join("?" if asks(char) else char for char in line)):
        kind = unicodedata.category(char)
        if kind == "Pd":
            kept.append("-")
        elif kind == "Cf":
            continue
        elif kind in ("So", "Sk") or kind[0] in "ZC" or char in _BLANKS:  # emoji, blanks, unassigned ones
            kept.append(" ")
        else:
            kept.append(char)
    text = " ".join(_SMILEY.sub("", "".join(kept).rstrip()).translate(_COMMAS).split())
    text = f"{text[:-1]}?" if text.endswith(";") else text  # the question mark of Greek
    text = _BULLET.sub("", text, count=1) if _BULLET.match(text) else text
    return text.strip(_QUOTES).rstrip(_STOPS).strip(_QUOTES + " ")


def asks(char: str) -> bool:
    """Whether a character makes a question of its line: a question mark of any script, or a thinking face."""
    if unicodedata.category(char)[0] not in "PS":
        return False
    return _ASKING.search(unicodedata.name(char, "")) is not None


def says_something(text: str) -> bool:
    """Whether a normalised line is more than a mark: it has a letter, a digit or a question mark, or is long."""
    return len(text) > LONGEST_MARK or any(char.isalnum() or char == "?" for char in text)
