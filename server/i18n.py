"""The languages of pages and emails, and their catalogues.

The `.po` files under `server/translations/` are the only source of translations. They are read once per process, on
first use, and no compiled copy is kept; docs/languages.md says how to maintain them.
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
"""The fallback language, in which the texts in the code are written."""
NAMES = {"en": "English", "nl": "Nederlands", "de": "Deutsch"}
"""Each language code with the language's own name."""
DAY_FORMATS = {"en": "d MMM", "nl": "d MMM", "de": "d. MMM"}
"""How each language writes a day of the year (Unicode date format)."""
FOLDER = Path(__file__).parent / "translations"


def N_(text: str) -> str:  # noqa: N802 - the name that every tool for catalogues looks for
    """Mark a text in a table for translation; `gettext` translates it when it is shown."""
    return text


def best_match(accepted: LanguageAccept) -> str | None:
    """Return the supported language that a browser prefers, whatever the country, or None if it accepts none."""
    codes = (code.lower().partition("-")[0] for code, quality in accepted if quality > 0)
    return next((code for code in codes if code in NAMES), None)


def current_language() -> str:
    """Return the language code of the page or email being written."""
    code = str(flask_babel.get_locale() or DEFAULT)
    return code if code in NAMES else DEFAULT


def day_format() -> str:
    """Return the date format for a day of the year in the current language."""
    return DAY_FORMATS[current_language()]


def catalogue_path(language: str) -> Path:
    """Return the path of a language's catalogue."""
    return FOLDER / language / "LC_MESSAGES" / "messages.po"


@cache
def catalogue(language: str) -> Catalog:
    """Read the catalogue of a language other than English."""
    with catalogue_path(language).open("rb") as file:
        return read_po(file, locale=language)


@cache
def translations(language: str) -> NullTranslations:
    """Return the translations into a language; there are none into English."""
    if language not in NAMES or language == DEFAULT:
        return NullTranslations()
    compiled = BytesIO()
    write_mo(compiled, catalogue(language))
    compiled.seek(0)
    return Translations(compiled)


class TranslationCache(dict[tuple[str, str], NullTranslations]):
    """Translations by locale and domain, in the form Flask-Babel keeps them, loaded on first use."""

    def __missing__(self, key: tuple[str, str]) -> NullTranslations:
        self[key] = translations(key[0])
        return self[key]
