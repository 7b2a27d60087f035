"""The languages of pages and emails with their catalogues, and the time zones in which they tell times.

The `.po` files under `server/translations/` are the only source of translations. They are read once per process, on
first use, and no compiled copy is kept; docs/languages.md says how to maintain them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import cache, lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any, Protocol
from zoneinfo import ZoneInfo

import flask
import flask_babel
from babel.messages import Catalog
from babel.messages.mofile import read_mo, write_mo
from babel.messages.pofile import read_po
from babel.support import NullTranslations, Translations
from jinja2.nodes import EvalContext
from jinja2.utils import pass_eval_context
from markupsafe import Markup
from werkzeug.datastructures import LanguageAccept

from byzanz import games

LOGGER = logging.getLogger(__name__)

DEFAULT = "en"
"""The fallback language, in which the texts in the code are written."""
NAMES = {"en": "English", "nl": "Nederlands", "de": "Deutsch"}
"""Each language code with the language's own name."""
DAY_FORMATS = {"en": "d MMM", "nl": "d MMM", "de": "d. MMM"}
"""How each language writes a day of the year (Unicode date format)."""
FOLDER = Path(__file__).parents[1] / "translations"


def N_(text: str) -> str:  # noqa: N802 - the name that every tool for catalogues looks for
    """Mark a text in a table for translation; `gettext` translates it when it is shown."""
    return text


def best_match(accepted: LanguageAccept) -> str | None:
    """Return the supported language that a browser prefers, whatever the country, or None if it accepts none."""
    codes = (code.lower().partition("-")[0] for code, quality in accepted if quality > 0)
    return next((code for code in codes if code in NAMES), None)


_drawn_in: ContextVar[str | None] = ContextVar("drawn_in", default=None)


@contextmanager
def drawing() -> Iterator[None]:
    """Ask only once for the language of a template."""
    before = _drawn_in.set(None)
    _drawn_in.set(current_language())
    try:
        yield
    finally:
        _drawn_in.reset(before)


def current_language() -> str:
    """Return the language code of the page or email being written."""
    drawn_in = _drawn_in.get()
    if drawn_in is not None:
        return drawn_in
    try:
        # Where Flask-Babel keeps it: its own way there is long, and so is that through the proxy `g`.
        locale = flask.g._get_current_object()._flask_babel.babel_locale
    except (AttributeError, RuntimeError):
        locale = None
    locale = locale or flask_babel.get_locale()
    return locale.language if locale and locale.language in NAMES else DEFAULT


def day_format(day: date | None = None) -> str:
    """Return the date format for a day of the year in the current language.

    Args:
        day: its year is named if it lies far from when the text is read.
    """
    form = DAY_FORMATS[current_language()]
    return f"{form} y" if day is not None and is_far(day) else form


SAME_YEAR = timedelta(days=300)
"""How far a day may be away that is named without its year."""
_SOON = timedelta(days=6)
_reading_at: ContextVar[datetime | None] = ContextVar("reading_at", default=None)


@contextmanager
def read_at(now: datetime) -> Iterator[None]:
    """Write texts as they are read at some moment: emails, when they are sent."""
    before = _reading_at.set(now)
    try:
        yield
    finally:
        _reading_at.reset(before)


def told() -> datetime | None:
    """Return the moment of `read_at`, if one was told."""
    return _reading_at.get()


def present() -> datetime:
    """Return when the text that is being written is read."""
    return told() or datetime.now(UTC)


def is_far(day: date) -> bool:
    """Whether a day is only understood with its year: it is of another one, except within six days, or far away."""
    today = present().date()
    there = day.date() if isinstance(day, datetime) else day
    away = abs(there - today)
    return away > SAME_YEAR or (away > _SOON and there.year != today.year)


def catalogue_path(language: str) -> Path:
    """Return the path of a language's catalogue."""
    return FOLDER / language / "LC_MESSAGES" / "messages.po"


@cache
def catalogue(language: str) -> Catalog:
    """Read the catalogue of a language other than English."""
    with catalogue_path(language).open("rb") as file:
        return read_po(file, locale=language)


@cache
def translations(language: str, slug: str = "") -> NullTranslations:
    """Return the translations into a language; there are none into English.

    What the server does not translate may be a text of a game, which its package translates.

    Args:
        slug: of the game whose own translations come before those of other packages.
    """
    if language not in NAMES or language == DEFAULT:
        return NullTranslations()
    found = _compiled(catalogue(language))
    slugs = [rules.slug for rules in games.latest()]
    for each in sorted(slugs, key=lambda other: other != slug):
        own = _of_package(each, language)
        if own is not None:
            found.add_fallback(_compiled(own))
    return found


