"""The files that the package of a game brings: none is left unread, and its catalogues translate what there is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias, cast

import flask
from babel.messages.extract import DEFAULT_KEYWORDS, extract_from_file
from babel.support import NullTranslations
from jinja2 import Environment, meta

from byzanz.conformance import Check, Game
from byzanz.conformance.game import expect
from byzanz.games import folder_of
from byzanz.moves import RulesError
from server import i18n

READ = (
    "cards.html", "emblem.html", "form.html", "guide.html", "highlights.html", "mail.html", "mail.txt", "moment.html",
    "news.html", "orders.html", "picture.html", "result.html", "rules.html", "sprite.svg", "style.css", "table.html",
    "words.html",
)  # fmt: skip
"""The files of a game that the server reads, see docs/game-templates.md."""


def check_files(game: Game) -> None:
    """Every template is one that the server draws or that another one takes in, and lies in its folder."""
    environment, slug = flask.current_app.jinja_env, game.rules.slug
    names = environment.list_templates(filter_func=lambda name: name.startswith(f"games/{slug}/"))
    taken = {each for name in names for each in _taken_in(environment, name)}
    for name in names:
        file = name.removeprefix(f"games/{slug}/")
        like = get_close_matches(file, READ, 1)
        expect(
            file in READ or name in taken,
            "templates/%s is no file that the server reads, and no other template takes it in.%s",
            file,
            f" Is it {like[0]}?" if like else "",
        )
    folder = folder_of(slug)
    for path in _strays(folder) if folder else ():
        expect(False, "%s lies outside of the folders templates/ and static/, so nobody reads it.", path)


def _taken_in(environment: Environment, name: str) -> Iterator[str]:
    """Yield the names of the templates that a template includes or imports."""
    if not name.endswith(".css"):
        assert environment.loader is not None
        source, _, _ = environment.loader.get_source(environment, name)
        yield from filter(None, meta.find_referenced_templates(environment.parse(source)))


def _strays(folder: Path) -> Iterator[Path]:
    for path in sorted(path.relative_to(folder) for path in folder.rglob("*")):
        if path.suffix in (".html", ".css") and path.parts[0] not in ("templates", "static"):
            yield path


Text: TypeAlias = tuple[str | None, str]
"""Its context, and the text itself."""


@contextmanager
def heard() -> Iterator[set[Text]]:
    """Collect the texts that are looked up in catalogues meanwhile, such as the names of facts."""
    found: set[Text] = set()
    looked_up = i18n.DOMAIN.get_translations

    @cache  # the same translations are the same object, as `once` expects
    def listener(translations: NullTranslations) -> NullTranslations:
        return cast("NullTranslations", _Listener(translations, found))

    i18n.DOMAIN.get_translations = lambda slug="": listener(looked_up(slug))  # type: ignore[method-assign]
    try:
        yield found
    finally:
        del i18n.DOMAIN.get_translations  # the method of its class is back


class _Listener:
    """Translations that note what they are asked for."""

    def __init__(self, translations: NullTranslations, found: set[Text]) -> None:
        self._translations, self._found = translations, found

    def ugettext(self, text: str) -> str:
        if isinstance(text, str):  # a template may ask for something undefined, and its check tells so
            self._found.add((None, text))
        return self._translations.ugettext(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._translations, name)


def untranslated(slug: str, also: Iterable[Text]) -> Iterator[str]:
    """Yield, for each language of which a game's package has a catalogue, the texts that are missing there.

    Args:
        also: texts besides those that stand in the package's code and templates.
    """
    folder = folder_of(slug)
    texts = sorted({*_written_in(folder), *also}, key=lambda text: (text[1], text[0] or "")) if folder else []
    for language in i18n.NAMES:
        lacking = [
            each
            for each in texts
            if language != i18n.DEFAULT and i18n.lacks(slug, language, each[1], each[0])
        ]
        if lacking:
            yield f"Not translated into {i18n.NAMES[language]}:"
        for meaning, text in lacking:
            yield "".join(
                (f"    msgctxt {_quoted(meaning)}\n" if meaning else "", f"    msgid {_quoted(text)}")
            )


def _written_in(folder: Path) -> Iterator[Text]:
    """Yield the texts that are marked for translation in the files of a package."""
    refusals = {kind.__name__: (1,) for kind in _kinds(RulesError)}
    for path in sorted(path for path in folder.rglob("*") if path.suffix in _METHODS):
        method = _METHODS[path.suffix]
        for more in (
            ({"OrderAnswer": (2,), "Message": (1,)}, {"Message": (4,)}) if method == "python" else ({},)
        ):
            keywords: Any = DEFAULT_KEYWORDS | refusals | more
            for _line, text, _comments, meaning in extract_from_file(method, path, keywords=keywords):
                yield meaning, text if isinstance(text, str) else text[0]


def _kinds(base: type[Exception]) -> Iterator[type[Exception]]:
    yield base
    for kind in base.__subclasses__():
        yield from _kinds(kind)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


_METHODS = {".py": "python", ".html": "jinja2", ".txt": "jinja2", ".svg": "jinja2"}
"""How texts are found in files, by the ends of their names."""

BROUGHT_CHECKS: tuple[Check, ...] = (check_files,)
"""Checks that one game of each number of players is enough for."""
