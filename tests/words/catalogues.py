"""Updating the catalogues with the texts of the project, and finding faults in one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from babel.messages import Catalog, Message
from babel.messages.pofile import read_po, write_po

from server.i18n import NAMES

PLACE = re.compile(r"%\(\w+\)[a-z]|%%")
"""Placeholders of a text, and the escaped percent sign."""
HEADERS = re.compile(
    rb'^"(?:Report-Msgid|POT-C|PO-Rev|Last-Translator|Language-Team|Generated-By).*\n', re.MULTILINE
)
"""Header lines that would change with every update or say nothing."""


def read(path: Path, language: str) -> Catalog:
    """Read a catalogue; an empty one for a language that has none yet."""
    if not path.exists():
        head = f"# {NAMES[language]}: the words of Byzanz. See docs/languages.md.\n#"
        return Catalog(locale=language, project="Byzanz", charset="utf-8", fuzzy=False, header_comment=head)
    with path.open("rb") as file:
        return read_po(file, locale=language, abort_invalid=True)


def update(path: Path, language: str, texts: Catalog) -> Catalog:
    """Rewrite a catalogue with exactly these texts; matching translations are kept.

    A reworded text is a new one; nothing is guessed. The file has no line numbers and no wrapped lines, and its texts
    are in alphabetical order, so that a diff shows what has changed. The comments at its head are kept.

    Args:
        texts: those of the project.
    """
    found = read(path, language)
    found.update(texts, no_fuzzy_matching=True, update_creation_date=False)
    written = BytesIO()
    write_po(written, found, width=0, no_location=True, sort_output=True, ignore_obsolete=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.write_bytes(HEADERS.sub(b"", written.getvalue()))
    fresh.replace(path)
    return found


def missing(catalogue: Catalog, texts: Catalog) -> list[str]:
    """Return the texts that a catalogue does not translate, in all their forms."""
    return [name(text) for text in _said(texts) if not all(forms(catalogue, text))]


def faults(catalogue: Catalog, texts: Catalog) -> list[str]:
    """Return the faults of existing translations, one line each."""
    known = {(text.id, text.context) for text in _said(texts)}
    found = [f"unused: {name(own)}" for own in _said(catalogue) if (own.id, own.context) not in known]
    for own in _said(catalogue):
        found += [f"{fault}: {name(own)}" for fault in _faults(own, catalogue.num_plurals)]
    return found


def _faults(own: Message, plurals: int) -> Iterator[str]:
    if own.fuzzy:
        yield "guessed"
    sources, said = _forms(own.id), _forms(own.string)
    if len(said) != (plurals if len(sources) > 1 else 1):
        yield "a form too few or too many"
    for source, told in zip((sources[0], *sources[1:] * len(said)), said, strict=False):
        if not told:
            continue
        if not _same_places(source, sources[-1], told):
            yield "other places to be filled"
        if _edges(source) != _edges(told):
            yield "other blanks at an end"


def _same_places(source: str, many: str, told: str) -> bool:
    """Whether a translation has the same placeholders; a singular form need not contain its number."""
    wanted, given = sorted(PLACE.findall(source)), sorted(PLACE.findall(told))
    if "%" in PLACE.sub("", told) and PLACE.search(source):
        return False
    return given == wanted or (source != many and given == sorted(PLACE.findall(many)))


def _edges(text: str) -> tuple[str, str]:
    return text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]


def _said(catalogue: Catalog) -> list[Message]:
    return [message for message in catalogue if message.id]


def forms(catalogue: Catalog, text: Message) -> tuple[str, ...]:
    """Return the forms of a translation: one, or one for each plural; `("",)` if there is none."""
    own = catalogue.get(_forms(text.id)[0], text.context)
    if own is None:
        return ("",)
    return _forms(own.string)


def _forms(text: Any) -> tuple[str, ...]:
    return tuple(str(form or "") for form in (text if isinstance(text, list | tuple) else (text,)))


def name(text: Message) -> str:
    """Return a text as it is named in messages."""
    first = _forms(text.id)[0]
    return f"{first} ({text.context})" if text.context else first
