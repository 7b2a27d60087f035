"""The languages that pages and mails speak, and their catalogues.

The `.po` files under `server/translations/` are the only source of every word that is not English; they are read at
first use, once a process, and no compiled copy is kept. docs/languages.md says how they are looked after.
"""

from __future__ import annotations

from functools import cache
from io import BytesIO
from pathlib import Path

import flask_babel
from babel.messages import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.support import NullTranslations, Translations
from werkzeug.datastructures import LanguageAccept

DEFAULT = "en"
"""What speaks where nobody has said anything else; the texts in the code are in it."""
NAMES = {"en": "English", "nl": "Nederlands", "de": "Deutsch"}
"""Each language by its code, with the name that it calls itself."""
DAYS = {"en": "d MMM", "nl": "d MMM", "de": "d. MMM"}
"""How each of them writes a day of the year (Unicode's letters for dates)."""
FOLDER = Path(__file__).parent / "translations"


def N_(text: str) -> str:  # noqa: N802 - the name that every tool for catalogues looks for
    """Mark a text for translation where it stands in a table; `gettext` looks it up when it is shown."""
    return text


def best(wished: LanguageAccept) -> str | None:
    """The language of ours that a browser likes best, in whatever country; None if it names none of them."""
    codes = (code.lower().partition("-")[0] for code, quality in wished if quality > 0)
    return next((code for code in codes if code in NAMES), None)


def spoken() -> str:
    """The code of the language in which this page or mail is written."""
    code = str(flask_babel.get_locale() or DEFAULT)
    return code if code in NAMES else DEFAULT


def day() -> str:
    """How the language of this page or mail writes a day of the year, in Unicode's letters for dates."""
    return DAYS[spoken()]


def path(language: str) -> Path:
    """Where the catalogue of a language lies."""
    return FOLDER / language / "LC_MESSAGES" / "messages.po"


@cache
def catalogue(language: str) -> Catalog:
    """The catalogue of a language that is not English, as its file tells it."""
    with path(language).open("rb") as file:
        return read_po(file, locale=language)


@cache
def words(language: str) -> NullTranslations:
    """The translations into a language; into English there are none."""
    if language not in NAMES or language == DEFAULT:
        return NullTranslations()
    compiled = BytesIO()
    write_mo(compiled, catalogue(language))
    compiled.seek(0)
    return Translations(compiled)


class Shelf(dict[tuple[str, str], NullTranslations]):
    """Translations by locale and domain, as Flask-Babel keeps them, each fetched when it is first asked for."""

    def __missing__(self, key: tuple[str, str]) -> NullTranslations:
        self[key] = words(key[0])
        return self[key]
