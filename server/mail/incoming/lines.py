"""A line of a mail as it is compared and as it is read: without what programs and phones add to what people type."""

from __future__ import annotations

import re
import unicodedata

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
