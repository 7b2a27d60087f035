"""Checks of the files that the package of a game brings: none is left unread."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

import flask
from jinja2 import Environment, meta

from byzanz.conformance import Check, Game
from byzanz.conformance.game import expect
from byzanz.games import folder_of

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
    for path in _strays(folder_of(slug)):
        expect(False, "%s lies outside of the folders templates/ and static/, so nobody reads it.", path)


def _taken_in(environment: Environment, name: str) -> Iterator[str]:
    """Yield the names of the templates that a template includes or imports."""
    if not name.endswith(".css"):
        assert environment.loader is not None
        source, _, _ = environment.loader.get_source(environment, name)
        yield from filter(None, meta.find_referenced_templates(environment.parse(source)))


def _strays(folder: Path | None) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")) if folder else ():
        place = path.relative_to(folder).parts[0]  # type: ignore[arg-type]
        if path.suffix in (".html", ".css") and place not in ("templates", "static"):
            yield path.relative_to(folder)  # type: ignore[arg-type]


BROUGHT_CHECKS: tuple[Check, ...] = (check_files,)
"""Checks that one game of each number of players is enough for."""
