"""The notes that the server writes into logs, and their translation when they are read.

Notes are stored in English (docs/formats.md §2) and recognised by matching them against the known sentences. When a
sentence is reworded, its old version stays here as well, so that older logs can still be translated.
"""

from __future__ import annotations

import re
from functools import cache

from server import i18n

KEPT = "kept"
"""The comment in the catalogues that marks the sentences of notes."""
_PLACE = re.compile(r"%\((\w+)\)[sd]")


def kept(sentence: str) -> str:
    """Mark a sentence as a note of the log; `OrderAnswer` marks those of standing orders."""
    return sentence


MISSED = kept("Two decisions in a row were not answered in time.")
UNREACHED = kept("No mail has reached this player for 72 hours.")
CLOCK_GOES_ON = kept("Mail to this player keeps coming back. From now on their clock runs nevertheless.")
NOBODY = kept("Nobody at this table answers any more.")


def translated(note: str) -> str:
    """Translate a note into the language of this page or email; a moderator's words stay as they are.

    Args:
        note: a sentence of the server with its placeholders filled, or a moderator's words.
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
    """The pattern of a sentence with filled placeholders; one that occurs twice must have the same value."""
    found, parts = set(), _PLACE.split(sentence)
    for at in range(1, len(parts), 2):
        name = parts[at]
        parts[at] = f"(?P={name})" if name in found else f"(?P<{name}>.*)"
        found.add(name)
    parts[::2] = [re.escape(part.replace("%%", "%")) for part in parts[::2]]
    return re.compile("".join(parts), re.DOTALL)
