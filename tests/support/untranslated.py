"""Finding texts of a page or an email that are still English although a translation exists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from xml.etree.ElementTree import Element

from server import i18n

PLACE = re.compile(r"%\(\w+\)[a-z]")
ATTRIBUTES = ("aria-label", "title", "alt", "placeholder")
FEWEST = 12
"""Letters that a sentence must have besides its placeholders to be recognised."""
NAMES = frozenset(i18n.NAMES.values())


@cache
def english(language: str) -> tuple[frozenset[str], tuple[re.Pattern[str], ...]]:
    """Return the English texts that differ in a language: whole ones, and patterns for those with placeholders."""
    told, said, patterns = set(), set(), []
    for text in i18n.catalogue(language):
        if not text.id:
            continue
        sources = text.id if isinstance(text.id, tuple) else (text.id,)
        words = text.string if isinstance(text.string, tuple) else (text.string,)
        said |= {str(form).strip() for form in words}
        for source in {str(source) for source in sources} - set(words):
            if not PLACE.search(source):
                told.add(source.strip())
            elif len(re.findall("[A-Za-z]", PLACE.sub("", source))) >= FEWEST:
                parts = [re.escape(part.replace("%%", "%")) for part in PLACE.split(source.strip())]
                patterns.append(re.compile(".*".join(parts), re.DOTALL))
    return frozenset(told - said - NAMES), tuple(patterns)


def leftovers(language: str, texts: Iterator[str] | list[str]) -> list[str]:
    """Return texts or sentences that are in English although this language has a translation."""
    whole, patterns = english(language)
    joined = [" ".join(text.split()) for text in texts]
    plain = {part for text in joined for part in (text, *re.split(r"(?<=[.!?:])\s+", text))}
    return sorted(
        text for text in plain if text in whole or any(pattern.fullmatch(text) for pattern in patterns)
    )


def texts_of(root: Element) -> Iterator[str]:
    """Return every text of a page that people read or that is read aloud."""
    for item in root.iter():
        if item.tag in ("style", "script") or "code" in (item.tag, *item.get("class", "").split()):
            yield item.tail or ""
            continue
        yield from (item.text or "", item.tail or "")
        yield from (item.get(name, "") for name in ATTRIBUTES)
