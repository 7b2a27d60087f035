"""Templates of games: those of the server, then those of the game's package, then `templates/plain/` for any view.

A package's templates stand under `games/<its slug>/` and nowhere else, so they replace none of the server's. They run
with the rights of the server, like the package's code.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from types import SimpleNamespace

from flask import Flask
from jinja2 import Environment, FileSystemLoader, TemplateNotFound

from byzanz.games import folder_of, latest, rules_of, title_of
from byzanz.games.facts import facts
from server import config

SLUG = re.compile(r"[\w-]+", re.ASCII)


class GameTemplates(FileSystemLoader):
    """Loads templates; in those of `templates/plain/`, `$slug` stands for the game that lacks its own."""

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        """Return a template's source, its file, and whether it is up to date."""
        try:
            return super().get_source(environment, template)
        except TemplateNotFound:
            folder, _, rest = template.partition("/")
            slug, _, name = rest.partition("/")
            if folder != "games" or not SLUG.fullmatch(slug):
                raise
            own = folder_of(slug)
            with suppress(TemplateNotFound):
                if own is not None:
                    return FileSystemLoader(own / "templates").get_source(environment, name)
            source, file, is_current = super().get_source(environment, f"plain/{name}")
            return source.replace("$slug", slug), file, is_current


def init_app(app: Flask) -> None:
    """Let an app load its templates this way, and tell the plain ones about their game."""
    app.jinja_loader = GameTemplates(str(config.TEMPLATES))
    app.jinja_env.globals["plain"] = SimpleNamespace(
        facts=facts, rules=rules_of, title=title_of, paragraphs=paragraphs, about=about
    )


def paragraphs(slug: str) -> list[str]:
    """Return what the module of a game says about it, one text a paragraph; none if it is not installed."""
    module = next((type(rules).__module__ for rules in latest() if rules.slug == slug), __name__)
    text = inspect.cleandoc(sys.modules[module].__doc__ or "") if module != __name__ else ""
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n") if paragraph]


def about(slug: str) -> str:
    """Return the first paragraph of what the module of a game says about it."""
    return next(iter(paragraphs(slug)), "")