@cache
def _of_package(slug: str, language: str) -> Catalog | None:
    """Read the catalogue of a game's package, from its `.po` file or a compiled one; None if it has none."""
    folder = games.folder_of(slug)
    path = folder / "translations" / language / "LC_MESSAGES" / "messages" if folder else None
    try:
        if path and path.with_suffix(".po").is_file():
            with path.with_suffix(".po").open("rb") as file:
                return read_po(file, locale=language, abort_invalid=True)
        if path and path.with_suffix(".mo").is_file():
            with path.with_suffix(".mo").open("rb") as file:
                return read_mo(file)
    except Exception as error:  # the files of others may be broken in any way, and no page may suffer
        LOGGER.warning("the translations of %s into %s cannot be read: %s", slug, NAMES[language], error)
    return None


def own_text(slug: str, text: Any) -> Any:
    """Return a text in the reader's language if the package of a game itself translates it, else what was given."""
    language = current_language()
    is_text = bool(text) and isinstance(text, str) and language != DEFAULT
    catalog = _of_package(slug, language) if is_text else None
    message = catalog.get(text) if catalog is not None else None
    return (message.string if message is not None else "") or text


def lacks(slug: str, language: str, text: str, meaning: str | None = None) -> bool:
    """Return whether a game's package brings a catalogue that could translate a text, and nobody does.

    Args:
        meaning: the context of the text, if it has one.
    """
    own = _of_package(slug, language)
    found = [
        each.get(text, meaning) for each in (own, catalogue(language)) if own is not None and each is not None
    ]
    return own is not None and not any(message is not None and message.string for message in found)


def _compiled(catalog: Catalog) -> Translations:
    compiled = BytesIO()
    write_mo(compiled, catalog)
    compiled.seek(0)
    return Translations(compiled)


class Domain(flask_babel.Domain):  # type: ignore[misc]
    """The translations into the language of the page or email being written, found without building a key."""

    def get_translations(self, slug: str = "") -> NullTranslations:
        """Return them, those of a game's own before those of others; outside requests and emails there are none."""
        return translations(current_language(), slug)


DOMAIN = Domain()


# What templates call. Jinja's own extension would pass through three calls for each word, and Flask-Babel through five.


@pass_eval_context
def gettext(context: EvalContext, text: str, /, **values: object) -> str:
    """Translate a text of a template and fill in its placeholders, escaped where the template is HTML."""
    found = _translated(_translations(context), text, context.autoescape)
    return found % values if values or "%" in found else found


@lru_cache(8192)
def _translated(known: NullTranslations, text: str, autoescape: bool) -> str:
    found = known.ugettext(text)
    return Markup(found) if autoescape else found  # noqa: S704 - a text of ours, as in Jinja's own extension


@pass_eval_context
def pgettext(context: EvalContext, meaning: str, text: str, /, **values: object) -> str:
    """Translate a text that the same words with another meaning also have."""
    return _filled(context, _translations(context).upgettext(meaning, text), values)


@pass_eval_context
def ngettext(context: EvalContext, one: str, many: str, number: int, /, **values: object) -> str:
    """Translate the form of a text for a number, which also fills in its placeholder `num`."""
    values.setdefault("num", number)
    return _filled(context, _translations(context).ungettext(one, many, number), values)


def _translations(context: EvalContext) -> NullTranslations:
    """Return the translations for a template; `slug` is the game's, if it is one of a game (see `QuickContext`)."""
    return DOMAIN.get_translations(getattr(context, "slug", ""))


def _filled(context: EvalContext, text: str, values: dict[str, object]) -> str:
    found = Markup(text) if context.autoescape else text  # noqa: S704 - a text of ours, as in Jinja's own extension
    return found % values if values or "%" in text else found


TEMPLATES = {"_": gettext, "gettext": gettext, "ngettext": ngettext, "pgettext": pgettext, "N_": N_}
"""The names by which templates translate; `N_` marks what one of their tables holds for `_`."""


# ---- time zones ----
# No other module opens one, so that a name that this machine does not know fails nowhere. The stored names outlive the
# machine's own data: zones are renamed, packages of the system leave some out, a database moves. An unknown zone counts
# as none (`store.engine.ZoneName` reads it so), and comes back once the data has it.

DEFAULT_ZONE = "UTC"
"""The zone of readers who have set none, outside a game."""


class HasZone(Protocol):
    """A person or a game, as a row or a model."""

    @property
    def time_zone(self) -> str | None:
        """The IANA name of a zone that this machine knows."""


def zone_of(reader: HasZone | None, game: HasZone | None = None) -> str:
    """Return the name of the time zone in which a reader is told times: their own, else the game's, else UTC."""
    own = reader.time_zone if reader is not None else None
    return own or (game.time_zone if game is not None else None) or DEFAULT_ZONE


@lru_cache(maxsize=1024)
def find_zone(name: str) -> ZoneInfo | None:
    """Return a time zone, or None if this machine does not know it or cannot read it."""
    try:
        return ZoneInfo(name)
    except Exception:  # no such file, a name that is no path, a folder, or data that its reader stumbles over
        return None


def zone(name: str) -> tzinfo:
    """Return a time zone, or UTC if this machine does not know it."""
    return find_zone(name) or UTC


def known_zone(name: str | None) -> str | None:
    """Return the name of a zone if this machine knows it, else None."""
    return name if name and find_zone(name) else None
