"""The notes of the log that the server writes, and their translation when they are read.

A note is kept in English for good (formats.md §2): its sentence is recognised by its words, whatever stands in its
places. A sentence that is reworded stays here in its old words as well, so that older logs can still be translated.
"""

from __future__ import annotations

import re
from functools import cache

from server import i18n

KEPT = "kept"
"""The remark in a catalogue beside a sentence that notes keep in English."""
_PLACE = re.compile(r"%\((\w+)\)[sd]")


def kept(sentence: str) -> str:
    """Mark a sentence for the notes of the log; those of standing orders are marked by `OrderAnswer`."""
    return sentence


MISSED = kept("Two decisions in a row were not answered in time.")
UNREACHED = kept("No mail has reached this player for 72 hours.")
NOBODY = kept("Nobody at this table answers any more.")


def translated(note: str) -> str:
    """Translate a note into the language of this page or mail; what a moderator wrote stays as it is.

    Args:
        note: a sentence of the server with its places filled, or anybody's words.
    """
    language = i18n.current_language()
    for pattern, sentence in _sentences(language):
        if match := pattern.fullmatch(note):
            found: str = i18n.translations(language).gettext(sentence)
            return found % match.groupdict() if match.groupdict() else found
    return note


@cache
def _sentences(language: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    """The sentences of notes with their patterns, the longest first; none for English."""
    if language == i18n.DEFAULT:
        return ()
    marked = [str(message.id) for message in i18n.catalogue(language) if KEPT in message.auto_comments]
    marked.sort(key=lambda sentence: (-len(_PLACE.sub("", sentence)), sentence))
    return tuple((_pattern(sentence), sentence) for sentence in marked)


def _pattern(sentence: str) -> re.Pattern[str]:
    """The pattern of a sentence with its places filled; a place that comes twice has the same words twice."""
    found, parts = set(), _PLACE.split(sentence)
    for at in range(1, len(parts), 2):
        name = parts[at]
        parts[at] = f"(?P={name})" if name in found else f"(?P<{name}>.*)"
        found.add(name)
    parts[::2] = [re.escape(part.replace("%%", "%")) for part in parts[::2]]
    return re.compile("".join(parts), re.DOTALL)
